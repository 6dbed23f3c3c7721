using System;
using System.Threading;
using System.Threading.Tasks;

namespace Scoreboard.Client
{
    /// <summary>What came over a WebSocket: a piece of a message, or its end.</summary>
    public struct SocketPiece
    {
        /// <summary>Bytes that are in the buffer.</summary>
        public int Count;

        /// <summary>Whether they are the last ones of a message.</summary>
        public bool EndOfMessage;

        /// <summary>Whether the server has closed the WebSocket.</summary>
        public bool Closed;

        /// <summary>The code with which it did; 1006 for none.</summary>
        public int CloseCode;

        /// <summary>The reason.</summary>
        public string CloseReason;
    }

    /// <summary>An open WebSocket. It answers pings by itself.</summary>
    public interface ISocket : IDisposable
    {
        /// <summary>Reads the next piece into the buffer, from offset to its end.</summary>
        Task<SocketPiece> ReceiveAsync(byte[] buffer, int offset, CancellationToken cancel);

        /// <summary>Sends a text message.</summary>
        Task SendAsync(string message, CancellationToken cancel);
    }

    /// <summary>Opens WebSockets.</summary>
    public interface ISocketTransport
    {
        /// <summary>Opens a WebSocket at an address that begins with ws or wss.</summary>
        Task<ISocket> ConnectAsync(string url, CancellationToken cancel);
    }
}
