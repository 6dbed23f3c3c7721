package server

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/internal/buildinfo"
	"github.com/scoreboard/scoreboard/internal/publicnet"
	"github.com/scoreboard/scoreboard/internal/tracing"
	"github.com/scoreboard/scoreboard/server/admin"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/http/api"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/http/edge"
	"github.com/scoreboard/scoreboard/server/http/limit"
	"github.com/scoreboard/scoreboard/server/leaderboard"
	"github.com/scoreboard/scoreboard/server/leaderboard/display"
	"github.com/scoreboard/scoreboard/server/pipeline/outbox"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
	"github.com/scoreboard/scoreboard/server/upkeep"
	"github.com/scoreboard/scoreboard/server/upkeep/archive"
	"github.com/scoreboard/scoreboard/server/upkeep/repair"
	"github.com/scoreboard/scoreboard/server/upkeep/webhook"
)

// makeEdge reads the trusted proxies and the certificates.
func (s *Server) makeEdge() (err error) {
	c := s.config
	if s.proxies, err = edge.ParseProxies(c.TrustedProxies); err != nil {
		return fmt.Errorf("setting trusted_proxies: %w", err)
	}
	if c.TLS.Cert == "" {
		return nil
	}
	files := edge.Files{Cert: c.TLS.Cert, Key: c.TLS.Key, ClientCA: c.TLS.ClientCA}
	if s.certificates, err = edge.NewCertificates(files, s.log); err != nil {
		return err
	}
	s.add("certificates", s.certificates)
	return nil
}

// makeTracer makes what exports spans. It is added first, so that it ends last.
func (s *Server) makeTracer() (err error) {
	c := s.config.OTLP
	if c.Endpoint == "" {
		return nil
	}
	s.tracer, err = tracing.New(tracing.Options{
		Endpoint: c.Endpoint, Sample: c.Sample, Service: "scoreboardd", Version: buildinfo.Read().Version,
		Instance: processName(), Log: s.log,
	})
	if err != nil {
		return err
	}
	s.add("traces", s.tracer)
	return nil
}

// makeTokens makes the verifier of bearer tokens: by the key set of an identity
// provider, or by the development secret. It accepts none until the settings that
// operators have changed are in force.
func (s *Server) makeTokens() error {
	c := s.config
	defer func() {
		if s.tokens != nil {
			s.tokens.Suspend()
		}
	}()
	if c.Auth.JWKSURL == "" {
		s.tokens = auth.NewTokens(c.Auth.JWTSecret, c.Auth.Issuer, c.Auth.Audience, time.Now)
		return nil
	}
	keys, err := auth.NewKeySet(c.Auth.JWKSURL, keySetNetworks(c), s.log, time.Now)
	if err != nil {
		return err
	}
	s.keySet = keys
	s.tokens = auth.NewProviderTokens(keys, tokenPolicy(c), time.Now)
	s.add("key set", keys)
	return nil
}

// keySetNetworks are where key sets may be read from besides public addresses.
func keySetNetworks(c *config.Config) publicnet.Networks {
	return publicnet.Networks{Allowed: c.Auth.JWKSNetworks, Setting: "auth.jwks_networks"}
}

// makeSettings makes the manager of the settings in force. followSettings connects
// the components that follow changes.
func (s *Server) makeSettings() {
	o := config.ManagerOptions{
		Tokens:   admission{s.tokens},
		Deployed: s.config, Store: s.store.Settings, Process: processName(),
		Pipeline: s.config.UsesTransport(), Log: s.log,
	}
	if s.keySet != nil {
		o.Keys = s.keySet
	}
	s.settings = config.NewManager(o)
}

// admission tries tokens with other settings.
type admission struct{ *auth.Tokens }

func (a admission) Admits(ctx context.Context, token string, c *config.Auth) error {
	return a.Tokens.Admits(ctx, token, authPolicy(c), c.JWKSURL)
}

