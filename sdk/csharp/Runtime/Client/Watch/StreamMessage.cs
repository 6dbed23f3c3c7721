using System;
using System.Collections.Generic;

namespace Scoreboard.Client
{
    /// <summary>A message of a stream. It is filled again with each message.</summary>
    internal sealed class StreamMessage
    {
        internal string Type, Board, BoardState, DegradedReason, ErrorCode, Message, Reason, UserId, Tier, PreviousTier;
        internal long Epoch, Version, Base, Score, Rank, PreviousRank, ReconnectAfterMs;
        internal long? Subscore;
        internal bool IsDegraded;
        internal DateTimeOffset At;
        internal readonly Rows Top = new Rows();
        internal readonly Rows Changed = new Rows();
        internal readonly List<string> Removed = new List<string>();

        /// <summary>Why the rows are not from a healthy ranking, or may lack changes; "" if neither.</summary>
        internal string Degraded
        {
            get { return DegradedOf(IsDegraded, DegradedReason, BoardState); }
        }

        internal static string DegradedOf(bool degraded, string reason, string state)
        {
            if (reason != "") return reason;
            if (degraded) return "unknown";
            return state == "HEALTHY" ? "" : state.ToLowerInvariant();
        }

        internal void Fill(JsonReader r)
        {
            Type = Board = BoardState = DegradedReason = ErrorCode = Message = Reason = UserId = Tier = PreviousTier = "";
            Epoch = Version = Base = Score = Rank = PreviousRank = ReconnectAfterMs = 0;
            Subscore = null;
            IsDegraded = false;
            At = default(DateTimeOffset);
            Top.Clear();
            Changed.Clear();
            Removed.Clear();
            r.BeginObject();
            while (r.NextField()) Read(r);
            r.End();
        }

        private void Read(JsonReader r)
        {
            if (r.Is("type")) Type = r.Text();
            else if (r.Is("board")) Board = r.Text();
            else if (r.Is("version")) Version = r.Long();
            else if (r.Is("epoch")) Epoch = r.Long();
            else if (r.Is("ts")) At = r.Time();
            else if (r.Is("top")) ReadRows(r, Top);
            else if (r.Is("base")) Base = r.Long();
            else if (r.Is("changed")) ReadRows(r, Changed);
            else if (r.Is("removed")) ReadRemoved(r);
            else if (r.Is("degraded")) IsDegraded = r.Bool();
            else if (r.Is("degraded_reason")) DegradedReason = r.Text();
            else if (r.Is("board_state")) BoardState = r.Text();
            else if (r.Is("user_id")) UserId = r.Text();
            else if (r.Is("score")) Score = r.Long();
            else if (r.Is("subscore")) Subscore = r.Long();
            else if (r.Is("rank")) Rank = r.Long();
            else if (r.Is("previous_rank")) PreviousRank = r.Long();
            else if (r.Is("tier")) Tier = r.Text();
            else if (r.Is("previous_tier")) PreviousTier = r.Text();
            else if (r.Is("error_code")) ErrorCode = r.Text();
            else if (r.Is("message")) Message = r.Text();
            else if (r.Is("reason")) Reason = r.Text();
            else if (r.Is("reconnect_after_ms")) ReconnectAfterMs = r.Long();
            else r.Skip();
        }

        private static void ReadRows(JsonReader r, Rows rows)
        {
            if (r.Null()) return;
            r.BeginArray();
            while (r.NextItem()) rows.Add().Fill(r);
        }

        private void ReadRemoved(JsonReader r)
        {
            if (r.Null()) return;
            r.BeginArray();
            while (r.NextItem()) Removed.Add(r.Text());
        }
    }
}
