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
	// hides reports whether a request over a limit shows the user to fewer people, and so is
	// served nevertheless; nil: none does.
	hides func(c *gin.Context, caller *auth.Claims) bool
	// operators says that score:operate opens the route as well as its scope does.
	operators bool
	stream    *liveStream // that it opens; nil: none
	dialect   *Dialect    // nil: of the native API
	vouched   bool        // needs no token: its handler rejects what no attestation vouches for
	public    bool        // with optionalToken: needs none whatever the setting reads.anonymous is
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
func (h *handlers) operatorRoute(method, path, action string, query parameters, handle handler) route {
	r := route{
		method: method, path: path, query: query, scope: auth.ScopeOperate, rate: &h.limits.Admin, audit: audited,
		data: showsAll, handle: handle, action: action,
	}
	if action == "" {
		r.audit = unaudited
	}
	return r
}

// adminRoute is a route for administrators: it makes a change that cannot be taken back,
// or that decides what others may do.
func (h *handlers) adminRoute(method, path, action string, query parameters, handle handler) route {
	r := h.operatorRoute(method, path, action, query, handle)
	r.scope = auth.ScopeAdmin
	return r
}

// operates reports whether a route is one of operators or administrators.
func (r route) operates() bool { return r.scope == auth.ScopeOperate || r.scope == auth.ScopeAdmin }

// Paths that more than one place refers to.
const (
	pathTop      = "/v1/leaderboard/top"
	pathTimeline = "/v1/leaderboard/timeline"
	pathMe       = "/v1/leaderboard/me"
	pathUsers    = "/v1/leaderboard/users"
	pathScore    = "/v1/users/:user_id/score"
	pathRank     = "/v1/users/:user_id/rank"
	pathHistory  = "/v1/users/:user_id/history"
	pathExplain  = "/v1/users/:user_id/rank/explain"
	pathFriends  = "/v1/users/me/friends"
	pathPrivacy  = "/v1/users/:user_id/privacy"
	pathRewards  = "/v1/users/:user_id/rewards"
	pathRealtime = "/v1/realtime/leaderboard"
	pathRoll     = "/v1/boards/:board/roll"

	pathLeague       = "/v1/leagues/:board"
	pathCohorts      = "/v1/admin/leagues/:board/cohorts"
	pathLeagues      = "/v1/users/:user_id/leagues"
	pathBoardRewards = "/v1/boards/:board/rewards"
	pathJoin         = "/v1/boards/:board/join"

	pathRebuild   = "/v1/admin/rebuild"
	pathVerify    = "/v1/admin/verify"
	pathReconcile = "/v1/admin/reconcile"
	pathSettings  = "/v1/admin/settings"
)

// Parameters of more than one route.
var (
	placeParameters    = parameters{"board", "k", "min_version", "score", "subscore", "at", "as"}
	pageParameters     = parameters{"after", "limit"}
	timelineParameters = parameters{"board", "from", "to", "step", "limit", "as"}
	// reasonParameter is for audited changes without a reason in their body.
	reasonParameter = parameters{queryReason}
)

