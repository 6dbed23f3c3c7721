package projection

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/internal/retry"
	"github.com/scoreboard/scoreboard/internal/tracing"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Source is the consuming end of a transport. It commits records after handle
// has returned; of a paused partition, only those before the returned offset.
// Consume returns nil when ctx ends.
type Source interface {
	Consume(
		ctx context.Context, handle func(context.Context, []scoreboard.Record) (paused map[int]int64, err error),
	) error
	// Intact reports whether the records that were delivered so far are of one log. If it
	// was replaced by another, changes are missing, and heartbeats behind them claim too
	// much.
	Intact(ctx context.Context) bool
}

// Ranking is where changes are applied.
type Ranking interface {
	Apply(ctx context.Context, changes []scoreboard.Change) (notLoaded []scoreboard.BoardID, err error)
	RecordHeartbeats(ctx context.Context, beats []scoreboard.Heartbeat) error
}

// DeadLetters keeps records that cannot be applied, with the reason.
type DeadLetters interface {
	Add(ctx context.Context, letter *scoreboard.DeadLetter) error
}

// Boards reports whether a board exists, without a cache that could be stale.
type Boards interface {
	BoardExists(ctx context.Context, id scoreboard.BoardID) (bool, error)
}

// Projection applies records.
type Projection struct {
	sources []Source
	ranking Ranking
	boards  Boards
	dead    []DeadLetters
	rebuild func() // triggers a check of what must be rebuilt; never blocks
	tracer  *tracing.Tracer
	log     *slog.Logger
	metrics *metrics
}

// New returns a projection that applies records of all sources; Run starts it.
// Records that cannot be applied go to every one of the dead letters. rebuild is
// called for boards that the ranking does not hold.
func New(
	s []Source, r Ranking, b Boards, d []DeadLetters, rebuild func(), tracer *tracing.Tracer,
	log *slog.Logger,
) *Projection {
	return &Projection{
		sources: s, ranking: r, boards: b, dead: d, rebuild: rebuild, tracer: tracer, log: log, metrics: newMetrics(),
	}
}

// Run consumes every source until ctx ends, and starts a source again after it
// has failed.
func (p *Projection) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for _, s := range p.sources {
		running.Go(func() {
			consume := func(ctx context.Context) error { return s.Consume(ctx, p.Handler(s)) }
			retry.Rerun(ctx, consume, func(attempt int, err error) {
				p.metrics.failures.Inc()
				p.log.Warn("projection interrupted", "attempt", attempt, "err", err)
			})
		})
	}
	running.Wait()
	return nil
}

// batch is the content of some records.
type batch struct {
	changes []scoreboard.Change
	origins []scoreboard.Record // of each change
	beats   []scoreboard.Heartbeat
}

// Handler returns what applies the records of a source.
func (p *Projection) Handler(s Source) func(context.Context, []scoreboard.Record) (map[int]int64, error) {
	return func(ctx context.Context, records []scoreboard.Record) (map[int]int64, error) {
		return p.handle(ctx, s, records)
	}
}

// handle applies records of one source, and retries until that succeeds or ctx
// ends. A partition with an event of a newer schema is paused there.
func (p *Projection) handle(
	ctx context.Context, s Source, records []scoreboard.Record,
) (paused map[int]int64, err error) {
	b := batch{changes: make([]scoreboard.Change, 0, len(records)), origins: make([]scoreboard.Record, 0, len(records))}
	paused = map[int]int64{}
	for _, r := range records {
		if _, ok := paused[r.Partition]; ok {
			continue
		}
		change, beat, err := protocol.DecodeEvent(r.Value)
		switch {
		case errors.Is(err, protocol.ErrNewerSchema):
			p.metrics.newer.Inc()
			p.log.Error("partition paused: upgrade to a build that reads the newer schema",
				"topic", r.Topic, "partition", r.Partition, "offset", r.Offset, "err", err)
			paused[r.Partition] = r.Offset
		case err != nil:
			if err := p.moveToDeadLetters(ctx, r, err); err != nil {
				return nil, err
			}
		case beat != nil:
			beat.Partition = r.Partition
			b.beats = append(b.beats, *beat)
		default:
			change.Trace = tracing.Sampled(r.Trace)
			b.changes, b.origins = append(b.changes, *change), append(b.origins, r)
		}
	}
	spans := p.trace(ctx, &b)
	defer spans.end()
	ctx = spans.context(ctx)
	return paused, p.retry(ctx, func() error { return p.apply(ctx, s, &b, spans) })
}

