package server

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/calls"
	"github.com/scoreboard/scoreboard/internal/tracing"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/config/settings"
	"github.com/scoreboard/scoreboard/server/health"
	"github.com/scoreboard/scoreboard/server/http/api"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/http/console"
	"github.com/scoreboard/scoreboard/server/http/edge"
	"github.com/scoreboard/scoreboard/server/http/limit"
	"github.com/scoreboard/scoreboard/server/leaderboard"
	"github.com/scoreboard/scoreboard/server/leaderboard/display"
	"github.com/scoreboard/scoreboard/server/pipeline/ingest"
	"github.com/scoreboard/scoreboard/server/pipeline/mirror"
	"github.com/scoreboard/scoreboard/server/pipeline/outbox"
	"github.com/scoreboard/scoreboard/server/pipeline/transport"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/kafka"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/streams"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
	"github.com/scoreboard/scoreboard/server/upkeep"
	"github.com/scoreboard/scoreboard/server/upkeep/archive"
	"github.com/scoreboard/scoreboard/server/upkeep/repair"
)

// Server is one process with its roles. A component is nil in a process whose
// roles do not need it.
type Server struct {
	config   *config.Config
	log      *slog.Logger
	registry *prometheus.Registry
	measured []prometheus.Collector // what registry has

	store     *store.Store
	redis     redis.UniversalClient
	ranking   *ranking.Ranking
	replicas  replicas
	kafka     *kafka.Client
	producers []*kafka.Producer
	produced  *calls.Calls    // by all producers
	tracer    *tracing.Tracer // nil: no traces

	proxies      edge.Proxies
	certificates *edge.Certificates
	keyring      *auth.Keyring
	name         string // of this process
	tokens       *auth.Tokens
	keySet       *auth.KeySet // nil with the development secret
	settings     *settings.Manager
	limiter      *limit.Limiter
	limits       *limit.Set

	catalog   *store.Catalog
	profiles  *display.Profiles
	hidden    *display.Hidden
	reads     *leaderboard.Leaderboard
	hub       *realtime.Hub
	ingest    *ingest.Ingest
	relay     *outbox.Relay
	switcher  *transport.Switch
	queue     *streams.Consumer // of accepted increments
	upkeep    *upkeep.Runner    // of the work beside requests
	rebuilder *repair.Rebuilder
	sampler   *repair.Sampler
	pass      *repair.Pass // nil without full comparisons
	rollover  *upkeep.Rollover
	mirror    *mirror.Mirror
	archive   *archive.Archive
	api       *api.API
	console   *console.Console // nil: not served here
	ready     *health.Readiness

	preparations *preparations

	components []component // in the order of their start
	consumers  []consumer
	lags       []transport.Measurable // of the groups whose lag this process measures
	closing    sync.Once
}

// New builds a server from its configuration. It connects lazily: an unreachable
// backend is found when the server runs. If New fails, it closes what it opened.
func New(ctx context.Context, c *config.Config, log *slog.Logger) (_ *Server, err error) {
	log = slog.New(tracing.NewLogHandler(log.Handler()))
	s := &Server{
		config: c, log: log, name: processName(), registry: prometheus.NewRegistry(),
		produced: transport.NewProduceCalls(),
	}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	s.Register(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	s.Register(s.produced.Collectors()...)
	if err := s.makeTracer(); err != nil {
		return nil, err
	}
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
	s.makeReads()
	s.limiter = limit.New(s.redis, time.Now)
	s.makeHub()
	if err := s.makeMaintenance(); err != nil {
		return nil, err
	}
	s.preparations = newPreparations(s)
	s.makePipeline()
	s.makeAnnouncer()
	s.makeRollover()
	s.makeMirror()
	if err := s.makeAPI(); err != nil {
		return nil, err
	}
	if err := s.makeConsole(); err != nil {
		return nil, err
	}
	s.makeLagMonitor()
	s.followSettings()
	s.ready = s.makeReadiness()
	s.Register(s.ready)
	s.add("readiness", s.ready)
	return s, nil
}

// Register adds metrics to those that the operations port serves.
func (s *Server) Register(c ...prometheus.Collector) {
	s.registry.MustRegister(c...)
	s.measured = append(s.measured, c...)
}

// measured is a component with metrics.
type measured interface{ Collectors() []prometheus.Collector }

// add has Run start a component, and registers its metrics.
func (s *Server) add(name string, r runner) {
	s.components = append(s.components, component{name, r})
	if m, ok := r.(measured); ok {
		s.Register(m.Collectors()...)
	}
}

// producer opens a producer that Close closes.
func (s *Server) producer(topic string) transport.Producer {
	p := s.kafka.Producer(topic)
	s.producers = append(s.producers, p)
	return transport.Measured(p, topic, s.produced)
}

// Close closes the clients of the backends. Run does so when it returns; a server
// that never runs must be closed by its owner. Calls after the first do nothing.
func (s *Server) Close() {
	s.closing.Do(func() {
		closed := make(chan struct{})
		go func() {
			s.closeBackends()
			close(closed)
		}()
		select {
		case <-closed:
		case <-time.After(closeGrace):
			s.log.Warn("connections to backends were not closed in time")
		}
	})
}

func (s *Server) closeBackends() {
	for _, p := range s.producers {
		if err := p.Close(); err != nil {
			s.log.Warn("closing a producer failed", "err", err)
		}
	}
	if s.kafka != nil {
		s.kafka.Close()
	}
	if err := s.replicas.close(); err != nil {
		s.log.Warn("close the Redis replica", "err", err)
	}
	if s.redis != nil {
		if err := s.redis.Close(); err != nil {
			s.log.Warn("closing Redis failed", "err", err)
		}
	}
	if s.store != nil {
		s.store.Close()
	}
	s.tracer.Close()
}

// NewKey generates the id and the secret of a signing key.
func NewKey() (id, secret string) { return api.NewKey() }

// EnsureKey creates a signing key with a given id and secret, unless it exists. The
// development stack keeps both in a file.
func (s *Server) EnsureKey(ctx context.Context, id, name, secret string) error {
	return s.ensureKey(ctx, id, name, secret, nil)
}

// ensureDefaultKey creates the key of the setting auth.default_key, if it has a secret.
func (s *Server) ensureDefaultKey(ctx context.Context) error {
	a := &s.config.Auth
	if a.DefaultSecret == "" {
		return nil
	}
	return s.ensureKey(ctx, a.DefaultKey, "default", a.DefaultSecret, &scoreboard.AuditEntry{
		Actor: scoreboard.SystemActor, Action: "key.create", Target: "key:" + a.DefaultKey,
		Reason: "the setting auth.default_key_secret",
	})
}

func (s *Server) ensureKey(ctx context.Context, id, name, secret string, why *scoreboard.AuditEntry) error {
	_, err := s.store.Keys.CreateKey(ctx, id, name, s.keyring.Seal(id, secret), &scoreboard.KeyScope{}, 0, why)
	if wire.CodeOf(err) == wire.CodeConflict {
		return nil
	}
	return err
}
