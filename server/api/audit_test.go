package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// trail records entries, after a number of failures.
type trail struct {
	entries []*scoreboard.AuditEntry
	fails   int
}

func (t *trail) Add(_ context.Context, e *scoreboard.AuditEntry) error {
	if t.fails > 0 {
		t.fails--
		return errors.New("unavailable")
	}
	t.entries = append(t.entries, e)
	return nil
}

func (t *trail) AuditEntries(context.Context, scoreboard.AuditFilter) ([]scoreboard.AuditEntry, error) {
	return nil, nil
}

// Every route that changes something for an operator writes one audit entry.
func TestAdminChangesAreAudited(t *testing.T) {
	t.Parallel()
	kept := &trail{}
	a := everything(kept)
	token, _, err := a.Tokens.Mint("root", auth.ScopeAdmin+" "+auth.ScopeUpdate, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	run := func(r route, handle handler) error {
		c, _ := gin.CreateTestContext(httptest.NewRecorder())
		target := "/x"
		if slices.Contains(r.query, queryReason) {
			target += "?reason=because"
		}
		c.Request = httptest.NewRequestWithContext(
			t.Context(),
			r.method,
			target,
			strings.NewReader(`{"user_id":"alice","why":"x"}`),
		)
		c.Request.Header.Set("Authorization", "Bearer "+token)
		c.Request.Header.Set("Content-Type", "application/json")
		c.Set(keyRequestID, "req")
		r.handle = handle
		return a.run(c, r)
	}
	changes := 0
	for _, r := range a.routes() {
		admin := strings.HasPrefix(r.path, "/v1/admin/")
		if admin && r.scope != auth.ScopeAdmin {
			t.Errorf("%s %s is open to tokens without %s", r.method, r.path, auth.ScopeAdmin)
		}
		want := 0
		if admin && r.method != http.MethodGet {
			changes++
			want = 1
		}
		if r.scope == auth.ScopeAdmin && r.method != http.MethodGet {
			want = 1
		}
		if r.path == pathVerify {
			want = 0 // changes nothing
		}
		name := r.action
		if noun, verb, ok := strings.Cut(name, "."); want == 1 && (!ok || noun == "" || verb == "") {
			t.Errorf("%s %s: the audited action is %q, want noun.verb", r.method, r.path, name)
		}
		kept.entries, kept.fails = nil, 2 // the third try succeeds
		if err := run(
			r,
			func(c *gin.Context, _ *auth.Claims) error { var v map[string]any; return decode(c, &v) },
		); err != nil {
			t.Fatal(err)
		}
		if len(kept.entries) != want {
			t.Errorf("%s %s: got %d entries, want %d", r.method, r.path, len(kept.entries), want)
		}
		reason := "" // from the body, which this handler does not read
		if slices.Contains(r.query, queryReason) {
			reason = "because"
		}
		for _, e := range kept.entries {
			if e.Actor != "root" || e.Address == "" || e.RequestID != "req" || e.Reason != reason ||
				e.Action != name ||
				string(e.Detail) != `{"why":"x"}` {
				t.Errorf("%s %s: got %+v", r.method, r.path, e)
			}
		}
		kept.entries, kept.fails = nil, 0
		refused := func(*gin.Context, *auth.Claims) error { return scoreboard.Invalid("", "no") }
		own := func(c *gin.Context, caller *auth.Claims) error { newAuditEntry(c, caller, "x", "y"); return nil }
		if err := errors.Join(
			run(r, refused),
			run(r, own),
		); scoreboard.CodeOf(err) != scoreboard.CodeInvalidRequest ||
			len(kept.entries) != 0 {
			t.Errorf(
				"%s %s: rejected, or writing its own entry: %d entries, %v",
				r.method,
				r.path,
				len(kept.entries),
				err,
			)
		}
	}
	long := a.adminRoute("POST", "/v1/boards", "board.create", reasonParameter, func(*gin.Context, *auth.Claims) error {
		t.Error("the handler ran")
		return nil
	})
	c, _ := gin.CreateTestContext(httptest.NewRecorder())
	c.Request = httptest.NewRequestWithContext(
		t.Context(),
		long.method,
		long.path+"?reason="+strings.Repeat("a", scoreboard.MaxReason+1),
		nil,
	)
	c.Request.Header.Set("Authorization", "Bearer "+token)
	if err := a.run(c, long); scoreboard.CodeOf(err) != scoreboard.CodeInvalidRequest {
		t.Errorf("overlong reason: got %v, want invalid_request", err)
	}
	if changes < 7 {
		t.Errorf("got %d admin routes with changes, want at least 7", changes)
	}
}

// names accepts any profile and writes its audit entry.
type names struct{ kept *trail }

func (n names) PutProfile(ctx context.Context, _ *scoreboard.Profile, why *scoreboard.AuditEntry) error {
	if why == nil {
		return nil
	}
	return n.kept.Add(ctx, why)
}

// Users change their own profiles without an audit entry; operators are audited.
func TestProfileChangeByOperatorIsAudited(t *testing.T) {
	t.Parallel()
	kept := &trail{}
	a := everything(kept)
	a.Profiles = names{kept}
	r := route{method: http.MethodPut, path: "/v1/users/:user_id/profile?reason=rude"}
	for _, c := range []struct {
		by    scoreboard.UserID
		scope string
		want  int
	}{{"alice", "", 0}, {"alice", auth.ScopeAdmin, 0}, {"root", auth.ScopeAdmin, 1}} {
		kept.entries = nil
		if got := asks(
			t,
			a,
			r,
			"alice",
			minted(t, a, c.by, c.scope),
			`{"display_name":"Secret Name"}`,
		); got != http.StatusOK ||
			len(kept.entries) != c.want {
			t.Errorf("by %s with %q: got %d and %d entries, want %d", c.by, c.scope, got, len(kept.entries), c.want)
		}
	}
	for _, e := range kept.entries {
		if e.Actor != "root" || e.Action != "user.profile" || e.Target != "user:alice" || e.Reason != "rude" ||
			e.Detail != nil {
			t.Errorf("got %+v", e)
		}
	}
}

// everything is an API with all routes and no components behind them.
func everything(kept Trail) *API {
	return New(Options{
		Tokens:       auth.NewTokens("a secret of the tests, long enough for HS256", "iss", "aud", time.Now),
		Submitter:    struct{ Submitter }{},
		Reads:        struct{ Leaderboard }{},
		Live:         struct{ Live }{},
		WebSockets:   struct{ WebSockets }{},
		EventStreams: struct{ Stream }{},
		Keys:         struct{ signingKeys }{},
		Operations:   &Operations{},
		Trail:        kept,
		Moderation:   struct{ Moderation }{},
		Settings:     struct{ settingsOnly }{},
		Flags:        struct{ Flags }{},
		DevIssuer:    true,
		Log:          slog.New(slog.DiscardHandler),
		Now:          time.Now,
		Ledger:       struct{ Statements }{},
		Boards:       struct{ Boards }{},
		Profiles:     struct{ Profiles }{},
	})
}

// signingKeys renames Keys: embedded as Keys, the field would hide its method.
type signingKeys interface{ Keys }

// settingsOnly renames SettingsService for the same reason.
type settingsOnly interface{ SettingsService }
