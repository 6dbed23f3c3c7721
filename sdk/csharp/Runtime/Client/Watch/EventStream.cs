using System;
using System.Threading;
using System.Threading.Tasks;

namespace Scoreboard.Client
{
    /// <summary>Follows a board over server-sent events.</summary>
    internal sealed class EventStream : LiveStream
    {
        private byte[] buffer = new byte[8192];
        private int length; // of what is in the buffer: an incomplete line, after all whole lines were read
        private byte[] data = new byte[8192]; // of the event
        private int dataLength;

        internal EventStream(Watcher watcher)
            : base(watcher)
        {
        }

        protected override async Task ReadAsync(CancellationToken cancel)
        {
            var request = new ApiRequest
            {
                Method = "GET", Url = Calls.Settings.Server + "/v1/realtime/leaderboard" + Watcher.StreamQuery,
                Headers = await Calls.HeadersAsync("text/event-stream", cancel).ConfigureAwait(Stay),
            };
            var opening = Calls.Settings.Platform.Http.SendAsync(request, cancel);
            using (var response = await WithinTryAsync(opening, "response", cancel).ConfigureAwait(Stay))
            {
                if (response.Status != 200 || !response.Header("Content-Type").StartsWith("text/event-stream", StringComparison.Ordinal))
                {
                    var body = await Body.ReadAsync(response, Stay, cancel).ConfigureAwait(Stay);
                    throw Errors.OfResponse(response, body, Calls.Clock.Now);
                }
                for (;;)
                {
                    if (length == buffer.Length) Array.Resize(ref buffer, 2 * length);
                    var count = await response.ReadAsync(buffer, length, buffer.Length - length, cancel).ConfigureAwait(Stay);
                    if (count == 0) return;
                    Heard();
                    cancel.ThrowIfCancellationRequested();
                    length += count;
                    ReadLines();
                    if (length + dataLength > MaxMessage) throw Errors.Connection("an event of over " + MaxMessage + " bytes");
                }
            }
        }

        /// <summary>The server's comments show that it is alive; nothing need be asked.</summary>
        protected override Task ConfirmAsync(CancellationToken cancel)
        {
            return Task.CompletedTask;
        }

        private void ReadLines()
        {
            var start = 0;
            for (;;)
            {
                var end = Array.IndexOf(buffer, (byte)'\n', start, length - start);
                if (end < 0) break;
                var stop = end > start && buffer[end - 1] == '\r' ? end - 1 : end;
                ReadLine(start, stop - start);
                start = end + 1;
            }
            length -= start;
            Buffer.BlockCopy(buffer, start, buffer, 0, length);
        }

        private void ReadLine(int start, int count)
        {
            if (count == 0)
            {
                var whole = dataLength;
                dataLength = 0;
                if (whole > 0) Watcher.OnMessage(Connection.EventStream, data, whole);
            }
            else if (buffer[start] == ':')
            {
                Watcher.OnKeepalive(Connection.EventStream);
            }
            else if (IsData(start, count)) // the message has all that event and id say
            {
                Append(start + 5, count - 5);
            }
        }

        private bool IsData(int start, int count)
        {
            const string name = "data:";
            if (count < name.Length) return false;
            for (var n = 0; n < name.Length; n++)
            {
                if (buffer[start + n] != name[n]) return false;
            }
            return true;
        }

        private void Append(int start, int count)
        {
            while (data.Length < dataLength + count + 1) Array.Resize(ref data, 2 * data.Length);
            Buffer.BlockCopy(buffer, start, data, dataLength, count);
            dataLength += count;
            data[dataLength++] = (byte)'\n';
        }
    }
}
