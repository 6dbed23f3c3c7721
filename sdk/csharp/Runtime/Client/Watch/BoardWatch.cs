using System;
using System.Runtime.ExceptionServices;
using System.Threading;
using System.Threading.Tasks;

namespace Scoreboard.Client
{
    /// <summary>
    /// A watch of a board: while (await watch.MoveNextAsync()) show(watch.Current). From C# 8 on, await foreach reads it.
    /// One reader reads it. Dispose ends it; so does the CancellationToken that it was made with.
    /// </summary>
    public sealed class BoardWatch : IDisposable
    {
        private static readonly Task<bool> True = Task.FromResult(true);

        private readonly CancellationTokenSource left;
        private readonly Watcher watcher;
        private readonly bool stay;
        private readonly object guard = new object();
        private WatchState latest = new WatchState();
        private bool unread; // whether latest is newer than Current
        private bool ended;
        private bool started;
        private Exception error;
        private TaskCompletionSource<bool> waiting;

        internal BoardWatch(Calls calls, WatchQuery query, CancellationToken cancel)
        {
            left = CancellationTokenSource.CreateLinkedTokenSource(cancel);
            stay = calls.Settings.Stay;
            watcher = new Watcher(calls, query, Put);
        }

        /// <summary>The latest state, until the next is read.</summary>
        public WatchState Current { get; private set; } = new WatchState();

        /// <summary>
        /// Waits for a state that is newer than Current; false after the watch was ended. It fails if the server rejects
        /// this client permanently.
        /// </summary>
        public Task<bool> MoveNextAsync()
        {
            if (!started)
            {
                started = true;
                Calls.Forget(RunAsync());
            }
            Task wake;
            lock (guard)
            {
                if (Take()) return True;
                if (ended) return NextAsync(True);
                waiting = new TaskCompletionSource<bool>(
                    stay ? TaskCreationOptions.None : TaskCreationOptions.RunContinuationsAsynchronously);
                wake = waiting.Task;
            }
            return NextAsync(wake);
        }

        /// <summary>For await foreach.</summary>
        public BoardWatch GetAsyncEnumerator()
        {
            return this;
        }

        /// <summary>Ends the watch. A MoveNextAsync that waits returns false.</summary>
        public void Dispose()
        {
            left.Cancel();
        }

        /// <summary>Ends the watch, after await foreach.</summary>
        public Task DisposeAsync()
        {
            Dispose();
            return True;
        }

        private async Task<bool> NextAsync(Task wake)
        {
            await wake.ConfigureAwait(stay);
            lock (guard)
            {
                if (Take()) return true;
            }
            if (error != null) ExceptionDispatchInfo.Capture(error).Throw();
            return false;
        }

        /// <summary>Makes the latest state the current one, if it is newer.</summary>
        private bool Take()
        {
            if (!unread || left.IsCancellationRequested) return false;
            var read = Current;
            Current = latest;
            latest = read;
            unread = false;
            return true;
        }

        /// <summary>Hands over a state. The reader misses the one before, if it has not read it.</summary>
        private void Put(WatchState state)
        {
            TaskCompletionSource<bool> wake;
            lock (guard)
            {
                latest.CopyFrom(state);
                unread = true;
                wake = waiting;
                waiting = null;
            }
            wake?.TrySetResult(true);
        }

        private async Task RunAsync()
        {
            try
            {
                if (!left.IsCancellationRequested) await watcher.RunAsync(left.Token).ConfigureAwait(stay);
            }
            catch (Exception e)
            {
                if (!left.IsCancellationRequested) error = e;
            }
            TaskCompletionSource<bool> wake;
            lock (guard)
            {
                ended = true;
                wake = waiting;
                waiting = null;
            }
            wake?.TrySetResult(true);
        }
    }
}
