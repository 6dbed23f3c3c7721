package api

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// A page with the same rows has changed if it is another board's or has more behind it.
func TestETagCoversThePage(t *testing.T) {
	t.Parallel()
	rows := []wire.Entry{{Rank: 1, UserID: "ada", Score: 5}}
	seen := map[string]int{}
	for i, top := range []wire.Top{
		{Board: "daily:2026-11-21", Entries: rows, Total: 1},
		{Board: "daily:2026-11-22", Entries: rows, Total: 1},
		{Board: "daily:2026-11-21", Entries: rows, Total: 1, NextCursor: "c"},
		{Board: "daily:2026-11-21", Total: 1},
	} {
		tag := etagOf(&top)
		if other, twice := seen[tag]; twice {
			t.Errorf("pages %d and %d have the same tag", i, other)
		}
		seen[tag] = i
	}
	aged := wire.Top{Board: "daily:2026-11-21", Entries: rows, Total: 2, AgeMS: 7}
	if seen[etagOf(&aged)] != 0 {
		t.Error("the age or the total changes the tag")
	}
}

// A dialect's page is encoded once for each state, number of rows and dialect.
func TestDialectPagesAreEncodedOnce(t *testing.T) {
	t.Parallel()
	var pages pageCache
	encoded := 0
	state, next, other := &scoreboard.Top{Board: "a"}, &scoreboard.Top{Board: "a"}, &scoreboard.Top{Board: "b"}
	one, two := &Dialect{Name: "one"}, &Dialect{Name: "two"}
	for i, tt := range []struct {
		top  *scoreboard.Top
		d    *Dialect
		rows int
		want string
	}{
		{state, one, 10, "1"},
		{state, one, 10, "1"},
		{state, one, 5, "2"},
		{state, two, 10, "3"},
		{other, one, 10, "4"},
		{state, one, 10, "1"},
		{next, one, 10, "5"},
		{next, one, 10, "5"},
	} {
		got := string(pages.shapedPage(tt.top, tt.d, tt.rows, func() any { encoded++; return encoded }))
		if got != tt.want {
			t.Errorf("request %d: got %s, want %s", i, got, tt.want)
		}
	}
	runtime.KeepAlive(state) // the cache does not
}

// handled calls a handler and returns its error and its response.
func handled(
	handler func(*gin.Context, *auth.Claims) error, caller *auth.Claims, method, body string, params ...gin.Param,
) (string, error) {
	w := httptest.NewRecorder()
	c, _ := gin.CreateTestContext(w)
	c.Request = httptest.NewRequestWithContext(context.Background(), method, "/", strings.NewReader(body))
	c.Request.Header.Set("Content-Type", "application/json")
	c.Params = params
	err := handler(c, caller)
	return w.Body.String(), err
}

// A key must not be wider than its author may have meant.
func TestEmptyLimitsOfKeysAreRejected(t *testing.T) {
	t.Parallel()
	for field, body := range map[string]string{
		"boards": `{"name":"k","boards":[]}`, "ttl": `{"name":"k","ttl":"0s"}`,
	} {
		_, err := handled(new(keys).createKey, &auth.Claims{User: "root"}, "POST", body)
		if wire.CodeOf(err) != wire.CodeInvalidRequest || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: got %v, want a 400 about %s", body, err, field)
		}
	}
}

type statements []scoreboard.LedgerRow

func (s statements) Statement(context.Context, scoreboard.StatementQuery) (*scoreboard.Statement, error) {
	return &scoreboard.Statement{Rows: s}, nil
}

// A player does not see from where an operator corrected a score.
func TestStatementHidesOperators(t *testing.T) {
	t.Parallel()
	h := &ledgerReads{subscores: subscoreBoards{bare{}}, store: statements{
		{Event: scoreboard.EventID{Text: "own"}, Kind: scoreboard.KindEvent, Address: "192.0.2.1", Agent: "game/1"},
		{
			Event: scoreboard.EventID{Text: "adjusted"}, Kind: scoreboard.KindAdjustment, Address: "10.0.0.7",
			Agent: "sbctl/1",
		},
	}}
	for scope, seen := range map[string]string{"": "", auth.ScopeAdmin: "10.0.0.7"} {
		caller := &auth.Claims{User: "alice", Scopes: strings.Fields(scope)}
		body, err := handled(h.statement, caller, "GET", "", gin.Param{Key: "user_id", Value: "alice"})
		var s wire.Statement
		if err != nil || json.Unmarshal([]byte(body), &s) != nil || len(s.Entries) != 2 {
			t.Fatalf("got %s, %v", body, err)
		}
		own, corrected := s.Entries[0], s.Entries[1]
		if own.Address != "192.0.2.1" || own.UserAgent != "game/1" || corrected.Address != seen ||
			(corrected.UserAgent != "") != (seen != "") {
			t.Errorf("scope %q: got %+v", scope, s.Entries)
		}
	}
}
