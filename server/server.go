package server

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/admin"
	"github.com/scoreboard/scoreboard/server/api"
	"github.com/scoreboard/scoreboard/server/archive"
	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/edge"
	"github.com/scoreboard/scoreboard/server/health"
	"github.com/scoreboard/scoreboard/server/ingest"
	"github.com/scoreboard/scoreboard/server/leaderboard"
	"github.com/scoreboard/scoreboard/server/limit"
	"github.com/scoreboard/scoreboard/server/outbox"
	"github.com/scoreboard/scoreboard/server/profile"
	"github.com/scoreboard/scoreboard/server/projection"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/realtime/sse"
	"github.com/scoreboard/scoreboard/server/realtime/ws"
	"github.com/scoreboard/scoreboard/server/repair"
	"github.com/scoreboard/scoreboard/server/rollover"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/settings"
	"github.com/scoreboard/scoreboard/server/store"
	"github.com/scoreboard/scoreboard/server/transport"
	"github.com/scoreboard/scoreboard/server/transport/kafka"
)

// Server is one process with its roles.
type Server struct {
	config   *config.Config
	log      *slog.Logger
	registry *prometheus.Registry

	store      *store.Store
	redis      redis.UniversalClient
	ranking    *ranking.Ranking
	kafka      *kafka.Client // nil where no role needs it
	events     *kafka.Producer
	dead       *kafka.Producer
	notices    *kafka.Producer
	keyring    *auth.Keyring
	tokens     *auth.Tokens
	keySet     *auth.KeySet // nil for a development issuer
	settings   *settings.Manager
	limits     *limit.Set
	api        *api.API
	ingest     *ingest.Ingest
	relay      *outbox.Relay
	switcher   *transport.Switch // nil without the relay
	project    *projection.Projection
	accepted   *kafka.Producer
	refused    *kafka.Producer
	seasons    *kafka.Producer
	hub        *realtime.Hub
	book       *profile.Cache
	rebuilder  *repair.Rebuilder
	sampler    *repair.Sampler
	rollover   *rollover.Rollover
	archive    *archive.Archive // nil where no place is named
	components []component      // in the order of their start
	ready      *health.Readiness
	lags       []lagging // consumers of this process
	closing    sync.Once

	proxies      edge.Proxies
	certificates *edge.Certificates // nil without TLS
}

// New builds a server from its configuration. It connects lazily: an unreachable
// backend is found when the server runs. If New fails, it closes what it opened.
func New(ctx context.Context, c *config.Config, log *slog.Logger) (_ *Server, err error) {
	s := &Server{config: c, log: log, registry: prometheus.NewRegistry()}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	s.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if err := s.makeEdge(); err != nil {
		return nil, err
	}
	if err := s.openBackends(ctx); err != nil {
		return nil, err
	}
	if err := s.makeTokens(); err != nil {
		return nil, err
	}
	s.makeSettings()
	catalog := store.NewCatalog(s.store, log)
	s.add("catalog", catalog)
	s.rebuilder = repair.NewRebuilder(catalog, s.store, s.ranking, log)
	trigger := func(scoreboard.BoardID) {}
	if c.Has(config.RoleMaintenance) {
		trigger = s.rebuilder.Trigger
	}
	s.book = profile.NewCache(s.store, log)
	s.add("profiles", s.book)
	reads := leaderboard.New(leaderboard.Options{
		Catalog: catalog, Ranking: s.ranking, Fallback: s.store, TriggerRebuild: trigger, StoreAway: catalog.Away, UserCache: c.Reads.UserCache,
		Show: s.book.Show, Log: log,
	})
	s.register(reads.Collectors()...)

	s.makeGateway(reads)
	if c.Has(config.RoleMaintenance) {
		s.add("rebuilder", s.rebuilder)
		s.register(s.rebuilder.Collectors()...)
		maintenance := outbox.NewMaintenance(s.store, log)
		s.add("outbox maintenance", maintenance)
		s.register(maintenance.Collectors()...)
		s.add("sweeper", admin.TokenSweeper{Store: s.store, Log: s.log})
		if c.Ledger.Archive != "" {
			storage, err := archive.OpenStorage(c.Ledger.Archive)
			if err != nil {
				return nil, fmt.Errorf("ledger.archive: %w", err)
			}
			s.archive = archive.New(archive.Options{Storage: storage, Keep: c.Ledger.Keep}, s.store, log, time.Now)
			s.add("archive", s.archive)
			s.register(s.archive.Collectors()...)
		}
		redisStats := ranking.NewRedisStats(s.ranking, log)
		s.add("redis stats", redisStats)
		s.register(redisStats.Collectors()...)
		s.sampler = repair.NewSampler(s.store, s.ranking, c.Reconcile.Repair, s.rebuilder.Halted, log)
		s.add("sampler", s.sampler)
		s.register(s.sampler.Collectors()...)
		s.makePass(catalog)
	}
	wake := s.makePipeline(trigger)
	s.makeAnnouncer(catalog)
	s.makeRollover(catalog)
	s.ready = s.makeReadiness()
	if err := s.makeAPI(catalog, reads, wake); err != nil {
		return nil, err
	}
	return s, nil
}

