using System.Collections.Generic;
using System.Globalization;
using System.Threading;
using System.Threading.Tasks;

namespace Scoreboard.Client
{
    public sealed partial class ScoreboardClient
    {
        /// <summary>Reads how a user is displayed. The error is not_found if the user has no profile.</summary>
        public Task<Profile> ProfileAsync(string userId, CancellationToken cancel = default(CancellationToken))
        {
            return GetAsync("/v1/users/" + Calls.Segment(userId) + "/profile", new Query(), Profile.Read, cancel);
        }

        /// <summary>Sets how a user is displayed; an absent or empty value removes the one before.</summary>
        public Task<Profile> PutProfileAsync(
            string userId, string displayName = "", string avatarUrl = "",
            CancellationToken cancel = default(CancellationToken))
        {
            var body = new JsonWriter().Open('{').Field("display_name", displayName).Field("avatar_url", avatarUrl);
            var path = "/v1/users/" + Calls.Segment(userId) + "/profile";
            return SendAsync("PUT", path, body.Close('}').ToString(), Profile.Read, cancel);
        }

        /// <summary>Reads a user's visibility on boards.</summary>
        public Task<Privacy> PrivacyAsync(string userId, CancellationToken cancel = default(CancellationToken))
        {
            return GetAsync("/v1/users/" + Calls.Segment(userId) + "/privacy", new Query(), Privacy.Read, cancel);
        }

        /// <summary>Sets the visibility of a user: public, friends, pseudonym or private.</summary>
        public Task<Privacy> PutPrivacyAsync(
            string userId, string visibility, CancellationToken cancel = default(CancellationToken))
        {
            var body = new JsonWriter().Open('{').Field("visibility", visibility).Close('}').ToString();
            return SendAsync("PUT", "/v1/users/" + Calls.Segment(userId) + "/privacy", body, Privacy.Read, cancel);
        }

        /// <summary>Reads the standings of the token's user and the user's friends, best first.</summary>
        public Task<UserList> FriendsTopAsync(string board = "", CancellationToken cancel = default(CancellationToken))
        {
            return GetAsync("/v1/leaderboard/friends", new Query().Add("board", board), UserList.Read, cancel);
        }

        /// <summary>
        /// Reads a page of the friends of the token's user; with the state requested or received, of the requests sent or
        /// received. after is NextAfter of the page before.
        /// </summary>
        public Task<FriendList> FriendsAsync(
            string state = "", string after = "", CancellationToken cancel = default(CancellationToken))
        {
            var query = new Query().Add("state", state).Add("after", after);
            return GetAsync("/v1/users/me/friends", query, FriendList.Read, cancel);
        }

        /// <summary>Sends a user a friend request, or accepts the user's.</summary>
        public Task<Friend> AskFriendAsync(string userId, CancellationToken cancel = default(CancellationToken))
        {
            return SendAsync("PUT", "/v1/users/me/friends/" + Calls.Segment(userId), null, Friend.Read, cancel);
        }

        /// <summary>Ends a friendship, withdraws a request or declines one.</summary>
        public Task<Friend> RemoveFriendAsync(string userId, CancellationToken cancel = default(CancellationToken))
        {
            return SendAsync("DELETE", "/v1/users/me/friends/" + Calls.Segment(userId), null, Friend.Read, cancel);
        }

        /// <summary>
        /// Makes the users of up to 500 pairs friends, all pairs or none. It requires the scope score:update.
        /// </summary>
        public Task<FriendsImported> ImportFriendsAsync(
            IEnumerable<FriendPair> pairs, CancellationToken cancel = default(CancellationToken))
        {
            var w = new JsonWriter().Open('{').Name("pairs").Open('[');
            foreach (var pair in pairs)
            {
                w.Open('{').Field("user_id", pair.UserId).Field("friend_id", pair.FriendId).Close('}');
            }
            return SendAsync("POST", "/v1/friends", w.Close(']').Close('}').ToString(), FriendsImported.Read, cancel);
        }

        /// <summary>
        /// Joins a period of a board that requires it, for the token's user; with the scope score:update for any user. The
        /// name of a board means its next period that can be joined. A repeat changes nothing.
        /// </summary>
        /// <exception cref="ScoreboardException">With the code tournament_full or join_closed: nobody can.</exception>
        public Task<Participation> JoinBoardAsync(
            string board, string userId = "", CancellationToken cancel = default(CancellationToken))
        {
            return ParticipationAsync("POST", board, userId, cancel);
        }

        /// <summary>Leaves a period that has not begun. The name of a board means the next one.</summary>
        public Task<Participation> LeaveBoardAsync(
            string board, string userId = "", CancellationToken cancel = default(CancellationToken))
        {
            return ParticipationAsync("DELETE", board, userId, cancel);
        }

