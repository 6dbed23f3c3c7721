package api

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Submitter records an increment and answers with its receipts.
type Submitter interface {
	Submit(ctx context.Context, in scoreboard.Increment) ([]scoreboard.Receipt, error)
	// SubmitAll records many, with an outcome for each.
	SubmitAll(ctx context.Context, in []scoreboard.Increment) []scoreboard.Outcome
}

// Acceptor takes increments for later.
type Acceptor interface {
	// Accept returns no receipts where the increment is pending now.
	Accept(ctx context.Context, in scoreboard.Increment) ([]scoreboard.Receipt, error)
	// Status tells of an event without a receipt: pending, rejected, or a
	// not_found.
	Status(ctx context.Context, user scoreboard.UserID, event scoreboard.EventID) (pending bool, rejected *scoreboard.Error, err error)
}

// Statuses says what a user is: active, frozen, banned, erased; "" where there
// is none.
type Statuses interface {
	UserStatus(ctx context.Context, user scoreboard.UserID) (string, error)
}

// Catalog says what a board is.
type Catalog interface {
	Board(ctx context.Context, id scoreboard.BoardID) (*scoreboard.Board, error)
}

// Events looks up what became of an event, and ranks it.
type Events interface {
	Event(ctx context.Context, user scoreboard.UserID, event scoreboard.EventID) ([]scoreboard.Receipt, error)
}

// Ranker fills in the ranks of receipts.
type Ranker interface {
	Rank(ctx context.Context, receipts []*scoreboard.Receipt)
}

// Live serves realtime connections to who has been let in.
type Live interface {
	Serve(w http.ResponseWriter, r *http.Request, v Viewer) error
	// Refuse upgrades to a WebSocket and closes it with err's code. An error
	// means that nothing was written.
	Refuse(w http.ResponseWriter, r *http.Request, err error) error
	// Wait returns nil once there is something newer than what v has last.
	Wait(ctx context.Context, v Viewer) error
}

// Tickets issues and redeems what browsers join with.
type Tickets interface {
	Issue(ctx context.Context, who *auth.Claims, board scoreboard.BoardID) (ticket string, expires time.Time, err error)
	// Redeem takes a ticket, which only with an address may come again, from there.
	Redeem(ctx context.Context, ticket string, board scoreboard.BoardID, address string) (*auth.Claims, error)
}

// Viewer is who watches, and what.
type Viewer struct {
	User    scoreboard.UserID
	Address string
	Expires time.Time
	Board   scoreboard.BoardID
	Limit   int
	Delta   bool
	Last    string // the last id that the viewer has, <epoch>:<version>
	// CanSee refuses a board that the viewer may not watch; nil allows all.
	CanSee func(ctx context.Context, board scoreboard.BoardID) error
}

// Options are what the API is made of. A part that this process does not serve
// is nil, and its routes are not there.
type Options struct {
	Tokens    *auth.Tokens
	Keyring   *auth.Keyring
	Catalog   Catalog
	Submitter Submitter
	Acceptor  Acceptor
	Events    Events
	Ranker    Ranker
	Reads     Leaderboard
	Profiles  Profiles
	Ledger    Statements
	Live      Live
	Tickets   Tickets
	Keys      Keys
	Boards    Boards
	Operate   *Operate
	Trail     Trail
	// Moderation is of operators; Statuses serves everybody's own reads, too.
	Moderation Moderation
	Settings   SettingsService
	Flags      Flags
	Countries  Countries // nil: only what the edge says
	Statuses   Statuses
	Limits     Limits

	// ActionTokens are there where increments are; Attestations are nil where
	// nobody's keys are known.
	ActionTokens *auth.ActionTokens
	Attestations *auth.Attestations
	Peers        []string // names in client certificates that speak for servers

	Policy    Policy // at first; Configure changes them
	CursorKey []byte
	DevIssuer bool
	Origins   []string
	Log       *slog.Logger
	Now       func() time.Time
}

// API is the handler of the API's port.
type API struct {
	Options
	engine   *gin.Engine
	metrics  *metrics
	pages    pages
	failures failures

	policy atomic.Pointer[Policy]
}

// handler answers one request of a caller that is known, or says why not.
type handler func(c *gin.Context, who *auth.Claims) error

// route is a line of the table. Scope is what the caller's token must carry
// beside being valid; rate is how often the caller may.
type route struct {
	method, path, scope string
	rate                Rate
	handle              handler
}

// New makes the API.
func New(o Options) *API {
	gin.SetMode(gin.ReleaseMode)
	a := &API{Options: o, engine: gin.New(), metrics: newMetrics(), failures: failures{told: make(map[failure]*telling)}}
	a.Configure(o.Policy)
	a.engine.HandleMethodNotAllowed = true
	a.engine.UseRawPath = true
	a.engine.Use(a.identify, a.recoverPanic, a.cors)
	a.engine.NoRoute(func(c *gin.Context) {
		a.fail(c, scoreboard.Errorf(scoreboard.CodeNotFound, "there is nothing at this path"))
	})
	a.engine.NoMethod(func(c *gin.Context) {
		a.fail(c, scoreboard.Errorf(scoreboard.CodeMethodNotAllowed, "%s is not allowed here", c.Request.Method))
	})
	for _, r := range a.routes() {
		a.engine.Handle(r.method, r.path, a.serve(r))
	}
	a.serveDocs()
	return a
}

