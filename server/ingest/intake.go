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

// Rejections stores why accepted events were rejected.
type Rejections interface {
	Reject(ctx context.Context, rejected []scoreboard.Increment, reasons []*scoreboard.Error) error
}

// Intake records the increments that an Acceptor has published, through the same
// group commit as all others. It commits offsets after the transaction.
type Intake struct {
	source     Source
	ingest     *Ingest
	dead       DeadLetters
	rejections Rejections
	marks      Marks
	window     time.Duration // in which repeats are recognised; older increments are not recorded
	log        *slog.Logger
	buried     prometheus.Counter
}

// NewIntake returns an intake; Run starts it.
func NewIntake(
	s Source, in *Ingest, d DeadLetters, r Rejections, m Marks, window time.Duration, log *slog.Logger,
) *Intake {
	return &Intake{
		source: s, ingest: in, dead: d, rejections: r, marks: m, window: window, log: log,
		buried: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_intake_buried_total", Help: "Accepted increments that went to the dead letters.",
		}),
	}
}

// Collectors returns the metrics, for registration.
func (k *Intake) Collectors() []prometheus.Collector { return []prometheus.Collector{k.buried} }

// Run consumes until ctx ends, and starts again after a failure.
func (k *Intake) Run(ctx context.Context) error {
	consume := func(ctx context.Context) error { return k.source.Consume(ctx, k.handle) }
	backoff.Keep(ctx, consume, func(attempt int, err error) {
		k.log.Warn("intake interrupted", "attempt", attempt, "err", err)
	})
	return nil
}

// handle records a batch. Malformed records and those outside the window go to
// the dead letters, rejections are stored, and after a failure of the store it
// retries until ctx ends.
func (k *Intake) handle(ctx context.Context, records []scoreboard.Record) (paused map[int]int64, err error) {
	todo := make([]scoreboard.Increment, 0, len(records))
	for _, r := range records {
		in, err := protocol.DecodeAccepted(r.Value)
		if errors.Is(err, protocol.ErrNewerSchema) {
			return nil, fmt.Errorf("read offset %d of partition %d: %w", r.Offset, r.Partition, err)
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
		if todo, err = k.record(ctx, todo); err != nil {
			k.log.Warn("accepted increments not recorded, retrying", "count", len(todo), "attempt", attempt, "err", err)
		}
	}
	return nil, nil
}

// record records what it can, and returns the rest for a retry. If an outage
// begins in between, a user's later increment may be recorded before an earlier
// one. On increment and best boards the result is the same, and increments of
// latest boards are never accepted asynchronously.
func (k *Intake) record(ctx context.Context, todo []scoreboard.Increment) (rest []scoreboard.Increment, err error) {
	outcomes := k.ingest.SubmitAll(ctx, todo)
	var done, rejected []scoreboard.Increment
	var reasons []*scoreboard.Error
	for i, o := range outcomes {
		var e *scoreboard.Error
		switch {
		case o.Err == nil:
			done = append(done, todo[i])
		case errors.As(o.Err, &e) && final(e.Code):
			rejected, reasons = append(rejected, todo[i]), append(reasons, e)
		default:
			rest, err = append(rest, todo[i]), o.Err
		}
	}
	if len(rejected) > 0 {
		if rejectErr := k.rejections.Reject(ctx, rejected, reasons); rejectErr != nil {
			rest, err = append(rest, rejected...), rejectErr
			rejected = nil
		}
	}
	done = append(done, rejected...)
	if len(done) > 0 {
		if clearErr := k.marks.Clear(ctx, done); clearErr != nil {
			k.log.Debug("marks left to expire", "count", len(done), "err", clearErr)
		}
	}
	return rest, err
}

// final reports whether a retry cannot change the outcome.
func final(code scoreboard.Code) bool {
	switch code {
	case scoreboard.CodeUnavailable, scoreboard.CodeOverloaded, scoreboard.CodeInternal, scoreboard.CodeRateLimited:
		return false
	}
	return true
}

func (k *Intake) bury(ctx context.Context, r scoreboard.Record, reason error) error {
	k.buried.Inc()
	k.log.Error("accepted increment moved to the dead letters",
		"partition", r.Partition, "offset", r.Offset, "err", reason)
	letter := &scoreboard.DeadLetter{
		Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Value: r.Value, Reason: reason.Error(), Attempts: 1,
	}
	if err := k.dead.Bury(ctx, letter); err != nil {
		return fmt.Errorf("store a dead letter for partition %d, offset %d: %w", r.Partition, r.Offset, err)
	}
	return nil
}
