package projection

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Record is one record of the transport.
type Record struct {
	Partition int
	Offset    int64
	Value     []byte
}

// Source hands over records and counts them as consumed once the function has
// returned nil. It returns nil when ctx ends.
type Source interface {
	Consume(ctx context.Context, handle func(context.Context, []Record) error) error
}

// Ranking is where changes are applied.
type Ranking interface {
	Apply(ctx context.Context, changes []scoreboard.Change) (cold []scoreboard.BoardID, err error)
	Fresh(ctx context.Context, beats []scoreboard.Heartbeat) error
}

// DeadLetters keeps records that cannot be applied, with the reason.
type DeadLetters interface {
	Bury(ctx context.Context, r Record, reason string) error
}

// Projection applies records.
type Projection struct {
	source  Source
	ranking Ranking
	dead    DeadLetters
	cold    func(scoreboard.BoardID) // asks for a rebuild; never blocks
	log     *slog.Logger
	metrics *metrics
}

// New makes a projection; Run starts it.
func New(s Source, r Ranking, d DeadLetters, cold func(scoreboard.BoardID), log *slog.Logger) *Projection {
	return &Projection{source: s, ranking: r, dead: d, cold: cold, log: log, metrics: newMetrics()}
}

// Run consumes until ctx ends, starting again after a failure.
func (p *Projection) Run(ctx context.Context) error {
	for attempt := 0; ctx.Err() == nil; {
		started := time.Now()
		err := p.source.Consume(ctx, p.handle)
		if err == nil {
			continue
		}
		if time.Since(started) > time.Minute {
			attempt = 0
		}
		attempt++
		p.metrics.failures.Inc()
		p.log.Warn("projection interrupted", "attempt", attempt, "err", err)
		pause(ctx, attempt)
	}
	return nil
}

// pause waits from 50 ms to 5 s, growing with attempt, with jitter.
func pause(ctx context.Context, attempt int) {
	limit := min(50*time.Millisecond<<min(attempt, 10), 5*time.Second)
	select {
	case <-time.After(limit/2 + rand.N(limit/2)):
	case <-ctx.Done():
	}
}

// handle applies a batch of records, or waits until it can.
func (p *Projection) handle(ctx context.Context, records []Record) error {
	changes := make([]scoreboard.Change, 0, len(records))
	var fresh []scoreboard.Heartbeat
	for _, r := range records {
		change, beat, err := scoreboard.DecodeEvent(r.Value)
		switch {
		case errors.Is(err, scoreboard.ErrNewerSchema):
			p.metrics.newer.Inc()
			return fmt.Errorf("partition %d waits at offset %d: %w", r.Partition, r.Offset, err)
		case err != nil:
			if err := p.bury(ctx, r, err); err != nil {
				return err
			}
		case beat != nil:
			beat.Partition = r.Partition
			fresh = append(fresh, *beat)
		default:
			changes = append(changes, *change)
		}
	}
	return p.untilDone(ctx, func() error { return p.apply(ctx, changes, fresh) })
}

func (p *Projection) apply(ctx context.Context, changes []scoreboard.Change, fresh []scoreboard.Heartbeat) error {
	if len(changes) > 0 {
		cold, err := p.ranking.Apply(ctx, changes)
		if err != nil {
			return err
		}
		for _, board := range cold {
			p.cold(board)
		}
		p.metrics.applied.Add(float64(len(changes)))
		p.metrics.lag.Observe(time.Since(changes[len(changes)-1].RecordedAt).Seconds())
	}
	if len(fresh) > 0 {
		return p.ranking.Fresh(ctx, fresh)
	}
	return nil
}

// untilDone repeats do with backoff until it succeeds or ctx ends: the ranking
// coming back is only a matter of time, and the transport keeps the rest.
func (p *Projection) untilDone(ctx context.Context, do func() error) error {
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
			p.log.Warn("ranking does not take changes", "attempt", attempt, "err", err)
		}
		pause(ctx, attempt)
	}
}

func (p *Projection) bury(ctx context.Context, r Record, reason error) error {
	p.metrics.buried.Inc()
	p.log.Error("record buried", "partition", r.Partition, "offset", r.Offset, "err", reason)
	if err := p.dead.Bury(ctx, r, reason.Error()); err != nil {
		return fmt.Errorf("bury offset %d of partition %d: %w", r.Offset, r.Partition, err)
	}
	return nil
}
