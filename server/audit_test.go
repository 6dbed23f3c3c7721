package server_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// If the audit entry cannot be written, an operator's change does not happen: both
// are one transaction or, for a job, the entry comes first. Otherwise each of the same
// requests leaves one entry. The requests cover every route that can change something.
func TestEveryChangeIsAudited(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	// The second master key has encrypted a secret.
	second := strings.Repeat("0b", 32)
	n := h.start(allRoles, "ledger-archive", t.TempDir(), "auth-dev-issuer", "true",
		"auth-master-key", backends.MasterKey+","+second)
	db := backends.Connect(t, h.postgres)
	ring, err := auth.NewKeyring([]string{second}, nil, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	db.Do(t, `insert into keys (key_id, name) values ('k_old', 'old')`)
	db.Do(t, `insert into key_secrets (key_id, generation, sealed) values ('k_old', 1, $1)`,
		ring.Encrypt("k_old", "secret"))
	token := h.token("root", auth.ScopeAdmin+" "+auth.ScopeUpdate, time.Hour)
	tell := func(method, path, body string) (int, string) {
		t.Helper()
		status, _, answer := request(t, method, n.URL+path, body, bearer(token))
		return status, answer
	}
	key := furnish(t, n, db)
	// Everything that an operator can change; the ranking by its epoch.
	state := func() string {
		var all []string
		for _, table := range []string{
			"boards", "keys", "key_secrets", "dead_letters", "outbox_score_updates",
			"profiles", "users", "scores", "user_score_histories", "settings", "voids", "void_events", "flags",
			"reversals", "rejected_events", "board_standings", "audit_log", "imports", "import_scores",
			"webhooks", "webhook_secrets", "webhook_deliveries", "friends", "teams", "team_members",
			"user_privacy", "private_users", "jobs", "board_rules", "reward_tables", "reward_bands", "reward_boards",
			"reward_grants", "league_outcomes", "league_divisions", "league_runs", "board_players",
			"board_player_counts",
		} {
			var sum string
			err := db.QueryRow(t.Context(),
				`select coalesce(md5(string_agg(t::text, '|' order by t::text)), '') from `+table+` as t`).Scan(&sum)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, table+" "+sum)
		}
		_, ranking := tell("GET", "/v1/admin/boards/global/ranking", "")
		_, epoch, _ := strings.Cut(ranking, `"epoch":`)
		epoch, _, _ = strings.Cut(epoch, ",")
		return strings.Join(append(all, "epoch "+epoch), "\n")
	}
	requests := []struct {
		method, path, body, action, target string
		same                               bool // its change does not show in state
	}{
		{"POST", "/v1/boards", `{"board":"fresh"}`, "board.create", "board:fresh", false},
		{"PUT", "/v1/admin/board-rules/days", `{"regions":["eu"]}`, "board.rule.set", "board:days", false},
		{"DELETE", "/v1/admin/board-rules/frozen", "", "board.rule.clear", "board:frozen", false},
		{"PATCH", "/v1/boards/arena", `{"require":["action-token"]}`, "board.set", "board:arena", false},
		{"POST", "/v1/boards/arena/freeze", "", "board.freeze", "board:arena", false},
		{"POST", "/v1/boards/frozen/unfreeze", "", "board.unfreeze", "board:frozen", false},
		{"POST", "/v1/boards/arena/archive", "", "board.archive", "board:arena", false},
		{
			"POST",
			"/v1/boards/cup/roll",
			`{"season":"two","ends_at":"2099-01-01T00:00:00Z"}`,
			"board.roll",
			"board:cup",
			false,
		},
		{"POST", "/v1/admin/keys", `{"name":"another"}`, "key.create", "key:", false},
		{"POST", "/v1/admin/keys/" + key + "/rotate", `{}`, "key.rotate", "key:" + key, false},
		{"DELETE", "/v1/admin/keys/" + key, "", "key.revoke", "key:" + key, false},
		{"POST", "/v1/admin/master-key/rotate", "", "master_key.rotate", "master-key", false},
		{
			"POST", "/v1/admin/webhooks", `{"url":"https://example.com/","types":["user.flagged"]}`, "webhook.create",
			"webhook:wh_", false,
		},
		{"POST", "/v1/admin/webhooks/wh_1/rotate", `{}`, "webhook.rotate", "webhook:wh_1", false},
		{"POST", "/v1/admin/webhooks/wh_1/deliveries/1000/retry", "", "webhook.retry", "webhook:wh_1", false},
		{"POST", "/v1/admin/webhooks/wh_1/enable", "", "webhook.enable", "webhook:wh_1", false},
		{"POST", "/v1/admin/webhooks/wh_2/test", "", "webhook.test", "webhook:wh_2", false},
		{"DELETE", "/v1/admin/webhooks/wh_1", "", "webhook.delete", "webhook:wh_1", false},
		{"POST", "/v1/admin/jobs/1000/stop", "", "job.stop", "job:1000", false},
		{"POST", "/v1/admin/dead-letters/1/requeue", "", "letter.requeue", "letter:1", false},
		{"DELETE", "/v1/admin/dead-letters/2", "", "letter.drop", "letter:2", false},
		{"PUT", "/v1/users/alice/profile", `{"display_name":"Al"}`, "user.profile", "user:alice", false},
		{"PUT", "/v1/users/alice/privacy", `{"visibility":"pseudonym"}`, "user.privacy", "user:alice", false},
		{
			"PUT",
			"/v1/admin/settings/reads.top_n",
			`{"value":"7","reason":"why"}`,
			"setting.set",
			"setting:reads.top_n",
			false,
		},
		{"POST", "/v1/boards/roll", `{}`, "board.roll", "board:*", false},
		{
			"PUT",
			"/v1/admin/settings",
			`{"settings":[{"name":"reads.top_n","value":"8"}],"reason":"why"}`,
			"setting.set",
			"setting:reads.top_n",
			false,
		},
		{"POST", "/v1/admin/users/alice/ban", `{"reason":"why"}`, "user.ban", "user:alice", false},
		{"POST", "/v1/admin/users/bob/unban", `{"reason":"why"}`, "user.unban", "user:bob", false},
		{"POST", "/v1/admin/users/vera/freeze", `{"reason":"why"}`, "user.freeze", "user:vera", false},
		{"POST", "/v1/admin/users/carl/unfreeze", `{"reason":"why"}`, "user.unfreeze", "user:carl", false},
		{
			"POST",
			"/v1/admin/users/alice/adjust",
			`{"delta":3,"event_id":"adjusted","reason":"why"}`,
			"user.adjust",
			"user:alice",
			false,
		},
		{
			"POST",
			"/v1/admin/events/first/reverse",
			`{"user_id":"alice","reason":"why"}`,
			"event.reverse",
			"user:alice",
			false,
		},
		{
			"POST",
			"/v1/admin/voids",
			fmt.Sprintf(`{"address":"192.0.2.1","from":%q,"to":%q,"reason":"why"}`,
				time.Now().Add(-time.Hour).Format(time.RFC3339), time.Now().Format(time.RFC3339Nano)),
			"void.create",
			"void:",
			false,
		},
		{"POST", "/v1/admin/voids/1/undo", `{"reason":"why"}`, "void.undo", "void:1", false},
		{"POST", "/v1/admin/flags/1/dismiss", `{"reason":"why"}`, "flag.dismiss", "flag:1", false},
		{"POST", "/v1/admin/flags/2/confirm", `{"reason":"why"}`, "flag.confirm", "flag:2", false},
		{"POST", "/v1/admin/tokens", `{"user_id":"alice"}`, "token.mint", "user:alice", true},
		{"POST", "/v1/admin/rebuild", `{"board":"global"}`, "ranking.rebuild", "board:global", false},
		{"POST", "/v1/admin/reconcile", `{"board":"global","repair":true}`, "ranking.reconcile", "board:global", true},
		{"POST", "/v1/admin/replay", `{"dlq":true}`, "ranking.replay", "ranking:*", true},
		{"POST", "/v1/admin/ledger/archive", `{}`, "ledger.archive", "ledger:*", true},
		{
			"POST", "/v1/admin/ledger/checkpoint", `{"at":"2026-01-01T00:00:00Z"}`, "ledger.checkpoint", "board:global",
			true,
		},
		{"POST", "/v1/admin/imports", `{"source":"csv"}`, "import.start", "board:global", false},
		{
			"POST",
			"/v1/admin/imports/1/records",
			`{"records":[{"user_id":"zoe","score":5}]}`,
			"import.records",
			"board:global",
			false,
		},
		{"PUT", "/v1/boards/clans/teams/ants/members/alice", "", "team.join", "user:alice", false},
		{"DELETE", "/v1/boards/clans/teams/ants/members/vera", "", "team.leave", "user:vera", false},
		{
			"POST", "/v1/friends", `{"pairs":[{"user_id":"alice","friend_id":"vera"}]}`, "friend.import", "friends",
			false,
		},
		{
			"PUT", "/v1/boards/days/rewards", `{"bands":[{"last_rank":3,"reward":{"gems":5}}]}`, "board.rewards",
			"board:days", false,
		},
		{
			"POST", "/v1/admin/rewards", `{"user_id":"yan","board":"cup:zero","reward":"\u0000","reason":"why"}`,
			"reward.grant", "user:yan", false,
		},
		{"POST", "/v1/admin/rewards/1/revoke", `{"reason":"why"}`, "reward.revoke", "user:zed", false},
		{
			"POST", "/v1/admin/leagues/lions:one/recompute", `{"apply":true,"reason":"why"}`, "league.recompute",
			"board:lions:one", false,
		},
		{"POST", "/v1/boards/open:autumn/join?user_id=yan", "", "player.join", "user:yan", false},
		{"DELETE", "/v1/boards/open:autumn/join?user_id=vera", "", "player.leave", "user:vera", false},
		{"PUT", "/v1/admin/boards/open:spring/players/yan", "", "player.add", "user:yan", false},
		{"DELETE", "/v1/admin/boards/open:spring/players/vera", "", "player.remove", "user:vera", false},
		{"POST", "/v1/admin/users/alice/erase", `{"reason":"why"}`, "user.erase", "user:erased-", false},
	}
	_, _, document := request(t, "GET", n.URL+"/openapi.json", "", bearer(""))
	var described struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal([]byte(document), &described); err != nil || len(described.Paths) < 30 {
		t.Fatalf("the API describes %d paths, %v", len(described.Paths), err)
	}
	for path, methods := range described.Paths {
		// A parameter stands for one segment.
		pattern := regexp.MustCompile("^" + regexp.MustCompile(`\{[a-z_]+\}`).ReplaceAllString(path, "[^/]+") + "$")
		for method := range methods {
			method = strings.ToUpper(method)
			tested := false
			for _, r := range requests {
				called, _, _ := strings.Cut(r.path, "?")
				tested = tested || r.method == method && pattern.MatchString(called)
			}
			if method != "GET" && method != "PARAMETERS" && !tested && notAudited[method+" "+path] == "" {
				t.Errorf("%s %s is not tested: add a request, or say why it needs no audit entry", method, path)
			}
		}
	}
	db.Do(
		t,
		`create function refuse() returns trigger language plpgsql
		as $$ begin raise exception 'the audit log is full'; end $$`,
	)
	db.Do(t, `create trigger refuse before insert on audit_log execute function refuse()`)
	// Something for the roll to do: maintenance has created the next days, and looks
	// again in a minute.
	forgetDays := func() {
		db.Do(t, `delete from boards where family_id = 'days' and period_start > clock_timestamp()`)
	}
	forgetDays()
	db.Do(t, `insert into board_rules (board_id, actions, regions, attributes) values ('frozen', '{}', '{eu}', '{}')`)
	before := state()
	for i := range requests {
		if r := &requests[i]; !strings.Contains(r.body, `"reason"`) && !ofServers[r.action] {
			r.path += "?reason=why"
		}
	}
	for _, r := range requests {
		status, answer := tell(r.method, r.path, r.body)
		if status < 500 || !strings.Contains(answer, `"error_code"`) {
			t.Errorf("%s without an audit entry: got %d %s, want a rejection", r.action, status, answer)
		}
		if after := state(); after != before {
			t.Errorf("%s changed something without an audit entry: from\n%s\nto\n%s", r.action, before, after)
			before = after
		}
	}
	db.Do(t, `drop trigger refuse on audit_log`)
	forgetDays()
	for _, r := range requests {
		entries := func() int64 {
			return db.Count(
				t,
				`select count(*) from audit_log where action = $1 and starts_with(target, $2)
				and who = 'root' and (reason = 'why' or $3) and address <> ''`,
				r.action,
				r.target,
				ofServers[r.action],
			)
		}
		before, had := state(), entries()
		status, answer := tell(r.method, r.path, r.body)
		if status > 299 || strings.Contains(answer, `"error"`) {
			t.Errorf("%s: got %d %s", r.action, status, answer)
		}
		if got := entries() - had; got != 1 {
			t.Errorf("%s left %d audit entries, want 1", r.action, got)
		}
		if after := state(); after == before && !r.same {
			t.Errorf("%s changed nothing, so the check without an audit entry proves nothing", r.action)
		}
	}
	if n := db.Count(
		t,
		`select count(*) from audit_log where action = 'key.create' and detail->>'name' = 'another'`,
	); n != 1 {
		t.Error("the audit entry of a key lacks the requested scope")
	}
}