func (s *Server) followSettings() {
	s.settings.OnChange(func(c *config.Config) {
		s.tokens.Configure(tokenPolicy(c))
		s.limits.Configure(rates(c))
		s.api.Configure(apiPolicy(c))
		if s.relay != nil {
			s.relay.Configure(c.Outbox.Batch, c.Outbox.Poll, c.Outbox.Pause)
		}
		if s.hub != nil {
			s.hub.Configure(hubOptions(c))
		}
	})
	s.settings.OnPoll(func(c *config.Config) {
		if s.hub != nil && !c.Realtime.Enabled {
			s.hub.Configure(hubOptions(c)) // closes another share of the connections
		}
	})
	s.settings.OnTransport(func(name string) {
		if s.switcher != nil {
			s.switcher.SwitchTo(name)
		}
		if s.mirror != nil {
			s.mirror.Follow(name, s.config.Supports(name))
		}
	})
}

func tokenPolicy(c *config.Config) auth.Policy { return authPolicy(&c.Auth) }

func authPolicy(a *config.Auth) auth.Policy {
	return auth.Policy{
		Issuer: a.Issuer, Audience: a.Audience, ClientIDs: a.ClientIDs, ScopeClaims: a.ScopeClaims,
		UserClaim: a.UserClaim, MaxTTL: a.MaxTokenTTL,
	}
}

func apiPolicy(c *config.Config) api.Policy {
	return api.Policy{
		SignatureOptional: c.Auth.Signature == config.SignatureOptional, Async: c.Ingest.Async,
		DefaultKey: c.Auth.DefaultKey, OverflowAsync: c.Ingest.Overflow == "async",
		AnonymousReads: c.Reads.Anonymous, TopN: c.Reads.TopN, CountryHeader: c.Anomaly.CountryHeader,
		Actions: c.Ingest.Actions,
	}
}

func rates(c *config.Config) limit.Rates {
	return limit.Rates{
		Updates: c.Limit.UpdatesPerMinute, UpdatesWindow: c.Limit.UpdatesWindow,
		Events: c.Limit.EventsPerMinute, Top: c.Limit.TopPerMinute, Rank: c.Limit.RankPerMinute,
		Tickets: c.Limit.TicketsPerMinute, Joins: c.JoinsPerMinute(),
		Admin: c.Limit.AdminPerMinute, Anonymous: c.Limit.AnonymousPerMinute, Address: c.Limit.AddressPerMinute,
		AuthFailures: c.Limit.AuthFailuresPerMinute, IPv6Prefix: c.Limit.IPv6Prefix,
	}
}

func hubOptions(c *config.Config) realtime.Options {
	r := &c.Realtime
	return realtime.Options{
		Window: r.Window, MaxWindow: r.MaxWindow, Lag: r.Lag, MessagesPerMinute: r.MessagesPerMinute,
		Ping: r.Ping, PongWait: r.PongWait, SlowAfter: r.SlowAfter, Lifetime: r.Lifetime,
		DrainPercent: r.DrainPercent, ReconnectWithin: r.ReconnectWithin, ConnectionsPerUser: r.ConnectionsPerUser,
		ConnectionsPerAddress: r.ConnectionsPerAddress, AnonymousPerAddress: r.AnonymousPerAddress,
		IPv6Prefix: c.Limit.IPv6Prefix, ConnectionsPerNode: r.ConnectionsPerNode,
		JoinsPerSecond: r.JoinsPerSecond, RankLookups: r.RankLookups, Rows: c.Reads.TopN, Off: !r.Enabled,
	}
}

