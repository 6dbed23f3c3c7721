using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Scoreboard.Client
{
    /// <summary>The options of a queue.</summary>
    public sealed class QueueOptions
    {
        /// <summary>Keeps the increments, such as a FileStore.</summary>
        public IQueueStore Store { get; set; }

        /// <summary>Sends them.</summary>
        public ISender Sender { get; set; }

        /// <summary>
        /// Increments sent in one request, up to 500. With 1 the order of each user is strict; more need the scope
        /// score:update.
        /// </summary>
        public int Batch { get; set; } = 1;

        /// <summary>Maximum number of increments that wait.</summary>
        public int Max { get; set; } = 10000;

        /// <summary>Called for each increment that was counted and deleted, with its receipt (null from some senders).</summary>
        public Action<Increment, Receipt> OnSent { get; set; }

        /// <summary>
        /// Called for each increment that will never be counted, such as one beyond the board's limits. It is deleted
        /// afterwards. Without this function, RunAsync fails and the increment stays.
        /// </summary>
        public Action<Increment, ScoreboardException> OnRejected { get; set; }

        /// <summary>Called for each failure after which the queue waits and tries again.</summary>
        public Action<ScoreboardException> OnWaiting { get; set; }

        /// <summary>The same as that of the client.</summary>
        public Platform Platform { get; set; } = new Platform();
    }

    /// <summary>
    /// Keeps increments while the server cannot be reached, and sends them in order. An increment is deleted only after it
    /// was counted or rejected, and each has an event id, so that it counts once even if it is sent again after a crash. In
    /// a batch, an increment that the server rejects for the moment is sent again after those behind it.
    /// </summary>
    public sealed class OfflineQueue
    {
        private const int MaxIncrement = 4096; // characters, as of a request
        private const int MaxBatchSize = 512 << 10; // characters; the server takes 1 MiB
        private static readonly TimeSpan MaxWait = TimeSpan.FromSeconds(30);
        private static readonly TimeSpan FirstWait = TimeSpan.FromMilliseconds(200);

        // The server recognises a repeat for at least 25 days (ledger.window). What was first sent longer ago, or at a time
        // that the clock now calls the future, might count twice.
        private static readonly TimeSpan MaxAge = TimeSpan.FromDays(25);
        private static readonly TimeSpan MaxClockStep = TimeSpan.FromHours(1);

        private readonly QueueOptions options;
        private readonly IQueueStore store;
        private readonly IClock clock;
        private readonly bool stay;
        private readonly Jitter jitter = new Jitter();
        private readonly SemaphoreSlim access = new SemaphoreSlim(1, 1); // to the store
        private readonly SemaphoreSlim running = new SemaphoreSlim(1, 1);
        private TaskCompletionSource<bool> added = new TaskCompletionSource<bool>();

        /// <summary>A queue with a store and a sender.</summary>
        public OfflineQueue(QueueOptions options)
        {
            if (options.Store == null || options.Sender == null) throw new ArgumentException("a queue needs a store and a sender");
            if (options.Batch < 1 || options.Batch > ScoreboardClient.MaxBatch || options.Max < 1)
            {
                throw new ArgumentException("Batch must be between 1 and 500, and Max greater than 0");
            }
            this.options = options;
            store = options.Store;
            clock = options.Platform.Clock;
            stay = options.Platform.StaysOnContext;
        }

        /// <summary>The number of increments that wait.</summary>
        public int Count
        {
            get { return store.Count; }
        }

        /// <summary>
        /// Stores an increment and returns its event id. An event id that waits already is kept once. When this returns, the
        /// increment survives a crash.
        /// </summary>
        public async Task<string> AddAsync(Increment increment)
        {
            var kept = increment.WithEventId(clock.Now);
            var text = QueuedText.Of(kept);
            if (text.Length > MaxIncrement) throw Refused("payload_too_large", "the increment is over 4 KiB", kept);
            await access.WaitAsync().ConfigureAwait(stay);
            try
            {
                var known = store.Find(kept.UserId, kept.EventId);
                if (known != null)
                {
                    if (QueuedText.Of(known.Increment) == text) return kept.EventId;
                    throw Refused("event_conflict", "the event id waits in the queue with another increment", kept);
                }
                if (store.Count >= options.Max)
                {
                    throw Refused("overloaded", "the queue is full: " + options.Max + " increments wait", kept);
                }
                await store.AddAsync(kept).ConfigureAwait(stay);
            }
            finally
            {
                access.Release();
            }
            added.TrySetResult(true);
            return kept.EventId;
        }

        /// <summary>
        /// Sends what waits and what is added, until it is cancelled. It fails if an increment is rejected and there is no
        /// OnRejected.
        /// </summary>
        public async Task RunAsync(CancellationToken cancel)
        {
            if (!running.Wait(0)) throw new InvalidOperationException("the queue runs already");
            try
            {
                await SendAsync(cancel).ConfigureAwait(stay);
            }
            catch (OperationCanceledException) when (cancel.IsCancellationRequested)
            {
            }
            finally
            {
                running.Release();
            }
        }

        private async Task SendAsync(CancellationToken cancel)
        {
            for (var failures = 0;;)
            {
                cancel.ThrowIfCancellationRequested();
                added = new TaskCompletionSource<bool>();
                var queued = await TakeAsync().ConfigureAwait(stay);
                if (queued.Count == 0)
                {
                    using (cancel.Register(Wake)) await added.Task.ConfigureAwait(stay);
                    continue;
                }
                var error = await SendSomeAsync(queued, cancel).ConfigureAwait(stay);
                if (error == null)
                {
                    failures = 0;
                    continue;
                }
                cancel.ThrowIfCancellationRequested();
                options.OnWaiting?.Invoke(error);
                var wait = jitter.Next(failures++, FirstWait, MaxWait);
                await clock.Delay(error.RetryAfter > wait ? error.RetryAfter : wait, cancel).ConfigureAwait(stay);
            }
        }

        private void Wake()
        {
            added.TrySetResult(true);
        }

        /// <summary>Takes the front of the queue, and notes that it is sent now.</summary>
        private async Task<List<QueuedIncrement>> TakeAsync()
        {
            await access.WaitAsync().ConfigureAwait(stay);
            try
            {
                var size = 0;
                var queued = store.First(options.Batch)
                    .TakeWhile(q => (size += QueuedText.Of(q.Increment).Length) <= MaxBatchSize).ToList();
                var fresh = queued.Where(q => q.FirstSent == null).ToList();
                if (fresh.Count > 0) await store.SentAsync(fresh, clock.Now).ConfigureAwait(stay);
                return queued;
            }
            finally
            {
                access.Release();
            }
        }

        /// <summary>Sends increments and returns the error after which to wait, if any.</summary>
        private async Task<ScoreboardException> SendSomeAsync(List<QueuedIncrement> queued, CancellationToken cancel)
        {
            var old = queued.Where(IsTooOld).ToList();
            var young = queued.Except(old).ToList();
            var settled = new List<QueuedIncrement>();
            var sent = new List<KeyValuePair<Increment, Receipt>>();
            ScoreboardException later = null, fatal = null;
            foreach (var q in old)
            {
                const string message = "first sent so long ago that the server might count it again";
                if (Reject(q, Refused("gone", message, q.Increment), ref fatal)) settled.Add(q);
            }
            var results = young.Count == 0 ? new BatchResult[0] : await ResultsAsync(young, cancel).ConfigureAwait(stay);
            for (var n = 0; n < results.Count; n++)
            {
                var error = results[n].Error;
                if (error == null)
                {
                    settled.Add(young[n]);
                    sent.Add(new KeyValuePair<Increment, Receipt>(young[n].Increment, results[n].Receipt));
                }
                else if (Waits(error)) later = later ?? error;
                else if (Reject(young[n], error, ref fatal)) settled.Add(young[n]);
            }
            if (settled.Count > 0) await RemoveAsync(settled).ConfigureAwait(stay);
            foreach (var each in sent) options.OnSent?.Invoke(each.Key, each.Value);
            if (fatal != null) throw fatal;
            return later;
        }

        private async Task<IReadOnlyList<BatchResult>> ResultsAsync(List<QueuedIncrement> queued, CancellationToken cancel)
        {
            try
            {
                var increments = queued.Select(q => q.Increment).ToList();
                var results = await options.Sender.SendAsync(increments, cancel).ConfigureAwait(stay);
                if (results.Count == queued.Count) return results;
                return new[] { new BatchResult { Error = Errors.Connection("a result for each increment is missing") } };
            }
            catch (Exception e) when (!cancel.IsCancellationRequested)
            {
                var error = Errors.Wrap("send an increment", e);
                // A batch that was rejected as a whole: none of its increments was processed.
                if (queued.Count > 1 && !Waits(error)) throw error;
                return new[] { new BatchResult { Error = error } };
            }
        }

        private bool Reject(QueuedIncrement q, ScoreboardException error, ref ScoreboardException fatal)
        {
            if (options.OnRejected == null)
            {
                fatal = fatal ?? error;
                return false;
            }
            options.OnRejected(q.Increment, error);
            return true;
        }

        private async Task RemoveAsync(List<QueuedIncrement> settled)
        {
            await access.WaitAsync().ConfigureAwait(stay);
            try
            {
                await store.RemoveAsync(settled).ConfigureAwait(stay);
            }
            finally
            {
                access.Release();
            }
        }

        private bool IsTooOld(QueuedIncrement q)
        {
            if (q.FirstSent == null) return false;
            var age = clock.Now - q.FirstSent.Value;
            return age > MaxAge || age < -MaxClockStep;
        }

        /// <summary>Whether an increment may be counted later, also with another token or key.</summary>
        private static bool Waits(ScoreboardException error)
        {
            return error.Temporary || error.Code == "unauthorized" || error.Code == "invalid_signature";
        }

        private static ScoreboardException Refused(string code, string message, Increment increment)
        {
            return new ScoreboardException(code, message) { EventId = increment.EventId };
        }
    }
}
