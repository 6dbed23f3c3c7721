using System;
using System.Threading;
using System.Threading.Tasks;

namespace Scoreboard.Client
{
    /// <summary>
    /// One stream of a watch. It ends with an error. What reads it runs beside what watches over it: a stream that is silent
    /// for too long is dead.
    /// </summary>
    internal abstract class LiveStream
    {
        /// <summary>The maximum size of a message in bytes; 100 rows with names and avatars are far smaller.</summary>
        protected const int MaxMessage = 1 << 20;

        /// <summary>A stream is dead after this time without a message. The server sends a keepalive every 30 s.</summary>
        private static readonly TimeSpan MaxSilence = TimeSpan.FromSeconds(75);

        protected readonly Watcher Watcher;
        protected readonly bool Stay;
        private DateTimeOffset heardAt;

        protected LiveStream(Watcher watcher)
        {
            Watcher = watcher;
            Stay = watcher.Calls.Settings.Stay;
        }

        protected Calls Calls
        {
            get { return Watcher.Calls; }
        }

        /// <summary>Follows the stream until it ends, which is an error.</summary>
        internal async Task FollowAsync(CancellationToken cancel)
        {
            using (var ended = CancellationTokenSource.CreateLinkedTokenSource(cancel))
            {
                Heard();
                var reading = ReadAsync(ended.Token);
                var silence = SuperviseAsync(ended.Token);
                try
                {
                    await (await Task.WhenAny(reading, silence).ConfigureAwait(Stay)).ConfigureAwait(Stay);
                    throw Errors.Connection("the stream ended");
                }
                catch (Exception e) when (!cancel.IsCancellationRequested)
                {
                    throw Errors.Wrap("follow the board", e);
                }
                finally
                {
                    ended.Cancel();
                    Calls.Forget(reading);
                    Calls.Forget(silence);
                }
            }
        }

        /// <summary>Opens the stream and reads it to its end.</summary>
        protected abstract Task ReadAsync(CancellationToken cancel);

        /// <summary>Asks the server for a message after a third of the maximum silence, where that is possible.</summary>
        protected abstract Task ConfirmAsync(CancellationToken cancel);

        /// <summary>Notes that the server has sent something.</summary>
        protected void Heard()
        {
            heardAt = Calls.Clock.Now;
        }

        /// <summary>Opens something within the time of a try.</summary>
        protected async Task<T> WithinTryAsync<T>(Task<T> opening, string what, CancellationToken cancel)
            where T : IDisposable
        {
            using (var opened = CancellationTokenSource.CreateLinkedTokenSource(cancel))
            {
                var timeout = Calls.Clock.Delay(Calls.Settings.Timeout, opened.Token);
                var first = await Task.WhenAny(opening, timeout).ConfigureAwait(Stay);
                opened.Cancel();
                if (first == opening) return await opening.ConfigureAwait(Stay);
            }
            Calls.Forget(opening.ContinueWith(Close, TaskContinuationOptions.ExecuteSynchronously));
            cancel.ThrowIfCancellationRequested();
            throw Errors.Connection("no " + what + " within " + Calls.Settings.Timeout.TotalMilliseconds + " ms");
        }

        private static void Close<T>(Task<T> opening)
            where T : IDisposable
        {
            if (opening.Status == TaskStatus.RanToCompletion) opening.Result.Dispose();
        }

        private async Task SuperviseAsync(CancellationToken cancel)
        {
            var third = TimeSpan.FromTicks(MaxSilence.Ticks / 3);
            for (var wait = third;;)
            {
                await Calls.Clock.Delay(wait, cancel).ConfigureAwait(Stay);
                var silent = Calls.Clock.Now - heardAt;
                if (silent >= MaxSilence)
                {
                    throw Errors.Connection("no message from the server for " + MaxSilence.TotalSeconds + " s");
                }
                if (silent >= third) await ConfirmAsync(cancel).ConfigureAwait(Stay);
                wait = silent < third ? third - silent : MaxSilence - silent < third ? MaxSilence - silent : third;
            }
        }
    }
}
