package repair

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
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
	truth   KeptTruth
	ranking KeptRanking
	log     *slog.Logger
	asked   chan struct{}
	halted  atomic.Bool
	rebuilt prometheus.Counter
	boards  *prometheus.GaugeVec
	turned  prometheus.Gauge
}

// keepEvery is the longest that a lost board goes unnoticed, sweepEvery that a
// board stays that was archived while Redis was away, or being rebuilt.
const (
	keepEvery  = time.Second
	sweepEvery = time.Minute
)

// KeptTruth is the store, and KeptRanking what is kept true to it.
type (
	KeptTruth interface {
		Truth
		Histories
	}
	KeptRanking interface {
		Ranking
		Remembered
	}
)

// NewKeeper makes a keeper; Run starts it.
func NewKeeper(c Catalog, t KeptTruth, r KeptRanking, log *slog.Logger) *Keeper {
	return &Keeper{
		catalog: c, truth: t, ranking: r, log: log, asked: make(chan struct{}, 1),
		rebuilt: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_repair_rebuilds_total", Help: "Boards rebuilt because Redis did not hold them, or not for certain.",
		}),
		boards: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "scoreboard_repair_boards", Help: "Boards by how their ranking is; reads of DEGRADED_REBUILDING ones come from PostgreSQL.",
		}, []string{"state"}),
		turned: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "scoreboard_repair_store_turned", Help: "1 while PostgreSQL is not what was relayed and ranked: restored, failed over or another one.",
		}),
	}
}

// Collectors are what the root registers.
func (k *Keeper) Collectors() []prometheus.Collector {
	return []prometheus.Collector{k.rebuilt, k.boards, k.turned}
}

// Trigger makes the keeper look now. It never blocks.
func (k *Keeper) Trigger(scoreboard.BoardID) {
	select {
	case k.asked <- struct{}{}:
	default:
	}
}

// Halted says that the store is not what was ranked, so that nobody is to mend
// the ranking by it.
func (k *Keeper) Halted() bool { return k.halted.Load() }

// Run keeps until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	var swept time.Time
	for {
		err := k.once(ctx)
		if !k.Halted() && time.Since(swept) >= sweepEvery {
			swept = time.Now()
			err = errors.Join(err, k.sweep(ctx, all))
		}
		if err != nil && ctx.Err() == nil {
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
	return which(ctx, c, func(b *scoreboard.Board) bool { return b.Status != scoreboard.StatusArchived })
}

// which lists the boards that can be ranked and that fit, by name.
func which(ctx context.Context, c Catalog, fits func(*scoreboard.Board) bool) ([]scoreboard.Board, error) {
	boards, err := c.All(ctx)
	if err != nil {
		return nil, err
	}
	var list []scoreboard.Board
	for _, id := range slices.Sorted(maps.Keys(boards)) {
		if b := boards[id]; !b.IsFamily() && fits(b) {
			list = append(list, *b)
		}
	}
	return list, nil
}

func all(*scoreboard.Board) bool { return true }

// Settle makes the ranking hold what it should of a board and its instances, or
// of all boards, which have just been changed, and no more.
func (k *Keeper) Settle(ctx context.Context, family scoreboard.BoardID) error {
	mine := func(b *scoreboard.Board) bool { return family == "" || b.Family == family }
	ranked, err := which(ctx, k.catalog, func(b *scoreboard.Board) bool { return mine(b) && b.Status != scoreboard.StatusArchived })
	if err != nil {
		return err
	}
	cold, _, err := k.ranking.Lost(ctx, ranked)
	if err != nil {
		return err
	}
	_, err = k.rebuild(ctx, cold)
	return errors.Join(err, k.sweep(ctx, mine))
}

// sweep drops what is archived.
func (k *Keeper) sweep(ctx context.Context, fits func(*scoreboard.Board) bool) error {
	archived, err := which(ctx, k.catalog, func(b *scoreboard.Board) bool { return fits(b) && b.Status == scoreboard.StatusArchived })
	if err != nil {
		return err
	}
	held, err := k.ranking.Loaded(ctx, archived)
	if err != nil {
		return err
	}
	for i := range held {
		if err := k.ranking.Drop(ctx, held[i].ID); err != nil {
			return err
		}
		k.log.Info("archived board dropped", "board", held[i].ID)
	}
	return nil
}

// once rebuilds every board that is cold or suspect; all where the store has
// gone back in time. While the store is another one, it touches nothing.
func (k *Keeper) once(ctx context.Context) error {
	ranked, err := Ranked(ctx, k.catalog)
	if err != nil {
		return err
	}
	turn, err := Turned(ctx, k.truth, k.ranking)
	if err != nil {
		return err
	}
	if k.halted.Store(turn != nil); turn != nil {
		k.turned.Set(1)
		return k.turn(ctx, turn, ranked)
	}
	k.turned.Set(0)
	cold, suspect, err := k.ranking.Lost(ctx, ranked)
	if err != nil {
		k.tell(len(ranked), len(ranked), 0) // reads of every board come from the store
		return err
	}
	k.tell(len(ranked), len(cold), len(suspect))
	_, err = k.rebuild(ctx, append(cold, suspect...)) // what has no live board comes first
	return err
}

// tell shows how the boards are.
func (k *Keeper) tell(all, cold, suspect int) {
	for state, n := range map[scoreboard.BoardState]int{
		scoreboard.StateRebuilding: cold, scoreboard.StateCatchingUp: suspect, scoreboard.StateHealthy: all - cold - suspect,
	} {
		k.boards.WithLabelValues(string(state)).Set(float64(n))
	}
}

// turn overwrites every board with what the store holds now.
func (k *Keeper) turn(ctx context.Context, turn *Turn, ranked []scoreboard.Board) error {
	if !turn.Own {
		return fmt.Errorf("%s; nothing is relayed or rebuilt until sbctl rebuild --all makes it the truth", turn)
	}
	k.log.Error("every board is overwritten", "why", turn.String())
	if err := Adopt(ctx, k.truth); err != nil {
		return err
	}
	left, err := k.rebuild(ctx, ranked)
	if err != nil {
		return err
	}
	if left > 0 {
		return fmt.Errorf("%d boards are being rebuilt already, perhaps from before: all are overwritten again", left)
	}
	return Adopted(ctx, k.truth, k.ranking)
}

// rebuild returns how many boards it left to whoever is at them.
func (k *Keeper) rebuild(ctx context.Context, boards []scoreboard.Board) (left int, err error) {
	var errs []error
	for _, b := range boards {
		done, err := Rebuild(ctx, k.truth, k.ranking, &b, func(int64) {})
		if scoreboard.CodeOf(err) == scoreboard.CodeConflict {
			left++
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		k.rebuilt.Inc()
		k.log.Info("board rebuilt", "board", done.Board, "epoch", done.Epoch, "users", done.Users, "elapsed", done.Took)
	}
	return left, errors.Join(errs...)
}
