using System;
using System.Threading;
using System.Threading.Tasks;

namespace Scoreboard.Client
{
    /// <summary>A token and when it expires.</summary>
    public struct IssuedToken
    {
        /// <summary>The bearer token.</summary>
        public string Token;

        /// <summary>When it expires.</summary>
        public DateTimeOffset ExpiresAt;
    }

    /// <summary>
    /// Caches the token that a function fetches, until 30 s before it expires. One fetch runs at a time. Its GetAsync is a
    /// TokenSource.
    /// </summary>
    public sealed class RenewingToken
    {
        // Longer than a try takes, so that no request is sent with a token about to expire.
        private static readonly TimeSpan RenewBefore = TimeSpan.FromSeconds(30);

        private readonly Func<CancellationToken, Task<IssuedToken>> fetch;
        private readonly IClock clock;
        private readonly bool stay;
        private readonly object guard = new object();
        private Task<IssuedToken> current;

        /// <summary>Fetches tokens with a function. The platform is the same as that of the client.</summary>
        public RenewingToken(Func<CancellationToken, Task<IssuedToken>> fetch, Platform platform = null)
        {
            this.fetch = fetch;
            clock = platform == null ? new SystemClock() : platform.Clock;
            stay = platform != null && platform.StaysOnContext;
        }

        /// <summary>Returns the token of a try.</summary>
        public async Task<string> GetAsync(CancellationToken cancel)
        {
            Task<IssuedToken> known;
            lock (guard)
            {
                if (current == null || Ended(current)) current = fetch(cancel);
                known = current;
            }
            // The fetch belongs to the try that began it: when that is cancelled, the next one fetches again.
            var cancelled = new TaskCompletionSource<IssuedToken>();
            using (cancel.Register(() => Forget(known, cancelled)))
            {
                var first = await Task.WhenAny(known, cancelled.Task).ConfigureAwait(stay);
                return (await first.ConfigureAwait(stay)).Token;
            }
        }

        private void Forget(Task<IssuedToken> known, TaskCompletionSource<IssuedToken> cancelled)
        {
            lock (guard)
            {
                if (current == known && !known.IsCompleted) current = null;
            }
            cancelled.TrySetCanceled();
        }

        private bool Ended(Task<IssuedToken> task)
        {
            if (!task.IsCompleted) return false;
            return task.Status != TaskStatus.RanToCompletion || clock.Now >= task.Result.ExpiresAt - RenewBefore;
        }
    }
}
