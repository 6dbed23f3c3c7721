package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// rowsOfARequest is how many rows and entries of indexes a read may cost in PostgreSQL: those of the
// caller's own, of a page, and of up to 500 friends, each looked up in two indexes.
const rowsOfARequest = 2_000

// Whoever asks, and however many users, friends and events there are, a request reads a few rows.
// The board has 40,000 users, of whom 30,000 were private before, and one user has 30,000 requests to be a friend.
func TestRequestsOfEveryCallerReadFewRows(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	conn := backends.Connect(t, h.postgres)
	fillForRowCounts(t, conn)
	h.settings["reads-anonymous"] = "true"
	h.settings["limit-anonymous-per-minute"], h.settings["limit-admin-per-minute"] = "0", "0"
	h.settings["limit-events-per-minute"], h.settings["limit-address-per-minute"] = "0", "0"
	built := h.start(allRoles)
	h.await("standings", func() bool {
		return conn.Count(t, `select count(*) from standings where board_id = 'global'`) >= 40_000
	})
	tiers := []client.Tier{{Name: "gold", Rank: 50}, {Name: "silver", Rank: 20_000}, {Name: "bronze", Percentile: 100}}
	if _, err := built.client("root", auth.ScopeAdmin).SetBoard(t.Context(), "arena", client.BoardChange{
		Attempts: new(int64(5)), Tiers: &tiers,
	}); err != nil {
		t.Fatal(err)
	}
	starts, ends := time.Now().Add(time.Hour), time.Now().Add(48*time.Hour)
	if _, err := built.client("root", auth.ScopeAdmin).CreateBoard(t.Context(), client.BoardRequest{
		Board: "open", Period: "season", Season: "spring", StartsAt: &starts, EndsAt: &ends, Join: "required",
	}); err != nil {
		t.Fatal(err)
	}
	conn.Do(t, `insert into board_players select 'open:spring', user_id, now() from users where user_id like 'u%'`)
	conn.Do(t, `insert into board_player_counts select 'open:spring', count(*) from board_players`)
	if _, err := built.client("root", auth.ScopeAdmin).CreateBoard(t.Context(), client.BoardRequest{
		Board: "stars", Period: "season", Season: "one", EndsAt: &ends, League: &client.League{Divisions: 5},
	}); err != nil {
		t.Fatal(err)
	}
	fillLeagueForRowCounts(t, conn)
	server := built.client("game", auth.ScopeUpdate)
	for i := range 20 { // so that the past has something to read
		one := client.Increment{User: fmt.Sprintf("past%02d", i), Delta: 1}
		if _, err := server.Submit(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	cursor := func(query string) string {
		var page wire.Top
		h.await("the cursor of a page", func() bool {
			_, _, body := request(t, http.MethodGet, built.URL+"/v1/leaderboard/top?limit=100"+query, "",
				bearer(h.token("u20000", "", time.Hour)))
			return json.Unmarshal([]byte(body), &page) == nil && !page.Degraded && page.NextCursor != ""
		})
		return url.QueryEscape(page.NextCursor)
	}
	next, nextOfTier := cursor(""), cursor("&board=arena&tier=silver")
	past := time.Now().UTC().Format(time.RFC3339Nano)
	built.stop()
	n := h.start("api", "postgres-max-conns", "2")

	anyone := []string{
		"GET /v1/leaderboard/top?limit=100", "GET /v1/leaderboard/top?board=arena", "GET /v1/users/u20000/score",
		"GET /v1/users/u20000/rank?k=5", "GET /v1/users/nobody/rank", "GET /v1/users/private/rank",
		`POST /v1/leaderboard/users {"user_ids":["u00001","u20000","private","banned","nobody"]}`,
		"GET /v1/leaderboard/top?board=arena&tier=gold", "GET /v1/leaderboard/top?board=arena&tier=silver",
		"GET /v1/leaderboard/top?board=arena&tier=bronze&limit=100", "GET /v1/leaderboard/top?limit=100&cursor=" + next,
		"GET /v1/leaderboard/top?limit=100&board=arena&tier=silver&cursor=" + nextOfTier,
		"GET /v1/users/u20000/rank?k=5&board=arena", "GET /v1/leaderboard/top?limit=100&at=" + past,
		"GET /v1/leaderboard/top?limit=100&as=now&at=" + past, "GET /v1/users/past05/rank?k=5&at=" + past,
		"GET /v1/users/past05/history?step=1h&from=" + past,
		"GET /v1/leaderboard/timeline?step=1m&limit=10&from=" + past,
	}
	player := []string{
		"GET /v1/leagues/stars/cohorts/7?limit=200", "GET /v1/boards/stars/rewards",
		"GET /v1/leagues/stars/me?k=50", "GET /v1/leagues/stars:one/me", "GET /v1/users/me/leagues?limit=100",
		"GET /v1/users/me/rewards", "GET /v1/users/me/rewards?state=claimed&limit=100",
		"POST /v1/users/me/rewards/7/claim",
		"GET /v1/leaderboard/me?at=" + past,
		"GET /v1/leaderboard/me?k=10", "GET /v1/leaderboard/me?board=arena", "GET /v1/leaderboard/friends",
		"GET /v1/users/me/friends?limit=500", "GET /v1/users/me/friends?state=requested&limit=500",
		"GET /v1/users/me/friends?state=received&limit=500",
		"GET /v1/users/me/friends?state=received&limit=500&after=u20000", "GET /v1/users/USER/statement",
		"GET /v1/users/USER/profile", "GET /v1/users/USER/privacy", "GET /v1/users/USER/rank/explain",
		"GET /v1/boards/open/join", "POST /v1/boards/open/join", "DELETE /v1/boards/open/join",
		"GET /v1/events/3f8a2c1e-6b0d-4b7e-9a53-0c1d2e3f4a5b", "GET /v1/boards", "GET /v1/boards/global",
		`PUT /v1/users/me/friends/nobody-2`, `DELETE /v1/users/me/friends/nobody-2`,
		`PUT /v1/users/USER/privacy {"visibility":"friends"}`,
	}
	servers := []string{
		"GET /v1/leaderboard/me?board=secret", "GET /v1/users/private/rank", "GET /v1/users/banned/score",
		"GET /v1/boards/clans/teams", "GET /v1/boards/clans/teams/red/members", "GET /v1/leagues/stars/users/u20000",
		"GET /v1/users/u20000/leagues?league=stars", "GET /v1/users/u20000/rewards",
		`POST /v1/friends {"pairs":[{"user_id":"star","friend_id":"nobody-3"}]}`,
		`POST /v1/scores/increment {"user_id":"star","delta":1,"event_id":"EVENT","timestamp":"NOW"}`,
	}
	operator := []string{
		"GET /v1/admin/users?name=u2", "GET /v1/admin/users/star", "GET /v1/admin/users/private",
		"GET /v1/admin/checks", "GET /v1/admin/status", "GET /v1/admin/outbox", "GET /v1/admin/flags",
		"GET /v1/admin/voids", "GET /v1/admin/jobs", "GET /v1/admin/imports", "GET /v1/admin/dead-letters",
		"GET /v1/admin/audit?limit=100", "GET /v1/admin/keys", "GET /v1/admin/webhooks", "GET /v1/admin/settings",
		"GET /v1/admin/boards/global/ranking", "GET /v1/users/star/statement", "GET /v1/users/private/statement",
		"GET /v1/admin/boards/open:spring/players", "PUT /v1/admin/boards/open:spring/players/star",
		"DELETE /v1/admin/boards/open:spring/players/star",
		"GET /v1/admin/rewards?board=stars:one", "GET /v1/admin/rewards?board=stars:one&after=u20000",
		`POST /v1/admin/users/u30000/freeze {"reason":"a test"}`,
	}
	admin := []string{"GET /v1/admin/users/private/export"}
	for _, caller := range []struct {
		what, user, scope string
		asks              [][]string
	}{
		{"anonymous", "", "", [][]string{anyone}},
		{"player", "u20000", "", [][]string{anyone, player}},
		{"popular player", "star", "", [][]string{anyone, player}},
		{"private player", "private", "", [][]string{anyone, player}},
		{"banned player", "banned", "", [][]string{anyone, player}},
		{"server key", "game", auth.ScopeUpdate, [][]string{anyone, servers}},
		{"operator", "op", auth.ScopeOperate, [][]string{anyone, operator}},
		{"administrator", "root", auth.ScopeAdmin, [][]string{operator, admin}},
	} {
		var token http.Header
		if caller.user != "" {
			token = bearer(h.token(caller.user, caller.scope, time.Hour))
		}
		for _, list := range caller.asks {
			for _, ask := range list {
				// A ranking that does not answer in time has PostgreSQL asked, which is marked as degraded: such a
				// measurement is repeated, until a minute later. Where it is not marked, as in receipts, only what
				// reads many rows again and again does so for the request.
				for try, end := 1, time.Now().Add(time.Minute); ; {
					rows, most, degraded := rowsOfRequest(t, conn, n, ask, caller.user, token)
					if rows <= rowsOfARequest {
						break
					}
					if !degraded {
						try++
					}
					if try > 3 || time.Now().After(end) {
						t.Errorf("%s, %s: %d rows and index entries each, want at most %d (degraded: %t):%s",
							caller.what, ask, rows, rowsOfARequest, degraded, most)
						break
					}
					time.Sleep(2500 * time.Millisecond) // what a node keeps for two seconds has expired then
				}
			}
		}
	}
}

// rowsOfRequest returns how many rows and index entries a request reads, and of which tables, and whether
// PostgreSQL was read instead of the ranking.
func rowsOfRequest(
	t *testing.T, conn *backends.Conn, n *node, ask, user string, token http.Header,
) (rows int64, most string, degraded bool) {
	t.Helper()
	before := rowsOfNode(t, conn)
	const answers = 12 // PostgreSQL plans a statement once for all values after five
	times, end := int64(0), time.Now().Add(awaitTimeout)
	for answered := 0; answered < answers; times++ {
		method, rest, _ := strings.Cut(ask, " ")
		path, body, _ := strings.Cut(rest, " ")
		body = strings.NewReplacer("EVENT", fmt.Sprintf("3f8a2c1e-6b0d-4b7e-9a53-%012d", times),
			"NOW", time.Now().UTC().Format(time.RFC3339)).Replace(body)
		status, _, answer := request(t, method, n.URL+strings.ReplaceAll(path, "USER", user), body, token)
		switch {
		case time.Now().After(end):
			t.Fatalf("%s of %s: only server errors: %s", ask, user, answer)
		case status >= http.StatusInternalServerError: // its connection was closed, to count
			time.Sleep(20 * time.Millisecond)
		case status == http.StatusBadRequest || status == http.StatusUnauthorized ||
			status == http.StatusTooManyRequests:
			t.Fatalf("%s of %s: %d %s", ask, user, status, answer)
		default:
			answered++
			degraded = degraded || strings.Contains(answer, `"degraded":true`)
		}
	}
	for table, read := range rowsOfNode(t, conn) {
		if delta := read - before[table]; delta > 0 {
			rows += delta
			most += fmt.Sprintf(" %s %d", table, delta)
		}
	}
	return rows / times, most, degraded
}

// fillForRowCounts makes many users with scores, a private and a banned one, and the star, whom
// everybody asks to be a friend.
func fillForRowCounts(t *testing.T, conn *backends.Conn) {
	t.Helper()
	conn.Do(t, `insert into users (user_id) select 'u' || lpad(i::text, 5, '0') from generate_series(1, 40000) i`)
	conn.Do(t, `insert into users (user_id, private) values ('star', false), ('private', true)`)
	conn.Do(t, `insert into users (user_id, status) values ('banned', 'banned')`)
	conn.Do(t, `insert into user_privacy (user_id, visibility, pseudonym_key)
values ('private', 'private', sha256('test'))`)
	conn.Do(t, `insert into private_users (user_id, since) values ('private', now() - interval '1 day')`)
	conn.Do(t, `insert into private_users (user_id, since, until)
select 'u' || lpad(i::text, 5, '0'), now() - interval '2 days', now() - interval '1 day'
from generate_series(1, 30000) i`)
	for _, board := range []string{"arena", "secret", "clans"} {
		conn.Do(t, `insert into boards select (jsonb_populate_record(b, jsonb_build_object('board_id', $1::text,
    'family_id', $1::text, 'public', $1 <> 'secret'))).* from boards b where board_id = 'global'`, board)
	}
	conn.Do(t, `insert into scores (user_id, board_id, score, order_key, reached_at, recorded_at,
    version, revision, hidden)
select user_id, board_id, n, -n, now() - n * interval '1 ms', now(), 1, 1, user_id in ('private', 'banned')
from (select user_id, row_number() over (order by user_id) as n from users) as u,
    (values ('global'), ('arena')) as b (board_id)`)
	conn.Do(t, `vacuum analyze`)
	conn.Do(t, `select pg_stat_force_next_flush()`) // what was read until here is not counted later
	// PostgreSQL knows nothing of these yet, as after an import of friends.
	conn.Do(t, `insert into friends (user_id, friend_user_id)
select 'u' || lpad(i::text, 5, '0'), f from generate_series(1, 30000) i, (values ('star')) as s (f)`)
	conn.Do(t, `insert into friends (user_id, friend_user_id)
select s, 'u' || lpad((i * 70)::text, 5, '0') from generate_series(1, 480) i,
    (values ('star'), ('private'), ('banned'), ('u20000')) as u (s) where s <> 'u' || lpad((i * 70)::text, 5, '0')`)
	conn.Do(t, `insert into friends (user_id, friend_user_id)
select 'u' || lpad((i * 70)::text, 5, '0'), s from generate_series(1, 400) i,
    (values ('private'), ('banned'), ('u20000')) as u (s) where s <> 'u' || lpad((i * 70)::text, 5, '0')
on conflict do nothing`)
}

// fillLeagueForRowCounts gives each player a place in a cohort of 50 of the league stars, an outcome and a reward.
func fillLeagueForRowCounts(t *testing.T, conn *backends.Conn) {
	t.Helper()
	conn.Do(t, `insert into league_cohorts (cohort_id, board_id, division, fill, places, size, is_full)
overriding system value select n, 'stars:one', 1 + n % 5, '', 50, 50, true from generate_series(1, 800) as n`)
	conn.Do(t, `insert into league_members (user_id, board_id, cohort_id, fill)
select 'u' || lpad(n::text, 5, '0'), 'stars:one', 1 + n % 800, '' from generate_series(1, 40000) as n`)
	conn.Do(t, `insert into league_outcomes
    (user_id, board_id, revision, cohort_id, rank, players, from_division, to_division, step, moved)
select user_id, board_id, 1, cohort_id, 1, 50, 1, 2, 1, 1 from league_members`)
	conn.Do(t, `insert into reward_grants (board_id, user_id, reward, granted_at, expires_at)
select board_id, user_id, '1', now(), now() + interval '1 day' from league_members order by user_id`)
}

// rowsOfNode closes the connections of the nodes, which then report what they have read, and returns
// the rows and index entries by table.
func rowsOfNode(t *testing.T, conn *backends.Conn) map[string]int64 {
	t.Helper()
	conn.Do(t, `select pg_terminate_backend(pid) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid()`)
	conn.Do(t, `select pg_stat_clear_snapshot()`)
	rows := map[string]int64{}
	for table, r := range storetest.ReadsNow(t, conn) {
		rows[table] = r.Scanned + r.Indexed
	}
	return rows
}
