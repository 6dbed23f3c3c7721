package api

import (
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// handler answers one authenticated request, or returns why it cannot.
type handler func(c *gin.Context, caller *auth.Claims) error

// route is one row of the route table.
type route struct {
	method, path string
	scope        string // that the caller's token must carry; "" for any valid token
	rate         Rate
	handle       handler
	action       string // in the audit trail, noun.verb; "" where nothing is audited
}

// userRoute is a route for any valid token, limited per user.
func userRoute(method, path string, rate Rate, handle handler) route {
	return route{method: method, path: path, rate: rate, handle: handle}
}

// adminRoute is a route for operators. It has no limit of its own.
func adminRoute(method, path, action string, handle handler) route {
	return route{method: method, path: path, scope: auth.ScopeAdmin, handle: handle, action: action}
}

// audits reports whether a successful request must leave an entry in the audit
// trail. Every change by an operator does, including those of routes added later.
func (r route) audits() bool {
	return r.scope == auth.ScopeAdmin && r.method != http.MethodGet && r.path != pathVerify
}

// Paths that more than one place refers to.
const (
	pathTop       = "/v1/leaderboard/top"
	pathMe        = "/v1/leaderboard/me"
	pathUsers     = "/v1/leaderboard/users"
	pathScore     = "/v1/users/:user_id/score"
	pathRank      = "/v1/users/:user_id/rank"
	pathRealtime  = "/v1/realtime/leaderboard"
	pathRoll      = "/v1/boards/:board/roll"
	pathRebuild   = "/v1/admin/rebuild"
	pathVerify    = "/v1/admin/verify"
	pathReconcile = "/v1/admin/reconcile"
	pathSettings  = "/v1/admin/settings"
	// pathSettingsAlias answers exactly as pathSettings does. It is not in the
	// OpenAPI document.
	pathSettingsAlias = "/v1/admin/knobs"
)

// anonymousRoutes are open to clients without a token where the setting
// reads.anonymous is on: reads of public boards.
var anonymousRoutes = map[string]bool{
	pathTop: true, pathUsers: true, pathScore: true, pathRank: true, pathRealtime: true,
}

// routes is the route table of what this process serves.
func (a *API) routes() []route {
	var t []route
	if a.Submitter != nil {
		t = append(t,
			userRoute("POST", "/v1/scores/increment", a.Limits.Updates, a.increment),
			route{
				method: "POST", path: "/v1/scores/increments", scope: auth.ScopeUpdate,
				rate: a.Limits.Updates, handle: a.batch,
			},
			userRoute("POST", "/v1/actions", a.Limits.Actions, a.startAction),
			userRoute("GET", "/v1/events/:event_id", unlimited, a.event))
	}
	if a.Reads != nil {
		t = append(t,
			userRoute("GET", pathTop, a.Limits.Top, a.top),
			userRoute("GET", pathMe, a.Limits.Rank, a.place),
			userRoute("POST", pathUsers, a.Limits.Rank, a.list),
			userRoute("GET", pathScore, a.Limits.Rank, a.place),
			userRoute("GET", pathRank, a.Limits.Rank, a.place))
	}
	if a.Ledger != nil {
		t = append(t, userRoute("GET", "/v1/users/:user_id/statement", a.Limits.Rank, a.statement))
	}
	if a.Profiles != nil {
		t = append(t, route{
			method: "PUT", path: "/v1/users/:user_id/profile",
			rate: a.Limits.Updates, handle: a.profile, action: "user.profile", // audited for operators only
		})
	}
	if a.Live != nil {
		t = append(t,
			userRoute("GET", "/v1/realtime/token", a.Limits.Tickets, a.ticket),
			userRoute("GET", pathRealtime, unlimited, a.live))
	}
	if a.Boards != nil {
		t = append(t,
			userRoute("GET", "/v1/boards", a.Limits.Rank, a.listBoards),
			userRoute("GET", "/v1/boards/:board", a.Limits.Rank, a.showBoard),
			userRoute("GET", "/v1/boards/:board/standings", a.Limits.Rank, a.finalStandings))
	}
	return append(t, a.adminRoutes()...)
}

func (a *API) adminRoutes() []route {
	var t []route
	if a.Boards != nil && a.Operations != nil {
		t = append(t,
			adminRoute("POST", "/v1/boards", "board.create", a.createBoard),
			adminRoute("PATCH", "/v1/boards/:board", "board.set", a.setBoard),
			adminRoute("POST", "/v1/boards/roll", "board.roll", a.rollBoards),
			adminRoute("POST", pathRoll, "board.roll", a.rollBoards),
			adminRoute("POST", "/v1/boards/:board/freeze", "board.freeze", a.changeBoard(a.Boards.FreezeBoard)),
			adminRoute("POST", "/v1/boards/:board/unfreeze", "board.unfreeze", a.changeBoard(a.Boards.UnfreezeBoard)),
			adminRoute("POST", "/v1/boards/:board/archive", "board.archive", a.changeBoard(a.Boards.ArchiveBoard)))
	}
	if a.Keys != nil {
		t = append(t,
			adminRoute("POST", "/v1/admin/keys", "key.create", a.createKey),
			adminRoute("GET", "/v1/admin/keys", "", a.listKeys),
			adminRoute("POST", "/v1/admin/keys/:key_id/rotate", "key.rotate", a.rotateKey),
			adminRoute("DELETE", "/v1/admin/keys/:key_id", "key.revoke", a.revokeKey))
	}
	if a.Operations != nil {
		t = append(t,
			adminRoute("GET", "/v1/admin/checks", "", a.checks),
			adminRoute("GET", "/v1/admin/status", "", a.status),
			adminRoute("GET", "/v1/admin/outbox", "", a.outbox),
			adminRoute("GET", "/v1/admin/dead-letters", "", a.listDeadLetters),
			adminRoute("GET", "/v1/admin/dead-letters/:id", "", a.showDeadLetter),
			adminRoute("POST", "/v1/admin/dead-letters/:id/requeue", "letter.requeue", a.requeueDeadLetter),
			adminRoute("DELETE", "/v1/admin/dead-letters/:id", "letter.drop", a.dropDeadLetter),
			adminRoute("GET", "/v1/admin/boards/:board/ranking", "", a.rankingStatus),
			adminRoute("POST", pathRebuild, "ranking.rebuild", a.rebuild),
			adminRoute("POST", pathVerify, "", a.verify),
			adminRoute("POST", pathReconcile, "ranking.reconcile", a.verify),
			adminRoute("POST", "/v1/admin/replay", "ranking.replay", a.replay),
			adminRoute("POST", "/v1/admin/ledger/archive", "ledger.archive", a.archiveLedger))
	}
	if a.Moderation != nil {
		t = append(t,
			adminRoute("GET", "/v1/admin/users/:user_id", "", a.showUser),
			adminRoute("POST", "/v1/admin/users/:user_id/ban", "user.ban", a.setStatus(a.Moderation.Ban)),
			adminRoute("POST", "/v1/admin/users/:user_id/unban", "user.unban", a.setStatus(a.Moderation.Unban)),
			adminRoute("POST", "/v1/admin/users/:user_id/freeze", "user.freeze", a.setStatus(a.Moderation.Freeze)),
			adminRoute("POST", "/v1/admin/users/:user_id/unfreeze", "user.unfreeze",
				a.setStatus(a.Moderation.Unfreeze)),
			adminRoute("POST", "/v1/admin/users/:user_id/adjust", "user.adjust", a.adjust),
			adminRoute("GET", "/v1/admin/users/:user_id/export", "user.export", a.export),
			adminRoute("POST", "/v1/admin/users/:user_id/erase", "user.erase", a.erase),
			adminRoute("POST", "/v1/admin/events/:event_id/reverse", "event.reverse", a.reverse),
			adminRoute("POST", "/v1/admin/voids", "void.create", a.createVoid),
			adminRoute("GET", "/v1/admin/voids", "", a.listVoids),
			adminRoute("GET", "/v1/admin/voids/:id", "", a.showVoid),
			adminRoute("POST", "/v1/admin/voids/:id/undo", "void.undo", a.undoVoid))
	}
	if a.Flags != nil {
		t = append(t,
			adminRoute("GET", "/v1/admin/flags", "", a.listFlags),
			adminRoute("GET", "/v1/admin/flags/:id", "", a.showFlag),
			adminRoute("POST", "/v1/admin/flags/:id/dismiss", "flag.dismiss", a.decideFlag("dismissed")),
			adminRoute("POST", "/v1/admin/flags/:id/confirm", "flag.confirm", a.decideFlag("confirmed")))
	}
	if a.Settings != nil {
		for _, path := range []string{pathSettings, pathSettingsAlias} {
			t = append(t,
				adminRoute("GET", path, "", a.listSettings),
				adminRoute("PUT", path, "setting.set", a.changeSettings),
				adminRoute("PUT", path+"/:name", "setting.set", a.changeSetting))
		}
	}
	if a.Trail != nil {
		t = append(t, adminRoute("GET", "/v1/admin/audit", "", a.auditEntries))
	}
	if a.DevIssuer {
		t = append(t, adminRoute("POST", "/v1/admin/tokens", "token.mint", a.mintToken))
	}
	return t
}

// serve runs one route, answers its error and measures it.
func (a *API) serve(r route) gin.HandlerFunc {
	observe := a.metrics.route(r.method, r.path)
	return func(c *gin.Context) {
		started := time.Now()
		if reason := a.suspended.Load(); reason != nil {
			a.rejectSuspended(c, *reason)
		} else if err := a.run(c, r); err != nil {
			a.reject(c, a.countAuthFailure(c, err))
		}
		took := time.Since(started)
		observe(c.Writer.Status(), took)
		if a.Log.Enabled(c.Request.Context(), slog.LevelDebug) {
			a.logAccess(c, r.path, took)
		}
	}
}

// run authenticates, authorizes and limits a request before its body is read,
// so that a rejected request costs little and a repeat counts against the limit.
func (a *API) run(c *gin.Context, r route) error {
	if err := take(c.Request.Context(), a.Limits.Address, address(c.Request)); err != nil {
		return err
	}
	authenticate := a.authenticate
	if r.path == pathRealtime {
		authenticate = a.join
	}
	caller, err := authenticate(c)
	if err != nil {
		return err
	}
	if caller.JoinsOnly() && r.path != pathRealtime {
		return scoreboard.Errorf(scoreboard.CodeForbidden, "the token only allows joining a stream")
	}
	if r.scope != "" && !caller.Has(r.scope) {
		return scoreboard.Errorf(scoreboard.CodeForbidden, "the token lacks the scope %s", r.scope)
	}
	if err := a.checkRate(c, r, caller); err != nil {
		return a.serveStale(c, r, caller, err)
	}
	if r.scope == auth.ScopeAdmin || r.path == pathRealtime {
		clearWriteDeadline(c)
	}
	if r.action != "" {
		c.Set(keyAction, r.action)
	}
	if r.audits() {
		if err := checkReason(c); err != nil {
			return err
		}
	}
	if err := r.handle(c, caller); err != nil {
		return err
	}
	a.audit(c, r, caller)
	return nil
}

// logAccess logs a request, at level debug only: the metrics count and time
// requests, and server errors are logged anyway. The query is left out because it
// may hold a ticket.
func (a *API) logAccess(c *gin.Context, route string, took time.Duration) {
	a.Log.LogAttrs(c.Request.Context(), slog.LevelDebug, "request",
		slog.String("method", c.Request.Method), slog.String("route", route),
		slog.Int("status", c.Writer.Status()), slog.Duration("elapsed", took),
		slog.String("address", address(c.Request)),
		slog.String("request_id", c.GetString(keyRequestID)), slog.String("trace", c.GetString(keyTrace)))
}

type metrics struct {
	latency *prometheus.HistogramVec
}

func newMetrics() *metrics {
	return &metrics{latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "scoreboard_api_request_seconds",
		Help:    "Response time by route and status; its count is the request rate.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .2, .5, 1, 2.5},
	}, []string{"method", "route", "status"})}
}

// route returns the observer of one route. Status 200 is resolved in advance,
// which saves a lookup per request.
func (m *metrics) route(method, path string) func(status int, took time.Duration) {
	ok := m.latency.WithLabelValues(method, path, "200")
	return func(status int, took time.Duration) {
		if status == 200 {
			ok.Observe(took.Seconds())
			return
		}
		m.latency.WithLabelValues(method, path, strconv.Itoa(status)).Observe(took.Seconds())
	}
}

// Collectors returns the metrics for the registry of package server.
func (a *API) Collectors() []prometheus.Collector { return []prometheus.Collector{a.metrics.latency} }
