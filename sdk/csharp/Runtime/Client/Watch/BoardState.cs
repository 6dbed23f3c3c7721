using System;
using System.Globalization;

namespace Scoreboard.Client
{
    /// <summary>Merges what the server says of a board, by the rules of docs/protocol.md.</summary>
    internal sealed class BoardState
    {
        /// <summary>
        /// How long only lower epochs arrive before one is shown: longer than a server shows the epoch before a rebuild.
        /// </summary>
        private static readonly TimeSpan AcceptLower = TimeSpan.FromSeconds(5);

        internal readonly WatchState State = new WatchState();
        private readonly IClock clock;
        private readonly Rows merged = new Rows();
        private bool synced; // whether the rows are those of the server's epoch and version

        // The latest state with a lower epoch, unless another came after it.
        private readonly WatchState lower = new WatchState();
        private DateTimeOffset? lowerSince;

        // Of the messages that State.Me and State.Tier are from.
        private Position moved;
        private Position tiered;

        internal BoardState(string board, IClock clock)
        {
            this.clock = clock;
            State.Board = board;
        }

        /// <summary>What a stream that connects says that it has; "" for nothing.</summary>
        internal string Resume
        {
            get
            {
                if (!synced || State.Degraded != "") return "";
                return State.Epoch.ToString(CultureInfo.InvariantCulture) + ":"
                    + State.Version.ToString(CultureInfo.InvariantCulture);
            }
        }

        /// <summary>Applies all rows, unless they are older than those shown.</summary>
        internal void Snapshot(long epoch, long version, string board, Rows top, DateTimeOffset at, string degraded)
        {
            if (epoch < State.Epoch)
            {
                if (!AcceptsLower(epoch, version, board, top, at, degraded)) return;
            }
            else if (epoch == State.Epoch && version < State.Version)
            {
                return;
            }
            lowerSince = null; // also by the state shown, from another node
            synced = true;
            State.Epoch = epoch;
            State.Version = version;
            Show(State, board, top, at, degraded);
        }

        /// <summary>Replaces rows, and keeps their version.</summary>
        internal void Show(string board, Rows top, DateTimeOffset at, string degraded)
        {
            Show(State, board, top, at, degraded);
        }

        /// <summary>Applies changed rows. It returns false if the rows are not those of the delta's base.</summary>
        internal bool Delta(StreamMessage m)
        {
            if (m.Epoch < State.Epoch)
            {
                if (lowerSince != null && lower.Epoch == m.Epoch && lower.Version == m.Base && lower.Degraded == "")
                {
                    Merge(lower, m);
                }
                return true;
            }
            if (m.Epoch == State.Epoch
                && (m.Version < State.Version || (m.Version == State.Version && State.Degraded == "")))
            {
                return true;
            }
            if (!synced || State.Degraded != "" || m.Epoch != State.Epoch || m.Base != State.Version)
            {
                synced = false;
                return false;
            }
            Merge(State, m);
            return true;
        }

        /// <summary>Handles a message without rows: the latest state is still the server's.</summary>
        internal void Confirm()
        {
            if (lowerSince != null)
            {
                Snapshot(lower.Epoch, lower.Version, lower.Board, lower.Top, lower.UpdatedAt, lower.Degraded);
            }
        }

        /// <summary>Applies a change of the user's own standing, unless it is older than the one shown.</summary>
        internal void Move(StreamMessage m)
        {
            if (!moved.Advance(m)) return;
            State.Me = new Move
            {
                UserId = m.UserId, Score = m.Score, Subscore = m.Subscore, Rank = m.Rank, PreviousRank = m.PreviousRank,
            };
        }

        /// <summary>Applies a change of the user's tier, unless it is older than the one shown.</summary>
        internal void Tier(StreamMessage m)
        {
            if (!tiered.Advance(m)) return;
            State.Tier = new TierMove { UserId = m.UserId, Tier = m.Tier, PreviousTier = m.PreviousTier };
        }

        /// <summary>Whether a state with a lower epoch replaces the one shown: nothing else has arrived for a while.</summary>
        private bool AcceptsLower(
            long epoch, long version, string board, Rows top, DateTimeOffset at, string degraded)
        {
            var since = lowerSince ?? clock.Now;
            lowerSince = since;
            lower.Epoch = epoch;
            lower.Version = version;
            Show(lower, board, top, at, degraded);
            if (clock.Now - since < AcceptLower) return false;
            moved = tiered = default(Position); // any change from now on is newer
            return true;
        }

        private static void Show(WatchState s, string board, Rows top, DateTimeOffset at, string degraded)
        {
            s.Board = board;
            if (s.Top != top) s.Top.CopyFrom(top);
            s.UpdatedAt = at;
            s.Degraded = degraded;
        }

        /// <summary>Applies a delta to the rows of a state.</summary>
        private void Merge(WatchState before, StreamMessage m)
        {
            merged.Clear();
            foreach (var row in before.Top)
            {
                if (!m.Removed.Contains(row.UserId) && !m.Changed.Contains(row.UserId)) merged.Add().CopyFrom(row);
            }
            foreach (var row in m.Changed) merged.Add().CopyFrom(row);
            merged.Sort();
            Snapshot(m.Epoch, m.Version, m.Board != "" ? m.Board : before.Board, merged, m.At, "");
        }

        /// <summary>The place of a message among those about the user.</summary>
        private struct Position
        {
            private long version;
            private long epoch;

            /// <summary>Moves to a message, unless it is older than the one before.</summary>
            internal bool Advance(StreamMessage m)
            {
                if (m.Version < version && m.Epoch <= epoch) return false;
                version = m.Version;
                epoch = m.Epoch;
                return true;
            }
        }
    }
}
