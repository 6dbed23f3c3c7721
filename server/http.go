package server

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/buildinfo"
	"github.com/scoreboard/scoreboard/server/admin"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/health"
	"github.com/scoreboard/scoreboard/server/http/api"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/http/console"
	"github.com/scoreboard/scoreboard/server/http/dialect"
	"github.com/scoreboard/scoreboard/server/http/edge"
	"github.com/scoreboard/scoreboard/server/http/limit"
	"github.com/scoreboard/scoreboard/server/http/pages"
	"github.com/scoreboard/scoreboard/server/leaderboard"
	"github.com/scoreboard/scoreboard/server/realtime/sse"
	"github.com/scoreboard/scoreboard/server/realtime/ws"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/upkeep/repair"
)

// makeAPI makes the handler with the routes of the roles, and what they need.
func (s *Server) makeAPI() error {
	c := s.config
	o := api.Options{
		Tokens: s.tokens, Window: c.Ledger.RepeatWindow(), Peers: c.TLS.ClientNames,
		Catalog: s.catalog, Policy: apiPolicy(c),
		Statuses: s.store.Moderation, Limits: s.makeLimits(), DevIssuer: c.Auth.DevIssuer,
		Origins: c.Realtime.Origins, Log: s.log, Now: time.Now,
		Tracer: s.tracer, CursorKeys: auth.CursorKeys(c.Auth.MasterKeys, c.Auth.JWTSecret),
	}
	if len(c.Web.Boards) > 0 {
		o.Pages = &c.Web
	}
	s.add("settings", s.settings)
	s.Register(s.store.Increments.Collectors()...)
	s.Register(s.store.Rewards.Collectors()...)
	if c.Has(config.RoleAPI) || c.Has(config.RoleRead) {
		o.PastBoards, o.Tiers = s.store.PastBoards, leaderboard.NewTierReads(s.reads)
		o.Leagues, o.CohortReads = s.store.Leagues, leaderboard.NewCohorts(s.reads, s.store.Leagues)
		o.Reads, o.Ledger, o.Show, o.Hidden = s.reads, s.store.Reads, s.display().ShowEveryone, s.hidden
		if r := s.replicas.fallback; r != nil && c.ReadsReplicas() {
			past := pastReads{s.store, s.replicas.store, r.State}
			o.PastBoards, o.Ledger = past, past
		}
		o.FriendReads = s.friends()
		o.Boards = s.boards()
	}
	if c.Has(config.RoleGateway) {
		o.WebSockets, o.EventStreams = ws.NewServer(s.hub), sse.NewServer(s.hub)
	}
	if len(c.RequestRoles()) > 0 {
		o.Live, o.Tickets = s.hub, auth.NewTickets(s.redis, time.Now)
		if c.Dialects.Has(config.DialectDelta) {
			tokens, err := auth.NewStreamTokens(c.Auth.MasterKeys, s.redis, time.Now)
			if err != nil {
				return err
			}
			o.StreamTokens = tokens
		}
	}
	if c.Records() {
		s.makeWrites(&o, s.reads)
	}
	if c.Has(config.RoleAPI) {
		if err := s.makeVerifiers(&o); err != nil {
			return err
		}
		s.makeOperations(&o)
	}
	if c.Anomaly.CountryFile != "" {
		countries, err := edge.OpenCountries(c.Anomaly.CountryFile, s.log)
		if err != nil {
			return err
		}
		o.Countries = countries
		s.add("countries", countries)
	}
	s.api = api.New(o)
	s.Register(s.api.Collectors()...)
	return s.mountDialects()
}

// mountDialects adds the dialects to the API.
func (s *Server) mountDialects() error {
	return s.api.Mount(dialect.New(dialect.Options{
		Config: &s.config.Dialects, Rules: func() scoreboard.Rules { return s.settings.IngestPolicy().Rules },
	})...)
}

// boards is how boards are changed.
func (s *Server) boards() admin.Boards {
	b := admin.Boards{
		Boards: s.store.Boards, Catalog: s.catalog, Rebuilder: s.rebuilder, Rollover: s.rollover, Log: s.log,
	}
	if c := &s.config.Dialects; c.Has(config.DialectPlain) {
		b.Plain = scoreboard.BoardID(c.Plain.Board)
	}
	return b
}