// routes is the route table of what this process serves.
func (h *handlers) routes() []route {
	l := h.limits
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
	t := slices.Concat([]route{h.frontPage()}, h.docsRoutes(), h.pageRoutes())
	if h.increments != nil {
		t = append(t,
			own("POST", "/v1/scores/increment", noParameters, &l.Updates, h.increments.increment),
			route{
				method: "POST", path: "/v1/scores/increments", query: noParameters, scope: auth.ScopeUpdate,
				rate: &l.Updates, audit: unaudited, data: showsAll, handle: h.batches.batch,
			},
			own("POST", "/v1/actions", noParameters, &l.Actions, h.actions.startAction),
			own("GET", "/v1/events/:event_id", parameters{"user_id"}, &l.Events, h.events.event))
	}
	if h.tops != nil {
		cached := func(r route, answer cachedAnswer) route {
			r.stale = serveStale(answer)
			return r
		}
		t = append(t,
			cached(board("GET", pathTop,
				parameters{"limit", "board", "tier", "cursor", "min_version", "wait", "after", "at", "as"},
				optionalToken, &l.Top, h.tops.top), h.tops.staleTop),
			board("GET", pathTimeline, timelineParameters, optionalToken, &l.Top, h.timelines.timeline),
			cached(board("GET", pathMe, placeParameters, anyToken, &l.Rank, h.places.place), h.places.stalePlace),
			board("POST", pathUsers, noParameters, optionalToken, &l.Rank, h.lists.list),
			board("GET", "/v1/leaderboard/friends", parameters{"board"}, anyToken, &l.Rank,
				h.friendsBoards.friendsBoard),
			cached(board("GET", pathScore, placeParameters, optionalToken, &l.Rank, h.places.place),
				h.places.stalePlace),
			cached(board("GET", pathRank, placeParameters, optionalToken, &l.Rank, h.places.place),
				h.places.stalePlace),
			board("GET", pathHistory, parameters{"board", "from", "to", "step", "as"}, optionalToken, &l.Rank,
				h.histories.history),
			own("GET", pathExplain, parameters{"board"}, &l.Rank, h.explanations.explain))
	}
	t = append(t, h.leagueRoutes()...)
	if h.ledger != nil {
		t = append(t, own("GET", "/v1/users/:user_id/statement",
			parameters{"board", "from", "to", "limit", "cursor"}, &l.Rank, h.ledger.statement))
	}
	if h.profiles != nil {
		t = append(t, own("GET", "/v1/users/:user_id/profile", noParameters, &l.Rank, h.profiles.showProfile))
		t = append(t, route{
			method: "PUT", path: "/v1/users/:user_id/profile", query: reasonParameter, scope: anyToken,
			rate: &l.Updates, audit: auditedByHandler, data: showsUser,
			handle: h.profiles.profile, action: "user.profile", // for operators only
		})
	}
	if h.privacy != nil {
		t = append(t, own("GET", pathPrivacy, noParameters, &l.Rank, h.privacy.showPrivacy))
		t = append(t, route{
			method: "PUT", path: pathPrivacy, query: reasonParameter, scope: anyToken,
			rate: &l.Updates, audit: auditedByHandler, data: showsUser,
			handle: h.privacy.setPrivacy, action: "user.privacy", // for operators only
			hides: h.privacy.hides,
		})
	}
	if h.friends != nil {
		remove := own("DELETE", pathFriends+"/:user_id", noParameters, &l.Updates, h.friends.removeFriend)
		remove.hides = h.friends.hides
		t = append(t, remove,
			own("GET", pathFriends, parameters{"state", "after", "limit"}, &l.Rank, h.friends.listFriends),
			own("PUT", pathFriends+"/:user_id", noParameters, &l.Updates, h.friends.askFriend),
			route{
				method: "POST", path: "/v1/friends", query: noParameters, scope: auth.ScopeUpdate, rate: &l.Updates,
				audit: auditedByHandler, data: showsAll, handle: h.friends.importFriends,
				action: "friend.import", // for operators only
			})
	}
	t = append(t, h.teamRoutes()...)
	t = append(t, h.rewardRoutes()...)
	t = append(t, h.tournamentRoutes()...)
	if h.tickets.store != nil {
		t = append(t,
			board("GET", "/v1/realtime/token", parameters{"board"}, anyToken, &l.Tickets, h.tickets.ticket))
	}
	if h.streams == nil {
		t = append(t, misrouted(pathRealtime, nil))
	} else {
		t = append(t,
			opens(h.tickets.nativeStream(), board("GET", pathRealtime,
				parameters{
					"board", tokenParameter, "delta", "limit", "last_event_id", "lastEventId", "friends", "cohort",
				},
				optionalToken, &l.Joins, h.streams.live)))
	}
	if h.boards != nil {
		t = append(t,
			board("GET", "/v1/boards", parameters{
				"family", "period", "region", "platform", "tag", "status",
				"after", "limit",
			},
				anyToken, &l.Rank, h.boards.listBoards),
			board("GET", "/v1/boards/:board", noParameters, anyToken, &l.Rank, h.boards.showBoard),
			board("GET", "/v1/boards/:board/standings", pageParameters, anyToken, &l.Rank, h.seasons.finalStandings))
	}
	return append(t, h.adminRoutes()...)
}

