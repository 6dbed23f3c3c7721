package health

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// readyTimeout bounds an answer to /readyz.
const readyTimeout = 2 * time.Second

// Schema describes why this process cannot run on the database's schema, and what to
// do; "" and "" if it can. An error says that the schema's version was not read.
type Schema func(ctx context.Context) (problem, nextStep string, err error)

// Settings describes which stored settings this process does not follow; "" if it
// follows all. unsafe says that it must not receive requests.
type Settings func() (detail string, unsafe bool)

// ReportStore has the reports of all nodes.
type ReportStore interface {
	// Exchange stores the report of this node, unless it is nil, and returns those of all.
	Exchange(ctx context.Context, own *scoreboard.NodeReport) ([]scoreboard.NodeReport, error)
}

// The names of the backends.
const (
	backendPostgres = "postgres"
	backendRedis    = "redis"
	backendKafka    = "kafka"
)

// ReadinessOptions are what readiness depends on.
type ReadinessOptions struct {
	Node            string // the name of this process
	Postgres, Redis Ping
	Schema          Schema
	Settings        Settings
	Kafka           Ping        // nil in a process that does not use Kafka
	NeedsKafka      func() bool // with the current transport
	RequestRoles    []string    // of this process, which serve requests
	// PostgresReports and RedisReports are where nodes tell each other which backends they
	// reach: each is for an outage of the other.
	PostgresReports, RedisReports ReportStore
	Log                           *slog.Logger
}

// Readiness is GET /readyz. It is 503 only while the process starts or stops, where the
// schema or the stored settings make serving unsafe, where none of its roles can serve a
// request, or where another node can take its requests that reaches a backend which does
// not answer here. Any other outage is named, and ends nothing.
type Readiness struct {
	ReadinessOptions

	serving  atomic.Bool
	peers    *peers
	sequence int64 // of the reports; Run's
}

// NewReadiness returns the readiness of a process that does not serve yet.
func NewReadiness(o ReadinessOptions) *Readiness {
	return &Readiness{ReadinessOptions: o, peers: newPeers(o.Node, o.RequestRoles)}
}

// SetServing says whether the process accepts requests.
func (r *Readiness) SetServing(serving bool) { r.serving.Store(serving) }

// ServeHTTP implements http.Handler.
func (r *Readiness) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	s := r.look(req.Context())
	writeJSON(w, r.decide(s), s.report)
}

const answers = "ok"

// state is what a process sees at a moment.
type state struct {
	report map[string]string // by part of the process
	unsafe bool
	reads  bool // a backend answers reads
	// reaches and failing are the backends that the process needs.
	reaches, failing []string
}

// look asks each part of the process. A backend that hangs does not spoil the answers of
// the others.
func (r *Readiness) look(ctx context.Context) *state {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	pings := r.pings()
	results := make(map[string]error, len(pings))
	var all sync.WaitGroup
	var mu sync.Mutex
	for name, ping := range pings {
		all.Go(func() {
			err := ping(ctx)
			mu.Lock()
			defer mu.Unlock()
			results[name] = err
		})
	}
	var problem, next string
	var unread error
	all.Go(func() { problem, next, unread = r.Schema(ctx) })
	all.Wait()
	s := &state{report: map[string]string{}}
	if results[backendPostgres] == nil {
		results[backendPostgres] = s.noteSchema(problem, next, unread)
	}
	s.noteSettings(r.Settings())
	for _, name := range slices.Sorted(maps.Keys(results)) {
		r.noteBackend(s, name, results[name])
	}
	r.peers.answered(s.reaches)
	return s
}

// noteSchema adds what is wrong with the schema of a database that answers. An error is one
// of the database.
func (s *state) noteSchema(problem, next string, unread error) error {
	setup := new(scoreboard.SetupError)
	switch {
	case errors.As(unread, &setup):
		s.report["schema"], s.unsafe = setup.Error(), true
	case unread != nil:
		return unread
	case problem != "":
		s.report["schema"], s.unsafe = problem+": "+next, true
	}
	return nil
}

func (s *state) noteSettings(detail string, unsafe bool) {
	if detail != "" {
		s.report["settings"] = detail
		s.unsafe = s.unsafe || unsafe
	}
}