// makeVerifiers makes the verifiers of signatures, action tokens and attestations.
func (s *Server) makeVerifiers(o *api.Options) (err error) {
	c := s.config
	if s.keyring, err = auth.NewKeyring(c.Auth.MasterKeys, s.store.Keys, s.log, time.Now); err != nil {
		return err
	}
	o.WebhookNetworks = webhookNetworks(s.config)
	o.Keyring, o.Keys, o.Secrets, o.Webhooks = s.keyring, s.store.Keys, s.store.Secrets, s.store.Webhooks
	if o.ActionTokens, err = auth.NewActionTokens(c.Auth.MasterKeys); err != nil {
		return err
	}
	if c.Auth.AttestationURL == "" {
		return nil
	}
	keys, err := auth.NewKeySet(c.Auth.AttestationURL, keySetNetworks(c), s.log, time.Now)
	if err != nil {
		return err
	}
	o.Attestations = auth.NewAttestations(keys)
	s.add("attestation keys", keys)
	return nil
}

// makeOperations makes what operators use.
func (s *Server) makeOperations(o *api.Options) {
	o.Trail, o.Settings, o.Flags = s.store.Audit, s.settings, s.store.Moderation
	o.Friends, o.Teams = s.store.Friends, s.store.Teams
	o.Rewards, o.Players = s.store.Rewards, s.store.Players
	o.LeagueCorrections = s.store.Leagues
	o.ExternalIDs = s.store.ExternalIDs
	o.Profiles = admin.Profiles{Store: s.store.Profiles, Cache: s.profiles}
	visible := admin.Visible{Ranking: s.ranking, CacheTTL: s.config.Reads.UserCache}
	o.Privacy = admin.Privacy{Store: s.store.Visibility, List: s.hidden, Visible: visible}
	o.Moderation = admin.Moderation{
		Moderation: s.store.Moderation, Corrections: s.store.Corrections, Privacy: s.store.Privacy, Visible: visible,
	}
	o.Operations = &api.Operations{
		Doctor: s.makeDoctor(), Node: s.nodeStatus(), Jobs: s.makeJobs(), Rankings: s.ranking,
		JobLog: s.store.Jobs, NodeName: s.name,
		Outbox: s.store.Outbox, Exports: s.store.Reads,
		WhatIf:  admin.WhatIf{PastBoards: s.store.PastBoards, Corrections: s.store.Corrections},
		Imports: admin.NewImports(s.store.Imports, s.config.Import.RecordsPerSecond),
		DeadLetters: admin.DeadLetters{
			Letters: s.store.DeadLetters, Submit: s.ingest.Submit,
			Topics: []string{s.config.Kafka.IncrementsTopic, s.config.Streams.Increments},
			Window: s.config.Ledger.RepeatWindow(),
		},
	}
	if s.archive != nil {
		o.Operations.Archive = admin.NewArchive(s.archive, s.store.PastBoards, s.upkeep)
	}
}

// consoleTokenTTL is the lifetime of a token that the development sign-in issues.
const consoleTokenTTL = 8 * time.Hour

// consoleDevUser is the user of such a token.
const consoleDevUser = "dev"

