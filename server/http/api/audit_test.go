package api

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// trail records entries.
type trail struct{ entries []*scoreboard.AuditEntry }

func (t *trail) Add(_ context.Context, e *scoreboard.AuditEntry) error {
	t.entries = append(t.entries, e)
	return nil
}

func (t *trail) AuditEntries(context.Context, scoreboard.AuditFilter) ([]scoreboard.AuditEntry, error) {
	return nil, nil
}

func (t *trail) VerifyChain(context.Context, *scoreboard.AuditSeal) (*scoreboard.AuditChain, error) {
	return &scoreboard.AuditChain{}, nil
}

// Every route that changes something for an operator is declared as audited. What its
// handler writes is complete, and a handler that writes nothing is reported.
func TestAdminChangesAreAudited(t *testing.T) {
	t.Parallel()
	kept := &trail{}
	var log bytes.Buffer
	a := everything(kept, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	token, _, err := a.callers.tokens.Mint("root", auth.ScopeAdmin+" "+auth.ScopeUpdate, time.Minute)
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
	writes := func(c *gin.Context, caller *auth.Claims) error {
		var v map[string]any
		if err := decode(c, &v); err != nil {
			return err
		}
		return kept.Add(c.Request.Context(), auditEntry(c, caller, "target"))
	}
	forgets := func(*gin.Context, *auth.Claims) error { return nil }
	fails := func(*gin.Context, *auth.Claims) error { return scoreboard.Invalid("", "no") }
	changes := 0
	for _, r := range a.handlers.routes() {
		name := r.method + " " + r.path
		if strings.HasPrefix(r.path, "/v1/admin/") && !r.operates() {
			t.Errorf("%s is open to tokens without %s", name, auth.ScopeOperate)
		}
		want := r.operates() && r.method != http.MethodGet && r.path != pathVerify // changes nothing
		if got := r.audit == audited; got != want {
			t.Errorf("%s: audited %t, want %t", name, got, want)
		}
		if !want {
			continue
		}
		changes++
		if noun, verb, ok := strings.Cut(r.action, "."); !ok || noun == "" || verb == "" {
			t.Errorf("%s: the audited action is %q, want noun.verb", name, r.action)
		}
		kept.entries = nil
		log.Reset()
		if err := run(r, writes); err != nil {
			t.Fatal(err)
		}
		if len(kept.entries) != 1 || log.Len() > 0 {
			t.Fatalf("%s: got %d entries, and logged %q", name, len(kept.entries), &log)
		}
		reason := "" // from the body, which this handler does not read
		if slices.Contains(r.query, queryReason) {
			reason = "because"
		}
		if e := kept.entries[0]; e.Actor != "root" || e.Address == "" || e.RequestID != "req" || e.Reason != reason ||
			e.Action != r.action || e.Target != "target" || string(e.Detail) != `{"why":"x"}` {
			t.Errorf("%s: got %+v", name, e)
		}
		if err := run(r, fails); wire.CodeOf(err) != wire.CodeInvalidRequest || log.Len() > 0 {
			t.Errorf("%s: rejected: got %v, and logged %q", name, err, &log)
		}
		if err := run(r, forgets); err != nil || !strings.Contains(log.String(), "change without audit entry") {
			t.Errorf("%s: without an entry: got %v, and logged %q", name, err, &log)
		}
	}
	long := a.handlers.adminRoute("POST", "/v1/boards", "board.create", reasonParameter, func(
		*gin.Context, *auth.Claims,
	) error {
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
	if err := a.run(c, long); wire.CodeOf(err) != wire.CodeInvalidRequest {
		t.Errorf("overlong reason: got %v, want invalid_request", err)
	}
	if changes < 7 {
		t.Errorf("got %d admin routes with changes, want at least 7", changes)
	}
}

// names accepts any profile and writes its audit entry.
type names struct {
	Profiles
	kept *trail
}

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
	a := everything(kept, func(o *Options) { o.Profiles = names{kept: kept} })
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

// everything is an API with all routes and no components behind them, but for what edits add.
func everything(kept Trail, edits ...func(*Options)) *API {
	o := allOptions(kept)
	for _, edit := range edits {
		edit(&o)
	}
	return New(o)
}

// allOptions are those of an API with all routes.
func allOptions(kept Trail) Options {
	return Options{
		Tokens:       auth.NewTokens("a secret of the tests, long enough for HS256", "iss", "aud", time.Now),
		Submitter:    struct{ Submitter }{},
		Reads:        struct{ Leaderboard }{},
		PastBoards:   struct{ PastBoards }{},
		Tiers:        struct{ TierReads }{},
		Live:         struct{ Live }{},
		WebSockets:   struct{ WebSockets }{},
		EventStreams: struct{ Stream }{},
		Keys:         struct{ signingKeys }{},
		Secrets:      struct{ Secrets }{},
		Tickets:      struct{ Tickets }{},
		Operations:   &Operations{},
		Trail:        kept,
		Moderation:   struct{ Moderation }{},
		Settings:     struct{ settingsOnly }{},
		Flags:        struct{ Flags }{},
		Webhooks:     struct{ Webhooks }{},
		DevIssuer:    true,
		Log:          slog.New(slog.DiscardHandler),
		Now:          time.Now,
		Ledger:       struct{ Statements }{},
		Boards:       struct{ Boards }{},
		Profiles:     struct{ Profiles }{},
		Privacy:      struct{ UserPrivacy }{},
		Hidden:       everyonePublic{},
		ExternalIDs:  struct{ ExternalIDs }{},
		Friends:      struct{ Friends }{},
		Teams:        struct{ Teams }{},
		Rewards:      struct{ rewardStore }{},
		Players:      struct{ Players }{},
		FriendReads:  struct{ FriendReads }{},
		Leagues:      struct{ Leagues }{},
		CohortReads:  struct{ CohortReads }{},

		LeagueCorrections: struct{ LeagueCorrections }{},

		Pages: allListed{},
	}
}

// everyonePublic hides nobody.
type everyonePublic struct{}

func (everyonePublic) Visibility(scoreboard.UserID) scoreboard.Visibility {
	return scoreboard.VisibilityPublic
}

// allListed lists all boards, for one other origin.
type allListed struct{}

func (allListed) Lists(scoreboard.BoardID) bool { return true }

func (allListed) PublicURL() string { return "https://scores.example" }

func (allListed) OriginsOf(scoreboard.BoardID) []string { return []string{"https://game.example"} }

func (allListed) Embeds(_ scoreboard.BoardID, origin string) bool {
	return origin == "https://game.example"
}

// signingKeys renames Keys: embedded as Keys, the field would hide its method.
type signingKeys interface{ Keys }

// rewardStore renames Rewards for the same reason.
type rewardStore interface{ Rewards }

// settingsOnly renames SettingsService for the same reason.
type settingsOnly interface{ SettingsService }