// makeReads makes the catalog, the profiles and the reads, which every role needs.
func (s *Server) makeReads() {
	s.catalog = store.NewCatalog(s.store.Boards, s.log)
	s.add("catalog", s.catalog)
	s.rebuilder = repair.NewRebuilder(
		s.catalog, s.store.Recovery, s.ranking, s.upkeep, s.log,
	)
	s.rebuild = func() {}
	if s.config.Has(config.RoleMaintenance) { // only such a process rebuilds
		s.rebuild = s.rebuilder.Trigger
	}
	s.profiles = display.NewProfiles(s.store.Profiles, s.log)
	s.add("profiles", s.profiles)
	s.hidden = display.NewHidden(s.store.Visibility, s.log)
	s.add("hidden users", s.hidden)
	o := leaderboard.Options{
		Catalog: s.catalog, Ranking: s.ranking, Fallback: s.store.Reads, TriggerRebuild: s.rebuild,
		StoreUnavailable: s.catalog.Unavailable, UserCache: s.config.Reads.UserCache, Display: s.display(), Log: s.log,
		AttemptCounts: s.store.Reads,
		Metadata:      s.store.Reads,
	}
	if s.config.ReadsReplicas() {
		o.RankingReplica, o.FallbackReplica = s.replicas.ranking, s.replicas.fallback
	}
	s.reads = leaderboard.New(o)
	s.Register(s.reads.Collectors()...)
}

// display is how this process shows users.
func (s *Server) display() display.Display {
	return display.Display{Hidden: s.hidden, Profiles: s.profiles}
}

// makeHub makes the hub, which streams boards in a gateway, and serves long polls in every
// process that serves requests. It feeds the hub and this node's reads with notices.
func (s *Server) makeHub() {
	c := s.config
	// First of all, because afterwards the rows of a notice are shared.
	names := s.display().ShowNotice
	ranked := rankedNotices{s.ranking, s.catalog}
	if len(c.RequestRoles()) == 0 {
		s.add("notices", newFollower("redis", ranked, s.log, names, s.reads.Notify))
		return
	}
	// Before the hub, so that it ends later: the hub's connections leave it.
	connections := s.limiter.Connections(processName())
	s.add("connections of users", connections)
	s.hub = realtime.NewHub(hubOptions(c), s.reads, connections, s.log)
	s.hub.Trace(s.tracer)
	s.hub.ShowFriends(s.friends())
	s.hub.Cohorts = leaderboard.NewCohorts(s.reads, s.store.Leagues)
	s.hub.ShowUsers(s.reads.ShowNow)
	s.hub.Tiers = s.catalog.Tiers
	s.hidden.OnChange(s.hub.Reshow)
	s.add("hub", s.hub)
	if c.Has(config.RoleGateway) && c.Realtime.Bus == config.BusKafka {
		s.add("notices", newFollower("redis", ranked, s.log, names, s.reads.Notify))
		bus := boardNotices{s.kafka.Notices(c.Kafka.NoticesTopic), s.catalog}
		s.add("bus", newFollower("kafka", bus, s.log, names, s.hub.Notify))
		return
	}
	// The cache before the hub: a client that reads after a frame gets its state.
	s.add("notices", newFollower("redis", ranked, s.log, names, s.reads.Notify, s.hub.Notify))
}

// follower passes notices to functions, in their order.
type follower struct {
	source  notices
	notify  []func(scoreboard.Notice)
	log     *slog.Logger
	skipped prometheus.Counter
}

// notices is a source of notices: Redis, or the topic in Kafka.
type notices interface {
	Follow(ctx context.Context, do func(scoreboard.Notice), bad func(error)) error
}

func newFollower(name string, source notices, log *slog.Logger, notify ...func(scoreboard.Notice)) follower {
	return follower{source, notify, log, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "scoreboard_notices_skipped_total", Help: "Notices that could not be decoded, by source.",
		ConstLabels: prometheus.Labels{"source": name},
	})}
}

// Collectors returns the metrics, for registration.
func (f follower) Collectors() []prometheus.Collector { return []prometheus.Collector{f.skipped} }

func (f follower) Run(ctx context.Context) error {
	return f.source.Follow(ctx, func(n scoreboard.Notice) {
		for _, notify := range f.notify {
			notify(n)
		}
	}, func(err error) {
		f.skipped.Inc()
		f.log.Warn("notice skipped", "err", err)
	})
}

