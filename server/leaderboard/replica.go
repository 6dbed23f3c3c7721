package leaderboard

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/metric"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Copy is a primary, or a replica of it.
type Copy interface {
	Progress(ctx context.Context) (scoreboard.Progress, error)
}

// maxBehind is how far a replica may be behind its primary before its answers are no longer
// taken for fresh. The times of both advance once a second.
const maxBehind = 5 * time.Second

const (
	checkInterval = 500 * time.Millisecond
	checkTimeout  = time.Second
	// A check counts for checkTTL. After that its replica is not read.
	checkTTL = 5 * time.Second
)

// Replica watches a replica of a backend, and says whether it may be read. It compares the
// replica's data with the primary's, not positions in a log: the time up to which everything
// is included, and the history that the data belong to. Both are in the data, so that
// replication brings them in order with everything else, and an idle replica that is
// connected differs from one that is not.
type Replica struct {
	name             string // of the backend
	replica, primary Copy
	log              *slog.Logger
	now              func() time.Time

	last   atomic.Pointer[check]
	reply  atomic.Pointer[answering] // the current one
	logged string                    // the last problem

	used, lag *metric.Expiring
	reads     *prometheus.CounterVec
}

// check is what a look at both copies has shown.
type check struct {
	at         time.Time
	problem    string    // why the replica must not be read; "" if it may be
	asOf       time.Time // of the replica
	primary    scoreboard.Progress
	primaryAt  time.Time // when the primary last answered; zero: never
	unanswered bool      // the primary does not answer now
}

// answering lasts until a replica does not answer.
type answering struct {
	ctx context.Context
	end context.CancelFunc
}

func newAnswering() *answering {
	a := &answering{}
	a.ctx, a.end = context.WithCancel(context.Background())
	return a
}

// NewReplica watches a replica of the backend name from Run on. Until the first check the
// replica is not read.
func NewReplica(name string, replica, primary Copy, log *slog.Logger) *Replica {
	labels := prometheus.Labels{"backend": name}
	r := &Replica{
		name: name, replica: replica, primary: primary, log: log, now: time.Now,
		used: metric.NewGauge(prometheus.GaugeOpts{
			Name: "scoreboard_replica_usable", ConstLabels: labels,
			Help: "1 while a replica may be read: it answers, has the primary's data, and is less than 5 s behind.",
		}),
		lag: metric.NewGauge(prometheus.GaugeOpts{
			Name: "scoreboard_replica_behind_seconds", ConstLabels: labels,
			Help: "How far a replica is behind its primary, or behind the clock while the primary does not answer.",
		}),
		reads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "scoreboard_replica_reads_total", ConstLabels: labels,
			Help: "Reads in a process that has a replica, by source: replica, primary, or behind (a " +
				"replica that was behind while the primary did not answer).",
		}, []string{"by"}),
	}
	r.last.Store(&check{problem: "has not been checked yet"})
	r.reply.Store(newAnswering())
	return r
}

// Collectors returns the metrics, for registration.
func (r *Replica) Collectors() []prometheus.Collector {
	return []prometheus.Collector{r.used, r.lag, r.reads}
}

