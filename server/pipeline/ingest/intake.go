package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/retry"
	"github.com/scoreboard/scoreboard/internal/tracing"
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
	Add(ctx context.Context, letter *scoreboard.DeadLetter) error
}

// Rejections stores why accepted events were rejected.
type Rejections interface {
	Reject(ctx context.Context, rejected []scoreboard.Increment, reasons []*scoreboard.Error) error
	// Rejected reports for each increment whether it, or a later attempt of its event,
	// was rejected.
	Rejected(ctx context.Context, batch []scoreboard.Increment) ([]bool, error)
}

// Intake records the increments that Acceptors have published, through the same
// group commit as all others. It commits offsets after the transaction. It reads every
// queue that it can, whichever one its own node writes: another node may write the other.
type Intake struct {
	sources      []Source
	ingest       *Ingest
	dead         []DeadLetters
	rejections   Rejections
	markers      Markers
	window       scoreboard.Window // in which repeats are recognised; older increments are not recorded
	clock        *Clock
	log          *slog.Logger
	deadLettered prometheus.Counter
	newer        prometheus.Counter
}

// NewIntake returns an intake of sources; Run starts it. Records that cannot be recorded go to every
// one of the dead letters.
func NewIntake(
	sources []Source, in *Ingest, d []DeadLetters, r Rejections, m Markers, window scoreboard.Window, clock *Clock,
	log *slog.Logger,
) *Intake {
	return &Intake{
		sources: sources, ingest: in, dead: d, rejections: r, markers: m, window: window, clock: clock,
		log: log,
		deadLettered: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_intake_dead_letters_total", Help: "Accepted increments that went to the dead letters.",
		}),
		newer: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_intake_newer_schema_total", Help: "Partitions paused at a record with a newer schema.",
		}),
	}
}

// Collectors returns the metrics, for registration.
func (k *Intake) Collectors() []prometheus.Collector {
	return []prometheus.Collector{k.deadLettered, k.newer}
}

// Run consumes every source until ctx ends, and starts one again after it has failed.
func (k *Intake) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for _, s := range k.sources {
		running.Go(func() {
			consume := func(ctx context.Context) error { return s.Consume(ctx, k.handle) }
			retry.Rerun(ctx, consume, func(attempt int, err error) {
				k.log.Warn("intake interrupted", "attempt", attempt, "err", err)
			})
		})
	}
	running.Wait()
	return nil
}

// waiting is a record that has no outcome yet.
type waiting struct {
	record    scoreboard.Record
	increment scoreboard.Increment
	failures  int // attempts that failed for a reason of its own
}

// maxFailures is how often an increment is tried that fails although the backends
// answer: about six seconds. Then it goes to the dead letters, so that it does not
// hold its partition for ever.
const maxFailures = 8