func (r *Readiness) noteBackend(s *state, name string, err error) {
	s.report[name] = answers
	if err != nil {
		s.report[name] = describe(err)
		r.Log.Debug("backend fails", "backend", name, "err", err)
	}
	s.reads = s.reads || name != backendKafka && (err == nil || errors.Is(err, store.ErrReadOnly))
	switch {
	case name == backendKafka && !r.NeedsKafka():
	case err == nil:
		s.reaches = append(s.reaches, name)
	default:
		s.failing = append(s.failing, name)
	}
}

// decide returns the status of /readyz, and adds the reason to the report.
func (r *Readiness) decide(s *state) (status int) {
	s.report["server"] = answers
	node, backend := r.peers.takesOver(s.reaches, s.failing)
	switch {
	case !r.serving.Load():
		s.report["server"] = "starting or stopping"
	case s.unsafe:
		s.report["server"] = "serving is unsafe"
	case len(r.RequestRoles) > 0 && !s.reads:
		s.report["server"] = "no role can serve a request: neither PostgreSQL nor Redis answers"
	case node != "":
		s.report["server"] = "node " + node + " reaches " + backend + " and takes the requests"
	default:
		return http.StatusOK
	}
	return http.StatusServiceUnavailable
}

// reportInterval is the time between two reports of a node.
const reportInterval = 2 * time.Second

// exchangeTimeout bounds reading and writing reports.
const exchangeTimeout = time.Second

// Run exchanges reports with other nodes until ctx ends.
func (r *Readiness) Run(ctx context.Context) error {
	tick := time.NewTicker(reportInterval)
	defer tick.Stop()
	for {
		r.exchange(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// exchange tells other nodes what this one reaches, if it is ready, and reads what they do.
// It uses both stores, whichever answers here.
func (r *Readiness) exchange(ctx context.Context) {
	s := r.look(ctx)
	r.peers.fail(s.failing)
	var own *scoreboard.NodeReport
	if r.decide(s) == http.StatusOK {
		r.sequence++
		own = &scoreboard.NodeReport{
			Node: r.Node, Roles: slices.Clone(r.RequestRoles), Reaches: slices.Clone(s.reaches), Sequence: r.sequence,
		}
	}
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	var both sync.WaitGroup
	for name, reports := range map[string]ReportStore{
		backendPostgres: r.PostgresReports, backendRedis: r.RedisReports,
	} {
		if s.report[name] != answers {
			continue
		}
		both.Go(func() {
			all, err := reports.Exchange(ctx, own)
			if err != nil {
				r.Log.Debug("reports of nodes not exchanged", "backend", name, "err", err)
				return
			}
			r.peers.note(name, all)
		})
	}
	both.Wait()
}

func (r *Readiness) pings() map[string]Ping {
	all := map[string]Ping{backendPostgres: r.Postgres, backendRedis: r.Redis}
	if r.Kafka != nil {
		all[backendKafka] = r.Kafka
	}
	return all
}

var (
	readyDesc = prometheus.NewDesc("scoreboard_ready",
		"1 while /readyz answers 200; evaluated when metrics are read.", nil, nil)
	backendDesc = prometheus.NewDesc("scoreboard_backend_up",
		"1 while a backend answers; evaluated when metrics are read.", []string{"backend"}, nil)
)

// Describe implements prometheus.Collector.
func (r *Readiness) Describe(to chan<- *prometheus.Desc) {
	to <- readyDesc
	to <- backendDesc
}

// Collect implements prometheus.Collector. It checks at once, so that what is reported
// is never older than the scrape.
func (r *Readiness) Collect(to chan<- prometheus.Metric) {
	one := func(ok bool) float64 {
		if ok {
			return 1
		}
		return 0
	}
	s := r.look(context.Background())
	to <- prometheus.MustNewConstMetric(readyDesc, prometheus.GaugeValue, one(r.decide(s) == http.StatusOK))
	for name := range r.pings() {
		up := one(s.report[name] == answers)
		to <- prometheus.MustNewConstMetric(backendDesc, prometheus.GaugeValue, up, name)
	}
}

// Live is GET /healthz: the process runs.
func Live(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // fails only if the client has gone
}
