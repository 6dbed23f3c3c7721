using System;
using System.Threading;
using System.Threading.Tasks;
using Scoreboard.Client;
using UnityEngine.Networking;

namespace Scoreboard.Unity
{
    /// <summary>Sends requests with UnityWebRequest, on the main thread. Its responses are read while they arrive.</summary>
    public sealed class UnityWebRequestTransport : IApiTransport
    {
        private readonly UnityClock clock = UnityClock.Instance;

        /// <inheritdoc/>
        public async Task<IApiResponse> SendAsync(ApiRequest request, CancellationToken cancel)
        {
            clock.CheckThread();
            cancel.ThrowIfCancellationRequested();
            var response = new UnityResponse(request);
            try
            {
                using (cancel.Register(response.Abort)) await response.Opened;
                return response;
            }
            catch
            {
                response.Dispose();
                throw;
            }
        }
    }

    /// <summary>A response of a UnityWebRequest.</summary>
    internal sealed class UnityResponse : IApiResponse
    {
        private readonly UnityWebRequest request;
        private readonly Pieces pieces;
        private readonly TaskCompletionSource<bool> opened = new TaskCompletionSource<bool>();
        private TaskCompletionSource<bool> more;
        private bool ended;
        private bool disposed;
        private Exception error;

        internal UnityResponse(ApiRequest call)
        {
            pieces = new Pieces(Arrived);
            request = new UnityWebRequest(call.Url, call.Method) { downloadHandler = pieces, redirectLimit = 0 };
            if (call.Body != null) request.uploadHandler = new UploadHandlerRaw(call.Body);
            foreach (var header in call.Headers) request.SetRequestHeader(header.Key, header.Value);
            request.SendWebRequest().completed += _ => End();
        }

        public int Status { get; private set; }

        /// <summary>Ends when the headers are there.</summary>
        internal Task Opened
        {
            get { return opened.Task; }
        }

        public string Header(string name)
        {
            return disposed ? "" : request.GetResponseHeader(name) ?? "";
        }

        public async Task<int> ReadAsync(byte[] buffer, int offset, int count, CancellationToken cancel)
        {
            using (cancel.Register(Abort))
            {
                while (pieces.Length == 0 && !ended)
                {
                    more = new TaskCompletionSource<bool>();
                    await more.Task;
                }
            }
            cancel.ThrowIfCancellationRequested();
            if (pieces.Length > 0) return pieces.Take(buffer, offset, count);
            if (error != null) throw error;
            return 0;
        }

        /// <summary>Ends the request; what waits for it fails.</summary>
        internal void Abort()
        {
            if (!ended && !disposed) request.Abort();
        }

        public void Dispose()
        {
            if (disposed) return;
            Abort();
            disposed = true;
            request.Dispose();
        }

        private void Arrived()
        {
            Open();
            Wake();
        }

        private void Open()
        {
            if (opened.Task.IsCompleted) return;
            Status = (int)request.responseCode;
            opened.TrySetResult(true);
        }

        private void End()
        {
            ended = true;
            // A response with a status of 400 or more is a protocol error, and a response all the same.
            if (request.result == UnityWebRequest.Result.ConnectionError || request.responseCode == 0)
            {
                error = new System.IO.IOException(request.error ?? "no response");
                opened.TrySetException(error);
            }
            else
            {
                Open();
                if (pieces.TooMany) error = new System.IO.IOException("the response is not read");
            }
            Wake();
        }

        private void Wake()
        {
            var wake = more;
            more = null;
            wake?.TrySetResult(true);
        }

        /// <summary>Keeps what has arrived until it is read.</summary>
        private sealed class Pieces : DownloadHandlerScript
        {
            private const int MaxUnread = 8 << 20;

            private readonly Action arrived;
            private byte[] unread = new byte[16384];
            private int start;

            internal Pieces(Action arrived)
                : base(new byte[16384])
            {
                this.arrived = arrived;
            }

            internal int Length { get; private set; }

            internal bool TooMany { get; private set; }

            internal int Take(byte[] buffer, int offset, int count)
            {
                var taken = Math.Min(count, Length);
                Buffer.BlockCopy(unread, start, buffer, offset, taken);
                start += taken;
                Length -= taken;
                return taken;
            }

            protected override bool ReceiveData(byte[] data, int dataLength)
            {
                TooMany = Length + dataLength > MaxUnread;
                if (TooMany) return false;
                Buffer.BlockCopy(unread, start, unread, 0, Length);
                start = 0;
                while (unread.Length < Length + dataLength) Array.Resize(ref unread, 2 * unread.Length);
                Buffer.BlockCopy(data, 0, unread, Length, dataLength);
                Length += dataLength;
                arrived();
                return true;
            }
        }
    }
}