// Run checks the replica until ctx ends.
func (r *Replica) Run(ctx context.Context) error {
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	for {
		r.check(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// check looks at the replica, then at the primary: a replica that has come further is none.
func (r *Replica) check(ctx context.Context) {
	progress := func(c Copy) (scoreboard.Progress, error) {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		return c.Progress(ctx)
	}
	was := r.last.Load()
	next := &check{at: r.now(), primary: was.primary, primaryAt: was.primaryAt}
	found, err := progress(r.replica)
	next.asOf = found.AsOf
	if err != nil {
		r.reply.Swap(newAnswering()).end()
	}
	truth, primaryErr := progress(r.primary)
	if ctx.Err() != nil {
		return
	}
	if next.unanswered = primaryErr != nil; !next.unanswered {
		next.primary, next.primaryAt = truth, r.now()
	}
	switch {
	case err != nil:
		next.problem = "does not answer"
		r.log.Debug("replica not checked", "backend", r.name, "err", err)
	case !found.Replica:
		next.problem = "does not follow a primary: it was promoted, or is the primary itself"
	case found.AsOf.IsZero():
		next.problem = "has no data that say how current they are"
	case next.primaryAt.IsZero():
		next.problem = "cannot be compared with the primary, which does not answer"
	case found.ID != next.primary.ID:
		next.problem = "has data from another history than the primary"
	case primaryErr == nil && found.AsOf.After(truth.AsOf):
		next.problem = "is ahead of the primary: it has data that the primary does not have"
	}
	r.last.Store(next)
	r.report(next)
}

// report updates the metrics, and logs what has changed.
func (r *Replica) report(c *check) {
	problem := r.problemOf(c)
	usable := 1.0
	if problem != "" {
		usable = 0
	}
	r.used.Set(usable)
	if !c.asOf.IsZero() {
		r.lag.Set(r.behindBy(c, c.asOf).Seconds())
	}
	// The amount changes with each check, and is not worth a line each time.
	key := problem
	if c.problem == "" && problem != "" {
		key = "behind"
	}
	switch {
	case key == r.logged:
		return
	case problem == "":
		r.log.Info("reading the replica", "backend", r.name)
	default:
		r.log.Warn("replica not read", "backend", r.name, "problem", problem)
	}
	r.logged = key
}

// behindBy is how far data of a time are behind the primary's, or behind the clock while the
// primary does not answer.
func (r *Replica) behindBy(c *check, asOf time.Time) time.Duration {
	if c.unanswered {
		return max(r.now().Sub(asOf), 0)
	}
	return max(c.primary.AsOf.Sub(asOf), 0)
}

func (r *Replica) problemOf(c *check) string {
	if c.problem != "" {
		return c.problem
	}
	if behind := r.behindBy(c, c.asOf); behind > maxBehind {
		return fmt.Sprintf("is %s behind", behind.Round(time.Second))
	}
	return ""
}

// Problem completes a sentence that begins with the replica: why it is not read. "" if it is.
func (r *Replica) Problem() string { return r.problemOf(r.last.Load()) }

// trusted reports whether what the replica has are data of the primary, although they may be
// old.
func (r *Replica) trusted() bool {
	c := r.last.Load()
	return c.problem == "" && r.now().Sub(c.at) < checkTTL
}

// usable reports whether the replica may be read now.
func (r *Replica) usable() bool { return r.trusted() && r.current(time.Time{}) }

// current reports whether data of a time are fresh enough; the zero time stands for what the
// replica had when it was checked.
func (r *Replica) current(asOf time.Time) bool {
	c := r.last.Load()
	if asOf.IsZero() {
		asOf = c.asOf
	}
	return r.behindBy(c, asOf) <= maxBehind
}

// errNotOfReplica is the error of an answer that must not be used.
func errNotOfReplica(what string) error {
	return &scoreboard.Error{
		Code: wire.CodeUnavailable, RetryAfter: checkInterval,
		Message: "the server that answered " + what,
	}
}

// accept returns an error if data with a progress are not the primary's: the server that was
// checked need not be the one that answers, and may have been promoted since.
func (r *Replica) accept(p scoreboard.Progress) error {
	switch {
	case !p.Replica:
		return errNotOfReplica("does not follow a primary")
	case p.AsOf.IsZero():
		return errNotOfReplica("has no data that say how current they are")
	case p.ID != r.last.Load().primary.ID:
		return errNotOfReplica("has data from another history than the primary")
	}
	return nil
}

// acceptCurrent is accept for data that are fresh enough.
func (r *Replica) acceptCurrent(p scoreboard.Progress) error {
	if err := r.accept(p); err != nil {
		return err
	}
	if !r.current(p.AsOf) {
		return errNotOfReplica("is behind the primary")
	}
	return nil
}

// reading is one read that a replica or its primary may answer.
type reading struct {
	// replica asks the replica, whose answer accept must accept.
	replica func(accept scoreboard.ProgressCheck) error
	primary func() error
	// answered reports whether an error of the replica is its answer; nil is one as well.
	answered func(error) bool
	// replaceable reports whether a replica that is behind may answer instead of an error of the
	// primary.
	replaceable func(error) bool
	mark        func() // marks the answer of a replica that is behind
}

// read reads from the replica while it may be read, else from the primary. If that does not
// answer, a replica that is behind may.
func (r *Replica) read(of *reading) error {
	if r.usable() {
		if err := of.replica(r.acceptCurrent); of.answered(err) {
			r.reads.WithLabelValues("replica").Inc()
			return err
		}
	}
	err := of.primary()
	if err != nil && of.replaceable(err) && r.trusted() && of.replica(r.accept) == nil {
		r.reads.WithLabelValues("behind").Inc()
		of.mark()
		return nil
	}
	r.reads.WithLabelValues("primary").Inc()
	return err
}

// ReadReplica reads from the replica while it may be read, else from the primary. While the
// primary is unavailable a replica that is behind answers, and mark marks what it read; nil if
// an answer cannot say that it is old.
//
// A long read is not bounded by a time, so that the primary need not do it again, but ends once
// the replica does not answer.
func ReadReplica[T any](
	ctx context.Context, r *Replica, replica func(context.Context, scoreboard.ProgressCheck) (T, error),
	primary func(context.Context) (T, error), mark func(T),
) (got T, err error) {
	err = r.read(&reading{
		replica: func(accept scoreboard.ProgressCheck) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(r.reply.Load().ctx, cancel)()
			found, err := replica(ctx, accept)
			if err == nil {
				got = found
			}
			return err
		},
		primary: func() (err error) {
			got, err = primary(ctx)
			return err
		},
		answered: func(err error) bool { return err == nil || wire.CodeOf(err) == wire.CodeOverloaded },
		replaceable: func(err error) bool {
			return wire.CodeOf(err) == wire.CodeUnavailable && mark != nil
		},
		mark: func() { mark(got) },
	})
	return got, err
}

// MarkBehind marks an answer of a replica that is behind.
func MarkBehind(degraded *string) { *degraded = reasonBehind }
