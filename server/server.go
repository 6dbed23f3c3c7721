package server

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/buildinfo"
	"github.com/scoreboard/scoreboard/internal/tracing"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/health"
	"github.com/scoreboard/scoreboard/server/http/api"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/http/console"
	"github.com/scoreboard/scoreboard/server/http/edge"
	"github.com/scoreboard/scoreboard/server/http/limit"
	"github.com/scoreboard/scoreboard/server/leaderboard"
	"github.com/scoreboard/scoreboard/server/leaderboard/display"
	"github.com/scoreboard/scoreboard/server/pipeline/transport"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/upkeep/archive"
	"github.com/scoreboard/scoreboard/server/upkeep/repair"
)

// process is what every part of a server uses: the configuration, the log, the metrics, and
// the list of what Run starts.
type process struct {
	config   *config.Config
	log      *slog.Logger
	name     string
	tracer   *tracing.Tracer // nil: no traces
	registry *prometheus.Registry
	measured []prometheus.Collector // what registry has

	components []component // in the order of their start
}

// Server is one process with its roles. A component is nil in a process whose
// roles do not need it.
type Server struct {
	*process
	*backends
	*pipeline

	proxies      edge.Proxies
	certificates *edge.Certificates
	keyring      *auth.Keyring
	tokens       *auth.Tokens
	keySet       *auth.KeySet // nil with the development secret
	settings     *config.Manager
	limiter      *limit.Limiter
	limits       *limit.Set

	profiles  *display.Profiles
	hidden    *display.Hidden
	reads     *leaderboard.Leaderboard
	hub       *realtime.Hub
	rebuilder *repair.Rebuilder
	sampler   *repair.Sampler
	pass      *repair.Pass // nil without full comparisons
	archive   *archive.Archive
	api       *api.API
	console   *console.Console // nil: not served here
	ready     *health.Readiness

	preparations *preparations

	closing sync.Once
}

// buildInfo says which build runs: during an upgrade, and where a change began.
func buildInfo() prometheus.Collector {
	b := buildinfo.Read()
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "scoreboard_build_info",
		Help:        "Always 1, with the version, commit and toolchain of the process as labels.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": b.Commit, "go": b.Go},
	}, func() float64 { return 1 })
}

// New builds a server from its configuration. It connects lazily: an unreachable
// backend is found when the server runs. If New fails, it closes what it opened.
func New(ctx context.Context, c *config.Config, log *slog.Logger) (_ *Server, err error) {
	log = slog.New(tracing.NewLogHandler(log.Handler()))
	p := &process{config: c, log: log, name: processName(), registry: prometheus.NewRegistry()}
	b := &backends{process: p, produced: transport.NewProduceCalls()}
	s := &Server{process: p, backends: b, pipeline: &pipeline{backends: b}}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	s.Register(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	s.Register(buildInfo())
	s.Register(s.produced.Collectors()...)
	if err := s.makeTracer(); err != nil {
		return nil, err
	}
	if err := s.makeEdge(); err != nil {
		return nil, err
	}
	if err := s.backends.open(ctx, func() *scoreboard.IngestPolicy { return s.settings.IngestPolicy() }); err != nil {
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
	s.pipeline.make()
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
func (p *process) Register(c ...prometheus.Collector) {
	p.registry.MustRegister(c...)
	p.measured = append(p.measured, c...)
}

// measured is a component with metrics.
type measured interface{ Collectors() []prometheus.Collector }

// add has Run start a component, and registers its metrics.
func (p *process) add(name string, r runner) {
	p.components = append(p.components, component{name, r})
	if m, ok := r.(measured); ok {
		p.Register(m.Collectors()...)
	}
}

// Close closes the clients of the backends. Run does so when it returns; a server
// that never runs must be closed by its owner. Calls after the first do nothing.
func (s *Server) Close() {
	s.closing.Do(func() {
		closed := make(chan struct{})
		go func() {
			s.backends.close()
			s.tracer.Close()
			close(closed)
		}()
		select {
		case <-closed:
		case <-time.After(closeGrace):
			s.log.Warn("connections to backends were not closed in time")
		}
	})
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
	_, err := s.store.Keys.CreateKey(ctx, id, name, s.keyring.Encrypt(id, secret), &scoreboard.KeyScope{}, 0, why)
	if wire.CodeOf(err) == wire.CodeConflict {
		return nil
	}
	return err
}
