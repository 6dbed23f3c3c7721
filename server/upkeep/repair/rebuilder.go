package repair

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/metric"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/upkeep"
)

// Catalog lists all boards.
type Catalog interface {
	All(ctx context.Context) (map[scoreboard.BoardID]*scoreboard.Board, error)
}

// RebuilderStore is PostgreSQL as the rebuilder reads it.
type RebuilderStore interface {
	RebuildSource
	HistorySource
}

// RebuilderRanking is the ranking that the rebuilder keeps up to date.
type RebuilderRanking interface {
	RebuildTarget
	HistoryRecorder
}

// Rebuilder rebuilds boards that are missing from Redis, and those that a
// restarted or failed-over Redis may hold in an old state. It checks every
// second, and at once when triggered.
type Rebuilder struct {
	catalog  Catalog
	store    RebuilderStore
	ranking  RebuilderRanking
	adoption Adoption
	log      *slog.Logger
	job      *upkeep.Job
	swept    time.Time
	halted   atomic.Bool
	checked  chan struct{} // closed after the first check

	rebuilds       prometheus.Counter
	boards         *metric.Expiring
	historyChanged *metric.Expiring
}

const (
	// checkInterval bounds how long a lost board goes unnoticed.
	checkInterval = time.Second
	// sweepInterval bounds how long a board stays in Redis that was archived
	// while Redis was down or the board was being rebuilt, and partitions that an
	// interrupted rebuild has left.
	sweepInterval = time.Minute
)

// NewRebuilder returns a Rebuilder; Run starts it.
func NewRebuilder(
	c Catalog, s RebuilderStore, r RebuilderRanking, runner *upkeep.Runner, log *slog.Logger,
) *Rebuilder {
	return &Rebuilder{
		catalog: c, store: s, ranking: r, log: log, checked: make(chan struct{}),
		adoption: Adoption{Store: s, Ranking: r, Runner: runner},
		// Without a lease: every process must know whether it is halted, a rebuild has a claim in
		// Redis, and an adoption a lease.
		job: runner.NewJob(upkeep.JobOptions{
			Name: "rebuild", Interval: checkInterval, Failure: "boards not checked", Level: slog.LevelWarn,
		}),
		rebuilds: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_repair_rebuilds_total",
			Help: "Boards rebuilt because Redis lost them or may hold an old state.",
		}),
		boards: metric.NewGauge(prometheus.GaugeOpts{
			Name: "scoreboard_repair_boards",
			Help: "Boards by state; reads of DEGRADED_REBUILDING boards are served from PostgreSQL.",
		}, "state"),
		historyChanged: metric.NewGauge(prometheus.GaugeOpts{
			Name: "scoreboard_repair_history_changed",
			Help: "1 while PostgreSQL's history differs from what was relayed and ranked: " +
				"restored, failed over or replaced.",
		}),
	}
}

// Collectors returns the metrics to register.
func (r *Rebuilder) Collectors() []prometheus.Collector {
	return []prometheus.Collector{r.rebuilds, r.boards, r.historyChanged}
}

// Trigger makes the rebuilder check all boards now. It never blocks.
func (r *Rebuilder) Trigger() { r.job.Trigger() }

// Checked is closed after the first check: boards that can be rebuilt are then.
func (r *Rebuilder) Checked() <-chan struct{} { return r.checked }

// Halted reports that the store's history is not the one that was ranked, so
// the ranking must not be repaired from it.
func (r *Rebuilder) Halted() bool { return r.halted.Load() }

// Run checks and rebuilds until ctx ends.
func (r *Rebuilder) Run(ctx context.Context) error {
	first := sync.OnceFunc(func() { close(r.checked) })
	return r.job.Run(ctx, func(ctx context.Context) error {
		err := r.check(ctx)
		first()
		if !r.Halted() && time.Since(r.swept) >= sweepInterval {
			r.swept = time.Now()
			err = errors.Join(err, r.sweep(ctx))
		}
		return err
	})
}

// RankedBoards lists the boards that belong in the ranking, by name: all
// instances that are not archived.
func RankedBoards(ctx context.Context, c Catalog) ([]scoreboard.Board, error) {
	return listInstances(ctx, c, func(b *scoreboard.Board) bool { return b.Status != scoreboard.StatusArchived })
}

// listInstances lists the boards that are not families and match, by name.
func listInstances(ctx context.Context, c Catalog, match func(*scoreboard.Board) bool) ([]scoreboard.Board, error) {
	boards, err := c.All(ctx)
	if err != nil {
		return nil, err
	}
	var list []scoreboard.Board
	for _, id := range slices.Sorted(maps.Keys(boards)) {
		if b := boards[id]; !b.IsFamily() && match(b) {
			list = append(list, *b)
		}
	}
	return list, nil
}