// teamRoutes are the routes for servers, which know their users' teams. Operators may read.
func (h *handlers) teamRoutes() []route {
	if h.teams == nil {
		return nil
	}
	server := func(method, path string, query parameters, rate *Rate, handle handler) route {
		return route{
			method: method, path: path, query: query, scope: auth.ScopeUpdate, rate: rate, audit: unaudited,
			data: showsAll, handle: handle, operators: method == "GET",
		}
	}
	changes := func(method, path, action string, handle handler) route {
		r := server(method, path, noParameters, &h.limits.Updates, handle)
		r.audit, r.action = auditedByHandler, action // for operators only
		return r
	}
	const member = "/v1/boards/:board/teams/:team/members/:user_id"
	return []route{
		server("GET", "/v1/boards/:board/teams", pageParameters, &h.limits.Rank, h.teams.listTeams),
		server("GET", "/v1/boards/:board/teams/:team/members", parameters{"history", "after", "limit"},
			&h.limits.Rank, h.teams.listMembers),
		changes("PUT", member, "team.join", h.teams.joinTeam),
		changes("DELETE", member, "team.leave", h.teams.leaveTeam),
	}
}

// rewardRoutes are the routes of rewards.
func (h *handlers) rewardRoutes() []route {
	if h.rewards == nil {
		return nil
	}
	own := func(method, path string, query parameters, rate *Rate, handle handler) route {
		return route{
			method: method, path: path, query: query, scope: anyToken, rate: rate, audit: unaudited, data: showsUser,
			handle: handle,
		}
	}
	return []route{
		{
			method: "GET", path: pathBoardRewards, query: noParameters, scope: anyToken, rate: &h.limits.Rank,
			audit: unaudited, data: showsBoards, handle: h.rewards.showTable,
		},
		h.adminRoute("PUT", pathBoardRewards, "board.rewards", reasonParameter, h.rewards.setTable),
		own("GET", pathRewards, parameters{"state", "before", "limit"}, &h.limits.Rank, h.rewards.listRewards),
		own("POST", pathRewards+"/:id/claim", noParameters, &h.limits.Updates, h.rewards.claimReward),
		h.operatorRoute("GET", "/v1/admin/rewards", "", parameters{"board", "state", "after", "limit"},
			h.rewards.listBoardRewards),
		h.operatorRoute("POST", "/v1/admin/rewards", "reward.grant", noParameters, h.rewards.grantReward),
		h.operatorRoute("POST", "/v1/admin/rewards/:id/revoke", "reward.revoke", noParameters,
			h.rewards.revokeReward),
	}
}

// leagueRoutes are the routes of leagues.
func (h *handlers) leagueRoutes() []route {
	if h.leagues == nil {
		return nil
	}
	read := func(path string, query parameters, data visibility, handle handler) route {
		return route{
			method: "GET", path: path, query: query, scope: anyToken, rate: &h.limits.Rank, audit: unaudited,
			data: data, handle: handle,
		}
	}
	return []route{
		read(pathLeague+"/me", parameters{"k"}, showsUser, h.leagues.leaguePlace),
		read(pathLeague+"/users/:user_id", parameters{"k"}, showsUser, h.leagues.leaguePlace),
		read(pathLeague+"/cohorts/:id", pageParameters, showsBoards, h.leagues.cohort),
		read(pathLeagues, parameters{"league", "before", "limit"}, showsUser, h.leagues.leagueHistory),
		h.operatorRoute("GET", pathCohorts, "", parameters{"division", "after", "limit"}, h.leagues.cohorts),
	}
}

// tournamentRoutes are the routes of who has joined a period.
func (h *handlers) tournamentRoutes() []route {
	if h.tournaments == nil {
		return nil
	}
	join := func(method string, rate *Rate, handle handler) route {
		return route{
			method: method, path: pathJoin, query: parameters{"user_id"}, scope: anyToken, rate: rate,
			audit: unaudited, data: showsUser, handle: handle,
		}
	}
	change := func(method, action string, handle handler) route {
		r := join(method, &h.limits.Updates, handle)
		r.audit, r.action = auditedByHandler, action // for operators who act for others
		return r
	}
	const players = "/v1/admin/boards/:board/players"
	t := h.tournaments
	return []route{
		join("GET", &h.limits.Rank, t.participation),
		change("POST", "player.join", t.change(t.store.Join, (*auth.Claims).WrittenUser)),
		change("DELETE", "player.leave", t.change(t.store.Leave, (*auth.Claims).UserID)),
		h.operatorRoute("GET", players, "", pageParameters, t.listPlayers),
		h.operatorRoute("PUT", players+"/:user_id", "player.add", reasonParameter,
			t.changePlayer(t.store.Add, scoreboard.ParseClientUserID)),
		h.operatorRoute("DELETE", players+"/:user_id", "player.remove", reasonParameter,
			t.changePlayer(t.store.Remove, scoreboard.ParseUserID)),
	}
}