func (a *API) routes() []route {
	var t []route
	if a.Submitter != nil {
		t = append(t,
			route{"POST", "/v1/scores/increment", "", a.Limits.Updates, a.increment},
			route{"POST", "/v1/scores/increments", auth.ScopeUpdate, a.Limits.Updates, a.batch},
			route{"POST", "/v1/actions", "", a.Limits.Actions, a.startAction},
			route{"GET", "/v1/events/:event_id", "", unlimited, a.event})
	}
	if a.Reads != nil {
		t = append(t, a.readRoutes()...)
	}
	if a.Ledger != nil {
		t = append(t, route{"GET", "/v1/users/:user_id/statement", "", a.Limits.Rank, a.statement})
	}
	if a.Profiles != nil {
		t = append(t, route{"PUT", "/v1/users/:user_id/profile", "", a.Limits.Updates, a.profile})
	}
	if a.Live != nil {
		t = append(t,
			route{"GET", "/v1/realtime/token", "", a.Limits.Tickets, a.ticket},
			route{"GET", livePath, "", unlimited, a.live})
	}
	if a.Keys != nil {
		t = append(t,
			route{"POST", "/v1/admin/keys", auth.ScopeAdmin, unlimited, a.createKey},
			route{"POST", "/v1/admin/keys/:key_id/rotate", auth.ScopeAdmin, unlimited, a.rotateKey},
			route{"GET", "/v1/admin/keys", auth.ScopeAdmin, unlimited, a.listKeys},
			route{"DELETE", "/v1/admin/keys/:key_id", auth.ScopeAdmin, unlimited, a.revokeKey})
	}
	if a.Boards != nil {
		t = append(t, a.boardRoutes()...)
	}
	if a.Operate != nil {
		t = append(t, a.operateRoutes()...)
	}
	if a.Moderation != nil {
		t = append(t, a.moderationRoutes()...)
	}
	if a.Settings != nil {
		for _, path := range []string{settingsPath, settingsAlias} {
			t = append(t,
				route{"GET", path, auth.ScopeAdmin, unlimited, a.listSettings},
				route{"PUT", path, auth.ScopeAdmin, unlimited, a.changeSettings},
				route{"PUT", path + "/:name", auth.ScopeAdmin, unlimited, a.changeSetting})
		}
	}
	if a.Flags != nil {
		t = append(t, a.flagRoutes()...)
	}
	if a.Trail != nil {
		t = append(t, route{"GET", "/v1/admin/audit", auth.ScopeAdmin, unlimited, a.auditEntries})
	}
	if a.DevIssuer {
		t = append(t, route{"POST", "/v1/admin/tokens", auth.ScopeAdmin, unlimited, a.mintToken})
	}
	return t
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.engine.ServeHTTP(w, r) }

// serve admits, authenticates, limits and measures one route. The limits come
// before the body is read: a refusal costs little, and a repeat counts.
func (a *API) serve(r route) gin.HandlerFunc {
	observe := a.metrics.route(r.method, r.path)
	return func(c *gin.Context) {
		started := time.Now()
		if err := a.run(c, r); err != nil {
			a.turnAway(c, a.countFailure(c, err))
		}
		took := time.Since(started)
		observe(c.Writer.Status(), took)
		if a.Log.Enabled(c.Request.Context(), slog.LevelDebug) {
			a.logAccess(c, r.path, took)
		}
	}
}

// logAccess writes a line a request, at the level debug only: what is counted
// and timed needs no line, and errors of ours have one anyway. The query stays
// out, because it may hold a ticket.
func (a *API) logAccess(c *gin.Context, route string, took time.Duration) {
	a.Log.LogAttrs(c.Request.Context(), slog.LevelDebug, "request", slog.String("method", c.Request.Method), slog.String("route", route),
		slog.Int("status", c.Writer.Status()), slog.Duration("elapsed", took), slog.String("address", address(c.Request)),
		slog.String("request_id", c.GetString(keyRequestID)), slog.String("trace", c.GetString(keyTrace)))
}

func (a *API) run(c *gin.Context, r route) error {
	if err := take(c.Request.Context(), a.Limits.Address, address(c.Request)); err != nil {
		return err
	}
	authenticate := a.authenticate
	if r.path == livePath {
		authenticate = a.join
	}
	who, err := authenticate(c)
	if err != nil {
		return err
	}
	if who.JoinsOnly() && r.path != livePath {
		return scoreboard.Errorf(scoreboard.CodeForbidden, "the token is for joining a stream")
	}
	if r.scope != "" && !who.Has(r.scope) {
		return scoreboard.Errorf(scoreboard.CodeForbidden, "this needs the scope %s", r.scope)
	}
	if err := a.takeRate(c, r, who); err != nil {
		return a.orHeld(c, r, who, err)
	}
	if r.scope == auth.ScopeAdmin || r.path == livePath {
		unhurry(c)
	}
	if r.audits() {
		if err := checkReason(c); err != nil {
			return err
		}
	}
	if err := r.handle(c, who); err != nil {
		return err
	}
	a.audit(c, r, who)
	return nil
}
