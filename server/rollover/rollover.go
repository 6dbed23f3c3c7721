package rollover

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Boards is where the boards are kept.
type Boards interface {
	MissingInstances(ctx context.Context, family *scoreboard.Board) ([]scoreboard.BoardID, error)
	MakeInstances(ctx context.Context, family *scoreboard.Board) ([]scoreboard.BoardID, error)
	Endings(ctx context.Context, family scoreboard.BoardID) ([]scoreboard.Ending, error)
	CloseBoard(ctx context.Context, b *scoreboard.Board) error
	CopyStandings(ctx context.Context, id scoreboard.BoardID, size int) (copied int, err error)
	SealStandings(ctx context.Context, id scoreboard.BoardID) error
	FinalStandings(ctx context.Context, id scoreboard.BoardID, after int64, limit int) (scoreboard.Ending, []scoreboard.FinalStanding, error)
	Announced(ctx context.Context, id scoreboard.BoardID) error
	TakeLease(ctx context.Context, name, owner string, life time.Duration) (bool, error)
	GiveLease(ctx context.Context, name, owner string) error
}

// Catalog lists the boards.
type Catalog interface {
	All(ctx context.Context) (map[scoreboard.BoardID]*scoreboard.Board, error)
}

// Announcer tells the world that a period has closed.
type Announcer interface {
	AnnounceClosed(ctx context.Context, e *scoreboard.Ending) error
}

const (
	lookEvery = time.Second
	makeEvery = time.Minute // periods are made long before they begin
	leaseName = "rollover"
	leaseLife = 10 * time.Second
	chunk     = 5000 // standings copied in one transaction
	winners   = 10   // in an announcement
)

// Rollover ends periods and begins the next.
type Rollover struct {
	owner    string
	boards   Boards
	catalog  Catalog
	announce Announcer
	log      *slog.Logger
	made     time.Time // when instances were looked for last

	closed, announced, failures prometheus.Counter
	late                        prometheus.Gauge
}

// New makes a rollover; Run starts it. owner names this process in the lease.
func New(owner string, b Boards, c Catalog, a Announcer, log *slog.Logger) *Rollover {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "scoreboard_rollover_" + name, Help: help})
	}
	return &Rollover{
		owner: owner, boards: b, catalog: c, announce: a, log: log,
		closed:    counter("closed_total", "Periods that were closed and sealed."),
		announced: counter("announced_total", "Periods whose end was announced."),
		failures:  counter("failures_total", "Looks that ended early; the next goes on."),
		late: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "scoreboard_rollover_late_seconds", Help: "How long the end of the period that ended first, of those not announced, has been due.",
		}),
	}
}

// Collectors are what the root registers.
func (r *Rollover) Collectors() []prometheus.Collector {
	return []prometheus.Collector{r.closed, r.announced, r.failures, r.late}
}

// Run looks every second until ctx ends, as long as it has the lease.
func (r *Rollover) Run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if err := r.once(ctx); err != nil && ctx.Err() == nil {
			r.failures.Inc()
			r.log.Warn("periods not rolled over", "err", err)
		}
		select {
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			if err := r.boards.GiveLease(ctx, leaseName, r.owner); err != nil {
				r.log.Debug("lease left to run out", "err", err)
			}
			return nil
		case <-tick.C:
		}
	}
}

// errLeaseLost ends a look that took too long.
var errLeaseLost = errors.New("another process rolls over now")

// hold renews the lease.
func (r *Rollover) hold(ctx context.Context) error {
	mine, err := r.boards.TakeLease(ctx, leaseName, r.owner, leaseLife)
	if err == nil && !mine {
		return errLeaseLost
	}
	return err
}

// once does what is due now, if nobody else does.
func (r *Rollover) once(ctx context.Context) error {
	err := r.hold(ctx)
	if errors.Is(err, errLeaseLost) {
		r.late.Set(0) // whoever has it tells
		return nil
	}
	if err != nil {
		return err
	}
	if time.Since(r.made) >= makeEvery {
		if _, err := r.makeAhead(ctx, "", false); err != nil {
			return err
		}
		r.made = time.Now()
	}
	ended, err := r.boards.Endings(ctx, "")
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

// end takes one period through all steps, from wherever it stands.
func (r *Rollover) end(ctx context.Context, e *scoreboard.Ending) error {
	if err := r.seal(ctx, e, r.hold); err != nil {
		return err
	}
	sealed, first, err := r.boards.FinalStandings(ctx, e.Board.ID, 0, winners)
	if err != nil {
		return err
	}
	for _, f := range first {
		sealed.Top = append(sealed.Top, f.Entry)
	}
	if err := r.announce.AnnounceClosed(ctx, &sealed); err != nil {
		return err
	}
	if err := r.boards.Announced(ctx, e.Board.ID); err != nil {
		return err
	}
	r.announced.Inc()
	return nil
}

// seal closes a period and makes its standings final.
func (r *Rollover) seal(ctx context.Context, e *scoreboard.Ending, hold func(context.Context) error) error {
	if e.Board.StandingsHash != "" {
		return nil
	}
	if e.Board.Closed.IsZero() {
		if err := r.boards.CloseBoard(ctx, &e.Board); err != nil {
			return err
		}
	}
	for {
		if err := hold(ctx); err != nil {
			return err
		}
		n, err := r.boards.CopyStandings(ctx, e.Board.ID, chunk)
		if err != nil {
			return err
		}
		if n < chunk {
			break
		}
	}
	if err := r.boards.SealStandings(ctx, e.Board.ID); err != nil {
		return err
	}
	r.closed.Inc()
	r.log.Info("period closed", "board", e.Board.ID, "ended", e.Board.PeriodEnd)
	return nil
}

// makeAhead makes the instances that are missing, of all families or of one,
// or only says which.
func (r *Rollover) makeAhead(ctx context.Context, family scoreboard.BoardID, dry bool) (made []scoreboard.BoardID, err error) {
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

// Roll does what is due now, of all families or of one, but for announcing,
// which is left to whoever has the lease. A dry run only says what is due.
func (r *Rollover) Roll(ctx context.Context, family scoreboard.BoardID, dry bool) (made []scoreboard.BoardID, ended []scoreboard.Ending, err error) {
	if made, err = r.makeAhead(ctx, family, dry); err != nil {
		return nil, nil, err
	}
	if ended, err = r.boards.Endings(ctx, family); err != nil || dry {
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