// openBackends makes the clients of what the roles need.
func (s *Server) openBackends(ctx context.Context) (err error) {
	c := s.config
	if err := c.CheckBackends(); err != nil {
		return err
	}
	s.store, err = store.Open(ctx, store.Options{
		URL: c.Postgres.URL, MaxConns: c.Postgres.MaxConns, LockWait: lockWait, Timeout: statementTimeout,
		Shards: c.Outbox.Shards, CloseGrace: c.Boards.CloseGrace, Describe: c.Postgres.Describe, Policy: func() *scoreboard.IngestPolicy { return s.settings.IngestPolicy() }, Log: s.log,
	})
	if err != nil {
		return err
	}
	o, err := redis.ParseURL(c.Redis.URL)
	if err != nil {
		return fmt.Errorf("read the Redis URL: %w", withoutURL(err))
	}
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.MaxRetries = 500*time.Millisecond, time.Second, time.Second, 1
	o.ContextTimeoutEnabled = true // what can do without Redis waits for less
	if o.PoolSize == 0 {
		o.PoolSize = 10 * runtime.GOMAXPROCS(0)
	}
	o.PoolSize += c.Streams.Shards // a stream that is waited at keeps a connection
	s.redis = redis.NewClient(o)
	s.ranking = ranking.New(s.redis)
	if len(c.Kafka.Brokers) > 0 && (c.NeedsKafka(c.Transport) || c.Records() || c.RunsPipeline() || c.Has(config.RoleMaintenance)) {
		s.kafka = kafka.New(kafka.Options{
			Brokers: c.Kafka.Brokers, Linger: c.Kafka.Linger, Timeout: produceTimeout, Compression: c.Kafka.Compression, Acks: c.Kafka.Acks,
		})
	}
	return nil
}

// Bounds that nobody has needed to turn.
const (
	lockWait         = 100 * time.Millisecond
	statementTimeout = 5 * time.Second
	produceTimeout   = 5 * time.Second
	rejectedAttempts = 5
)

// makeGateway makes the hub, and what tells it and this node's reads that boards
// changed.
func (s *Server) makeGateway(reads *leaderboard.Leaderboard) {
	c := s.config
	if !c.Has(config.RoleGateway) {
		s.add("notices", follower{s.ranking, []func(scoreboard.Notice){reads.Notify}, s.log})
		return
	}
	s.hub = realtime.NewHub(hubOptions(c), reads, s.log)
	s.register(s.hub.Collectors()...)
	s.add("hub", s.hub)
	if c.Realtime.Bus == config.BusKafka {
		s.add("notices", follower{s.ranking, []func(scoreboard.Notice){reads.Notify}, s.log})
		s.add("bus", follower{s.kafka.Notices(c.Kafka.NoticesTopic), []func(scoreboard.Notice){named(s.book), s.hub.Notify}, s.log})
		return
	}
	// What is held is stale, and rows have names, before anybody hears of them.
	s.add("notices", follower{s.ranking, []func(scoreboard.Notice){reads.Notify, named(s.book), s.hub.Notify}, s.log})
}

func hubOptions(c *config.Config) realtime.Options {
	return realtime.Options{
		Window: c.Realtime.Window, MaxWindow: c.Realtime.MaxWindow, Lag: c.Realtime.Lag, FramesPerMinute: c.Realtime.FramesPerMinute,
		Ping: c.Realtime.Ping, PongWait: c.Realtime.PongWait, SlowAfter: c.Realtime.SlowAfter, Lifetime: c.Realtime.Lifetime,
		DrainPercent: c.Realtime.DrainPercent, ReconnectWithin: c.Realtime.ReconnectWithin,
		ConnectionsPerUser: c.Realtime.ConnectionsPerUser, ConnectionsPerAddress: c.Realtime.ConnectionsPerAddress,
		ConnectionsPerNode: c.Realtime.ConnectionsPerNode, JoinsPerSecond: c.Realtime.JoinsPerSecond,
		Rows: c.Reads.TopN, Off: !c.Realtime.Enabled,
	}
}

