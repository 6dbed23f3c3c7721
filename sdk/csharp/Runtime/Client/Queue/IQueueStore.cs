using System;
using System.Collections.Generic;
using System.Diagnostics.CodeAnalysis;
using System.Threading.Tasks;

namespace Scoreboard.Client
{
    /// <summary>An increment in a store.</summary>
    public sealed class QueuedIncrement
    {
        /// <summary>Its key. Keys rise in the order of the queue.</summary>
        public long Key { get; set; }

        /// <summary>The increment, with its event id, and never with a signature or a key.</summary>
        public Increment Increment { get; set; }

        /// <summary>When it was first sent; null before.</summary>
        public DateTimeOffset? FirstSent { get; set; }
    }

    /// <summary>
    /// Keeps the increments of a queue. Calls come from one thread at a time. What a call has changed survives a crash of
    /// the program when its task ends.
    /// </summary>
    public interface IQueueStore
    {
        /// <summary>The number of increments.</summary>
        int Count { get; }

        /// <summary>The increment of a user's event, if it is there; null otherwise.</summary>
        [return: MaybeNull]
        QueuedIncrement Find(string userId, string eventId);

        /// <summary>Stores an increment at the end.</summary>
        Task AddAsync(Increment increment);

        /// <summary>Returns up to limit increments from the front, in order.</summary>
        IReadOnlyList<QueuedIncrement> First(int limit);

        /// <summary>Notes that increments, which were not sent before, are sent now.</summary>
        Task SentAsync(IReadOnlyList<QueuedIncrement> increments, DateTimeOffset now);

        /// <summary>Deletes increments. If that is lost in a crash, they are sent again and count once.</summary>
        Task RemoveAsync(IReadOnlyList<QueuedIncrement> increments);
    }

    /// <summary>
    /// Sends increments: ScoreboardSender, or one of your own that posts to your server, which signs them.
    /// </summary>
    public interface ISender
    {
        /// <summary>
        /// Sends increments, one or more of them, and returns a result for each. It fails with a ScoreboardException with the
        /// code of the response; any other error is treated as "offline".
        /// </summary>
        Task<IReadOnlyList<BatchResult>> SendAsync(
            IReadOnlyList<Increment> increments, System.Threading.CancellationToken cancel);
    }
}
