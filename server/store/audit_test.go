package store_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestAuditLogIsAppendOnly(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	for _, e := range []scoreboard.AuditEntry{
		{
			Actor: "root", Address: "127.0.0.1", Agent: "sbctl", RequestID: "r1",
			Action: "user.ban", Target: "user:alice", Reason: "cheats",
		},
		{
			Actor: "root", Address: "127.0.0.1",
			Action: "key.create", Target: "key:k1", Detail: json.RawMessage(`{"name": "game"}`),
		},
		{Actor: "eve", Address: "127.0.0.2", Action: "user.unban", Target: "user:alice", Reason: "a mistake"},
	} {
		if err := s.Audit.Add(t.Context(), &e); err != nil {
			t.Fatal(err)
		}
	}
	for _, change := range []string{
		`update audit_log set reason = 'nothing'`, `update audit_log set target = 'user:bob'`,
		`update audit_log set target = 'user:erased-1', who = 'nobody'`, `delete from audit_log`, `truncate audit_log`,
	} {
		if _, err := conn.Exec(t.Context(), change); err == nil {
			t.Errorf("%s was allowed", change)
		}
	}
	list := func(f scoreboard.AuditFilter) string {
		f.Limit = max(f.Limit, 2)
		entries, err := s.Audit.AuditEntries(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, e := range entries {
			got += string(e.Actor) + " " + e.Action + ";"
			if e.At.IsZero() || e.Action == "key.create" && string(e.Detail) != `{"name": "game"}` {
				t.Errorf("got %+v", e)
			}
		}
		return got
	}
	for name, c := range map[string]struct {
		filter scoreboard.AuditFilter
		want   string
	}{
		"all": {scoreboard.AuditFilter{Limit: 9}, "eve user.unban;root key.create;root user.ban;"},
		"any": {
			scoreboard.AuditFilter{Limit: 9, Before: math.MaxInt64}, "eve user.unban;root key.create;root user.ban;",
		},
		"a page": {scoreboard.AuditFilter{Before: 3}, "root key.create;root user.ban;"},
		"who":    {scoreboard.AuditFilter{Actor: "eve"}, "eve user.unban;"},
		"action": {scoreboard.AuditFilter{Action: "key.create"}, "root key.create;"},
		"target": {scoreboard.AuditFilter{Target: "user:alice"}, "eve user.unban;root user.ban;"},
		"from":   {scoreboard.AuditFilter{From: time.Now().Add(time.Hour)}, ""},
		"to":     {scoreboard.AuditFilter{To: time.Now().Add(time.Hour)}, "eve user.unban;root key.create;"},
	} {
		if got := list(c.filter); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
