using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Scoreboard.Client
{
    public sealed partial class ScoreboardClient
    {
        private static readonly TimeSpan FirstLook = TimeSpan.FromMilliseconds(50);
        private static readonly TimeSpan LastLook = TimeSpan.FromSeconds(2);
        private static readonly TimeSpan QueuedFor = TimeSpan.FromSeconds(30);

        /// <summary>
        /// Counts an increment and returns its receipt. It retries temporary errors with the same event id, so the increment
        /// counts at most once. If it fails, the error has the event id, with which the increment can safely be sent again,
        /// now or tomorrow.
        ///
        /// If the server queues the increment, this waits for its outcome, for 30 s at most. Then the error has the status
        /// 202 and the code unavailable: the increment is accepted, and ReceiptAsync returns its outcome later.
        /// </summary>
        public async Task<Receipt> SubmitAsync(Increment increment, CancellationToken cancel = default(CancellationToken))
        {
            var receipts = await CountedAsync(increment, null, cancel).ConfigureAwait(stay);
            // The look-up of an event lists its receipts by the names of the boards.
            var first = receipts.FirstOrDefault(r => r.Board == "global") ?? receipts[0];
            if (receipts.Count > 1) first.Matched = receipts.Where(r => r != first).ToArray();
            return first;
        }

        /// <summary>
        /// Counts one increment on several boards, all or none, and returns their receipts in the order of boards. It
        /// ignores the increment's board. It waits for a queued increment as SubmitAsync does.
        /// </summary>
        public async Task<IReadOnlyList<Receipt>> SubmitBoardsAsync(
            Increment increment, IReadOnlyList<string> boards, CancellationToken cancel = default(CancellationToken))
        {
            var order = boards.ToList();
            var receipts = await CountedAsync(increment, order, cancel).ConfigureAwait(stay);
            // The receipt of a periodic board is of its period, such as daily:2026-11-21.
            return receipts.OrderBy(r => order.IndexOf(r.Board.Split(':')[0])).ToArray();
        }

        /// <summary>
        /// Lets the server queue an increment. The event is pending, or done if the server counted it at once;
        /// WaitForEventAsync waits for it.
        /// </summary>
        public Task<EventStatus> SubmitQueuedAsync(
            Increment increment, CancellationToken cancel = default(CancellationToken))
        {
            return IncrementAsync(increment.WithEventId(calls.Clock.Now), null, true, cancel);
        }

        /// <summary>
        /// Counts up to MaxBatch increments in one request, which needs the scope score:update, and returns a result for
        /// each, in order. If it fails, the outcome of all is unknown. They can be sent again, because it adds missing event
        /// ids to the given increments.
        /// </summary>
        public async Task<IReadOnlyList<BatchResult>> SubmitBatchAsync(
            IReadOnlyList<Increment> increments, CancellationToken cancel = default(CancellationToken))
        {
            foreach (var increment in increments) increment.EventId = increment.WithEventId(calls.Clock.Now).EventId;
            var call = new Call
            {
                Method = "POST", Path = "/v1/scores/increments", Sign = true, Body = () => BatchOf(increments),
            };
            var results = await calls.SendAsync(call, BatchResult.ReadAll, cancel).ConfigureAwait(stay);
            if (results.Count != increments.Count)
            {
                throw Errors.Connection(results.Count + " results for " + increments.Count + " increments");
            }
            for (var n = 0; n < results.Count; n++)
            {
                if (results[n].Receipt != null) results[n].Error = null;
                else if (results[n].Error == null) results[n].Error = Errors.NoReceipt("");
                if (results[n].Error != null) results[n].Error.EventId = increments[n].EventId;
            }
            return results;
        }

        /// <summary>
        /// Looks up an event by its id: of the token's user or, with the scope score:update, of any. The error is not_found
        /// if the server does not know the event, or does not know it yet.
        /// </summary>
        public Task<EventStatus> ReceiptAsync(
            string eventId, string userId = "", CancellationToken cancel = default(CancellationToken))
        {
            var query = new Query().Add("user_id", userId);
            return GetAsync("/v1/events/" + Calls.Segment(eventId), query, EventStatus.Read, cancel);
        }

        /// <summary>
        /// Waits until an event is done or rejected, for a time (60 s by default) at most. It looks at once, after 50 ms,
        /// and later every 2 s.
        /// </summary>
        public async Task<EventStatus> WaitForEventAsync(
            string eventId, string userId = "", TimeSpan? timeout = null,
            CancellationToken cancel = default(CancellationToken))
        {
            var end = calls.Clock.Now + (timeout ?? TimeSpan.FromSeconds(60));
            for (var wait = FirstLook;; wait = wait + wait < LastLook ? wait + wait : LastLook)
            {
                var found = await LookAsync(eventId, userId, cancel).ConfigureAwait(stay);
                if (found != null && found.Status != "pending") return found;
                if (calls.Clock.Now + wait > end)
                {
                    if (found != null) throw Errors.Pending(eventId);
                    var unknown = Errors.Connection("the outcome of event " + eventId + " is not known");
                    unknown.EventId = eventId;
                    throw unknown;
                }
                await calls.WaitAsync(wait, eventId, cancel).ConfigureAwait(stay);
            }
        }

        /// <summary>
        /// Starts an action of a user. The increment that ends it carries its ActionToken, has the same board and action,
        /// and is sent after MinDuration and before ExpiresAt.
        /// </summary>
        public Task<StartedAction> StartActionAsync(
            ActionRequest request, CancellationToken cancel = default(CancellationToken))
        {
            return SendAsync("POST", "/v1/actions", request.Json(), StartedAction.Read, cancel);
        }

        /// <summary>The state of an event; null if it may be known later.</summary>
        private async Task<EventStatus> LookAsync(string eventId, string userId, CancellationToken cancel)
        {
            try
            {
                return await ReceiptAsync(eventId, userId, cancel).ConfigureAwait(stay);
            }
            catch (ScoreboardException e) when (e.Code == "not_found" || e.Temporary)
            {
                return null;
            }
        }

        /// <summary>The receipts of an increment, one for each board.</summary>
        private async Task<IReadOnlyList<Receipt>> CountedAsync(
            Increment increment, IReadOnlyList<string> boards, CancellationToken cancel)
        {
            var sent = increment.WithEventId(calls.Clock.Now);
            if (boards != null) sent.Board = null;
            var found = await IncrementAsync(sent, boards, false, cancel).ConfigureAwait(stay);
            if (found.Status == "pending") found = await OutcomeAsync(sent, cancel).ConfigureAwait(stay);
            if (found.Status == "rejected")
            {
                throw new ScoreboardException(found.Code, found.Message, 200) { EventId = sent.EventId };
            }
            if (found.Receipts.Count == 0) throw Errors.NoReceipt(sent.EventId);
            return found.Receipts;
        }

        private async Task<EventStatus> OutcomeAsync(Increment sent, CancellationToken cancel)
        {
            try
            {
                return await WaitForEventAsync(sent.EventId, sent.UserId, QueuedFor, cancel).ConfigureAwait(stay);
            }
            catch (ScoreboardException e)
            {
                e.EventId = sent.EventId;
                if (!e.Temporary) throw;
                throw Errors.Pending(sent.EventId, e);
            }
        }

        private async Task<EventStatus> IncrementAsync(
            Increment sent, IReadOnlyList<string> boards, bool respondAsync, CancellationToken cancel)
        {
            var call = new Call
            {
                Method = "POST", Path = "/v1/scores/increment", EventId = sent.EventId, RespondAsync = respondAsync,
                Sign = sent.SignedInHeaders, Body = () => BodyOf(sent, boards),
            };
            var found = await calls.SendAsync(call, EventStatus.Read, cancel).ConfigureAwait(stay);
            if (found.Id == "") throw Errors.NoReceipt(sent.EventId);
            return found;
        }

        private string BodyOf(Increment sent, IReadOnlyList<string> boards)
        {
            var w = new JsonWriter();
            sent.Write(w, boards, calls.Clock.Now, calls.Settings);
            return w.ToString();
        }

        private string BatchOf(IReadOnlyList<Increment> increments)
        {
            var w = new JsonWriter().Open('{').Name("items").Open('[');
            foreach (var increment in increments) increment.Write(w, null, calls.Clock.Now, null);
            return w.Close(']').Close('}').ToString();
        }
    }
}
