package api

import (
	"sync/atomic"

	"github.com/scoreboard/scoreboard/internal/share"
	"github.com/scoreboard/scoreboard/server/http/docs"
)

// handlers are the handlers of all routes, by subject. One is nil if this process does not have
// what it needs, and its routes do not exist.
type handlers struct {
	limits  *Limits
	site    *docs.Site // with the dialects that are mounted
	listing Listing    // nil: boards have no pages
	audit   *auditTrail

	increments *increments
	batches    *batches
	actions    *actions
	events     *events

	tops          *topReads
	places        *places
	lists         *userLists
	friendsBoards *friendsBoards
	histories     *histories
	explanations  *explanations
	timelines     *timelines
	ledger        *ledgerReads
	pageData      *pageData
	pageViews     *pageViews
	tickets       *tickets
	streams       *streams

	profiles *profiles
	privacy  *privacy
	friends  *friends
	teams    *teams

	boards     *boards
	seasons    *seasons
	boardRules *boardRules
	rewards    *rewards
	leagues    *leagues
	leagueJobs *leagueJobs

	tournaments *tournaments

	moderation *moderation
	voids      *voids
	userData   *userData
	flags      *flags
	keys       *keys
	masterKey  *masterKey
	devTokens  *devTokens
	webhooks   *webhooks
	settings   *settings

	status       *status
	deadLetters  *deadLetters
	boardExports *boardExports
	imports      *imports
	jobs         *jobs
	rankingJobs  *rankingJobs
	ledgerJobs   *ledgerJobs
	whatIfs      *whatIfs
}

// parts are what handlers of several subjects use, while they are made.
type parts struct {
	*Options
	policy   *atomic.Pointer[Policy]
	failures *failures

	access      *boardAccess
	lookups     *lookups
	reasons     *reasons
	past        *pastReads
	userBoards  *userBoards
	pages       *topPages
	signatures  *signatures
	tokenChecks *tokenChecks
	admission   *admission
	ranks       *ranks
	tickets     *tickets
	streams     *streams // nil: there are none
	slots       jobSlots
}

func newParts(o *Options, f *failures) *parts {
	policy, access := new(atomic.Pointer[Policy]), &boardAccess{o.Catalog}
	p := &parts{
		Options: o, policy: policy, failures: f, access: access,
		lookups:    &lookups{hidden: o.Hidden, friends: o.FriendReads, log: o.Log},
		reasons:    &reasons{statuses: o.Statuses, hidden: o.Hidden},
		past:       &pastReads{store: o.PastBoards, now: o.Now},
		userBoards: &userBoards{access: access, catalog: o.Catalog, reads: o.Reads},
		pages:      &topPages{cursors: o.CursorKeys, now: o.Now},
		signatures: &signatures{
			keyring: o.Keyring, policy: policy, limit: o.Limits.Key, hints: o.DevIssuer,
		},
		tokenChecks: &tokenChecks{
			tokens: o.ActionTokens, attestations: o.Attestations, window: o.Window, peers: o.Peers, now: o.Now,
		},
		ranks:   &ranks{o.Ranker, subscoreBoards{o.Catalog}},
		slots:   jobSlots{share.New(maxJobs)},
		tickets: &tickets{store: o.Tickets, access: access, log: o.Log},
	}
	p.admission = &admission{
		updates: o.Limits.Updates.Users,
		catalog: o.Catalog, policy: policy, signatures: p.signatures, tokenChecks: p.tokenChecks,
		countries: o.Countries,
	}
	if o.WebSockets != nil {
		p.streams = &streams{
			webSockets: o.WebSockets, eventStreams: o.EventStreams, tickets: p.tickets, access: access,
		}
	}
	return p
}

// dialects makes what makes the routes of dialects.
func (p *parts) dialects() *dialectRoutes {
	return &dialectRoutes{
		limits: &p.Limits, tokens: p.Tokens, streams: p.streams,
		operations: &dialectOperations{
			admission: p.admission, submitter: p.Submitter, events: p.Events, access: p.access, reads: p.Reads,
			pages: p.pages, lookups: p.lookups, reasons: p.reasons, show: p.Show, streamTokens: p.StreamTokens,
			policy: p.policy,
		},
	}
}