func (h *handlers) adminRoutes() []route {
	var t []route
	if h.boards != nil && h.status != nil {
		t = append(t,
			h.adminRoute("POST", "/v1/boards", "board.create", reasonParameter, h.boards.createBoard),
			h.adminRoute("PATCH", "/v1/boards/:board", "board.set", reasonParameter, h.boards.setBoard),
			h.adminRoute("POST", "/v1/boards/roll", "board.roll", reasonParameter, h.seasons.rollBoards),
			h.adminRoute("POST", pathRoll, "board.roll", reasonParameter, h.seasons.rollBoards),
			h.operatorRoute("POST", "/v1/boards/:board/freeze", "board.freeze", reasonParameter,
				h.boards.changeBoard(h.boards.store.FreezeBoard)),
			h.operatorRoute("POST", "/v1/boards/:board/unfreeze", "board.unfreeze", reasonParameter,
				h.boards.changeBoard(h.boards.store.UnfreezeBoard)),
			h.adminRoute("POST", "/v1/boards/:board/archive", "board.archive", reasonParameter,
				h.boards.changeBoard(h.boards.store.ArchiveBoard)),
			h.operatorRoute("GET", "/v1/admin/board-rules", "", noParameters, h.boardRules.listRules),
			h.adminRoute("PUT", "/v1/admin/board-rules/:board", "board.rule.set", reasonParameter,
				h.boardRules.setRule),
			h.adminRoute("DELETE", "/v1/admin/board-rules/:board", "board.rule.clear", reasonParameter,
				h.boardRules.clearRule))
	}
	if h.leagueJobs != nil {
		t = append(t, h.adminRoute("POST", "/v1/admin/leagues/:board/recompute", "league.recompute", noParameters,
			h.leagueJobs.recomputeLeague))
	}
	if h.keys != nil {
		t = append(t,
			h.adminRoute("POST", "/v1/admin/keys", "key.create", reasonParameter, h.keys.createKey),
			h.operatorRoute("GET", "/v1/admin/keys", "", noParameters, h.keys.listKeys),
			h.adminRoute("POST", "/v1/admin/keys/:key_id/rotate", "key.rotate", reasonParameter, h.keys.rotateKey),
			h.adminRoute("DELETE", "/v1/admin/keys/:key_id", "key.revoke", reasonParameter, h.keys.revokeKey),
			h.adminRoute("POST", "/v1/admin/master-key/rotate", "master_key.rotate", reasonParameter,
				h.masterKey.rotateMasterKey))
	}
	if h.webhooks != nil {
		t = append(t,
			h.adminRoute("POST", "/v1/admin/webhooks", "webhook.create", reasonParameter, h.webhooks.createWebhook),
			h.operatorRoute("GET", "/v1/admin/webhooks", "", noParameters, h.webhooks.listWebhooks),
			h.adminRoute("POST", "/v1/admin/webhooks/:webhook_id/rotate", "webhook.rotate", reasonParameter,
				h.webhooks.rotateWebhook),
			h.operatorRoute("POST", "/v1/admin/webhooks/:webhook_id/enable", "webhook.enable", reasonParameter,
				h.webhooks.enableWebhook),
			h.operatorRoute("POST", "/v1/admin/webhooks/:webhook_id/test", "webhook.test", reasonParameter,
				h.webhooks.testWebhook),
			h.adminRoute("DELETE", "/v1/admin/webhooks/:webhook_id", "webhook.delete", reasonParameter,
				h.webhooks.deleteWebhook),
			h.operatorRoute("GET", "/v1/admin/webhooks/:webhook_id/deliveries", "",
				parameters{"state", "before", "limit"}, h.webhooks.listDeliveries),
			h.operatorRoute("POST", "/v1/admin/webhooks/:webhook_id/deliveries/:id/retry", "webhook.retry",
				reasonParameter, h.webhooks.retryDelivery))
	}
	if h.status != nil {
		t = append(t,
			h.operatorRoute("GET", "/v1/admin/checks", "", noParameters, h.status.checks),
			h.operatorRoute("GET", "/v1/admin/status", "", parameters{"board", "history"}, h.status.status),
			h.operatorRoute("GET", "/v1/admin/outbox", "", noParameters, h.status.outbox),
			h.operatorRoute("GET", "/v1/admin/dead-letters", "", pageParameters, h.deadLetters.listDeadLetters),
			h.operatorRoute("GET", "/v1/admin/dead-letters/:id", "", noParameters, h.deadLetters.showDeadLetter),
			h.operatorRoute("POST", "/v1/admin/dead-letters/:id/requeue", "letter.requeue", reasonParameter,
				h.deadLetters.requeueDeadLetter),
			h.adminRoute("DELETE", "/v1/admin/dead-letters/:id", "letter.drop", reasonParameter,
				h.deadLetters.dropDeadLetter),
			h.operatorRoute("GET", "/v1/admin/boards/:board/ranking", "", noParameters, h.status.rankingStatus),
			route{
				method: "GET", path: "/v1/admin/boards/:board/export", query: noParameters, scope: auth.ScopeOperate,
				rate: &h.limits.Admin, audit: auditedByHandler, data: showsAll, handle: h.boardExports.exportBoard,
				action: "board.export",
			},
			h.adminRoute("POST", "/v1/admin/imports", "import.start", reasonParameter, h.imports.startImport),
			h.operatorRoute("GET", "/v1/admin/imports", "", parameters{"before", "limit"}, h.imports.listImports),
			h.operatorRoute("GET", "/v1/admin/imports/:id/summary", "", noParameters, h.imports.summarizeImport),
			h.adminRoute("POST", "/v1/admin/imports/:id/records", "import.records", reasonParameter,
				h.imports.importRecords),
			h.operatorRoute("POST", pathRebuild, "ranking.rebuild", reasonParameter, h.rankingJobs.rebuild),
			h.operatorRoute("POST", pathVerify, "", noParameters, h.rankingJobs.verify),
			h.operatorRoute("POST", pathReconcile, "ranking.reconcile", reasonParameter, h.rankingJobs.verify),
			h.adminRoute("POST", pathWhatIf, "void.create", noParameters, h.whatIfs.whatIf),
			h.operatorRoute("GET", "/v1/admin/jobs", "", parameters{"before", "limit"}, h.jobs.listJobs),
			h.operatorRoute("GET", "/v1/admin/jobs/:id", "", noParameters, h.jobs.showJob),
			h.operatorRoute("POST", "/v1/admin/jobs/:id/stop", "job.stop", reasonParameter, h.jobs.stopJob),
			h.operatorRoute("POST", "/v1/admin/replay", "ranking.replay", reasonParameter, h.rankingJobs.replay),
			h.adminRoute("POST", "/v1/admin/ledger/archive", "ledger.archive", reasonParameter,
				h.ledgerJobs.archiveLedger),
			h.operatorRoute("POST", "/v1/admin/ledger/checkpoint", "ledger.checkpoint", reasonParameter,
				h.ledgerJobs.checkpointLedger))
	}
	if h.moderation != nil {
		t = append(t,
			h.operatorRoute("GET", "/v1/admin/users", "", parameters{"name", "after", "limit"}, h.profiles.findUsers),
			h.operatorRoute("GET", "/v1/admin/users/:user_id", "", noParameters, h.userData.showUser),
			h.operatorRoute("POST", "/v1/admin/users/:user_id/ban", "user.ban", noParameters,
				setStatus(h.moderation.store.Ban)),
			h.operatorRoute("POST", "/v1/admin/users/:user_id/unban", "user.unban", noParameters,
				setStatus(h.moderation.store.Unban)),
			h.operatorRoute("POST", "/v1/admin/users/:user_id/freeze", "user.freeze", noParameters,
				setStatus(h.moderation.store.Freeze)),
			h.operatorRoute("POST", "/v1/admin/users/:user_id/unfreeze", "user.unfreeze", noParameters,
				setStatus(h.moderation.store.Unfreeze)),
			h.adminRoute("POST", "/v1/admin/users/:user_id/adjust", "user.adjust", noParameters, h.moderation.adjust),
			route{
				method: "GET", path: "/v1/admin/users/:user_id/export", query: noParameters, scope: auth.ScopeAdmin,
				rate: &h.limits.Admin, audit: auditedByHandler, data: showsAll, handle: h.userData.export,
				action: "user.export",
			},
			h.adminRoute("POST", "/v1/admin/users/:user_id/erase", "user.erase", noParameters, h.userData.erase),
			h.adminRoute("POST", "/v1/admin/events/:event_id/reverse", "event.reverse", noParameters,
				h.moderation.reverse),
			h.adminRoute("POST", "/v1/admin/voids", "void.create", noParameters, h.voids.createVoid),
			h.operatorRoute("GET", "/v1/admin/voids", "", noParameters, h.voids.listVoids),
			h.operatorRoute("GET", "/v1/admin/voids/:id", "", noParameters, h.voids.showVoid),
			h.adminRoute("POST", "/v1/admin/voids/:id/undo", "void.undo", noParameters, h.voids.undoVoid))
	}
	if h.flags != nil {
		t = append(t,
			h.operatorRoute("GET", "/v1/admin/flags", "", parameters{"state", "user_id", "after", "limit"},
				h.flags.listFlags),
			h.operatorRoute("GET", "/v1/admin/flags/:id", "", noParameters, h.flags.showFlag),
			h.operatorRoute("POST", "/v1/admin/flags/:id/dismiss", "flag.dismiss", noParameters,
				h.flags.decideFlag("dismissed")),
			h.operatorRoute("POST", "/v1/admin/flags/:id/confirm", "flag.confirm", noParameters,
				h.flags.decideFlag("confirmed")))
	}
	if h.settings != nil {
		t = append(t,
			h.operatorRoute("GET", pathSettings, "", noParameters, h.settings.listSettings),
			h.adminRoute("PUT", pathSettings, "setting.set", noParameters, h.settings.changeSettings),
			h.adminRoute("PUT", pathSettings+"/:name", "setting.set", noParameters, h.settings.changeSetting))
	}
	if h.audit.trail != nil {
		t = append(t,
			h.operatorRoute("GET", "/v1/admin/audit", "",
				parameters{"who", "action", "target", "from", "to", "cursor", "limit"}, h.audit.auditEntries),
			h.operatorRoute("GET", "/v1/admin/audit/verify", "", parameters{"head"}, h.audit.verifyAudit))
	}
	if h.devTokens != nil {
		t = append(t, h.adminRoute("POST", "/v1/admin/tokens", "token.mint", reasonParameter, h.devTokens.mintToken))
	}
	return t
}

