using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Scoreboard.Client.Tests
{
    /// <summary>
    /// One thread with a clock that stands, as the main thread of a game is: continuations wait until they are run. It fails
    /// if anything comes from another thread, for WebGL has none.
    /// </summary>
    public sealed class Virtual : SynchronizationContext, IClock
    {
        public const int Step = 10; // milliseconds

        private readonly Queue<Action> posted = new Queue<Action>();
        private readonly List<Timer> timers = new List<Timer>();
        private readonly int thread = Thread.CurrentThread.ManagedThreadId;
        private string strayed;
        private long order;

        public Virtual(DateTimeOffset? now = null)
        {
            Now = now ?? DateTimeOffset.UtcNow;
            Start = Now;
        }

        public DateTimeOffset Now { get; private set; }

        public DateTimeOffset Start { get; }

        public int Timers
        {
            get { return timers.Count; }
        }

        public long Elapsed
        {
            get { return (long)(Now - Start).TotalMilliseconds; }
        }

        /// <summary>Runs work on a fresh one.</summary>
        public static void Run(Action<Virtual> work, DateTimeOffset? now = null)
        {
            var before = Current;
            var v = new Virtual(now);
            SetSynchronizationContext(v);
            try
            {
                work(v);
                Check.Equal(v.strayed, null, "a continuation on another thread");
            }
            finally
            {
                SetSynchronizationContext(before);
            }
        }

        public override void Post(SendOrPostCallback d, object state)
        {
            if (Thread.CurrentThread.ManagedThreadId != thread) strayed = Environment.StackTrace;
            lock (posted) posted.Enqueue(() => d(state));
        }

        public Task Delay(TimeSpan time, CancellationToken cancel)
        {
            var timer = new Timer { At = Now + time, Order = order++ };
            if (time <= TimeSpan.Zero) return Task.FromResult(true);
            if (cancel.IsCancellationRequested) timer.Done.TrySetCanceled();
            timers.Add(timer);
            cancel.Register(() =>
            {
                timers.Remove(timer);
                timer.Done.TrySetCanceled();
            });
            return timer.Done.Task;
        }

        /// <summary>Runs all that waits for nothing but other code.</summary>
        public void Drain()
        {
            for (;;)
            {
                Action next;
                lock (posted)
                {
                    if (posted.Count == 0) return;
                    next = posted.Dequeue();
                }
                next();
            }
        }

        /// <summary>Lets time pass.</summary>
        public void Pass(double milliseconds)
        {
            var end = Now.AddMilliseconds(milliseconds);
            for (Drain();; Drain())
            {
                var next = timers.Where(t => t.At <= end).OrderBy(t => t.At).ThenBy(t => t.Order).FirstOrDefault();
                if (next == null) break;
                if (next.At > Now) Now = next.At;
                timers.Remove(next);
                next.Done.TrySetResult(true);
            }
            if (end > Now) Now = end;
        }

        /// <summary>Lets time pass until a task has ended.</summary>
        public T Wait<T>(Task<T> task)
        {
            Until(() => task.IsCompleted);
            return task.GetAwaiter().GetResult();
        }

        public void Until(Func<bool> done)
        {
            var end = Now.AddSeconds(200);
            for (Drain(); !done(); Pass(Step))
            {
                if (Now > end) throw new TestFailure("it does not happen");
            }
        }

        /// <summary>A platform on this thread and clock.</summary>
        public Platform Platform(IApiTransport http, ISocketTransport socket = null)
        {
            return new Platform { Http = http, Socket = socket, Clock = this, StaysOnContext = true };
        }

        private sealed class Timer
        {
            public DateTimeOffset At;
            public long Order;
            public readonly TaskCompletionSource<bool> Done = new TaskCompletionSource<bool>();
        }
    }
}
