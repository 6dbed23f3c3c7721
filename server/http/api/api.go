package api

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/publicnet"
	"github.com/scoreboard/scoreboard/internal/tracing"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Submitter records increments.
type Submitter interface {
	Submit(ctx context.Context, in scoreboard.Increment) ([]scoreboard.Receipt, error)
	// SubmitAll records many, with an outcome for each in their order.
	SubmitAll(ctx context.Context, in []scoreboard.Increment) []scoreboard.Outcome
}

// Acceptor queues increments that are recorded later.
type Acceptor interface {
	// Accept returns receipts if the increment was recorded before, and none if it
	// is now pending.
	Accept(ctx context.Context, in scoreboard.Increment) ([]scoreboard.Receipt, error)
	// Status returns the state of an event without a receipt: pending, rejected, or
	// a not_found.
	Status(
		ctx context.Context, user scoreboard.UserID, event scoreboard.EventID,
	) (pending bool, rejected *scoreboard.Error, err error)
}

// Statuses returns a user's status: active, frozen, banned, erased; "" for an
// unknown user.
type Statuses interface {
	UserStatus(ctx context.Context, user scoreboard.UserID) (string, error)
}

// Catalog looks boards up.
type Catalog interface {
	Board(ctx context.Context, id scoreboard.BoardID) (*scoreboard.Board, error)
	// PublicBoard is as Board, and returns a private board with a not_found.
	PublicBoard(ctx context.Context, id scoreboard.BoardID) (*scoreboard.Board, error)
	// Named does not resolve a family, and returns a state of the time or later; private
	// says whether to find private boards.
	Named(ctx context.Context, id scoreboard.BoardID, private bool, at time.Time) (*scoreboard.Board, error)
	// Families returns all boards but instances by name, and Periods a family's instances in
	// the order of their starts; both return private boards, too.
	Families(ctx context.Context) ([]*scoreboard.Board, error)
	Periods(ctx context.Context, family scoreboard.BoardID) ([]*scoreboard.Board, error)
}

// Events looks up the receipts of an event.
type Events interface {
	Event(ctx context.Context, user scoreboard.UserID, event scoreboard.EventID) ([]scoreboard.Receipt, error)
}

// Ranker fills in the ranks of receipts.
type Ranker interface {
	Rank(ctx context.Context, receipts []*scoreboard.Receipt)
}

// Live serves long polls.
type Live interface {
	// Wait returns nil once the board is newer than the viewer's last state.
	Wait(ctx context.Context, v *realtime.Viewer) error
}

// Stream serves realtime connections. An error means that nothing was written.
type Stream interface {
	Serve(w http.ResponseWriter, r *http.Request, v *realtime.Viewer) error
}

// WebSockets serves realtime connections as WebSockets.
type WebSockets interface {
	Stream
	// Accepts reports whether r is a WebSocket handshake.
	Accepts(r *http.Request) bool
	// Refuse upgrades r and closes it with err's code. An error means that
	// nothing was written.
	Refuse(w http.ResponseWriter, r *http.Request, f *realtime.Format, err error) error
}

// Tickets issues and redeems the join tickets of browsers.
type Tickets interface {
	Issue(
		ctx context.Context, caller *auth.Claims, board scoreboard.BoardID,
	) (ticket string, expires time.Time, err error)
	// Redeem consumes a ticket. With an address the same ticket may be redeemed
	// again, from that address only.
	Redeem(ctx context.Context, ticket string, board scoreboard.BoardID, address string) (*auth.Claims, error)
	// Hold says that a stream has opened with a redeemed ticket, or has ended.
	Hold(ctx context.Context, ticket string, open bool) error
}

// Options are the components behind the API. A component that this process does
// not have is nil, and its routes do not exist.
type Options struct {
	Tokens      *auth.Tokens
	Keyring     *auth.Keyring
	Catalog     Catalog
	Submitter   Submitter
	Acceptor    Acceptor
	Events      Events
	Ranker      Ranker
	Reads       Leaderboard
	PastBoards  PastBoards // set where Reads is
	Tiers       TierReads  // set where Reads is
	Profiles    Profiles
	ExternalIDs ExternalIDs // nil: they are not stored
	Friends     Friends
	Teams       Teams
	Rewards     Rewards     // nil, or Boards is set
	Leagues     Leagues     // set where Reads is
	CohortReads CohortReads // set where Reads is
	// LeagueCorrections corrects outcomes of leagues; nil, or Boards is set.
	LeagueCorrections LeagueCorrections
	FriendReads       FriendReads // set where Reads is
	Players           Players     // nil, or Boards is set
	// Show hides users in rows, and adds the profiles of the others; set where Reads is.
	Show         func(context.Context, scoreboard.BoardID, []scoreboard.Entry)
	Hidden       Hidden // set where Reads is
	Privacy      UserPrivacy
	Ledger       Statements
	Live         Live
	WebSockets   WebSockets
	EventStreams Stream
	Tickets      Tickets
	StreamTokens *auth.StreamTokens // nil: no dialect has such streams
	Keys         Keys
	Secrets      Secrets // set where Keys is
	Boards       Boards
	Operations   *Operations
	Trail        Trail
	Moderation   Moderation // for operators
	Statuses     Statuses   // for users' reads of themselves
	Settings     SettingsService
	Flags        Flags
	Webhooks     Webhooks
	// WebhookNetworks are where webhooks may be.
	WebhookNetworks publicnet.Networks
	Countries       Countries // nil: only the edge's country header is used
	Pages           Listing   // nil: boards have no pages
	Limits          Limits

	ActionTokens *auth.ActionTokens // set where Submitter is
	Attestations *auth.Attestations // nil without a key set of attesting servers
	Window       scoreboard.Window  // in which repeats are recognised; no attestation is valid for longer
	Peers        []string           // names in client certificates that act as servers

	Policy     Policy   // the initial one; Configure replaces it
	CursorKeys [][]byte // the first makes cursors, those of all are accepted
	DevIssuer  bool
	Origins    []string
	Log        *slog.Logger
	Tracer     *tracing.Tracer // nil: requests are not traced
	Now        func() time.Time
}

