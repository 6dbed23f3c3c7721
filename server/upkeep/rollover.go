package upkeep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/internal/metric"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// RolloverBoards stores the boards.
type RolloverBoards interface {
	MissingInstances(ctx context.Context, family *scoreboard.Board) ([]scoreboard.BoardID, error)
	MakeInstances(ctx context.Context, family *scoreboard.Board) ([]scoreboard.BoardID, error)
	EndedPeriods(ctx context.Context, family scoreboard.BoardID) ([]scoreboard.EndedPeriod, error)
	CloseBoard(ctx context.Context, b *scoreboard.Board) error
	// CopyStandings copies size standings in one transaction, and calls next before each.
	CopyStandings(
		ctx context.Context, id scoreboard.BoardID, size int, next func(context.Context) error,
	) (copied int, err error)
	// SealStandings returns false if the copy must be continued first.
	SealStandings(ctx context.Context, id scoreboard.BoardID) (sealed bool, err error)
	FinalStandings(
		ctx context.Context,
		id scoreboard.BoardID,
		after int64,
		limit int,
	) (scoreboard.EndedPeriod, []scoreboard.FinalStanding, error)
	MarkAnnounced(ctx context.Context, id scoreboard.BoardID) error
}

// Catalog lists the boards.
type Catalog interface {
	All(ctx context.Context) (map[scoreboard.BoardID]*scoreboard.Board, error)
}

// Announcer publishes that a period has closed.
type Announcer interface {
	AnnounceClosed(ctx context.Context, e *scoreboard.EndedPeriod) error
}

const (
	rolloverInterval  = time.Second
	instancesInterval = time.Minute // instances are created long before they begin
	rolloverLease     = "rollover"
	rolloverLeaseTTL  = 10 * time.Second
	standingsChunk    = 5000 // standings copied in one transaction
	announcedTop      = 10   // entries in an announcement
)

// Rollover ends periods and begins the next ones.
type Rollover struct {
	job      *Job
	boards   RolloverBoards
	catalog  Catalog
	announce Announcer
	log      *slog.Logger
	created  time.Time // of the last check for missing instances

	closed, announced, failures prometheus.Counter
	late                        *metric.Expiring
}

// NewRollover returns a Rollover; Run starts it.
func NewRollover(b RolloverBoards, c Catalog, a Announcer, runner *Runner) *Rollover {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "scoreboard_rollover_" + name, Help: help})
	}
	r := &Rollover{
		boards: b, catalog: c, announce: a, log: runner.log,
		closed:    counter("closed_total", "Periods closed and sealed."),
		announced: counter("announced_total", "Periods whose end was announced."),
		failures:  counter("failures_total", "Failed attempts to close periods; the next one continues."),
		late: metric.NewGauge(prometheus.GaugeOpts{
			Name: "scoreboard_rollover_late_seconds",
			Help: "Seconds since the end of the oldest period whose end is not announced.",
		}),
	}
	r.job = runner.NewJob(JobOptions{
		Name: rolloverLease, TTL: rolloverLeaseTTL, Interval: rolloverInterval, Idle: r.idle,
		Failure: "rollover failed", Level: slog.LevelWarn, Failures: r.failures,
	})
	return r
}

// Collectors returns the metrics to register.
func (r *Rollover) Collectors() []prometheus.Collector {
	return []prometheus.Collector{r.closed, r.announced, r.failures, r.late}
}

// Run rolls over what is due every second until ctx ends, while it holds the lease.
func (r *Rollover) Run(ctx context.Context) error {
	return r.job.Run(ctx, r.rollOver)
}

// idle reports nothing late: the holder of the lease does.
func (r *Rollover) idle(context.Context) error {
	r.late.Set(0)
	return nil
}