// Operation is a route for operators or administrators.
type Operation struct {
	Action       string // in the audit trail; "": not audited
	Method, Path string
	Scope        string // that it requires; the same for all of one action
}

// Operations returns the routes for operators and administrators.
func (a *API) Operations() (out []Operation) {
	for _, r := range a.handlers.routes() {
		if r.operates() {
			out = append(out, Operation{r.action, r.method, r.path, r.scope})
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
			a.failures.rejectSuspended(c, *reason)
		} else if err := a.run(c, r); err != nil {
			a.reject(c, r.stream, a.countAuthFailure(c, err))
		}
		took := time.Since(started)
		if c.GetBool(keyLongPoll) {
			a.metrics.longPoll(&r, c.Writer.Status(), took)
		} else {
			observe(c.Writer.Status(), took)
		}
		if a.log.Enabled(c.Request.Context(), slog.LevelDebug) {
			a.logAccess(c, r.path, took)
		}
	}
}

// run authenticates, authorizes and limits a request before its body is read,
// so that a rejected request costs little and a repeat counts against the limit. Over a limit,
// only what hides the user is read further.
func (a *API) run(c *gin.Context, r route) error {
	over := take(c.Request.Context(), a.limits.Address, address(c.Request))
	if over != nil && r.hides == nil {
		return over
	}
	if err := r.checkText(c); err != nil {
		return err
	}
	caller, err := a.callers.authenticate(c, r)
	if err != nil && over != nil {
		_ = a.countAuthFailure(c, err) // which counts as any other
		return over
	}
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
	if over == nil {
		over = a.checkRate(c, r, caller)
	}
	switch {
	case over == nil || r.hides != nil && r.hides(c, caller):
	case r.stale != nil:
		return r.stale(c, caller, over)
	default:
		return over
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
	a.externalIDs.storeExternalID(c, caller)
	a.handlers.audit.checkAudited(c, r, caller)
	return nil
}

// logAccess logs a request, at level debug only: the metrics count and time
// requests, and server errors are logged anyway. The query is left out because it
// may hold a ticket or a token.
func (a *API) logAccess(c *gin.Context, route string, took time.Duration) {
	requestLog(a.log, c).Debug("request", "method", c.Request.Method, "route", route, "status", c.Writer.Status(),
		"elapsed", took, "address", address(c.Request))
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