// makeConsole makes the console, which acts through the API of this process.
func (s *Server) makeConsole() error {
	c := s.config.Console
	if c.Addr == config.ConsoleOff || !s.config.Has(config.RoleAPI) {
		return nil
	}
	keys, err := auth.ConsoleKeys(s.config.Auth.MasterKeys)
	if err != nil {
		return err
	}
	o := console.Options{
		API: s.api, Keys: keys, URL: c.URL, Log: s.log, Now: time.Now,
		Verify: func(ctx context.Context, token string) (console.Claims, error) {
			claims, err := s.tokens.Verify(ctx, token)
			if err != nil {
				return console.Claims{}, err
			}
			return console.Claims{User: string(claims.User), Scopes: claims.Scopes, Expires: claims.Expires}, nil
		},
		Limit: func(r *http.Request) time.Duration {
			host, _, _ := net.SplitHostPort(r.RemoteAddr)
			return s.limits.SignIns.Take(r.Context(), host)
		},
		OIDC: console.OIDC{
			Issuer: c.OIDCIssuer, ClientID: c.OIDCClientID, ClientSecret: c.OIDCClientSecret, Scopes: c.OIDCScopes,
		},
	}
	for _, r := range s.api.Operations() {
		o.Operations = append(o.Operations, console.Operation(r))
	}
	if c.DevSignIn {
		o.Mint = func() (string, error) {
			token, _, err := s.tokens.Mint(consoleDevUser, auth.ScopeUpdate+" "+auth.ScopeAdmin, consoleTokenTTL)
			return token, err
		}
	}
	if s.console, err = console.New(o); err != nil {
		return err
	}
	s.add("console", s.console)
	return nil
}

// behindProxies gives h the client's address and country.
func (s *Server) behindProxies(h http.Handler) http.Handler {
	return s.proxies.Wrap(h, func() string { return s.settings.Current().Anomaly.CountryHeader })
}

// makeLimits makes the limits of the API at their configured rates.
func (s *Server) makeLimits() api.Limits {
	s.Register(s.limiter.Collectors()...)
	l := limit.NewSet(s.limiter, rates(s.config))
	s.limits = l
	rate := func(p limit.Pair) api.Rate { return api.Rate{Users: p.Users, Servers: p.Servers} }
	return api.Limits{
		Updates: rate(l.Updates), Actions: rate(l.Actions), Events: rate(l.Events), Top: rate(l.Top),
		Rank: rate(l.Rank), Tickets: rate(l.Tickets), Joins: rate(l.Joins), Admin: rate(l.Admin),
		Key:       func(perMinute int) api.KeyLimit { return l.Key(perMinute) },
		Anonymous: l.Anonymous, Address: l.Address, AuthFailures: l.AuthFailures,
	}
}

func (s *Server) makeDoctor() health.Doctor {
	d := health.Doctor{
		Postgres: s.store.Ping, Redis: s.ranking.Ping, Schema: s.checkSchema, Role: s.store.CheckRole,
		Durability: s.store.CheckDurability, RedisServers: s.ranking.CheckServers,
		SetAside: s.ranking.RecentlySetAside,
		Outbox:   s.store.Outbox,
		Lag:      s.consumers.lag, Damage: s.consumers.damage,
		History: func(ctx context.Context) (*repair.HistoryChange, error) {
			return repair.CheckHistory(ctx, s.store.Recovery, s.ranking)
		},
		Current: s.settings.Current, Settings: s.settingsProblem,
	}
	if s.kafka != nil {
		d.Kafka = s.preparations.pingKafka
	}
	if s.keyring != nil {
		d.Secrets = func(ctx context.Context) (scoreboard.Reencryption, error) {
			return s.store.Secrets.Check(ctx, s.keyring.Reencrypt)
		}
	}
	if s.config.Has(config.RoleMaintenance) {
		d.Jobs = s.upkeep.Status
	}
	if s.mirror != nil {
		d.Mirror = s.mirror.Problem
	}
	if len(s.replicas.states) > 0 {
		d.Replicas = s.replicas.problem
	}
	return d
}

// settingsProblem implements health.Settings.
func (s *Server) settingsProblem() (detail string, unsafe bool) { return s.settings.Status().Problem() }

// nodeStatus makes the status of this node, which samples itself while the server runs.
func (s *Server) nodeStatus() *health.NodeStatus {
	sources := health.Sources{Lag: s.consumers.lag, Damaged: s.consumers.lost, Outbox: s.store.Outbox}
	if s.ingest != nil {
		sources.Ingest = s.ingest
	}
	if s.hub != nil {
		sources.Hub = s.hub
	}
	if s.sampler != nil {
		sources.Sampler = s.sampler
		if s.pass != nil {
			sources.Pass = s.pass
		}
	}
	n := health.NewNodeStatus(s.name, s.config.Roles, sources)
	s.add("status", n)
	return n
}