// rollOver does what is due now.
func (r *Rollover) rollOver(ctx context.Context) error {
	if time.Since(r.created) >= instancesInterval {
		if _, err := r.createAhead(ctx, "", false); err != nil {
			return err
		}
		r.created = time.Now()
	}
	ended, err := r.boards.EndedPeriods(ctx, "")
	if err != nil {
		return err
	}
	r.late.Set(0)
	if len(ended) > 0 {
		r.late.Set(max(0, time.Since(ended[0].Board.PeriodEnd).Seconds()))
	}
	var errs []error
	for i := range ended {
		if err := r.end(ctx, &ended[i]); err != nil {
			errs = append(errs, fmt.Errorf("end board %s: %w", ended[i].Board.ID, err))
		}
	}
	return errors.Join(errs...)
}

// end seals and announces one period, continuing an interrupted attempt.
func (r *Rollover) end(ctx context.Context, e *scoreboard.EndedPeriod) error {
	if err := r.seal(ctx, e, r.job.Keep); err != nil {
		return err
	}
	sealed, first, err := r.boards.FinalStandings(ctx, e.Board.ID, 0, announcedTop)
	if err != nil {
		return err
	}
	for _, f := range first {
		sealed.Top = append(sealed.Top, f.Entry)
	}
	if err := r.announce.AnnounceClosed(ctx, &sealed); err != nil {
		return err
	}
	if err := r.boards.MarkAnnounced(ctx, e.Board.ID); err != nil {
		return err
	}
	r.announced.Inc()
	return nil
}

// seal closes a period and copies its final standings. It calls renew before each
// chunk.
func (r *Rollover) seal(ctx context.Context, e *scoreboard.EndedPeriod, renew func(context.Context) error) error {
	if e.Board.StandingsVersion != 0 {
		return nil
	}
	if e.Board.Closed.IsZero() {
		if err := r.boards.CloseBoard(ctx, &e.Board); err != nil {
			return err
		}
	}
	for sealed := false; !sealed; {
		if _, err := r.boards.CopyStandings(ctx, e.Board.ID, standingsChunk, renew); err != nil {
			return err
		}
		var err error
		if sealed, err = r.boards.SealStandings(ctx, e.Board.ID); err != nil {
			return err
		}
	}
	r.closed.Inc()
	r.log.Info("period closed", "board", e.Board.ID, "ended", e.Board.PeriodEnd)
	return nil
}

// createAhead creates the missing instances of all families or of one. A dry run
// only lists them.
func (r *Rollover) createAhead(
	ctx context.Context,
	family scoreboard.BoardID,
	dry bool,
) (made []scoreboard.BoardID, err error) {
	all, err := r.catalog.All(ctx)
	if err != nil {
		return nil, err
	}
	do := r.boards.MakeInstances
	if dry {
		do = r.boards.MissingInstances
	}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		b := all[id]
		if !b.IsFamily() || b.Status == scoreboard.StatusArchived || family != "" && id != family {
			continue
		}
		more, err := do(ctx, b)
		if err != nil {
			return made, err
		}
		made = append(made, more...)
	}
	return made, nil
}

// Roll does what is due now, for all families or for one, except announcing,
// which the holder of the lease does. A dry run only lists what is due.
func (r *Rollover) Roll(
	ctx context.Context,
	family scoreboard.BoardID,
	dry bool,
) (made []scoreboard.BoardID, ended []scoreboard.EndedPeriod, err error) {
	if made, err = r.createAhead(ctx, family, dry); err != nil {
		return nil, nil, err
	}
	if ended, err = r.boards.EndedPeriods(ctx, family); err != nil || dry {
		return made, ended, err
	}
	for i := range ended {
		if err := r.seal(ctx, &ended[i], func(ctx context.Context) error { return ctx.Err() }); err != nil {
			return made, nil, err
		}
		if ended[i], _, err = r.boards.FinalStandings(ctx, ended[i].Board.ID, 0, 1); err != nil {
			return made, nil, err
		}
	}
	return made, ended, nil
}
