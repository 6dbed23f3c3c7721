using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Threading;
using System.Threading.Tasks;

namespace Scoreboard.Client.Tests
{
    /// <summary>
    /// A process that queues and sends three increments, and is killed at a step: before or after each call of the store and
    /// the sender.
    /// </summary>
    public static class Children
    {
        public static int Run(string[] args)
        {
            RunAsync(args[1], args[2], int.Parse(args[3])).GetAwaiter().GetResult();
            return 0;
        }

        private static async Task RunAsync(string path, string user, int step)
        {
            using (var store = new FileStore(path))
            using (var cancel = new CancellationTokenSource(TimeSpan.FromSeconds(60)))
            {
                var killed = new Killed(store, new ScoreboardSender(new ScoreboardClient()), step);
                var queue = new OfflineQueue(new QueueOptions
                {
                    Store = killed, Sender = killed, OnSent = (i, r) =>
                    {
                        if (store.Count == 0) cancel.Cancel();
                    },
                });
                for (var n = 1; n <= 3; n++)
                {
                    await queue.AddAsync(new Increment { UserId = user, Delta = n, EventId = "e" + n });
                }
                await queue.RunAsync(cancel.Token);
                if (queue.Count > 0) throw new TestFailure(queue.Count + " increments wait");
            }
        }

        private sealed class Killed : IQueueStore, ISender
        {
            private readonly IQueueStore store;
            private readonly ISender sender;
            private int left;

            public Killed(IQueueStore store, ISender sender, int step)
            {
                this.store = store;
                this.sender = sender;
                left = step;
            }

            public int Count
            {
                get { return store.Count; }
            }

            public QueuedIncrement Find(string userId, string eventId)
            {
                return store.Find(userId, eventId);
            }

            public IReadOnlyList<QueuedIncrement> First(int limit)
            {
                return store.First(limit);
            }

            public async Task AddAsync(Increment increment)
            {
                Step();
                await store.AddAsync(increment);
                Step();
            }

            public async Task SentAsync(IReadOnlyList<QueuedIncrement> increments, DateTimeOffset now)
            {
                Step();
                await store.SentAsync(increments, now);
                Step();
            }

            public async Task RemoveAsync(IReadOnlyList<QueuedIncrement> increments)
            {
                Step();
                await store.RemoveAsync(increments);
                Step();
            }

            public async Task<IReadOnlyList<BatchResult>> SendAsync(IReadOnlyList<Increment> increments, CancellationToken cancel)
            {
                Step();
                var results = await sender.SendAsync(increments, cancel);
                Step();
                return results;
            }

            private void Step()
            {
                if (--left != 0) return;
                Process.GetCurrentProcess().Kill(); // as kill -9 does
                Thread.Sleep(Timeout.Infinite);
            }
        }
    }
}