// makeMaintenance makes the background work of the role maintenance.
func (s *Server) makeMaintenance() error {
	c := s.config
	if !c.Has(config.RoleMaintenance) {
		return nil
	}
	s.add("rebuilder", s.rebuilder)
	s.add("outbox maintenance", outbox.NewMaintenance(s.store.Outbox, s.log))
	s.add("standings", upkeep.NewStandings(s.store.Standings, s.upkeep))
	s.add("rewards", upkeep.NewRewards(s.store.Rewards, s.upkeep))
	s.add("leagues", upkeep.NewLeagues(s.store.Leagues, s.upkeep))
	s.add("checkpoints", upkeep.NewCheckpoints(upkeep.CheckpointOptions{
		Events: int64(c.Ledger.CheckpointEvents), Keep: c.Ledger.CheckpointKeep,
	}, s.store.PastBoards, s.upkeep))
	s.add("teams", upkeep.NewTeams(s.store.Teams, s.catalog.All, s.upkeep))
	s.add("audit trail", upkeep.NewAuditSealer(s.store.Audit, s.upkeep))
	s.add("sweeper", admin.Sweeper{
		Increments: s.store.Increments, Window: c.Ledger.RepeatWindow(), Log: s.log,
	})
	if c.Ledger.Archive != "" {
		storage, err := archive.OpenStorage(c.Ledger.Archive)
		if err != nil {
			return fmt.Errorf("setting ledger.archive: %w", err)
		}
		o := archive.Options{Storage: storage, Keep: c.Ledger.Keep}
		s.archive = archive.New(o, s.store.Archive, s.upkeep, s.log, time.Now)
		s.add("archive", s.archive)
	}
	s.add("redis stats", ranking.NewRedisStats(s.ranking, s.log))
	s.add("postgres stats", store.NewStats(s.store, s.log))
	s.sampler = repair.NewSampler(
		s.store.Recovery, s.ranking, c.Reconcile.Repair, s.rebuilder.Halted, s.upkeep, s.log,
	)
	s.add("sampler", s.sampler)
	if c.Reconcile.Every > 0 {
		check := repair.Check{
			Store:    s.store.Recovery,
			Teams:    s.store.Teams,
			Rewards:  s.store.Rewards,
			Ranking:  s.ranking,
			Repair:   c.Reconcile.Repair,
			Progress: func(*repair.VerifyResult) {},
		}
		s.pass = repair.NewPass(c.Reconcile.Every, check, s.catalog, s.rebuilder.Halted, s.upkeep, s.store.Leases,
			s.log)
		s.add("full comparison", s.pass)
	}
	if err := s.makeWebhooks(); err != nil {
		return err
	}
	addresses := func() time.Duration { return s.settings.Current().Retention.Addresses }
	s.add("moderation", upkeep.NewModeration(
		s.store.Corrections, s.store.Privacy, s.ranking, addresses, s.config.Ledger.RepeatWindow(), s.upkeep))
	return nil
}

// makeWebhooks makes what sends messages to webhooks. Their secrets are encrypted with the
// master key, which a process with the role maintenance only may lack.
func (s *Server) makeWebhooks() error {
	c := s.config
	if len(c.Auth.MasterKeys) == 0 {
		s.log.Info("this process sends nothing to webhooks: the setting auth.master_key is empty")
		return nil
	}
	keyring, err := auth.NewKeyring(c.Auth.MasterKeys, s.store.Keys, s.log, time.Now)
	if err != nil {
		return err
	}
	s.add("webhooks", webhook.New(webhook.Options{
		Runner: s.upkeep, Store: s.store.Webhooks, Boards: s.catalog,
		Seasons: s.store.Boards, Flags: s.store.Moderation, Ranking: s.ranking, Decrypt: keyring.Decrypt,
		Hide:     func(board scoreboard.BoardID, rows []scoreboard.Entry) { s.hidden.Hide(board, rows, "") },
		Networks: webhookNetworks(s.config),
		Version:  buildinfo.Read().Version, Log: s.log,
	}))
	return nil
}

// webhookNetworks are where webhooks may be.
func webhookNetworks(c *config.Config) publicnet.Networks {
	return publicnet.Networks{Allowed: c.Webhooks.Networks, Setting: "webhooks.networks"}
}

// processName is a unique owner of leases. Host and process are for readers of logs
// and tables.
func processName() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:8])
}
