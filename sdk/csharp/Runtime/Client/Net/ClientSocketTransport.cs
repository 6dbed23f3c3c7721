using System;
using System.Net.WebSockets;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Scoreboard.Client
{
    /// <summary>Opens WebSockets with a ClientWebSocket.</summary>
    public sealed class ClientSocketTransport : ISocketTransport
    {
        /// <inheritdoc/>
        public async Task<ISocket> ConnectAsync(string url, CancellationToken cancel)
        {
            var socket = new ClientWebSocket();
            try
            {
                await socket.ConnectAsync(new Uri(url), cancel).ConfigureAwait(false);
                return new Socket(socket);
            }
            catch
            {
                socket.Dispose();
                throw;
            }
        }

        private sealed class Socket : ISocket
        {
            private readonly ClientWebSocket socket;

            internal Socket(ClientWebSocket socket)
            {
                this.socket = socket;
            }

            public async Task<SocketPiece> ReceiveAsync(byte[] buffer, int offset, CancellationToken cancel)
            {
                var segment = new ArraySegment<byte>(buffer, offset, buffer.Length - offset);
                var piece = await socket.ReceiveAsync(segment, cancel).ConfigureAwait(false);
                if (piece.MessageType != WebSocketMessageType.Close)
                {
                    return new SocketPiece { Count = piece.Count, EndOfMessage = piece.EndOfMessage };
                }
                var code = (int)(socket.CloseStatus ?? (WebSocketCloseStatus)1006);
                return new SocketPiece { Closed = true, CloseCode = code, CloseReason = socket.CloseStatusDescription ?? "" };
            }

            public Task SendAsync(string message, CancellationToken cancel)
            {
                var bytes = new ArraySegment<byte>(Encoding.UTF8.GetBytes(message));
                return socket.SendAsync(bytes, WebSocketMessageType.Text, true, cancel);
            }

            public void Dispose()
            {
                socket.Dispose();
            }
        }
    }
}
