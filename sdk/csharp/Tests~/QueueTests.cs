using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Scoreboard.Client.Tests
{
    /// <summary>The offline queue, with its file and a sender of the test.</summary>
    public static class QueueTests
    {
        [Test]
        public static void SendsInOrderEachOnce()
        {
            Run((time, path) =>
            {
                var sent = new List<string>();
                var offline = true;
                var sender = new Sender((increment, cancel) =>
                {
                    if (offline = !offline) throw new IOException("offline"); // every other call
                    sent.Add(increment.EventId);
                    return null;
                });
                using (var store = new FileStore(path))
                {
                    var queue = NewQueue(time, store, sender);
                    for (var n = 0; n < 5; n++) Check.Equal(time.Wait(queue.AddAsync(Event(n))), "e" + n, "event id");
                    time.Wait(queue.AddAsync(Event(3))); // waits already
                    Check.Equal(queue.Count, 5, "count");
                    var other = Event(3);
                    other.Attributes = new Dictionary<string, string> { { "region", "eu" } };
                    Check.Equal(BoundsTests.Failure(time, queue.AddAsync(other)).Code, "event_conflict", "code");
                    SendAll(time, queue);
                    Check.Equal(sent, new[] { "e0", "e1", "e2", "e3", "e4" }, "sent");
                }
            });
        }

        [Test]
        public static void IsBounded()
        {
            Run((time, path) =>
            {
                using (var store = new FileStore(path))
                {
                    var queue = new OfflineQueue(new QueueOptions
                    {
                        Store = store, Sender = new Sender((i, c) => null), Max = 2, Platform = time.Platform(null),
                    });
                    time.Wait(queue.AddAsync(Event(0)));
                    time.Wait(queue.AddAsync(Event(1)));
                    var full = BoundsTests.Failure(time, queue.AddAsync(Event(2)));
                    Check.Equal(new object[] { full.Code, full.EventId, full.Temporary }, new object[] { "overloaded", "e2", true }, "full");
                    time.Wait(queue.AddAsync(Event(1))); // waits already, so it needs no room
                    var large = Event(3);
                    large.Attestation = new string('x', 5000);
                    Check.Equal(BoundsTests.Failure(time, queue.AddAsync(large)).Code, "payload_too_large", "code");
                    Check.Equal(queue.Count, 2, "count");
                }
            });
        }

        [Test]
        public static void RejectedIncrements()
        {
            Run((time, path) =>
            {
                using (var store = new FileStore(path))
                {
                    var sender = new Sender((i, c) => i.EventId == "e1" ? new ScoreboardException("delta_out_of_range", "m", 422) : null);
                    var queue = NewQueue(time, store, sender);
                    for (var n = 0; n < 3; n++) time.Wait(queue.AddAsync(Event(n)));
                    // Without a function that takes them they stay, and stop the queue.
                    var running = Ended(queue.RunAsync(CancellationToken.None));
                    Check.Equal(BoundsTests.Failure(time, running).Code, "delta_out_of_range", "code");
                    Check.Equal(store.First(10).Select(q => q.Increment.EventId), new[] { "e1", "e2" }, "left");
                    var rejected = new List<string>();
                    queue = new OfflineQueue(new QueueOptions
                    {
                        Store = store, Sender = sender, OnRejected = (i, e) => rejected.Add(i.EventId + " " + e.Code),
                        Platform = time.Platform(null),
                    });
                    SendAll(time, queue);
                    Check.Equal(rejected, new[] { "e1 delta_out_of_range" }, "rejected");
                }
            });
        }

        [Test]
        public static void WaitsForANewToken()
        {
            Run((time, path) =>
            {
                using (var store = new FileStore(path))
                {
                    var tries = 0;
                    var waits = new List<string>();
                    var queue = new OfflineQueue(new QueueOptions
                    {
                        Store = store, OnWaiting = e => waits.Add(e.Code), Platform = time.Platform(null),
                        Sender = new Sender((i, c) => ++tries < 3 ? new ScoreboardException("unauthorized", "m", 401) : null),
                    });
                    time.Wait(queue.AddAsync(Event(0)));
                    SendAll(time, queue);
                    Check.Equal(waits, new[] { "unauthorized", "unauthorized" }, "waits");
                }
            });
        }

        [Test]
        public static void Batches()
        {
            Run((time, path) =>
            {
                using (var store = new FileStore(path))
                {
                    var busy = true;
                    var rejected = new List<string>();
                    var sender = new Sender((i, c) =>
                    {
                        if (i.EventId == "e0") return new ScoreboardException("rule_violated", "m", 200);
                        if (i.EventId != "e1" || !busy) return null;
                        busy = false;
                        return new ScoreboardException("unavailable", "m", 200);
                    });
                    var queue = new OfflineQueue(new QueueOptions
                    {
                        Store = store, Sender = sender, Batch = 3, OnRejected = (i, e) => rejected.Add(i.EventId),
                        Platform = time.Platform(null),
                    });
                    for (var n = 0; n < 5; n++) time.Wait(queue.AddAsync(Event(n)));
                    SendAll(time, queue);
                    Check.Equal(sender.Sizes, new[] { 3, 3 }, "sizes");
                    Check.Equal(rejected, new[] { "e0" }, "rejected");
                }
            });
        }

        [Test]
        public static void AnOldIncrementIsRejected()
        {
            Run((time, path) =>
            {
                var rejected = new List<string>();
                using (var store = new FileStore(path))
                {
                    var queue = NewQueue(time, store, new Sender((i, c) => new ScoreboardException("unavailable", "m")));
                    time.Wait(queue.AddAsync(Event(0)));
                    using (var cancel = new CancellationTokenSource())
                    {
                        var running = Ended(queue.RunAsync(cancel.Token));
                        time.Pass(60000); // it may have been counted
                        cancel.Cancel();
                        time.Wait(running);
                    }
                    time.Wait(queue.AddAsync(Event(1))); // never sent
                }
                time.Pass(TimeSpan.FromDays(25.1).TotalMilliseconds);
                using (var store = new FileStore(path))
                {
                    var sent = new List<string>();
                    var queue = new OfflineQueue(new QueueOptions
                    {
                        Store = store, Sender = new Sender((i, c) => null), OnSent = (i, r) => sent.Add(i.EventId),
                        OnRejected = (i, e) => rejected.Add(i.EventId + " " + e.Code), Platform = time.Platform(null),
                    });
                    SendAll(time, queue);
                    Check.Equal(rejected, new[] { "e0 gone" }, "rejected");
                    Check.Equal(sent, new[] { "e1" }, "sent");
                }
            });
        }

        [Test]
        public static void AFileSurvivesACrash()
        {
            Run((time, path) =>
            {
                var attributes = new Dictionary<string, string> { { "region", "eu" }, { "a\"b", "\u00e9" } };
                using (var store = new FileStore(path))
                {
                    for (var n = 0; n < 3; n++)
                    {
                        var e = Event(n);
                        e.Attributes = attributes;
                        e.IfPeriod = "weekly:2026-w47";
                        time.Wait(Ended(store.AddAsync(e)));
                    }
                    time.Wait(Ended(store.RemoveAsync(store.First(1))));
                    Check.Throws<IOException>(() => new FileStore(path)); // one at a time
                    File.Copy(path, path + "2");
                }
                File.AppendAllText(path + "2", "{\"key\":4,\"increment\":{\"user_id\":\"al"); // half a line
                using (var store = new FileStore(path + "2"))
                {
                    Check.Equal(store.First(9).Select(q => q.Increment.EventId), new[] { "e1", "e2" }, "left");
                    Check.Equal(store.First(1)[0].Increment.Attributes["a\"b"], "\u00e9", "attribute");
                    Check.Equal(store.First(1)[0].Increment.IfPeriod, "weekly:2026-w47", "period");
                    Check.That(!File.ReadAllText(path + "2").Contains("{\"key\":4"), "half a line is gone");
                }
                File.Delete(path + "2"); // a crash while the file was replaced
                File.Copy(path, path + "2.new");
                using (var store = new FileStore(path + "2")) Check.Equal(store.Count, 2, "count");
                File.WriteAllText(path + "2", "x\n{\"removed\":[]}\n");
                Check.That(Check.Throws<InvalidDataException>(() => new FileStore(path + "2")).Message.Contains("line 1"), "line");
            });
        }

        [Test]
        public static void AFileStaysSmall()
        {
            Run((time, path) =>
            {
                using (var store = new FileStore(path))
                {
                    for (var n = 0; n < 150; n++)
                    {
                        time.Wait(Ended(store.AddAsync(Event(n))));
                        time.Wait(Ended(store.RemoveAsync(store.First(1))));
                    }
                    Check.That(File.ReadAllLines(path).Length <= 201, "lines");
                }
            });
        }

        internal static Increment Event(int n)
        {
            return new Increment { UserId = "alice", Delta = n + 1, EventId = "e" + n };
        }

        internal static async Task<bool> Ended(Task task)
        {
            await task;
            return true;
        }

        private static OfflineQueue NewQueue(Virtual time, IQueueStore store, ISender sender)
        {
            return new OfflineQueue(new QueueOptions { Store = store, Sender = sender, Platform = time.Platform(null) });
        }

        private static void SendAll(Virtual time, OfflineQueue queue)
        {
            using (var cancel = new CancellationTokenSource())
            {
                var running = queue.RunAsync(cancel.Token);
                time.Until(() => queue.Count == 0 || running.IsFaulted);
                cancel.Cancel();
                time.Wait(Ended(running));
            }
        }

        private static void Run(Action<Virtual, string> test)
        {
            var folder = Directory.CreateDirectory(Path.Combine(Path.GetTempPath(), "scoreboard-queue-" + Guid.NewGuid()));
            try
            {
                Virtual.Run(time => test(time, Path.Combine(folder.FullName, "queue")));
            }
            finally
            {
                folder.Delete(true);
            }
        }

        private sealed class Sender : ISender
        {
            public readonly List<int> Sizes = new List<int>();
            private readonly Func<Increment, CancellationToken, ScoreboardException> send;

            public Sender(Func<Increment, CancellationToken, ScoreboardException> send)
            {
                this.send = send;
            }

            public async Task<IReadOnlyList<BatchResult>> SendAsync(IReadOnlyList<Increment> increments, CancellationToken cancel)
            {
                await Task.Yield();
                Sizes.Add(increments.Count);
                return increments.Select(i => new BatchResult { Error = send(i, cancel) }).ToList();
            }
        }
    }
}