// notAudited are the routes with other methods than GET that leave no audit entry.
var notAudited = map[string]string{
	"POST /v1/scores/increment":  "a user's own; the ledger has it",
	"POST /v1/scores/increments": "the ledger has it",
	"POST /v1/actions":           "a user's own",
	"POST /v1/leaderboard/users": "a read",

	"PUT /v1/users/me/friends/{user_id}":    "a user's own",
	"DELETE /v1/users/me/friends/{user_id}": "a user's own",

	"POST /v1/users/{user_id}/rewards/{id}/claim": "a user's own, or a server's; the reward says when",

	"POST /v1/admin/verify":  "a read",
	"POST /v1/admin/what-if": "a read; applied, the void has an entry of its own",
}

// ofServers are the actions on routes of servers, which take no reason. They leave an audit entry
// if the caller is an operator, too.
var ofServers = map[string]bool{
	"team.join": true, "team.leave": true, "friend.import": true, "player.join": true, "player.leave": true,
}

// furnish creates what the requests change, and returns the id of a key.
func furnish(t *testing.T, n *node, db *backends.Conn) string {
	t.Helper()
	root := n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	db.Do(t, `insert into imports (source, board_id) values ('test', 'global')`)
	ends := time.Date(2098, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, r := range []client.BoardRequest{
		{Board: "arena"},
		{Board: "pairs", Subscore: "highest"},
		{Board: "frozen"},
		{Board: "days", Period: "daily"},
		{Board: "cup", Period: "season", Season: "one", EndsAt: &ends},
		{Board: "open", Period: "season", Season: "spring", EndsAt: &ends, Join: "required", LateJoin: true},
		{Board: "clans", Team: &wire.TeamRule{Source: "global", Aggregate: "sum", Moves: "with_points"}},
	} {
		if _, err := root.CreateBoard(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	// A season that has ended, and a reward of it.
	db.Do(t, `do $$ begin
    perform create_board_instance('cup', 'cup:zero', now() - interval '2 hours', now() - interval '1 hour');
    update boards set status = 'frozen', closed_at = now(), standings_hash = '', standings_users = 0,
        standings_version = 2, announced_at = now() where board_id = 'cup:zero';
end $$`)
	db.Do(t, `insert into users (user_id) values ('yan')`)
	// A season that has not begun.
	db.Do(t, `do $$ begin
    perform create_board_instance('open', 'open:autumn', '2098-01-01', '2098-02-01');
    insert into board_players (board_id, user_id, joined_at) values ('open:autumn', 'vera', now());
    insert into board_player_counts (board_id, players) values ('open:autumn', 1);
end $$`)
	db.Do(t, `insert into reward_grants (board_id, user_id, reward, granted_at, expires_at)
values ('cup:zero', 'zed', '1', now(), now() + interval '1 hour')`)
	// A period of a league with an outcome that was corrected wrongly.
	db.Do(t, `do $$ begin
    insert into boards (board_id, family_id, mode, sort_order, min_delta, max_delta, period, league)
    values ('lions', 'lions', 'increment', 'highest', 1, 10, 'season',
        '{"divisions":2,"cohort_size":2,"min":1,"promote":1,"relegate":0}');
    perform create_board_instance('lions', 'lions:one', now() - interval '2 hours', now() - interval '1 hour');
    update boards set status = 'frozen', closed_at = now(), standings_hash = '', standings_users = 1,
        standings_version = 2, announced_at = now(), league_decided_at = now() where board_id = 'lions:one';
    insert into board_standings (board_id, rank, user_id, score, order_key, reached_at)
    values ('lions:one', 1, 'zed', 5, -5, now() - interval '90 minutes');
    insert into league_cohorts (board_id, division, fill, places, size) values ('lions:one', 1, '', 1, 2);
    insert into league_members (user_id, board_id, cohort_id, fill)
    select 'zed', 'lions:one', cohort_id, '' from league_cohorts;
    insert into league_runs (board_id, revision, sent_at) values ('lions:one', 2, now());
    insert into league_outcomes (board_id, user_id, revision, cohort_id, rank, players, from_division, step,
        to_division, moved)
    select 'lions:one', 'zed', revision, cohort_id, 1, 1, 1, 2 - revision, 3 - revision, 2 - revision
    from league_cohorts, generate_series(1, 2) as revision;
end $$`)
	if _, err := root.FreezeBoard(t.Context(), "frozen"); err != nil {
		t.Fatal(err)
	}
	if _, err := root.JoinTeam(t.Context(), "clans", "ants", "vera"); err != nil {
		t.Fatal(err)
	}
	if _, err := root.JoinBoard(t.Context(), "open", "vera"); err != nil {
		t.Fatal(err)
	}
	key, err := root.CreateKey(t.Context(), client.KeyRequest{Name: "one"})
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := root.Submit(t.Context(), client.Increment{User: "alice", Delta: 5, EventID: "first"})
	if err != nil {
		t.Fatal(err)
	}
	n.h.await("alice to be ranked", func() bool {
		top, err := root.Top(t.Context(), client.TopQuery{})
		return err == nil && len(top.Entries) == 1 && !top.Degraded
	})
	letter := protocol.AppendEvent(nil, &scoreboard.Change{
		Type: scoreboard.ChangeScore, Board: "global", User: "alice", Score: 5, Key: -5, Version: 1, Revision: 1,
		ReachedAt: receipt.RecordedAt, RecordedAt: receipt.RecordedAt,
	})
	for i := range 2 {
		db.Do(
			t,
			`insert into dead_letters (topic, partition, record_offset, value, reason, attempts)
			values ('events', 0, $1, $2, 'a test', 1)`,
			i,
			letter,
		)
	}
	db.Do(t, `insert into webhooks (webhook_id, url, types, disabled_at, disabled_reason)
values ('wh_1', 'https://example.com/', '{user.flagged}', now(), 'a test'),
    ('wh_2', 'https://example.com/', '{rank.reached}', null, null)`) // of no board
	db.Do(t, `insert into jobs (job_id, kind, target, dry_run, node, who, reason, seen_at) overriding system value
values (1000, 'verify', 'board:global', false, 'another node', 'root', 'why', now() + interval '1 hour')`)
	db.Do(t, `insert into webhook_secrets (webhook_id, generation, sealed)
values ('wh_1', 1, 'a test'), ('wh_2', 1, 'a test')`)
	db.Do(t, `insert into webhook_deliveries (id, webhook_id, message_id, type, payload, state, ended_at)
overriding system value values (1000, 'wh_1', 'msg_1', 'user.flagged', '{}', 'failed', now())`)
	db.Do(t, `insert into flags (rule, mode, user_id, board_id, event_id, event_text, delta, detail)
select 'rule' || n, 'flag', 'alice', 'global', gen_random_uuid(), 'e', 1, 'a test' from generate_series(1, 2) as n`)
	for user, address := range map[string]string{"vera": "192.0.2.1", "vic": "192.0.2.9", "bob": "", "carl": ""} {
		if _, err := root.Submit(t.Context(), client.Increment{User: user, Delta: 1}); err != nil {
			t.Fatal(err)
		}
		db.Do(t, `update user_score_histories set address = $2 where user_id = $1`, user, address)
	}
	if _, err := root.Ban(t.Context(), "bob", "furnish"); err != nil {
		t.Fatal(err)
	}
	if _, err := root.Freeze(t.Context(), "carl", "furnish"); err != nil {
		t.Fatal(err)
	}
	void, err := root.CreateVoid(t.Context(), client.VoidRequest{
		Address: "192.0.2.9", From: time.Now().Add(-time.Hour), To: time.Now(), Reason: "furnish",
	})
	if err != nil {
		t.Fatal(err)
	}
	n.h.await("the void to be done", func() bool {
		return db.Count(t, `select count(*) from voids where id = $1 and state = 'done'`, void.ID) == 1
	})
	return key.KeyID
}
