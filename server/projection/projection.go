package projection

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/internal/backoff"
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
}

// Ranking is where changes are applied.
type Ranking interface {
	Apply(ctx context.Context, changes []scoreboard.Change) (cold []scoreboard.BoardID, err error)
	RecordHeartbeats(ctx context.Context, beats []scoreboard.Heartbeat) error
}

// DeadLetters keeps records that cannot be applied, with the reason.
type DeadLetters interface {
	Bury(ctx context.Context, letter *scoreboard.DeadLetter) error
}

// Boards says whether there is a board, with nothing in between that could be
// out of date.
type Boards interface {
	BoardExists(ctx context.Context, id scoreboard.BoardID) (bool, error)
}

// Projection applies records.
type Projection struct {
	sources []Source
	ranking Ranking
	boards  Boards
	dead    []DeadLetters
	cold    func(scoreboard.BoardID) // asks for a rebuild; never blocks
	log     *slog.Logger
	metrics *metrics
}

// New makes a projection of all that comes from the sources; Run starts it.
func New(s []Source, r Ranking, b Boards, d []DeadLetters, cold func(scoreboard.BoardID), log *slog.Logger) *Projection {
	return &Projection{sources: s, ranking: r, boards: b, dead: d, cold: cold, log: log, metrics: newMetrics()}
}

// Run consumes until ctx ends, each source by itself, starting again after a
// failure of it.
func (p *Projection) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, s := range p.sources {
		all.Go(func() {
			backoff.Keep(ctx, func(ctx context.Context) error { return s.Consume(ctx, p.Handle) }, func(attempt int, err error) {
				p.metrics.failures.Inc()
				p.log.Warn("projection interrupted", "attempt", attempt, "err", err)
			})
		})
	}
	all.Wait()
	return nil
}

// batch is what a set of records came to.
type batch struct {
	changes []scoreboard.Change
	from    []scoreboard.Record // where each change came from
	beats   []scoreboard.Heartbeat
	held    map[int]int64
}

// Handle applies a batch of records of one source, or waits until it can. A partition with
// an event of a newer schema is held from there on: a later build will read it.
func (p *Projection) Handle(ctx context.Context, records []scoreboard.Record) (held map[int]int64, err error) {
	b := batch{changes: make([]scoreboard.Change, 0, len(records)), from: make([]scoreboard.Record, 0, len(records)), held: map[int]int64{}}
	for _, r := range records {
		if _, is := b.held[r.Partition]; is {
			continue
		}
		change, beat, err := protocol.DecodeEvent(r.Value)
		switch {
		case errors.Is(err, protocol.ErrNewerSchema):
			p.metrics.newer.Inc()
			p.log.Error("partition waits for a later build", "topic", r.Topic, "partition", r.Partition, "offset", r.Offset, "err", err)
			b.held[r.Partition] = r.Offset
		case err != nil:
			if err := p.bury(ctx, r, err); err != nil {
				return nil, err
			}
		case beat != nil:
			beat.Partition = r.Partition
			b.beats = append(b.beats, *beat)
		default:
			b.changes, b.from = append(b.changes, *change), append(b.from, r)
		}
	}
	return b.held, p.untilDone(ctx, func() error { return p.apply(ctx, &b) })
}

func (p *Projection) apply(ctx context.Context, b *batch) error {
	if len(b.changes) > 0 {
		cold, err := p.ranking.Apply(ctx, b.changes)
		if err != nil {
			return err
		}
		for _, board := range cold {
			if err := p.missing(ctx, b, board); err != nil {
				return err
			}
		}
		p.metrics.applied.Add(float64(len(b.changes)))
		p.metrics.lag.Observe(time.Since(b.changes[len(b.changes)-1].RecordedAt).Seconds())
	}
	if len(b.beats) > 0 {
		return p.ranking.RecordHeartbeats(ctx, b.beats)
	}
	return nil
}

// missing asks for the rebuild of a board that the ranking does not hold. What
// came for a board that is nowhere is buried.
func (p *Projection) missing(ctx context.Context, b *batch, board scoreboard.BoardID) error {
	exists, err := p.boards.BoardExists(ctx, board)
	if err != nil {
		return err
	}
	if exists {
		p.cold(board)
		return nil
	}
	for i := range b.changes {
		if b.changes[i].Board == board {
			if err := p.bury(ctx, b.from[i], fmt.Errorf("there is no board %s", board)); err != nil {
				return err
			}
		}
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
		backoff.Wait(ctx, attempt)
	}
}

func (p *Projection) bury(ctx context.Context, r scoreboard.Record, reason error) error {
	p.metrics.buried.Inc()
	p.log.Error("record buried", "topic", r.Topic, "partition", r.Partition, "offset", r.Offset, "err", reason)
	letter := &scoreboard.DeadLetter{
		Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Value: r.Value, Reason: reason.Error(), Attempts: 1,
	}
	for _, d := range p.dead {
		if err := d.Bury(ctx, letter); err != nil {
			return fmt.Errorf("bury offset %d of partition %d: %w", r.Offset, r.Partition, err)
		}
	}
	return nil
}
