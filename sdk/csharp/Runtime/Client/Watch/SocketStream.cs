using System;
using System.Threading;
using System.Threading.Tasks;

namespace Scoreboard.Client
{
    /// <summary>Follows a board over one WebSocket.</summary>
    internal sealed class SocketStream : LiveStream
    {
        private ISocket socket;
        private byte[] buffer = new byte[8192];

        internal SocketStream(Watcher watcher)
            : base(watcher)
        {
        }

        protected override async Task ReadAsync(CancellationToken cancel)
        {
            var url = await UrlAsync(cancel).ConfigureAwait(Stay);
            var opening = Calls.Settings.Platform.Socket.ConnectAsync(url, cancel);
            using (var opened = await WithinTryAsync(opening, "WebSocket", cancel).ConfigureAwait(Stay))
            {
                socket = opened;
                try
                {
                    for (;;)
                    {
                        var length = await MessageAsync(opened, cancel).ConfigureAwait(Stay);
                        Heard();
                        cancel.ThrowIfCancellationRequested();
                        Watcher.OnMessage(Connection.WebSocket, buffer, length);
                    }
                }
                finally
                {
                    socket = null;
                }
            }
        }

        /// <summary>
        /// Pings are not shown to programs. If nothing else arrives, subscribing again makes the server send the current
        /// state, by which a dead connection is noticed.
        /// </summary>
        protected override async Task ConfirmAsync(CancellationToken cancel)
        {
            var open = socket;
            if (open == null) return;
            var board = string.IsNullOrEmpty(Watcher.Query.Board) ? "global" : Watcher.Query.Board;
            foreach (var type in new[] { "unsubscribe", "subscribe" })
            {
                var command = new JsonWriter().Open('{').Field("type", type).Field("board", board).Close('}').ToString();
                await open.SendAsync(command, cancel).ConfigureAwait(Stay);
            }
        }

        private async Task<string> UrlAsync(CancellationToken cancel)
        {
            var query = Watcher.StreamQuery;
            if (Calls.Settings.Token != null)
            {
                // A WebSocket cannot send a token in all environments, so it takes a ticket, which is valid once.
                var call = new Call { Path = "/v1/realtime/token", Query = new Query().Add("board", Watcher.Query.Board) };
                var ticket = await Calls.TryAsync(call, JoinTicket.Read, cancel).ConfigureAwait(Stay);
                query.Add("token", ticket.Token);
            }
            return "ws" + Calls.Settings.Server.Substring("http".Length) + "/v1/realtime/leaderboard" + query;
        }

        /// <summary>Reads a message into the buffer and returns its length.</summary>
        private async Task<int> MessageAsync(ISocket open, CancellationToken cancel)
        {
            for (var length = 0;;)
            {
                if (length == buffer.Length)
                {
                    if (length >= MaxMessage) throw Errors.Connection("a message of over " + MaxMessage + " bytes");
                    Array.Resize(ref buffer, 2 * length);
                }
                var piece = await open.ReceiveAsync(buffer, length, cancel).ConfigureAwait(Stay);
                if (piece.Closed) throw CloseError(piece);
                length += piece.Count;
                if (piece.EndOfMessage) return length;
            }
        }

        /// <summary>Translates a close code to the API's error.</summary>
        private static ScoreboardException CloseError(SocketPiece close)
        {
            var message = "the WebSocket was closed: " + close.CloseCode + " " + close.CloseReason;
            switch (close.CloseCode)
            {
                case 4401: return new ScoreboardException("unauthorized", message, 401);
                case 4403: return new ScoreboardException("forbidden", message, 403);
                case 4429: return new ScoreboardException("rate_limited", message, 429);
                default: return Errors.Connection(message);
            }
        }
    }
}