// handlers makes the handlers of what this process has.
func (p *parts) handlers() *handlers {
	h := &handlers{
		limits: &p.Limits, site: documentation, listing: p.Pages,
		audit:   &auditTrail{trail: p.Trail, slots: p.slots, log: p.Log},
		tickets: p.tickets, streams: p.streams,
	}
	if p.Submitter != nil {
		p.addWrites(h)
	}
	if p.Reads != nil {
		p.addReads(h)
	}
	if p.Ledger != nil {
		h.ledger = &ledgerReads{store: p.Ledger, access: p.access, subscores: subscoreBoards{p.Catalog}}
	}
	if p.Pages != nil {
		p.addPages(h)
	}
	p.addUsers(h)
	if p.Boards != nil {
		p.addBoards(h)
	}
	p.addAdministration(h)
	if p.Moderation != nil {
		p.addModeration(h)
	}
	if p.Operations != nil {
		p.addOperations(h)
	}
	return h
}

func (p *parts) addWrites(h *handlers) {
	h.increments = &increments{
		submitter: p.Submitter, acceptor: p.Acceptor, admission: p.admission, catalog: p.Catalog, policy: p.policy,
		ranks: p.ranks, subscores: subscoreBoards{p.Catalog},
	}
	h.batches = &batches{
		submitter: p.Submitter, admission: p.admission, signatures: p.signatures, tokenChecks: p.tokenChecks,
		updates: p.Limits.Updates, policy: p.policy, failures: p.failures,
		subscores: subscoreBoards{p.Catalog},
	}
	h.actions = &actions{tokens: p.ActionTokens, access: p.access, now: p.Now}
	h.events = &events{events: p.Events, acceptor: p.Acceptor, ranks: p.ranks}
}

func (p *parts) addReads(h *handlers) {
	shown := &metadata{p.Reads}
	h.tops = &topReads{
		reads: p.Reads, tiers: p.Tiers, pastBoards: p.PastBoards, past: p.past, live: p.Live, access: p.access,
		cursors: p.CursorKeys, pages: p.pages, show: p.Show, policy: p.policy, now: p.Now,
		metadata: shown,
	}
	h.places = &places{
		reads: p.Reads, pastBoards: p.PastBoards, past: p.past, boards: p.userBoards, lookups: p.lookups,
		reasons: p.reasons, show: p.Show, now: p.Now,
		metadata: shown,
	}
	h.lists = &userLists{reads: p.Reads, access: p.access, lookups: p.lookups, now: p.Now, metadata: shown}
	h.friendsBoards = &friendsBoards{reads: p.FriendReads, access: p.access, now: p.Now, metadata: shown}
	h.leagues = &leagues{
		store: p.Leagues, reads: p.CohortReads, access: p.access, boards: p.userBoards, now: p.Now,
	}
	h.histories = &histories{
		store: p.PastBoards, past: p.past, boards: p.userBoards, lookups: p.lookups, reasons: p.reasons, now: p.Now,
	}
	h.explanations = &explanations{
		store: p.PastBoards, reads: p.Reads, boards: p.userBoards, reasons: p.reasons, show: p.Show,
		subscores: subscoreBoards{p.Catalog},
	}
	h.timelines = &timelines{store: p.PastBoards, past: p.past, access: p.access, show: p.Show, now: p.Now}
}

func (p *parts) addPages(h *handlers) {
	listed := pagedBoards{catalog: p.Catalog, pages: p.Pages}
	h.pageData = &pageData{
		reads: p.Reads, boards: listed, pages: p.pages, lookups: p.lookups, histories: h.histories,
		timelines: h.timelines,
		streams:   p.streams, now: p.Now,
	}
	h.pageViews = &pageViews{
		reads: p.Reads, boards: listed, store: p.Boards, catalog: p.Catalog, pages: p.Pages, lookups: p.lookups,
		show: p.Show, now: p.Now,
	}
}