// Sync rebuilds the missing boards of a family and drops its archived ones
// after the family has changed; an empty family means all boards.
func (r *Rebuilder) Sync(ctx context.Context, family scoreboard.BoardID) error {
	inFamily := func(b *scoreboard.Board) bool { return family == "" || b.Family == family }
	ranked, err := listInstances(ctx, r.catalog, func(b *scoreboard.Board) bool {
		return inFamily(b) && b.Status != scoreboard.StatusArchived
	})
	if err != nil {
		return err
	}
	notLoaded, _, _, err := r.ranking.Unhealthy(ctx, ranked)
	_, rebuildErr := r.rebuild(ctx, notLoaded)
	return errors.Join(err, rebuildErr, r.dropArchived(ctx, inFamily))
}

// sweep removes from Redis what nobody uses.
func (r *Rebuilder) sweep(ctx context.Context) error {
	err := r.dropArchived(ctx, func(*scoreboard.Board) bool { return true })
	ranked, listErr := RankedBoards(ctx, r.catalog)
	if listErr != nil {
		return errors.Join(err, listErr)
	}
	return errors.Join(err, r.ranking.RemoveUnused(ctx, ranked))
}

// dropArchived removes archived boards from Redis.
func (r *Rebuilder) dropArchived(ctx context.Context, match func(*scoreboard.Board) bool) error {
	archived, err := listInstances(ctx, r.catalog, func(b *scoreboard.Board) bool {
		return match(b) && b.Status == scoreboard.StatusArchived
	})
	if err != nil {
		return err
	}
	loaded, err := r.ranking.Loaded(ctx, archived)
	if err != nil {
		return err
	}
	for i := range loaded {
		if err := r.ranking.Drop(ctx, &loaded[i]); err != nil {
			return err
		}
		r.log.Info("archived board dropped from the ranking", "board", loaded[i].ID)
	}
	return nil
}

// check rebuilds every board that is not loaded or suspect, or all boards if the
// store went back in time. It changes nothing while the store is a different
// database.
func (r *Rebuilder) check(ctx context.Context) error {
	ranked, err := RankedBoards(ctx, r.catalog)
	if err != nil {
		return err
	}
	change, err := KeepHistory(ctx, r.store, r.ranking)
	if err != nil {
		return err
	}
	if r.halted.Store(change != nil); change != nil {
		r.historyChanged.Set(1)
		return r.followHistory(ctx, change, ranked)
	}
	r.historyChanged.Set(0)
	notLoaded, suspect, unknown, err := r.ranking.Unhealthy(ctx, ranked)
	// Reads of boards on a server that does not answer fall back to the store, too.
	r.setBoardStates(len(ranked), len(notLoaded)+unknown, len(suspect))
	_, rebuildErr := r.rebuild(ctx, append(notLoaded, suspect...)) // boards without a live ranking first
	return errors.Join(err, rebuildErr)
}

func (r *Rebuilder) setBoardStates(total, notLoaded, suspect int) {
	for state, n := range map[scoreboard.BoardState]int{
		scoreboard.StateRebuilding: notLoaded,
		scoreboard.StateCatchingUp: suspect,
		scoreboard.StateHealthy:    total - notLoaded - suspect,
	} {
		r.boards.Set(float64(n), string(state))
	}
}

// followHistory adopts the store's new history and rebuilds every board from
// it. A different database is an error: a wrong setting looks the same.
func (r *Rebuilder) followHistory(ctx context.Context, change *HistoryChange, ranked []scoreboard.Board) error {
	mayAdopt := func(c *HistoryChange) error {
		if !c.SameDatabase {
			return fmt.Errorf("%s; relay and rebuilds are stopped; run sbctl rebuild --all to adopt this database", c)
		}
		return nil
	}
	if !change.Adopted {
		if err := mayAdopt(change); err != nil {
			return err
		}
	}
	why := &scoreboard.AuditEntry{
		Actor: scoreboard.SystemActor, Action: AdoptAction, Target: AdoptTarget,
		Reason: "PostgreSQL went back in time or changed its timeline",
	}
	err := r.adoption.Run(ctx, why, mayAdopt, func(ctx context.Context) error {
		r.log.Error("history adopted, rebuilding every board", "reason", change.String())
		if _, err := r.store.HistorySince(ctx); err != nil {
			return err // once, not for every board
		}
		skipped, err := r.rebuild(ctx, ranked)
		if err == nil && skipped > 0 {
			err = fmt.Errorf("%d boards were being rebuilt, possibly from the old history: retrying all", skipped)
		}
		return err
	})
	if errors.Is(err, ErrAdoptedElsewhere) {
		return nil // it is halted here until the other process is done
	}
	return err
}

// rebuild returns the number of boards that it skipped because another rebuild
// of them was running.
func (r *Rebuilder) rebuild(ctx context.Context, boards []scoreboard.Board) (skipped int, err error) {
	var errs []error
	for _, b := range boards {
		done, err := Rebuild(ctx, r.store, r.ranking, &b, func(int64) {})
		if wire.CodeOf(err) == wire.CodeConflict {
			skipped++
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		r.rebuilds.Inc()
		r.log.Info("board rebuilt",
			"board", done.Board, "epoch", done.Epoch, "users", done.Users, "elapsed", done.Elapsed)
	}
	return skipped, errors.Join(errs...)
}
