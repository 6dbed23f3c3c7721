package main

import (
	"fmt"
	"testing"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/buildinfo"
)

// Statements over HTTP: pages, permissions and invalid requests.
func TestStatement(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d := h.start()
	alice, bob, admin := h.client(d, "alice", ""), h.client(d, "bob", ""), h.client(d, "root",
		"score:admin score:update")
	ins := make([]client.Increment, 150)
	for i := range ins {
		ins[i] = client.Increment{User: "alice", Delta: 1, EventID: fmt.Sprint("e", i)}
	}
	if _, err := admin.SubmitBatch(t.Context(), ins); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*client.Client{"her own": alice, "an operator's": admin} {
		first, err := c.Statement(t.Context(), "alice", client.StatementQuery{Board: "global"})
		if err != nil || len(first.Entries) != 100 || first.NextCursor == "" {
			t.Fatalf("%s: got %d entries, cursor %q, %v", name, len(first.Entries), first.NextCursor, err)
		}
		e := first.Entries[0]
		if e.EventID != "e149" || e.NewScore != 150 || *e.PreviousScore != 149 || e.Version != 150 || e.KeyID == "" ||
			e.Address != "127.0.0.1" || e.UserAgent != "scoreboard-go/"+buildinfo.Release {
			t.Errorf("%s: the newest is %+v", name, e)
		}
		rest, err := c.Statement(t.Context(), "alice", client.StatementQuery{Board: "global", Cursor: first.NextCursor})
		if err != nil || len(rest.Entries) != 50 || rest.NextCursor != "" || rest.Entries[49].EventID != "e0" ||
			rest.ArchivedBefore != nil {
			t.Errorf("%s, second page: got %+v, %v", name, rest, err)
		}
	}
	few, err := alice.Statement(t.Context(), "alice", client.StatementQuery{Limit: 2})
	if err != nil || len(few.Entries) != 2 || few.NextCursor == "" {
		t.Errorf("a page of two: got %+v, %v", few, err)
	}
	for _, tc := range []struct {
		name string
		c    *client.Client
		user string
		q    client.StatementQuery
		want wire.Code
	}{
		{"limit too large", alice, "alice", client.StatementQuery{Limit: 101}, wire.CodeInvalidRequest},
		{"another's", bob, "alice", client.StatementQuery{}, wire.CodeForbidden},
		{"without a score", bob, "bob", client.StatementQuery{}, wire.CodeNotFound},
		{"unknown board", alice, "alice", client.StatementQuery{Board: "nowhere"}, wire.CodeNotFound},
		{"forged cursor", alice, "alice", client.StatementQuery{Cursor: "MSAyIDM gIA"}, wire.CodeInvalidRequest},
		{"invalid user", admin, "a b", client.StatementQuery{}, wire.CodeInvalidRequest},
	} {
		if _, err := tc.c.Statement(t.Context(), tc.user, tc.q); wire.CodeOf(err) != tc.want {
			t.Errorf("%s: got %v, want %s", tc.name, err, tc.want)
		}
	}
}
