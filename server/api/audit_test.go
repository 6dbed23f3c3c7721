package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// trail remembers entries, and fails as often as it is told to.
type trail struct {
	entries []*scoreboard.AuditEntry
	fails   int
}

func (t *trail) Audited(_ context.Context, e *scoreboard.AuditEntry) error {
	if t.fails > 0 {
		t.fails--
		return errors.New("away")
	}
	t.entries = append(t.entries, e)
	return nil
}

func (t *trail) AuditEntries(context.Context, scoreboard.AuditFilter) ([]scoreboard.AuditEntry, error) {
	return nil, nil
}

// Whatever an operator changes leaves a row, through every route that there is.
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
		c.Request = httptest.NewRequestWithContext(
			t.Context(),
			r.method,
			"/x?reason=because",
			strings.NewReader(`{"user_id":"alice","why":"x"}`),
		)
		c.Request.Header.Set("Authorization", "Bearer "+token)
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
			want = 0 // it only looks
		}
		name := r.action
		if noun, verb, ok := strings.Cut(name, "."); want == 1 && (!ok || noun == "" || verb == "") {
			t.Errorf("%s %s: the trail calls it %q, want noun.verb", r.method, r.path, name)
		}
		kept.entries, kept.fails = nil, 2 // the third try reaches the trail
		if err := run(
			r,
			func(c *gin.Context, _ *auth.Claims) error { var v map[string]any; return decode(c, &v) },
		); err != nil {
			t.Fatal(err)
		}
		if len(kept.entries) != want {
			t.Errorf("%s %s: got %d entries, want %d", r.method, r.path, len(kept.entries), want)
		}
		for _, e := range kept.entries {
			if e.Who != "root" || e.Address == "" || e.RequestID != "req" || e.Reason != "because" ||
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
				"%s %s: refused, and with an entry of its own: %d entries, %v",
				r.method,
				r.path,
				len(kept.entries),
				err,
			)
		}
	}
	long := adminRoute("POST", "/v1/boards", "board.create", func(*gin.Context, *auth.Claims) error {
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
		t.Errorf("a reason that is too long: %v, want an invalid_request", err)
	}
	if changes < 7 {
		t.Errorf("only %d admin routes change something: this proves nothing", changes)
	}
}

// names takes any profile, with what the trail is to say of it.
type names struct{ kept *trail }

func (n names) PutProfile(ctx context.Context, _ *scoreboard.Profile, why *scoreboard.AuditEntry) error {
	if why == nil {
		return nil
	}
	return n.kept.Audited(ctx, why)
}

// A profile is its user's, who leaves nothing in the trail; an operator does.
func TestProfileChangeByOperatorIsAudited(t *testing.T) {
	t.Parallel()
	kept := &trail{}
	a := everything(kept)
	a.Profiles = names{kept}
	r := route{method: http.MethodPut, path: "/v1/users/:user_id/profile?reason=rude"}
	for _, c := range []struct {
		who   scoreboard.UserID
		scope string
		want  int
	}{{"alice", "", 0}, {"alice", auth.ScopeAdmin, 0}, {"root", auth.ScopeAdmin, 1}} {
		kept.entries = nil
		if got := asks(
			t,
			a,
			r,
			"alice",
			minted(t, a, c.who, c.scope),
			`{"display_name":"Secret Name"}`,
		); got != http.StatusOK ||
			len(kept.entries) != c.want {
			t.Errorf("by %s with %q: got %d and %d entries, want %d", c.who, c.scope, got, len(kept.entries), c.want)
		}
	}
	for _, e := range kept.entries {
		if e.Who != "root" || e.Action != "user.profile" || e.Target != "user:alice" || e.Reason != "rude" ||
			e.Detail != nil {
			t.Errorf("got %+v", e)
		}
	}
}

// everything is an API with all its routes, none of which has anything behind
// it.
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

// signingKeys is Keys under another name: embedded, Keys would hide its method.
type signingKeys interface{ Keys }

// settingsOnly is SettingsService under another name, for the same reason.
type settingsOnly interface{ SettingsService }