// handle records a batch. Malformed records and those outside the window go to
// the dead letters, rejections are stored, and after a failure of the store it
// retries until ctx ends. A partition with an increment of a newer schema is paused
// there; it waits for a build that reads it.
func (k *Intake) handle(ctx context.Context, records []scoreboard.Record) (paused map[int]int64, err error) {
	todo := make([]waiting, 0, len(records))
	paused = map[int]int64{}
	for _, r := range records {
		if _, ok := paused[r.Partition]; ok {
			continue
		}
		in, err := protocol.DecodeAccepted(r.Value)
		if errors.Is(err, protocol.ErrNewerSchema) {
			k.newer.Inc()
			k.log.Error("partition paused: upgrade to a build that reads the newer schema",
				"topic", r.Topic, "partition", r.Partition, "offset", r.Offset, "err", err)
			paused[r.Partition] = r.Offset
			continue
		}
		if err != nil {
			if err := k.moveToDeadLetters(ctx, r, err, 1); err != nil {
				return nil, err
			}
			continue
		}
		w := waiting{record: r, increment: *in}
		if w.increment.Trace = tracing.Sampled(in.Trace); w.increment.Trace != "" {
			_, span := k.ingest.o.Tracer.Continue(ctx, in.Trace, tracing.Consumer, "record accepted increment")
			if span != nil {
				span.Set(tracing.String("messaging.destination.name", r.Topic),
					tracing.String("messaging.destination.partition.id", strconv.Itoa(r.Partition)))
				w.increment.Trace = span.Traceparent()
				defer span.End()
			}
		}
		if err := k.checkAccepted(ctx, in.Accepted); err != nil {
			if err := k.abandon(ctx, &w, err); err != nil {
				return nil, err
			}
			continue
		}
		todo = append(todo, w)
	}
	for attempt := 0; len(todo) > 0; attempt++ {
		if attempt > 0 {
			retry.Wait(ctx, attempt)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		left, failure := k.record(ctx, todo)
		if failure != nil {
			k.log.Warn("accepted increments not recorded, retrying",
				"count", len(left), "attempt", attempt, "err", failure)
		}
		todo = left[:0]
		for i := range left {
			if left[i].failures < maxFailures {
				todo = append(todo, left[i])
			} else if err := k.abandon(ctx, &left[i], failure); err != nil {
				return nil, err
			}
		}
	}
	return paused, nil
}

// checkAccepted returns why an increment that was accepted at a time is not recorded: if
// it had been recorded then, a repeat would not be recognised now, or may not be by the
// end of its own window. It was accepted by the database's clock, which may have been set
// since: only what is ahead of both clocks is from the future.
func (k *Intake) checkAccepted(ctx context.Context, at time.Time) error {
	now := k.clock.Now()
	switch {
	case now.Sub(at) > k.window.Guaranteed():
		return fmt.Errorf("accepted at %s, too long ago for repeats to be recognised", at)
	case at.Sub(now) > scoreboard.MaxClockSkew && at.Sub(k.clock.Latest(ctx)) > scoreboard.MaxClockSkew:
		return fmt.Errorf("accepted at %s, which is in the future", at)
	}
	return nil
}

// record records what it can, and returns the rest for a retry. If an outage
// begins in between, a user's later increment may be recorded before an earlier
// one. On increment and best boards the result is the same, and increments of
// latest boards are never accepted asynchronously.
func (k *Intake) record(ctx context.Context, todo []waiting) (rest []waiting, err error) {
	todo, err = k.undecided(ctx, todo)
	if err != nil {
		return todo, err
	}
	increments := incrementsIn(todo)
	outcomes := k.ingest.SubmitAll(ctx, increments)
	var done, rejected []scoreboard.Increment
	var again []waiting // the records of rejected, if the rejections cannot be stored
	var reasons []*scoreboard.Error
	for i, o := range outcomes {
		var e *scoreboard.Error
		switch {
		case o.Err == nil:
			done = append(done, increments[i])
		case errors.As(o.Err, &e) && final(e.Code):
			rejected, reasons = append(rejected, increments[i]), append(reasons, e)
			again = append(again, todo[i])
		default:
			rest, err = append(rest, todo[i].failed(o.Err)), o.Err
		}
	}
	if len(rejected) > 0 {
		if rejectErr := k.rejections.Reject(ctx, rejected, reasons); rejectErr != nil {
			for i := range again {
				rest = append(rest, again[i].failed(rejectErr))
			}
			rejected, err = nil, rejectErr
		}
	}
	k.clear(ctx, done, k.markers.Recorded)
	k.clear(ctx, rejected, k.markers.Rejected)
	return rest, err
}

// undecided drops the records of attempts that were rejected: a record that is
// delivered again keeps its outcome, although it might be recorded now.
func (k *Intake) undecided(ctx context.Context, todo []waiting) ([]waiting, error) {
	decided, err := k.rejections.Rejected(ctx, incrementsIn(todo))
	if err != nil {
		for i := range todo {
			todo[i] = todo[i].failed(err)
		}
		return todo, err
	}
	rest := todo[:0]
	for i := range todo {
		if !decided[i] {
			rest = append(rest, todo[i])
		}
	}
	return rest, nil
}

func incrementsIn(todo []waiting) []scoreboard.Increment {
	increments := make([]scoreboard.Increment, len(todo))
	for i := range todo {
		increments[i] = todo[i].increment
	}
	return increments
}

// failed counts a failure, unless it is an outage, which ends.
func (w waiting) failed(err error) waiting {
	switch wire.CodeOf(err) {
	case wire.CodeUnavailable, wire.CodeOverloaded, wire.CodeRateLimited:
	default:
		w.failures++
	}
	return w
}

func (k *Intake) clear(
	ctx context.Context, batch []scoreboard.Increment, do func(context.Context, []scoreboard.Increment) error,
) {
	if len(batch) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, markerTimeout)
	defer cancel()
	if err := do(ctx, batch); err != nil {
		k.log.Debug("markers left to expire", "count", len(batch), "err", err)
	}
}

// final reports whether a retry cannot change the outcome.
func final(code wire.Code) bool {
	switch code {
	case wire.CodeUnavailable, wire.CodeOverloaded, wire.CodeInternal, wire.CodeRateLimited:
		return false
	}
	return true
}

// abandon moves an increment that cannot be recorded to the dead letters, and stores
// that as its outcome.
func (k *Intake) abandon(ctx context.Context, w *waiting, reason error) error {
	if err := k.moveToDeadLetters(ctx, w.record, reason, max(w.failures, 1)); err != nil {
		return err
	}
	outcome := scoreboard.Errorf(wire.CodeInternal, "the event could not be recorded; it is kept for operators")
	one := []scoreboard.Increment{w.increment}
	if err := k.rejections.Reject(ctx, one, []*scoreboard.Error{outcome}); err != nil {
		if w.failed(err).failures == w.failures {
			return err // an outage: the record is delivered again
		}
		k.log.Error("event without an outcome", "user", w.increment.User, "event", w.increment.Event.Text, "err", err)
	}
	k.clear(ctx, one, k.markers.Rejected)
	return nil
}

func (k *Intake) moveToDeadLetters(ctx context.Context, r scoreboard.Record, reason error, attempts int) error {
	k.deadLettered.Inc()
	k.log.Error("accepted increment moved to the dead letters",
		"topic", r.Topic, "partition", r.Partition, "offset", r.Offset, "err", reason)
	letter := &scoreboard.DeadLetter{
		Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Value: r.Value, Reason: reason.Error(),
		Attempts: attempts,
	}
	for _, d := range k.dead {
		if err := d.Add(ctx, letter); err != nil {
			return fmt.Errorf("store a dead letter for partition %d, offset %d: %w", r.Partition, r.Offset, err)
		}
	}
	return nil
}