func (p *parts) addUsers(h *handlers) {
	turns := share.New(hidingReads)
	if p.Profiles != nil {
		h.profiles = &profiles{p.Profiles}
	}
	if p.Privacy != nil {
		h.privacy = newPrivacy(p.Privacy, turns)
	}
	if p.Friends != nil {
		h.friends = newFriends(p.Friends, turns)
	}
	if p.Teams != nil {
		h.teams = &teams{p.Teams}
	}
}

func (p *parts) addBoards(h *handlers) {
	h.boards = &boards{store: p.Boards, catalog: p.Catalog, log: p.Log, now: p.Now}
	h.seasons = &seasons{store: p.Boards, boards: h.boards, trail: p.Trail, show: p.Show, log: p.Log}
	h.boardRules = &boardRules{store: p.Boards, boards: h.boards, log: p.Log}
	if p.LeagueCorrections != nil {
		h.leagueJobs = &leagueJobs{store: p.LeagueCorrections, boards: p.Boards, log: p.Log}
	}
	if p.Rewards != nil {
		h.rewards = &rewards{store: p.Rewards, boards: h.boards, log: p.Log}
	}
	if p.Players != nil {
		h.tournaments = &tournaments{store: p.Players, boards: h.boards, log: p.Log}
	}
}

func (p *parts) addAdministration(h *handlers) {
	if p.Keys != nil {
		h.keys = &keys{store: p.Keys, boards: p.Boards, keyring: p.Keyring}
		h.masterKey = &masterKey{secrets: p.Secrets, keyring: p.Keyring}
	}
	if p.Webhooks != nil {
		h.webhooks = &webhooks{
			store: p.Webhooks, boards: p.Boards, keyring: p.Keyring, networks: p.WebhookNetworks, now: p.Now,
		}
	}
	if p.Settings != nil {
		h.settings = &settings{p.Settings}
	}
	if p.Flags != nil {
		h.flags = &flags{p.Flags}
	}
	if p.DevIssuer {
		h.devTokens = &devTokens{tokens: p.Tokens, trail: p.Trail}
	}
}

func (p *parts) addModeration(h *handlers) {
	h.moderation = &moderation{store: p.Moderation, catalog: p.Catalog, ranks: p.ranks}
	h.voids = &voids{store: p.Moderation, now: p.Now}
	h.userData = &userData{
		store: p.Moderation, slots: p.slots, trail: p.Trail, log: p.Log, subscores: subscoreBoards{p.Catalog},
	}
}

func (p *parts) addOperations(h *handlers) {
	o, slots := p.Operations, p.slots
	runner := &jobRunner{jobs: o.JobLog, node: o.NodeName, slots: slots, trail: p.Trail, log: p.Log}
	h.status = &status{
		node: o.Node, queue: o.Outbox, rankings: o.Rankings, doctor: o.Doctor, jobs: o.Jobs, catalog: p.Catalog,
		log: p.Log, now: p.Now,
	}
	h.deadLetters = &deadLetters{store: o.DeadLetters, log: p.Log}
	h.boardExports = &boardExports{
		store: o.Exports, catalog: p.Catalog, slots: slots, trail: p.Trail, log: p.Log,
	}
	h.imports = &imports{store: o.Imports, catalog: p.Catalog, slots: slots, failures: p.failures}
	h.jobs = &jobs{o.JobLog}
	h.rankingJobs = &rankingJobs{jobs: o.Jobs, catalog: p.Catalog, runner: runner, now: p.Now}
	h.ledgerJobs = &ledgerJobs{archive: o.Archive, catalog: p.Catalog, past: p.past, runner: runner, now: p.Now}
	h.whatIfs = &whatIfs{service: o.WhatIf, catalog: p.Catalog, runner: runner, now: p.Now}
}