// Policy is what operators can change while the API serves.
type Policy struct {
	SignatureOptional bool
	DefaultKey        string // of field signatures that name no key; "" for none
	Async             bool   // answer 202 to requests that prefer it
	OverflowAsync     bool   // queue increments that ingest rejects as overloaded
	AnonymousReads    bool   // of public boards, without a token
	TopN              int    // default rows of a leaderboard read
	CountryHeader     string // header in which the edge sends the country; "" for none
	Actions           scoreboard.Rules
}

// API is the handler of the API's port: it has requests authenticated, limited and answered.
// The handlers of the routes are types of their own, by subject.
type API struct {
	engine      *gin.Engine
	hosts       map[string]*gin.Engine // of dialects with a host of their own
	handlers    *handlers
	dialects    *dialectRoutes
	callers     *callers
	origins     *origins
	externalIDs *externalIDs
	failures    *failures
	webSockets  WebSockets
	limits      *Limits
	policy      *atomic.Pointer[Policy]
	// suspended is why every route answers 503; nil: none does.
	suspended atomic.Pointer[string]
	metrics   *metrics
	tracer    *tracing.Tracer
	log       *slog.Logger
}

// New makes the API.
func New(o Options) *API {
	gin.SetMode(gin.ReleaseMode)
	f := &failures{errors: newErrorLog(), log: o.Log, now: o.Now}
	p := newParts(&o, f)
	from := &origins{allowed: o.Origins, pages: o.Pages, errors: newErrorLog(), log: o.Log, now: o.Now}
	a := &API{
		handlers: p.handlers(), dialects: p.dialects(), origins: from,
		callers:     &callers{tokens: o.Tokens, peers: o.Peers, policy: p.policy, origins: from},
		externalIDs: &externalIDs{store: o.ExternalIDs, failures: f},
		failures:    f, webSockets: o.WebSockets, limits: &o.Limits, policy: p.policy,
		metrics: newMetrics(), tracer: o.Tracer, log: o.Log,
	}
	a.Configure(o.Policy)
	a.engine = a.newEngine()
	for _, r := range a.handlers.routes() {
		a.register(a.engine, r)
	}
	return a
}

// register adds a route to a router, for HEAD, too, where it is a GET: net/http sends no
// body then. That of a stream would never end.
func (a *API) register(e *gin.Engine, r route) {
	serve := a.serve(r)
	e.Handle(r.method, r.path, serve)
	if r.method == http.MethodGet && r.stream == nil {
		e.Handle(http.MethodHead, r.path, serve)
	}
}

// newEngine returns a router without routes.
func (a *API) newEngine() *gin.Engine {
	e := gin.New()
	e.HandleMethodNotAllowed = true
	e.UseRawPath = true
	// gin redirects before any middleware runs: without our headers and errors.
	e.RedirectTrailingSlash = false
	e.Use(a.identify, a.recoverPanic, a.origins.cors)
	e.NoRoute(a.unmatched(func(*gin.Context) error {
		return scoreboard.Errorf(wire.CodeNotFound, "no such route")
	}))
	e.NoMethod(a.unmatched(func(c *gin.Context) error {
		c.Header("Allow", strings.Join(allowedMethods(e, c.Request.URL), ", "))
		return scoreboard.Errorf(wire.CodeMethodNotAllowed, "method %.20s is not allowed", c.Request.Method)
	}))
	return e
}

// unmatched answers requests that match no route.
func (a *API) unmatched(why func(*gin.Context) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := take(c.Request.Context(), a.limits.Address, address(c.Request)); err != nil {
			a.failures.fail(c, err)
			return
		}
		a.failures.fail(c, why(c))
	}
}

// allowedMethods returns the methods of the routes that match a URL's path. gin 1.12
// sets Allow itself, but looks each method up in what it has read of the one before, so
// that DELETE /leaderboard/top allows POST, which no route has.
func allowedMethods(e *gin.Engine, u *url.URL) []string {
	path := cmp.Or(u.RawPath, u.Path)
	var methods []string
	for _, r := range e.Routes() {
		if matchesRoute(r.Path, path) && !slices.Contains(methods, r.Method) {
			methods = append(methods, r.Method)
		}
	}
	slices.Sort(methods)
	return methods
}

// matchesRoute reports whether a route's path, which may have parameters, matches a path.
func matchesRoute(route, path string) bool {
	want, got := strings.Split(route, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, got, func(want, got string) bool {
		return want == got || strings.HasPrefix(want, ":")
	})
}

// Configure replaces the policy.
func (a *API) Configure(p Policy) { a.policy.Store(&p) }

// Suspend has every route answer 503 with a reason until Resume. Only the routes
// without data (the description of the API) still answer.
func (a *API) Suspend(reason string) { a.suspended.Store(&reason) }

// Resume ends Suspend.
func (a *API) Resume() { a.suspended.Store(nil) }

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.engineOf(r).ServeHTTP(w, r) }