        /// <summary>Reads how many have joined a period, and whether the user has.</summary>
        public Task<Participation> ParticipationAsync(
            string board, string userId = "", CancellationToken cancel = default(CancellationToken))
        {
            return ParticipationAsync("GET", board, userId, cancel);
        }

        private Task<Participation> ParticipationAsync(
            string method, string board, string userId, CancellationToken cancel)
        {
            var call = new Call
            {
                Method = method, Path = "/v1/boards/" + Calls.Segment(board) + "/join",
                Query = new Query().Add("user_id", userId),
            };
            return calls.SendAsync(call, Participation.Read, cancel);
        }

        /// <summary>
        /// Reads a page of the rewards of the token's user, newest first; with the scope score:update of any user. state is
        /// claimable, claimed, revoked or expired, or empty for all; before is NextBefore of the page before.
        /// </summary>
        public Task<RewardPage> RewardsAsync(
            string state = "", long? before = null, int? limit = null, string userId = "me",
            CancellationToken cancel = default(CancellationToken))
        {
            var query = new Query().Add("state", state).Add("before", before).Add("limit", limit);
            return GetAsync("/v1/users/" + Calls.Segment(userId) + "/rewards", query, RewardPage.Read, cancel);
        }

        /// <summary>
        /// Claims a reward of the token's user; with the scope score:update of any user. A repeat returns the same, so give
        /// out the reward once for each id.
        /// </summary>
        public Task<WonReward> ClaimAsync(
            long id, string userId = "me", CancellationToken cancel = default(CancellationToken))
        {
            var path = "/v1/users/" + Calls.Segment(userId) + "/rewards/" + id.ToString(CultureInfo.InvariantCulture);
            return SendAsync("POST", path + "/claim", null, WonReward.Read, cancel);
        }

        /// <summary>
        /// Reads the place of the token's user in a league, for its current period, or in a period, with k neighbours on
        /// each side; with the scope score:update that of any user.
        /// </summary>
        public Task<LeaguePlace> LeagueAsync(
            string board, int k = 0, string userId = "me", CancellationToken cancel = default(CancellationToken))
        {
            var user = userId == "me" ? "me" : "users/" + Calls.Segment(userId);
            var query = new Query().Add("k", k == 0 ? (int?)null : k);
            return GetAsync("/v1/leagues/" + Calls.Segment(board) + "/" + user, query, LeaguePlace.Read, cancel);
        }

        /// <summary>
        /// Reads the standings of a cohort, best first, with ranks in the cohort. after is NextAfter of the page before.
        /// </summary>
        public Task<CohortPage> CohortAsync(
            string board, long id, long? after = null, int? limit = null,
            CancellationToken cancel = default(CancellationToken))
        {
            var path = "/v1/leagues/" + Calls.Segment(board) + "/cohorts/" + id.ToString(CultureInfo.InvariantCulture);
            return GetAsync(path, new Query().Add("after", after).Add("limit", limit), CohortPage.Read, cancel);
        }

        /// <summary>
        /// Reads a page of what the ends of periods have decided about the token's user, newest first; with the scope
        /// score:update about any user. before is NextBefore of the page before.
        /// </summary>
        public Task<LeagueHistory> LeagueHistoryAsync(
            string league = "", long? before = null, int? limit = null, string userId = "me",
            CancellationToken cancel = default(CancellationToken))
        {
            var query = new Query().Add("league", league).Add("before", before).Add("limit", limit);
            return GetAsync("/v1/users/" + Calls.Segment(userId) + "/leagues", query, LeagueHistory.Read, cancel);
        }

        /// <summary>
        /// Creates a ticket for a page's WebSocket or EventSource of one board. Watch does so itself.
        /// </summary>
        public Task<JoinTicket> RealtimeTokenAsync(string board = "", CancellationToken cancel = default(CancellationToken))
        {
            return GetAsync("/v1/realtime/token", new Query().Add("board", board), JoinTicket.Read, cancel);
        }

        /// <summary>
        /// Watches a board: over a WebSocket, else server-sent events, else by polling. It reconnects by itself. A slow
        /// reader misses states between, never the latest. The watch ends when it is disposed of or cancelled, and fails if
        /// the server rejects this client permanently (its token, its scope, an unknown board). Nothing runs before the
        /// first state is read.
        /// </summary>
        public BoardWatch Watch(
            WatchQuery query = default(WatchQuery), CancellationToken cancel = default(CancellationToken))
        {
            return new BoardWatch(calls, query, cancel);
        }
    }
}
