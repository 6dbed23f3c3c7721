using System;
using System.Collections.Generic;

namespace Scoreboard.Client
{
    /// <summary>Selects a page of a board.</summary>
    public struct TopQuery
    {
        /// <summary>The board; global by default.</summary>
        public string Board;

        /// <summary>1 to 100 rows; 10 by default.</summary>
        public int Limit;

        /// <summary>NextCursor of the page before.</summary>
        public string Cursor;

        /// <summary>Only users in this tier of the board; without MinVersion.</summary>
        public string Tier;

        /// <summary>Waits up to 1 s for this version of the board.</summary>
        public long MinVersion;
    }

    /// <summary>Selects a user's standing.</summary>
    public struct PlaceQuery
    {
        /// <summary>The board; global by default.</summary>
        public string Board;

        /// <summary>Rows above and below the user; none by default.</summary>
        public int Neighbours;

        /// <summary>The standing must include the user's receipt with this version.</summary>
        public long MinVersion;

        /// <summary>A score to rank if the user is not on the board: the error not_found has it in WouldRank.</summary>
        public long? Score;

        /// <summary>Goes with Score, on a board that has subscores.</summary>
        public long? Subscore;
    }

    /// <summary>Selects a page of a statement.</summary>
    public struct StatementQuery
    {
        /// <summary>One board, or all periods of a family; all boards by default.</summary>
        public string Board;

        /// <summary>The first time.</summary>
        public DateTimeOffset? From;

        /// <summary>The time after the last one.</summary>
        public DateTimeOffset? To;

        /// <summary>NextCursor of the page before.</summary>
        public string Cursor;

        /// <summary>Entries of a page, up to 100.</summary>
        public int Limit;
    }

    /// <summary>Selects the points of a rank history: a day in hours, up to now, by default.</summary>
    public struct HistoryQuery
    {
        /// <summary>global by default; a family is read in the period of the last point.</summary>
        public string Board;

        /// <summary>The first point.</summary>
        public DateTimeOffset? From;

        /// <summary>The last point at the latest.</summary>
        public DateTimeOffset? To;

        /// <summary>Duration between points, such as "1h" (the default); 1s to 8784h.</summary>
        public string Step;

        /// <summary>Whether to leave out the events that are reversed, and the users that are banned, now.</summary>
        public bool AsNow;
    }

    /// <summary>Selects a part of a timeline: the period, or the last day, by default.</summary>
    public struct TimelineQuery
    {
        /// <summary>
        /// global by default; a family is read in the period of From, or else of To. For the next part Board of the one
        /// before.
        /// </summary>
        public string Board;

        /// <summary>The first step; for the next part NextFrom of the one before.</summary>
        public DateTimeOffset? From;

        /// <summary>The last step; for the next part EndsAt of the one before.</summary>
        public DateTimeOffset? To;

        /// <summary>Duration between steps, such as "1h"; 1s to 8784h, and a 250th of the timeline by default.</summary>
        public string Step;

        /// <summary>Rows, 1 to 100; 10 by default.</summary>
        public int Limit;

        /// <summary>Whether to leave out the events that are reversed, and the users that are banned, now.</summary>
        public bool AsNow;
    }

    /// <summary>Starts an action: its user, its board or boards, and limits within those of the boards.</summary>
    public sealed class ActionRequest
    {
        /// <summary>The user; that of the token by default.</summary>
        public string UserId { get; set; }

        /// <summary>The board; global by default.</summary>
        public string Board { get; set; }

        /// <summary>The boards, instead of Board.</summary>
        public IReadOnlyList<string> Boards { get; set; }

        /// <summary>What the user does.</summary>
        public string Action { get; set; }

        /// <summary>Id of the action; a new one by default.</summary>
        public string ActionId { get; set; }

        /// <summary>How long it lasts at least, such as "30s".</summary>
        public string MinDuration { get; set; }

        /// <summary>How long its token is valid, such as "10m".</summary>
        public string Ttl { get; set; }

        /// <summary>The smallest delta of its increment.</summary>
        public long? MinDelta { get; set; }

        /// <summary>The largest delta of its increment.</summary>
        public long? MaxDelta { get; set; }

        internal string Json()
        {
            return new JsonWriter().Open('{').Field("user_id", UserId).Field("board", Board).Field("boards", Boards)
                .Field("action", Action).Field("action_id", ActionId).Field("min_duration", MinDuration)
                .Field("ttl", Ttl).Field("min_delta", MinDelta).Field("max_delta", MaxDelta).Close('}').ToString();
        }
    }

    /// <summary>Two users who are to be friends.</summary>
    public struct FriendPair
    {
        /// <summary>One of them.</summary>
        public string UserId;

        /// <summary>The other one.</summary>
        public string FriendId;
    }
}
