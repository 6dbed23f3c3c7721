using System;
using System.Collections;
using System.Collections.Generic;
using System.Diagnostics.CodeAnalysis;

namespace Scoreboard.Client
{
    /// <summary>Selects what a watch shows.</summary>
    public struct WatchQuery
    {
        /// <summary>The board; global by default.</summary>
        public string Board;

        /// <summary>10 or 100 rows; the server's setting reads.top_n by default.</summary>
        public int Limit;
    }

    /// <summary>How the states of a watch arrive.</summary>
    public enum Connection
    {
        /// <summary>Not at all, at the moment.</summary>
        Disconnected,

        /// <summary>Over a WebSocket.</summary>
        WebSocket,

        /// <summary>Over server-sent events.</summary>
        EventStream,

        /// <summary>By polling.</summary>
        Polling,
    }

    /// <summary>A change of the user's own score or rank.</summary>
    public sealed class Move
    {
        /// <summary>The user.</summary>
        public string UserId { get; internal set; }

        /// <summary>The new score.</summary>
        public long Score { get; internal set; }

        /// <summary>The new subscore; null on a board without subscores.</summary>
        public long? Subscore { get; internal set; }

        /// <summary>The new rank; 0 if unknown.</summary>
        public long Rank { get; internal set; }

        /// <summary>The rank before; 0 if unknown.</summary>
        public long PreviousRank { get; internal set; }
    }

    /// <summary>A move of the user to another tier of the board.</summary>
    public sealed class TierMove
    {
        /// <summary>The user.</summary>
        public string UserId { get; internal set; }

        /// <summary>The tier that the user is in now; "" for none.</summary>
        public string Tier { get; internal set; }

        /// <summary>The tier before; "" for none.</summary>
        public string PreviousTier { get; internal set; }
    }

    /// <summary>
    /// The latest state of a board. While disconnected, it keeps the last rows. A watch uses two states in turn, so that it
    /// allocates nothing: a state is valid until the next one is read; Copy one to keep it.
    /// </summary>
    public sealed class WatchState
    {
        /// <summary>For a periodic board, the current period.</summary>
        public string Board { get; internal set; } = "";

        /// <summary>The rows, best first.</summary>
        public Rows Top { get; } = new Rows();

        /// <summary>The epoch of these rows.</summary>
        public long Epoch { get; internal set; }

        /// <summary>The version of these rows, in their epoch.</summary>
        public long Version { get; internal set; }

        /// <summary>The server's time of these rows; the default value before the first.</summary>
        public DateTimeOffset UpdatedAt { get; internal set; }

        /// <summary>When the server last confirmed these rows, by this machine's clock.</summary>
        public DateTimeOffset? HeardAt { get; internal set; }

        /// <summary>How states arrive.</summary>
        public Connection Connection { get; internal set; }

        /// <summary>How often the watch was connected again.</summary>
        public int Reconnects { get; internal set; }

        /// <summary>Why the rows are not from a healthy ranking; "" if they are.</summary>
        public string Degraded { get; internal set; } = "";

        /// <summary>The latest change of the token's user; null before the first.</summary>
        [MaybeNull]
        public Move Me { get; internal set; }

        /// <summary>The latest change of that user's tier, on a board with tiers; null before the first.</summary>
        [MaybeNull]
        public TierMove Tier { get; internal set; }

        /// <summary>Why the watch is disconnected, or why it polls instead of following a stream; null if it is neither.</summary>
        [MaybeNull]
        public Exception Error { get; internal set; }

        /// <summary>A copy to keep.</summary>
        public WatchState Copy()
        {
            var copy = new WatchState();
            copy.CopyFrom(this);
            return copy;
        }

        internal void CopyFrom(WatchState s)
        {
            Board = s.Board;
            Top.CopyFrom(s.Top);
            Epoch = s.Epoch;
            Version = s.Version;
            UpdatedAt = s.UpdatedAt;
            HeardAt = s.HeardAt;
            Connection = s.Connection;
            Reconnects = s.Reconnects;
            Degraded = s.Degraded;
            Me = s.Me;
            Tier = s.Tier;
            Error = s.Error;
        }
    }

    /// <summary>Rows of a board, in a list that uses its rows again.</summary>
    public sealed class Rows : IReadOnlyList<Entry>
    {
        private Entry[] items = new Entry[16];

        /// <summary>The number of rows.</summary>
        public int Count { get; private set; }

        /// <summary>A row.</summary>
        public Entry this[int n]
        {
            get
            {
                if (n < 0 || n >= Count) throw new ArgumentOutOfRangeException(nameof(n));
                return items[n];
            }
        }

        /// <summary>For foreach, without an allocation.</summary>
        public Enumerator GetEnumerator()
        {
            return new Enumerator(this);
        }

        IEnumerator<Entry> IEnumerable<Entry>.GetEnumerator()
        {
            return new Enumerator(this);
        }

        IEnumerator IEnumerable.GetEnumerator()
        {
            return new Enumerator(this);
        }

        internal void Clear()
        {
            Count = 0;
        }

        /// <summary>Adds a row, whose fields are those of a row before.</summary>
        internal Entry Add()
        {
            if (Count == items.Length) Array.Resize(ref items, 2 * Count);
            return items[Count++] ?? (items[Count - 1] = new Entry());
        }

        internal void CopyFrom(Rows rows)
        {
            Clear();
            for (var n = 0; n < rows.Count; n++) Add().CopyFrom(rows.items[n]);
        }

        internal void CopyFrom(IReadOnlyList<Entry> rows)
        {
            Clear();
            for (var n = 0; n < rows.Count; n++) Add().CopyFrom(rows[n]);
        }

        internal bool Contains(string userId)
        {
            for (var n = 0; n < Count; n++)
            {
                if (items[n].UserId == userId) return true;
            }
            return false;
        }

        /// <summary>Sorts by rank; rows of the same rank keep their order. Few are out of order, usually.</summary>
        internal void Sort()
        {
            for (var n = 1; n < Count; n++)
            {
                var row = items[n];
                var to = n;
                for (; to > 0 && items[to - 1].Rank > row.Rank; to--) items[to] = items[to - 1];
                items[to] = row;
            }
        }

        /// <summary>Enumerates rows.</summary>
        public struct Enumerator : IEnumerator<Entry>
        {
            private readonly Rows rows;
            private int at;

            internal Enumerator(Rows rows)
            {
                this.rows = rows;
                at = -1;
            }

            /// <inheritdoc/>
            public Entry Current
            {
                get { return rows.items[at]; }
            }

            object IEnumerator.Current
            {
                get { return Current; }
            }

            /// <inheritdoc/>
            public bool MoveNext()
            {
                return ++at < rows.Count;
            }

            /// <inheritdoc/>
            public void Reset()
            {
                at = -1;
            }

            /// <inheritdoc/>
            public void Dispose()
            {
            }
        }
    }

    public sealed partial class Entry
    {
        internal void CopyFrom(Entry e)
        {
            AvatarUrl = e.AvatarUrl;
            DisplayName = e.DisplayName;
            Private = e.Private;
            Rank = e.Rank;
            Score = e.Score;
            Subscore = e.Subscore;
            UserId = e.UserId;
        }

        internal void Fill(JsonReader r)
        {
            AvatarUrl = DisplayName = UserId = "";
            Private = false;
            Rank = Score = 0;
            Subscore = null;
            r.BeginObject();
            while (r.NextField())
            {
                if (!ReadField(r)) r.Skip();
            }
        }
    }
}
