package api

import (
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/share"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// handler answers one authenticated request, or returns why it cannot.
type handler func(c *gin.Context, caller *auth.Claims) error

// route is one row of the route table. Each declares all fields (action only if it
// is audited): a test fails for a route that does not.
type route struct {
	method, path string
	query        parameters // that it accepts
	scope        string     // of the caller's token: one of package auth, or one of the below
	rate         *Rate      // one of Limits, or byAddress
	audit        audit
	data         visibility
	handle       handler
	action       string // in the audit trail, noun.verb; "" where nothing is audited

	// stale answers a client over the limit from the cache, or returns the rejection;
	// nil where nothing is cached.
	stale func(c *gin.Context, caller *auth.Claims, rejection error) error
	// operators says that score:operate opens the route as well as its scope does.
	operators bool
	stream    *liveStream // that it opens; nil: none
	dialect   *Dialect    // nil: of the native API
}

// Scopes of routes that require none of package auth.
const (
	noToken       = "none"     // open to everyone
	optionalToken = "optional" // any token; none where the setting reads.anonymous is on
	listedBoard   = "listed"   // any token or none, for boards that have pages
	anyToken      = "any"
)

// requires returns the scope that a token must carry; "" for none.
func (r route) requires() string {
	switch r.scope {
	case noToken, optionalToken, listedBoard, anyToken:
		return ""
	}
	return r.scope
}

// opens reports whether the scopes of a token open the route.
func (r route) opens(caller *auth.Claims) bool {
	scope := r.requires()
	return scope == "" || caller.Has(scope) || r.operators && caller.Has(auth.ScopeOperate)
}

// audit is which requests leave an entry in the audit trail.
type audit int

const (
	_ audit = iota
	// unaudited: changes nothing, or only what is the caller's own.
	unaudited
	// audited: the handler of every successful request has written an entry, in the
	// transaction of its change or before it.
	audited
	// auditedByHandler: some do, and the handler writes them.
	auditedByHandler
)

// visibility is whose data a route shows or changes, and so to whom it is open.
type visibility int

const (
	_            visibility = iota
	showsNothing            // of users and boards
	showsBoards             // private ones to servers and operators only
	showsListed             // public boards that have pages, to everyone
	showsUser               // one user's own data: to that user, servers or operators
	showsAll                // to holders of the route's scope
)

// operatorRoute is a route for operators: it reads, or makes a change that can be taken
// back. action is "" if it is not audited.
func (a *API) operatorRoute(method, path, action string, query parameters, handle handler) route {
	r := route{
		method: method, path: path, query: query, scope: auth.ScopeOperate, rate: &a.Limits.Admin, audit: audited,
		data: showsAll, handle: handle, action: action,
	}
	if action == "" {
		r.audit = unaudited
	}
	return r
}

// adminRoute is a route for administrators: it makes a change that cannot be taken back,
// or that decides what others may do.
func (a *API) adminRoute(method, path, action string, query parameters, handle handler) route {
	r := a.operatorRoute(method, path, action, query, handle)
	r.scope = auth.ScopeAdmin
	return r
}

// operates reports whether a route is one of operators or administrators.
func (r route) operates() bool { return r.scope == auth.ScopeOperate || r.scope == auth.ScopeAdmin }

// Paths that more than one place refers to.
const (
	pathTop       = "/v1/leaderboard/top"
	pathFilm      = "/v1/leaderboard/film"
	pathMe        = "/v1/leaderboard/me"
	pathUsers     = "/v1/leaderboard/users"
	pathScore     = "/v1/users/:user_id/score"
	pathRank      = "/v1/users/:user_id/rank"
	pathHistory   = "/v1/users/:user_id/history"
	pathExplain   = "/v1/users/:user_id/rank/explain"
	pathFriends   = "/v1/users/me/friends"
	pathPrivacy   = "/v1/users/:user_id/privacy"
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

// Parameters of more than one route.
var (
	placeParameters = parameters{"board", "k", "min_version", "score", "at", "as"}
	pageParameters  = parameters{"after", "limit"}
	filmParameters  = parameters{"board", "from", "to", "step", "limit", "as"}
	// reasonParameter is for audited changes without a reason in their body.
	reasonParameter = parameters{queryReason}
)

// routes is the route table of what this process serves.
func (a *API) routes() []route {
	l := &a.Limits
	own := func(method, path string, query parameters, rate *Rate, handle handler) route {
		return route{
			method: method, path: path, query: query, scope: anyToken, rate: rate, audit: unaudited, data: showsUser,
			handle: handle,
		}
	}
	board := func(method, path string, query parameters, scope string, rate *Rate, handle handler) route {
		return route{
			method: method, path: path, query: query, scope: scope, rate: rate, audit: unaudited, data: showsBoards,
			handle: handle,
		}
	}
	opens := func(s *liveStream, r route) route {
		r.stream = s
		return r
	}
	t := slices.Concat([]route{a.frontPage()}, a.docsRoutes(), a.pageRoutes())
	if a.Submitter != nil {
		t = append(t,
			own("POST", "/v1/scores/increment", noParameters, &l.Updates, a.increment),
			route{
				method: "POST", path: "/v1/scores/increments", query: noParameters, scope: auth.ScopeUpdate,
				rate: &l.Updates, audit: unaudited, data: showsAll, handle: a.batch,
			},
			own("POST", "/v1/actions", noParameters, &l.Actions, a.startAction),
			own("GET", "/v1/events/:event_id", parameters{"user_id"}, &l.Events, a.event))
	}
	if a.Reads != nil {
		cached := func(r route, answer cachedAnswer) route {
			r.stale = serveStale(answer)
			return r
		}
		t = append(t,
			cached(board("GET", pathTop,
				parameters{"limit", "board", "cursor", "min_version", "wait", "after", "at", "as"},
				optionalToken, &l.Top, a.top), a.staleTop),
			board("GET", pathFilm, filmParameters, optionalToken, &l.Top, a.film),
			cached(board("GET", pathMe, placeParameters, anyToken, &l.Rank, a.place), a.stalePlace),
			board("POST", pathUsers, noParameters, optionalToken, &l.Rank, a.list),
			board("GET", "/v1/leaderboard/friends", parameters{"board"}, anyToken, &l.Rank, a.friendsBoard),
			cached(board("GET", pathScore, placeParameters, optionalToken, &l.Rank, a.place), a.stalePlace),
			cached(board("GET", pathRank, placeParameters, optionalToken, &l.Rank, a.place), a.stalePlace),
			board("GET", pathHistory, parameters{"board", "from", "to", "step", "as"}, optionalToken, &l.Rank,
				a.history),
			own("GET", pathExplain, parameters{"board"}, &l.Rank, a.explain))
	}
	if a.Ledger != nil {
		t = append(t, own("GET", "/v1/users/:user_id/statement",
			parameters{"board", "from", "to", "limit", "cursor"}, &l.Rank, a.statement))
	}
	if a.Profiles != nil {
		t = append(t, own("GET", "/v1/users/:user_id/profile", noParameters, &l.Rank, a.showProfile))
		t = append(t, route{
			method: "PUT", path: "/v1/users/:user_id/profile", query: reasonParameter, scope: anyToken,
			rate: &l.Updates, audit: auditedByHandler, data: showsUser,
			handle: a.profile, action: "user.profile", // for operators only
		})
	}
	if a.Privacy != nil {
		t = append(t, own("GET", pathPrivacy, noParameters, &l.Rank, a.showPrivacy))
		t = append(t, route{
			method: "PUT", path: pathPrivacy, query: reasonParameter, scope: anyToken,
			rate: &l.Updates, audit: auditedByHandler, data: showsUser,
			handle: a.setPrivacy, action: "user.privacy", // for operators only
		})
	}
	if a.Friends != nil {
		t = append(t,
			own("GET", pathFriends, parameters{"state", "after", "limit"}, &l.Rank, a.listFriends),
			own("PUT", pathFriends+"/:user_id", noParameters, &l.Updates, a.askFriend),
			own("DELETE", pathFriends+"/:user_id", noParameters, &l.Updates, a.removeFriend),
			route{
				method: "POST", path: "/v1/friends", query: noParameters, scope: auth.ScopeUpdate, rate: &l.Updates,
				audit: unaudited, data: showsAll, handle: a.importFriends,
			})
	}
	t = append(t, a.teamRoutes()...)
	if a.Live != nil {
		t = append(t,
			board("GET", "/v1/realtime/token", parameters{"board"}, anyToken, &l.Tickets, a.ticket),
			opens(a.nativeStream(), board("GET", pathRealtime,
				parameters{"board", tokenParameter, "delta", "limit", "last_event_id", "lastEventId", "friends"},
				optionalToken, &l.Joins, a.live)))
	}
	if a.Boards != nil {
		t = append(t,
			board("GET", "/v1/boards", parameters{
				"family", "period", "region", "platform", "tag", "status",
				"after", "limit",
			},
				anyToken, &l.Rank, a.listBoards),
			board("GET", "/v1/boards/:board", noParameters, anyToken, &l.Rank, a.showBoard),
			board("GET", "/v1/boards/:board/standings", pageParameters, anyToken, &l.Rank, a.finalStandings))
	}
	return append(t, a.adminRoutes()...)
}

// teamRoutes are the routes for servers, which know their users' teams. Operators may read.
func (a *API) teamRoutes() []route {
	if a.Teams == nil {
		return nil
	}
	server := func(method, path string, query parameters, rate *Rate, handle handler) route {
		return route{
			method: method, path: path, query: query, scope: auth.ScopeUpdate, rate: rate, audit: unaudited,
			data: showsAll, handle: handle, operators: method == "GET",
		}
	}
	const member = "/v1/boards/:board/teams/:team/members/:user_id"
	return []route{
		server("GET", "/v1/boards/:board/teams", pageParameters, &a.Limits.Rank, a.listTeams),
		server("GET", "/v1/boards/:board/teams/:team/members", parameters{"history", "after", "limit"},
			&a.Limits.Rank, a.listMembers),
		server("PUT", member, noParameters, &a.Limits.Updates, a.joinTeam),
		server("DELETE", member, noParameters, &a.Limits.Updates, a.leaveTeam),
	}
}

func (a *API) adminRoutes() []route {
	var t []route
	if a.Boards != nil && a.Operations != nil {
		t = append(t,
			a.adminRoute("POST", "/v1/boards", "board.create", reasonParameter, a.createBoard),
			a.adminRoute("PATCH", "/v1/boards/:board", "board.set", reasonParameter, a.setBoard),
			a.adminRoute("POST", "/v1/boards/roll", "board.roll", reasonParameter, a.rollBoards),
			a.adminRoute("POST", pathRoll, "board.roll", reasonParameter, a.rollBoards),
			a.operatorRoute("POST", "/v1/boards/:board/freeze", "board.freeze", reasonParameter,
				a.changeBoard(a.Boards.FreezeBoard)),
			a.operatorRoute("POST", "/v1/boards/:board/unfreeze", "board.unfreeze", reasonParameter,
				a.changeBoard(a.Boards.UnfreezeBoard)),
			a.adminRoute("POST", "/v1/boards/:board/archive", "board.archive", reasonParameter,
				a.changeBoard(a.Boards.ArchiveBoard)),
			a.operatorRoute("GET", "/v1/admin/board-rules", "", noParameters, a.listRules),
			a.adminRoute("PUT", "/v1/admin/board-rules/:board", "board.rule.set", reasonParameter, a.setRule),
			a.adminRoute("DELETE", "/v1/admin/board-rules/:board", "board.rule.clear", reasonParameter, a.clearRule))
	}
	if a.Keys != nil {
		t = append(t,
			a.adminRoute("POST", "/v1/admin/keys", "key.create", reasonParameter, a.createKey),
			a.operatorRoute("GET", "/v1/admin/keys", "", noParameters, a.listKeys),
			a.adminRoute("POST", "/v1/admin/keys/:key_id/rotate", "key.rotate", reasonParameter, a.rotateKey),
			a.adminRoute("DELETE", "/v1/admin/keys/:key_id", "key.revoke", reasonParameter, a.revokeKey))
	}
	if a.Webhooks != nil {
		t = append(t,
			a.adminRoute("POST", "/v1/admin/webhooks", "webhook.create", reasonParameter, a.createWebhook),
			a.operatorRoute("GET", "/v1/admin/webhooks", "", noParameters, a.listWebhooks),
			a.adminRoute("POST", "/v1/admin/webhooks/:webhook_id/rotate", "webhook.rotate", reasonParameter,
				a.rotateWebhook),
			a.operatorRoute("POST", "/v1/admin/webhooks/:webhook_id/enable", "webhook.enable", reasonParameter,
				a.enableWebhook),
			a.operatorRoute("POST", "/v1/admin/webhooks/:webhook_id/test", "webhook.test", reasonParameter,
				a.testWebhook),
			a.adminRoute("DELETE", "/v1/admin/webhooks/:webhook_id", "webhook.delete", reasonParameter,
				a.deleteWebhook),
			a.operatorRoute("GET", "/v1/admin/webhooks/:webhook_id/deliveries", "",
				parameters{"state", "before", "limit"}, a.listDeliveries),
			a.operatorRoute("POST", "/v1/admin/webhooks/:webhook_id/deliveries/:id/retry", "webhook.retry",
				reasonParameter, a.retryDelivery))
	}
	if a.Operations != nil {
		t = append(t,
			a.operatorRoute("GET", "/v1/admin/checks", "", noParameters, a.checks),
			a.operatorRoute("GET", "/v1/admin/status", "", parameters{"board"}, a.status),
			a.operatorRoute("GET", "/v1/admin/outbox", "", noParameters, a.outbox),
			a.operatorRoute("GET", "/v1/admin/dead-letters", "", pageParameters, a.listDeadLetters),
			a.operatorRoute("GET", "/v1/admin/dead-letters/:id", "", noParameters, a.showDeadLetter),
			a.operatorRoute("POST", "/v1/admin/dead-letters/:id/requeue", "letter.requeue", reasonParameter,
				a.requeueDeadLetter),
			a.adminRoute("DELETE", "/v1/admin/dead-letters/:id", "letter.drop", reasonParameter, a.dropDeadLetter),
			a.operatorRoute("GET", "/v1/admin/boards/:board/ranking", "", noParameters, a.rankingStatus),
			route{
				method: "GET", path: "/v1/admin/boards/:board/export", query: noParameters, scope: auth.ScopeOperate,
				rate: &a.Limits.Admin, audit: auditedByHandler, data: showsAll, handle: a.exportBoard,
				action: "board.export",
			},
			a.adminRoute("POST", "/v1/admin/imports", "import.start", reasonParameter, a.startImport),
			a.operatorRoute("GET", "/v1/admin/imports", "", parameters{"before", "limit"}, a.listImports),
			a.operatorRoute("GET", "/v1/admin/imports/:id/summary", "", noParameters, a.summarizeImport),
			a.adminRoute("POST", "/v1/admin/imports/:id/records", "import.records", reasonParameter, a.importRecords),
			a.operatorRoute("POST", pathRebuild, "ranking.rebuild", reasonParameter, a.rebuild),
			a.operatorRoute("POST", pathVerify, "", noParameters, a.verify),
			a.operatorRoute("POST", pathReconcile, "ranking.reconcile", reasonParameter, a.verify),
			a.adminRoute("POST", pathWhatIf, "void.create", noParameters, a.whatIf),
			a.operatorRoute("GET", "/v1/admin/jobs", "", parameters{"before", "limit"}, a.listJobs),
			a.operatorRoute("GET", "/v1/admin/jobs/:id", "", noParameters, a.showJob),
			a.operatorRoute("POST", "/v1/admin/jobs/:id/stop", "job.stop", reasonParameter, a.stopJob),
			a.operatorRoute("POST", "/v1/admin/replay", "ranking.replay", reasonParameter, a.replay),
			a.adminRoute("POST", "/v1/admin/ledger/archive", "ledger.archive", reasonParameter, a.archiveLedger),
			a.operatorRoute("POST", "/v1/admin/ledger/checkpoint", "ledger.checkpoint", reasonParameter,
				a.checkpointLedger))
	}
	if a.Moderation != nil {
		t = append(t,
			a.operatorRoute("GET", "/v1/admin/users", "", parameters{"name", "after", "limit"}, a.findUsers),
			a.operatorRoute("GET", "/v1/admin/users/:user_id", "", noParameters, a.showUser),
			a.operatorRoute("POST", "/v1/admin/users/:user_id/ban", "user.ban", noParameters,
				a.setStatus(a.Moderation.Ban)),
			a.operatorRoute("POST", "/v1/admin/users/:user_id/unban", "user.unban", noParameters,
				a.setStatus(a.Moderation.Unban)),
			a.operatorRoute("POST", "/v1/admin/users/:user_id/freeze", "user.freeze", noParameters,
				a.setStatus(a.Moderation.Freeze)),
			a.operatorRoute("POST", "/v1/admin/users/:user_id/unfreeze", "user.unfreeze", noParameters,
				a.setStatus(a.Moderation.Unfreeze)),
			a.adminRoute("POST", "/v1/admin/users/:user_id/adjust", "user.adjust", noParameters, a.adjust),
			route{
				method: "GET", path: "/v1/admin/users/:user_id/export", query: noParameters, scope: auth.ScopeAdmin,
				rate: &a.Limits.Admin, audit: auditedByHandler, data: showsAll, handle: a.export, action: "user.export",
			},
			a.adminRoute("POST", "/v1/admin/users/:user_id/erase", "user.erase", noParameters, a.erase),
			a.adminRoute("POST", "/v1/admin/events/:event_id/reverse", "event.reverse", noParameters, a.reverse),
			a.adminRoute("POST", "/v1/admin/voids", "void.create", noParameters, a.createVoid),
			a.operatorRoute("GET", "/v1/admin/voids", "", noParameters, a.listVoids),
			a.operatorRoute("GET", "/v1/admin/voids/:id", "", noParameters, a.showVoid),
			a.adminRoute("POST", "/v1/admin/voids/:id/undo", "void.undo", noParameters, a.undoVoid))
	}
	if a.Flags != nil {
		t = append(t,
			a.operatorRoute("GET", "/v1/admin/flags", "", parameters{"state", "user_id", "after", "limit"},
				a.listFlags),
			a.operatorRoute("GET", "/v1/admin/flags/:id", "", noParameters, a.showFlag),
			a.operatorRoute("POST", "/v1/admin/flags/:id/dismiss", "flag.dismiss", noParameters,
				a.decideFlag("dismissed")),
			a.operatorRoute("POST", "/v1/admin/flags/:id/confirm", "flag.confirm", noParameters,
				a.decideFlag("confirmed")))
	}
	if a.Settings != nil {
		for _, path := range []string{pathSettings, pathSettingsAlias} {
			t = append(t,
				a.operatorRoute("GET", path, "", noParameters, a.listSettings),
				a.adminRoute("PUT", path, "setting.set", noParameters, a.changeSettings),
				a.adminRoute("PUT", path+"/:name", "setting.set", noParameters, a.changeSetting))
		}
	}
	if a.Trail != nil {
		t = append(t,
			a.operatorRoute("GET", "/v1/admin/audit", "",
				parameters{"who", "action", "target", "from", "to", "cursor", "limit"}, a.auditEntries),
			a.operatorRoute("GET", "/v1/admin/audit/verify", "", parameters{"head"}, a.verifyAudit))
	}
	if a.DevIssuer {
		t = append(t, a.adminRoute("POST", "/v1/admin/tokens", "token.mint", reasonParameter, a.mintToken))
	}
	return t
}

// ActionScopes returns the scope that each audited operation of operators requires, by its
// action. Operations with one action require one scope.
func (a *API) ActionScopes() map[string]string {
	out := make(map[string]string)
	for _, r := range a.routes() {
		if r.action != "" && r.operates() {
			out[r.action] = r.scope
		}
	}
	return out
}

// serve runs one route, answers its error and measures it.
func (a *API) serve(r route) gin.HandlerFunc {
	observe := a.metrics.route(&r)
	return func(c *gin.Context) {
		started := time.Now()
		if r.dialect != nil {
			c.Set(keyDialect, r.dialect)
		}
		if reason := a.suspended.Load(); reason != nil && r.data != showsNothing {
			a.rejectSuspended(c, *reason)
		} else if err := a.run(c, r); err != nil {
			a.reject(c, r.stream, a.countAuthFailure(c, err))
		}
		took := time.Since(started)
		if c.GetBool(keyLongPoll) {
			a.metrics.longPoll(&r, c.Writer.Status(), took)
		} else {
			observe(c.Writer.Status(), took)
		}
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
	if err := r.checkText(c); err != nil {
		return err
	}
	caller, err := a.authenticate(c, r)
	if err != nil {
		return err
	}
	c.Request = c.Request.WithContext(share.WithCaller(c.Request.Context(), string(caller.User)))
	if caller.JoinsOnly() && r.stream == nil {
		return scoreboard.Errorf(wire.CodeForbidden, "the token only allows joining a stream")
	}
	if !r.opens(caller) {
		return scoreboard.Errorf(wire.CodeForbidden, "the token lacks the scope %s", r.requires())
	}
	if err := a.checkRate(c, r, caller); err != nil {
		if r.stale == nil {
			return err
		}
		return r.stale(c, caller, err)
	}
	if r.operates() || r.stream != nil {
		clearWriteDeadline(c)
	}
	if r.action != "" {
		c.Set(keyAction, r.action)
	}
	if r.audit == audited {
		if err := checkReason(c); err != nil {
			return err
		}
	}
	if err := r.handle(c, caller); err != nil {
		return err
	}
	a.storeExternalID(c, caller)
	a.checkAudited(c, r, caller)
	return nil
}

// logAccess logs a request, at level debug only: the metrics count and time
// requests, and server errors are logged anyway. The query is left out because it
// may hold a ticket or a token.
func (a *API) logAccess(c *gin.Context, route string, took time.Duration) {
	a.Log.LogAttrs(c.Request.Context(), slog.LevelDebug, "request",
		slog.String("method", c.Request.Method), slog.String("route", route),
		slog.Int("status", c.Writer.Status()), slog.Duration("elapsed", took),
		slog.String("address", address(c.Request)),
		slog.String("request_id", c.GetString(keyRequestID)), slog.String(logTrace, traceID(c)))
}

// nativeDialect is the label of the API's own routes.
const nativeDialect = "native"

type metrics struct {
	latency  *prometheus.HistogramVec
	failures *prometheus.CounterVec // of authentication
	rejected *prometheus.CounterVec // tokens, by reason
}

func newMetrics() *metrics {
	m := &metrics{
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "scoreboard_api_request_seconds",
			Help: "Response time by API (native or a dialect), route and status; its count is the request rate. " +
				"Long polls have the route \"/v1/leaderboard/top?wait\".",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .2, .5, 1, 2.5},
			// For a Prometheus that scrapes native histograms.
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
			NativeHistogramMinResetDuration: time.Hour,
		}, []string{"dialect", "method", "route", "status"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "scoreboard_api_auth_failures_total",
			Help: "Requests rejected for their credentials: a token that is missing or wrong (token), one that has " +
				"expired (expired), a signature that is missing or wrong (signature).",
		}, []string{"reason"}),
		rejected: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "scoreboard_api_tokens_rejected_total",
			Help: "Rejected bearer tokens by reason, which the log has at level debug, too: missing, malformed, " +
				"type, algorithm, key, signature, expired, time, lifetime, issuer, audience, scope, user or disabled.",
		}, []string{"reason"}),
	}
	for _, reason := range auth.RejectionReasons() {
		m.rejected.WithLabelValues(reason)
	}
	for _, reason := range []string{failedToken, failedExpired, failedSignature} {
		m.failures.WithLabelValues(reason)
	}
	return m
}

// route returns the observer of one route. Status 200 is resolved in advance,
// which saves a lookup per request.
func (m *metrics) route(r *route) func(status int, took time.Duration) {
	dialect := nativeDialect
	if r.dialect != nil {
		dialect = r.dialect.Name
	}
	ok := m.latency.WithLabelValues(dialect, r.method, r.path, "200")
	return func(status int, took time.Duration) {
		if status == 200 {
			ok.Observe(took.Seconds())
			return
		}
		m.latency.WithLabelValues(dialect, r.method, r.path, strconv.Itoa(status)).Observe(took.Seconds())
	}
}

// longPoll observes a request that waited on purpose, which says nothing about how fast
// its route is.
func (m *metrics) longPoll(r *route, status int, took time.Duration) {
	m.latency.WithLabelValues(nativeDialect, r.method, r.path+"?wait", strconv.Itoa(status)).Observe(took.Seconds())
}

// Collectors returns the metrics for the registry of package server.
func (a *API) Collectors() []prometheus.Collector {
	return []prometheus.Collector{a.metrics.latency, a.metrics.failures, a.metrics.rejected}
}
