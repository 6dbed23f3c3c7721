package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/backendtest"
	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// If the audit entry cannot be written, an operator's change does not happen: both
// are one transaction or, for a job, the entry comes first. Otherwise each of the same
// requests leaves one entry.
func TestEveryChangeIsAudited(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "ledger-archive", t.TempDir())
	db := backendtest.Connect(t, h.postgres)
	tell := func(method, path, body string) (int, string) {
		t.Helper()
		status, _, answer := request(t, method, n.URL+path, body, bearer(h.token("root", auth.ScopeAdmin, time.Hour)))
		return status, answer
	}
	key := furnish(t, n, db)
	// Everything that an operator can change; the ranking by its epoch.
	state := func() string {
		var all []string
		for _, table := range []string{
			"boards", "keys", "key_secrets", "dead_letters", "outbox_score_updates",
			"profiles", "users", "scores", "user_score_histories", "knobs",
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
		{"POST", "/v1/admin/dead-letters/1/requeue", "", "letter.requeue", "letter:1", false},
		{"DELETE", "/v1/admin/dead-letters/2", "", "letter.drop", "letter:2", false},
		{"PUT", "/v1/users/alice/profile", `{"display_name":"Al"}`, "user.profile", "user:alice", false},
		{
			"PUT",
			"/v1/admin/settings/reads.top_n",
			`{"value":"7","reason":"why"}`,
			"setting.set",
			"setting:reads.top_n",
			false,
		},
		{"POST", "/v1/admin/users/alice/ban", `{"reason":"why"}`, "user.ban", "user:alice", false},
		{"POST", "/v1/admin/rebuild", `{"board":"global"}`, "ranking.rebuild", "board:global", false},
		{"POST", "/v1/admin/reconcile", `{"board":"global","repair":true}`, "ranking.reconcile", "board:global", true},
		{"POST", "/v1/admin/replay", `{"dlq":true}`, "ranking.replay", "ranking:*", true},
		{"POST", "/v1/admin/ledger/archive", `{}`, "ledger.archive", "ledger:*", true},
	}
	db.Do(
		t,
		`create function refuse() returns trigger language plpgsql
		as $$ begin raise exception 'the audit log is full'; end $$`,
	)
	db.Do(t, `create trigger refuse before insert on audit_log execute function refuse()`)
	before := state()
	for i := range requests {
		if r := &requests[i]; !strings.Contains(r.body, `"reason"`) {
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
	for _, r := range requests {
		entries := func() int64 {
			return db.Count(
				t,
				`select count(*) from audit_log where action = $1 and starts_with(target, $2)
				and who = 'root' and reason = 'why' and address <> ''`,
				r.action,
				r.target,
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

// furnish creates what the requests change, and returns the id of a key.
func furnish(t *testing.T, n *node, db *backendtest.Conn) string {
	t.Helper()
	root := n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	ends := time.Date(2098, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, r := range []client.BoardRequest{
		{Board: "arena"},
		{Board: "frozen"},
		{Board: "cup", Period: "season", Season: "one", EndsAt: &ends},
	} {
		if _, err := root.CreateBoard(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := root.FreezeBoard(t.Context(), "frozen"); err != nil {
		t.Fatal(err)
	}
	key, err := root.CreateKey(t.Context(), client.KeyRequest{Name: "one"})
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := root.Submit(t.Context(), client.Increment{User: "alice", Delta: 5})
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
	return key.KeyID
}