// makeAPI makes the handler with the routes of the roles, and ingest where
// there are writes.
func (s *Server) makeAPI(catalog *store.Catalog, reads *leaderboard.Leaderboard, wake func()) (err error) {
	c := s.config
	o := api.Options{
		Tokens: s.tokens, Peers: c.TLS.ClientNames, Catalog: catalog, Policy: policyOf(c),
		Limits: s.makeLimits(), DevIssuer: c.Auth.DevIssuer, Origins: c.Realtime.Origins, Log: s.log, Now: time.Now,
		CursorKey: auth.CursorKey(c.Auth.MasterKey, c.Auth.JWTSecret),
	}
	if c.Has(config.RoleAPI) || c.Has(config.RoleRead) {
		o.Reads, o.Ledger = reads, s.store
		o.Boards = admin.Boards{Store: s.store, Catalog: catalog, Rebuilder: s.rebuilder, Rollover: s.rollover, Log: s.log}
	}
	if c.Has(config.RoleGateway) {
		o.Live, o.WebSockets, o.EventStreams = s.hub, ws.NewServer(s.hub), sse.NewServer(s.hub)
		o.Tickets = auth.NewTickets(s.redis, time.Now)
	}
	if c.Has(config.RoleAPI) {
		if s.keyring, err = auth.NewKeyring(c.Auth.MasterKey, s.store, time.Now); err != nil {
			return err
		}
		o.Keyring, o.Keys = s.keyring, s.store
		o.Profiles = admin.Profiles{Store: s.store, Cache: s.book}
		if err := s.makeProofs(&o); err != nil {
			return err
		}
		o.Operations = &api.Operations{
			Doctor: s.makeDoctor(),
			Outbox: s.store, DeadLetters: s.store, Conditions: s.ranking, Jobs: s.makeJobs(catalog),
		}
		if s.archive != nil {
			o.Operations.Archive = admin.Archive{Archiver: s.archive}
		}
	}
	if err := s.makeTrust(&o); err != nil {
		return err
	}
	if c.Records() {
		s.makeWrites(reads, wake, &o)
	}
	if o.Operations != nil {
		o.Operations.Node = s.makeNodeStatus()
	}
	s.api = api.New(o)
	s.followSettings()
	s.register(s.api.Collectors()...)
	return nil
}

// makeLimits makes the limits of the API at their configured rates.
func (s *Server) makeLimits() api.Limits {
	limiter := limit.New(s.redis, time.Now)
	s.register(limiter.Collectors()...)
	l := limit.NewSet(limiter, ratesOf(s.config))
	s.limits = l
	rate := func(p limit.Pair) api.Rate { return api.Rate{Users: p.Users, Servers: p.Servers} }
	return api.Limits{
		Updates: rate(l.Updates), Actions: rate(l.Actions), Top: rate(l.Top), Rank: rate(l.Rank), Tickets: rate(l.Tickets),
		Key:       func(perMinute int) api.Limit { return l.Key(perMinute) },
		Anonymous: l.Anonymous, Address: l.Address, AuthFailures: l.AuthFailures,
	}
}

func ratesOf(c *config.Config) limit.Rates {
	return limit.Rates{
		Updates: c.Limit.UpdatesPerMinute, Top: c.Limit.TopPerMinute, Rank: c.Limit.RankPerMinute, Tickets: c.Limit.TicketsPerMinute,
		Anonymous: c.Limit.AnonymousPerMinute, Address: c.Limit.AddressPerMinute, AuthFailures: c.Limit.AuthFailuresPerMinute,
	}
}

func (s *Server) register(c ...prometheus.Collector) { s.registry.MustRegister(c...) }

func (s *Server) add(name string, r runner) { s.components = append(s.components, component{name, r}) }

// Close closes the clients of the backends. Run does so when it returns; a server
// that never runs must be closed by its owner. Calls after the first do nothing.
func (s *Server) Close() {
	s.closing.Do(s.closeBackends)
}

func (s *Server) closeBackends() {
	for _, p := range []*kafka.Producer{s.events, s.dead, s.notices, s.accepted, s.refused, s.seasons} {
		if p != nil {
			if err := p.Close(); err != nil {
				s.log.Warn("closing a producer failed", "err", err)
			}
		}
	}
	if s.kafka != nil {
		s.kafka.Close()
	}
	if s.redis != nil {
		if err := s.redis.Close(); err != nil {
			s.log.Warn("closing Redis failed", "err", err)
		}
	}
	if s.store != nil {
		s.store.Close()
	}
}