func (s *Server) makeReadiness() *health.Readiness {
	o := health.ReadinessOptions{
		Node: s.name, Postgres: s.store.Ping, Redis: s.ranking.Ping, Schema: s.checkSchema,
		Settings: s.settingsProblem, RequestRoles: s.config.RequestRoles(), Log: s.log,
		NeedsKafka:      func() bool { return s.config.NeedsKafka(s.settings.Current().Transport) },
		PostgresReports: s.store.NodeReports, RedisReports: health.NewRedisReports(s.redis),
	}
	if s.kafka != nil {
		o.Kafka = s.preparations.pingKafka
	}
	return health.NewReadiness(o)
}

// Limits of a connection. A body of one megabyte fits into readTimeout on any
// usable line. Responses are bounded by api.WriteTime; streams and slow handlers
// extend it for each piece they write.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 16 << 10
	maxStreams    = 100 // concurrent requests on one HTTP/2 connection
)

// newHTTPServer returns a server that a slow client cannot occupy. What net/http
// logs about broken connections is logged at debug level.
func (p *process) newHTTPServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader,
		HTTP2:          &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ErrorLog:       slog.NewLogLogger(p.log.Handler(), slog.LevelDebug),
	}
}

// apiServer serves the API's port.
func (s *Server) apiServer() *http.Server {
	var front http.Handler = s.api
	if s.console != nil && s.config.Console.Addr == config.ConsoleMain {
		front = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == console.Root || strings.HasPrefix(r.URL.Path, console.Root+"/") {
				s.console.ServeHTTP(w, r)
				return
			}
			s.api.ServeHTTP(w, r)
		})
	}
	h := s.newHTTPServer(s.behindProxies(front))
	// Over HTTP/2 the first ends a stream whose reader is slow, the second a
	// connection that accepts no data at all.
	h.WriteTimeout, h.HTTP2.WriteByteTimeout = api.WriteTime, api.WriteTime
	if s.certificates != nil {
		h.TLSConfig = s.certificates.Config()
	}
	return h
}

// opsServer serves the operations port: metrics, health and profiles. It must
// not be reachable from the public network.
func (s *Server) opsServer() *http.Server {
	m := http.NewServeMux()
	links := []wire.Link{
		{Path: "/metrics", Description: "Metrics, for Prometheus."},
		{Path: "/readyz", Description: "200 while the process accepts requests, else 503 and the reason."},
		{Path: "/healthz", Description: "200 while the process runs."},
		{Path: "/debug/pprof/", Description: "Profiles, for Go's pprof, from this machine only."},
	}
	if s.console != nil && s.config.Console.Addr == config.ConsoleOps {
		links = slices.Insert(links, 0, wire.Link{
			Path: console.Root, Description: "The console: watch and change boards, players and settings.",
		})
		h := s.behindProxies(s.console)
		m.Handle(console.Root, h)
		m.Handle(console.Root+"/", h)
		for _, path := range api.DocsPaths() { // the console links them
			m.Handle("GET "+path, s.behindProxies(s.api))
		}
	}
	m.Handle("GET /{$}", pages.NewFrontPage(wire.FrontPage{
		Name: "scoreboard operations", Version: buildinfo.Read().Version,
		Description: "Metrics, health and profiles of this process, for operators only. Its API, with the boards and " +
			"their reference (/docs), is on " + s.config.Addr + " (the setting addr).",
		Links: links,
	}))
	known := edge.KnownHosts(s.config.OpsHosts)
	m.Handle("GET /metrics", known(promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{})))
	m.HandleFunc("GET /healthz", health.Live)
	m.Handle("GET /readyz", s.ready)
	for path, h := range map[string]http.HandlerFunc{
		"": pprof.Index, "profile": pprof.Profile, "symbol": pprof.Symbol, "trace": pprof.Trace,
	} {
		m.Handle("GET /debug/pprof/"+path, edge.LocalClients(known(h)))
	}
	return s.newHTTPServer(m)
}

// friends is how users are ranked among their friends.
func (s *Server) friends() *leaderboard.Friends {
	return leaderboard.NewFriends(s.reads, s.store.Friends)
}
