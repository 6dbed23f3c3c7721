using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace Scoreboard.Client
{
    public sealed partial class ScoreboardClient
    {
        /// <summary>
        /// Reads the top of a board, or with a cursor the next page. A cursor is a standing, not an offset: while others
        /// move, users whose standing is unchanged are neither skipped nor repeated.
        /// </summary>
        public Task<Top> TopAsync(TopQuery q = default(TopQuery), CancellationToken cancel = default(CancellationToken))
        {
            var query = new Query().Add("board", q.Board).Add("limit", Set(q.Limit)).Add("min_version", Set(q.MinVersion));
            return GetAsync("/v1/leaderboard/top", query.Add("cursor", q.Cursor).Add("tier", q.Tier), Top.Read, cancel);
        }

        /// <summary>Reads the rows of a board, page by page.</summary>
        public Pages<Entry> Entries(TopQuery q = default(TopQuery), CancellationToken cancel = default(CancellationToken))
        {
            return new Pages<Entry>(q.Cursor, stay, async cursor =>
            {
                q.Cursor = cursor;
                var page = await TopAsync(q, cancel).ConfigureAwait(stay);
                return new Page<Entry> { Entries = page.Entries, NextCursor = page.NextCursor };
            });
        }

        /// <summary>Reads the standing of the token's user.</summary>
        public Task<Place> MeAsync(PlaceQuery q = default(PlaceQuery), CancellationToken cancel = default(CancellationToken))
        {
            return PlaceAsync("/v1/leaderboard/me", q, cancel);
        }

        /// <summary>Reads a user's score and rank.</summary>
        public Task<Place> ScoreAsync(
            string userId, PlaceQuery q = default(PlaceQuery), CancellationToken cancel = default(CancellationToken))
        {
            return PlaceAsync("/v1/users/" + Calls.Segment(userId) + "/score", q, cancel);
        }

        /// <summary>Reads a user's rank, with neighbours above and below.</summary>
        public Task<Place> RankAsync(
            string userId, PlaceQuery q = default(PlaceQuery), CancellationToken cancel = default(CancellationToken))
        {
            return PlaceAsync("/v1/users/" + Calls.Segment(userId) + "/rank", q, cancel);
        }

        /// <summary>Reads the standings of up to 100 users.</summary>
        public Task<UserList> UsersAsync(
            IReadOnlyList<string> userIds, string board = "", CancellationToken cancel = default(CancellationToken))
        {
            var body = new JsonWriter().Open('{').Field("board", board).Field("user_ids", userIds).Close('}').ToString();
            return SendAsync("POST", "/v1/leaderboard/users", body, UserList.Read, cancel);
        }

        /// <summary>
        /// Reads a page of a user's ledger: of the token's user or, with the scope score:operate, of any.
        /// </summary>
        public Task<Statement> StatementAsync(
            string userId, StatementQuery q = default(StatementQuery),
            CancellationToken cancel = default(CancellationToken))
        {
            var query = new Query().Add("board", q.Board).Add("from", q.From).Add("to", q.To).Add("cursor", q.Cursor);
            var path = "/v1/users/" + Calls.Segment(userId) + "/statement";
            return GetAsync(path, query.Add("limit", Set(q.Limit)), Statement.Read, cancel);
        }

        /// <summary>Reads a user's ledger, page by page, newest first.</summary>
        public Pages<StatementEntry> StatementEntries(
            string userId, StatementQuery q = default(StatementQuery),
            CancellationToken cancel = default(CancellationToken))
        {
            return new Pages<StatementEntry>(q.Cursor, stay, async cursor =>
            {
                q.Cursor = cursor;
                var page = await StatementAsync(userId, q, cancel).ConfigureAwait(stay);
                return new Page<StatementEntry> { Entries = page.Entries, NextCursor = page.NextCursor };
            });
        }

        /// <summary>
        /// Reads a user's score and rank over time, of at most 1,000 points. The user "me" is the token's.
        /// </summary>
        public Task<RankHistory> RankHistoryAsync(
            string userId, HistoryQuery q = default(HistoryQuery), CancellationToken cancel = default(CancellationToken))
        {
            var query = new Query().Add("board", q.Board).Add("from", q.From).Add("to", q.To).Add("step", q.Step);
            var path = "/v1/users/" + Calls.Segment(userId) + "/history";
            return GetAsync(path, query.Add("as", q.AsNow ? "now" : ""), RankHistory.Read, cancel);
        }

        /// <summary>
        /// Reads the top of a board at regular times of the past, where it changed: a part of at most 500 steps.
        /// </summary>
        public Task<Timeline> TimelineAsync(TimelineQuery q = default(TimelineQuery), CancellationToken cancel = default(CancellationToken))
        {
            var query = new Query().Add("board", q.Board).Add("from", q.From).Add("to", q.To).Add("step", q.Step);
            query.Add("limit", Set(q.Limit)).Add("as", q.AsNow ? "now" : "");
            return GetAsync("/v1/leaderboard/timeline", query, Timeline.Read, cancel);
        }

        /// <summary>
        /// Reads what a user's rank follows from: of the token's user ("me") or, with the scope score:operate, of any.
        /// </summary>
        public Task<RankExplanation> ExplainRankAsync(
            string userId, string board = "", CancellationToken cancel = default(CancellationToken))
        {
            var path = "/v1/users/" + Calls.Segment(userId) + "/rank/explain";
            return GetAsync(path, new Query().Add("board", board), RankExplanation.Read, cancel);
        }

        private Task<Place> PlaceAsync(string path, PlaceQuery q, CancellationToken cancel)
        {
            // k is sent even if it is 0, which is not the server's default everywhere.
            var query = new Query().Add("board", q.Board).Add("k", (long?)q.Neighbours);
            query.Add("min_version", Set(q.MinVersion)).Add("score", q.Score).Add("subscore", q.Subscore);
            return GetAsync(path, query, Place.Read, cancel);
        }

        private static long? Set(long value)
        {
            return value == 0 ? (long?)null : value;
        }
    }
}
