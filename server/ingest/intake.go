package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/internal/backoff"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Source is the consumer of accepted increments. It commits records after
// handle has returned nil.
type Source interface {
	Consume(
		ctx context.Context, handle func(context.Context, []scoreboard.Record) (paused map[int]int64, err error),
	) error
}

// DeadLetters keeps records that cannot be recorded, with the reason.
type DeadLetters interface {
	Bury(ctx context.Context, letter *scoreboard.DeadLetter) error
}

// Rejections keeps why accepted events were refused.
type Rejections interface {
	Reject(ctx context.Context, refused []scoreboard.Increment, reasons []*scoreboard.Error) error
}

// Intake records what was accepted onto the broker, through the same group
// commit as everybody. Offsets are committed after the transaction.
type Intake struct {
	source     Source
	ingest     *Ingest
	dead       DeadLetters
	rejections Rejections
	marks      Marks
	window     time.Duration // accepted longer ago, a repeat may not be recognised
	log        *slog.Logger
	buried     prometheus.Counter
}

// NewIntake makes an intake; Run starts it.
func NewIntake(s Source, in *Ingest, d DeadLetters, r Rejections, m Marks, window time.Duration, log *slog.Logger) *Intake {
	return &Intake{
		source: s, ingest: in, dead: d, rejections: r, marks: m, window: window, log: log,
		buried: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_intake_buried_total", Help: "Accepted increments that went to the dead letters.",
		}),
	}
}

// Collectors are what the root registers.
func (k *Intake) Collectors() []prometheus.Collector { return []prometheus.Collector{k.buried} }

// Run consumes until ctx ends, starting again after a failure.
func (k *Intake) Run(ctx context.Context) error {
	backoff.Keep(ctx, func(ctx context.Context) error { return k.source.Consume(ctx, k.handle) }, func(attempt int, err error) {
		k.log.Warn("intake interrupted", "attempt", attempt, "err", err)
	})
	return nil
}

// handle records a batch: poison is buried, refusals are kept, and what the
// store cannot take now is tried until it can.
func (k *Intake) handle(ctx context.Context, records []scoreboard.Record) (paused map[int]int64, err error) {
	todo := make([]scoreboard.Increment, 0, len(records))
	for _, r := range records {
		in, err := protocol.DecodeAccepted(r.Value)
		if errors.Is(err, protocol.ErrNewerSchema) {
			return nil, fmt.Errorf("partition %d waits at offset %d: %w", r.Partition, r.Offset, err)
		}
		if err == nil && time.Since(in.Accepted) > k.window {
			err = fmt.Errorf("accepted at %s, before the window in which repeats are recognised", in.Accepted)
		}
		if err != nil {
			if err := k.bury(ctx, r, err); err != nil {
				return nil, err
			}
			continue
		}
		todo = append(todo, *in)
	}
	for attempt := 0; len(todo) > 0; attempt++ {
		if attempt > 0 {
			backoff.Wait(ctx, attempt)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if todo, err = k.once(ctx, todo); err != nil {
			k.log.Warn("accepted increments wait for the store", "count", len(todo), "attempt", attempt, "err", err)
		}
	}
	return nil, nil
}

// once records what it can and returns the rest, to be tried again. An outage
// in the middle can so put a user's later increment before an earlier one: no
// harm on increment and best boards, and latest boards are never accepted.
func (k *Intake) once(ctx context.Context, todo []scoreboard.Increment) (rest []scoreboard.Increment, err error) {
	outcomes := k.ingest.SubmitAll(ctx, todo)
	var done, refused []scoreboard.Increment
	var reasons []*scoreboard.Error
	for i, o := range outcomes {
		var e *scoreboard.Error
		switch {
		case o.Err == nil:
			done = append(done, todo[i])
		case errors.As(o.Err, &e) && final(e.Code):
			refused, reasons = append(refused, todo[i]), append(reasons, e)
		default:
			rest, err = append(rest, todo[i]), o.Err
		}
	}
	if len(refused) > 0 {
		if rejectErr := k.rejections.Reject(ctx, refused, reasons); rejectErr != nil {
			rest, err = append(rest, refused...), rejectErr
			refused = nil
		}
	}
	done = append(done, refused...)
	if len(done) > 0 {
		if clearErr := k.marks.Clear(ctx, done); clearErr != nil {
			k.log.Debug("marks left to expire", "count", len(done), "err", clearErr)
		}
	}
	return rest, err
}

// final says whether trying again could not change the outcome.
func final(code scoreboard.Code) bool {
	switch code {
	case scoreboard.CodeUnavailable, scoreboard.CodeOverloaded, scoreboard.CodeInternal, scoreboard.CodeRateLimited:
		return false
	}
	return true
}

func (k *Intake) bury(ctx context.Context, r scoreboard.Record, reason error) error {
	k.buried.Inc()
	k.log.Error("accepted increment buried", "partition", r.Partition, "offset", r.Offset, "err", reason)
	letter := &scoreboard.DeadLetter{
		Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Value: r.Value, Reason: reason.Error(), Attempts: 1,
	}
	if err := k.dead.Bury(ctx, letter); err != nil {
		return fmt.Errorf("bury offset %d of partition %d: %w", r.Offset, r.Partition, err)
	}
	return nil
}
