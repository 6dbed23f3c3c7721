package repair

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Catalog lists the boards that there should be.
type Catalog interface {
	All(ctx context.Context) (map[scoreboard.BoardID]*scoreboard.Board, error)
}

// Keeper rebuilds boards that Redis does not hold, and, beside the live ones,
// those that a restarted or failed-over Redis may hold wrongly: asked by
// whoever ran into one, and by looking each second even when nobody asks.
type Keeper struct {
	catalog Catalog
	truth   Truth
	ranking Ranking
	log     *slog.Logger
	asked   chan struct{}
	rebuilt prometheus.Counter
}

// keepEvery is the longest that a lost board goes unnoticed.
const keepEvery = time.Second

// NewKeeper makes a keeper; Run starts it.
func NewKeeper(c Catalog, t Truth, r Ranking, log *slog.Logger) *Keeper {
	return &Keeper{
		catalog: c, truth: t, ranking: r, log: log, asked: make(chan struct{}, 1),
		rebuilt: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_repair_rebuilds_total", Help: "Boards rebuilt because Redis did not hold them, or not for certain.",
		}),
	}
}

// Collectors are what the root registers.
func (k *Keeper) Collectors() []prometheus.Collector { return []prometheus.Collector{k.rebuilt} }

// Ask makes the keeper look now. It never blocks.
func (k *Keeper) Ask(scoreboard.BoardID) {
	select {
	case k.asked <- struct{}{}:
	default:
	}
}

// Run keeps until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	for {
		if err := k.once(ctx); err != nil && ctx.Err() == nil {
			k.log.Warn("boards not kept", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-k.asked:
		}
	}
}

// Ranked lists the boards that the ranking should hold, by name.
func Ranked(ctx context.Context, c Catalog) ([]scoreboard.Board, error) {
	boards, err := c.All(ctx)
	if err != nil {
		return nil, err
	}
	ranked := make([]scoreboard.Board, 0, len(boards))
	for _, id := range slices.Sorted(maps.Keys(boards)) {
		if b := boards[id]; b.Status != scoreboard.StatusArchived && !b.IsFamily() {
			ranked = append(ranked, *b)
		}
	}
	return ranked, nil
}

// once rebuilds every board that is cold or suspect.
func (k *Keeper) once(ctx context.Context) error {
	ranked, err := Ranked(ctx, k.catalog)
	if err != nil {
		return err
	}
	cold, suspect, err := k.ranking.Lost(ctx, ranked)
	if err != nil {
		return err
	}
	var errs []error
	for _, b := range append(cold, suspect...) { // what has no live board comes first
		done, err := Rebuild(ctx, k.truth, k.ranking, &b, func(int64) {})
		if scoreboard.CodeOf(err) == scoreboard.CodeConflict {
			continue // another process is at it
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		k.rebuilt.Inc()
		k.log.Info("board rebuilt", "board", done.Board, "epoch", done.Epoch, "users", done.Users, "elapsed", done.Took)
	}
	return errors.Join(errs...)
}
