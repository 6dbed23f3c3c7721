using System;
using System.Net;
using System.Net.Sockets;
using System.Threading;

namespace Scoreboard.Client.Tests
{
    /// <summary>A TCP proxy to a port of this machine that loses responses.</summary>
    public sealed class Proxy : IDisposable
    {
        private readonly TcpListener listener = new TcpListener(IPAddress.Loopback, 0);
        private readonly int target;
        private int lose;
        private volatile bool refuses;

        public Proxy(int target)
        {
            this.target = target;
            listener.Start();
            new Thread(Accept) { IsBackground = true }.Start();
        }

        public string Url
        {
            get { return "http://127.0.0.1:" + ((IPEndPoint)listener.LocalEndpoint).Port; }
        }

        /// <summary>Whether new connections are closed at once.</summary>
        public bool Refuses
        {
            set { refuses = value; }
        }

        /// <summary>Breaks the connection instead of passing on the next responses, as many as set here.</summary>
        public void Lose(int responses)
        {
            Interlocked.Exchange(ref lose, responses);
        }

        public void Dispose()
        {
            listener.Stop();
        }

        private void Accept()
        {
            for (;;)
            {
                TcpClient client;
                try
                {
                    client = listener.AcceptTcpClient();
                }
                catch (SocketException)
                {
                    return;
                }
                catch (ObjectDisposedException)
                {
                    return;
                }
                if (refuses)
                {
                    client.Close();
                    continue;
                }
                var server = new TcpClient();
                try
                {
                    server.Connect(IPAddress.Loopback, target);
                }
                catch (SocketException)
                {
                    client.Close();
                    continue;
                }
                new Thread(() => Pass(client, server, false)) { IsBackground = true }.Start();
                new Thread(() => Pass(server, client, true)) { IsBackground = true }.Start();
            }
        }

        private void Pass(TcpClient from, TcpClient to, bool responses)
        {
            var buffer = new byte[65536];
            try
            {
                for (;;)
                {
                    var count = from.GetStream().Read(buffer, 0, buffer.Length);
                    if (count == 0 || refuses) break;
                    if (responses && Interlocked.Decrement(ref lose) >= 0) break;
                    to.GetStream().Write(buffer, 0, count);
                }
            }
            catch (Exception e) when (e is System.IO.IOException || e is InvalidOperationException)
            {
            }
            from.Close();
            to.Close();
        }
    }
}