func (p *Projection) apply(ctx context.Context, s Source, b *batch, spans changeSpans) error {
	if len(b.changes) > 0 {
		called := spans.call(b)
		notLoaded, err := p.ranking.Apply(ctx, b.changes)
		called(err)
		if err != nil {
			return err
		}
		for _, board := range notLoaded {
			if err := p.handleMissing(ctx, b, board); err != nil {
				return err
			}
		}
		p.metrics.applied.Add(float64(len(b.changes)))
		p.metrics.lag.Observe(time.Since(b.changes[len(b.changes)-1].RecordedAt).Seconds())
	}
	if len(b.beats) > 0 && s.Intact(ctx) { // else later ones will do
		return p.ranking.RecordHeartbeats(ctx, b.beats)
	}
	return nil
}

// handleMissing triggers the rebuild of a board that the ranking does not hold.
// Changes of a board that does not exist go to the dead letters.
func (p *Projection) handleMissing(ctx context.Context, b *batch, board scoreboard.BoardID) error {
	exists, err := p.boards.BoardExists(ctx, board)
	if err != nil {
		return err
	}
	if exists {
		p.rebuild()
		return nil
	}
	for i := range b.changes {
		if b.changes[i].Board == board {
			if err := p.moveToDeadLetters(ctx, b.origins[i], fmt.Errorf("board %s does not exist", board)); err != nil {
				return err
			}
		}
	}
	return nil
}

// retry calls do with backoff until it succeeds or ctx ends.
func (p *Projection) retry(ctx context.Context, do func() error) error {
	for attempt := 1; ; attempt++ {
		err := do()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		p.metrics.failures.Inc()
		if attempt == 1 || attempt%20 == 0 {
			p.log.WarnContext(ctx, "changes not applied, retrying", "attempt", attempt, "err", err)
		}
		retry.Wait(ctx, attempt)
	}
}

func (p *Projection) moveToDeadLetters(ctx context.Context, r scoreboard.Record, reason error) error {
	p.metrics.deadLetters.Inc()
	p.log.Error("record moved to the dead letters",
		"topic", r.Topic, "partition", r.Partition, "offset", r.Offset, "err", reason)
	letter := &scoreboard.DeadLetter{
		Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Value: r.Value, Reason: reason.Error(), Attempts: 1,
	}
	for _, d := range p.dead {
		if err := d.Add(ctx, letter); err != nil {
			return fmt.Errorf("store a dead letter for partition %d, offset %d: %w", r.Partition, r.Offset, err)
		}
	}
	return nil
}

type metrics struct {
	applied, failures, deadLetters, newer prometheus.Counter
	lag                                   prometheus.Histogram
}

func newMetrics() *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "scoreboard_projection_" + name, Help: help})
	}
	return &metrics{
		applied:     counter("applied_total", "Changes applied to the ranking, including those that it already had."),
		failures:    counter("failures_total", "Failed attempts to consume or apply a batch."),
		deadLetters: counter("dead_letters_total", "Records that went to the dead letters."),
		newer:       counter("newer_schema_total", "Partitions paused at an event with a newer schema."),
		lag: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "scoreboard_projection_lag_seconds",
			Help:    "Time from recording a change to applying it to the ranking, for the last change of each batch.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 15, 60},
			// The freshness of rankings, from milliseconds to an hour after an outage.
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
			NativeHistogramMinResetDuration: time.Hour,
		}),
	}
}

// Collectors returns the metrics, for registration.
func (p *Projection) Collectors() []prometheus.Collector {
	m := p.metrics
	return []prometheus.Collector{m.applied, m.failures, m.deadLetters, m.newer, m.lag}
}
