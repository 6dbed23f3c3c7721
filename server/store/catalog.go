package store

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/boards"
)

// How soon a node notices a change of boards, and for how long it does not read
// again for unknown names: requests for made-up names must not cost the database
// more than this.
const (
	catalogEvery = time.Second
	catalogPause = 100 * time.Millisecond
	// Two reads have failed by then.
	catalogUnavailableAfter = 3 * time.Second
)

// Catalog answers lookups of boards from memory. If the store is unavailable, it
// keeps answering with the last state.
type Catalog struct {
	boards *boards.Boards
	log    *slog.Logger
	flight singleflight.Group
	known  atomic.Pointer[catalog]
}

// catalog is every board, as of the time of the read or later.
type catalog struct {
	asked  time.Time
	mark   boards.Mark // of the boards, before they were read
	read   time.Time   // when the database's clock showed at
	at     time.Time
	boards map[scoreboard.BoardID]*scoreboard.Board
	named  []*scoreboard.Board                        // boards and families without their instances, by name
	spans  map[scoreboard.BoardID][]*scoreboard.Board // a family's instances, ordered by start
}

// NewCatalog returns a Catalog that reads the boards on first use and, during Run,
// periodically.
func NewCatalog(b *boards.Boards, log *slog.Logger) *Catalog { return &Catalog{boards: b, log: log} }

// Run reads the boards periodically until ctx ends.
func (c *Catalog) Run(ctx context.Context) error {
	tick := time.NewTicker(catalogEvery)
	defer tick.Stop()
	for {
		if err := c.Refresh(ctx); err != nil && ctx.Err() == nil {
			c.log.Debug("boards not read", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Unavailable reports that the boards could not be read for a while.
func (c *Catalog) Unavailable() bool {
	k := c.known.Load()
	return k != nil && time.Since(k.asked) > catalogUnavailableAfter
}

// Board returns a board, which must not be modified, or a not_found. The name of a
// family resolves to its current instance.
func (c *Catalog) Board(ctx context.Context, id scoreboard.BoardID) (*scoreboard.Board, error) {
	k, b, err := c.find(ctx, id, true, time.Now())
	if err != nil || !b.IsFamily() {
		return b, err
	}
	return k.instance(b)
}

// PublicBoard is as Board for those who must not learn of private boards: they are as
// boards that do not exist, in the error and in the time until it is returned. The error
// comes with the private board, for callers that know of a reason to show it.
func (c *Catalog) PublicBoard(ctx context.Context, id scoreboard.BoardID) (*scoreboard.Board, error) {
	k, b, hidden := c.find(ctx, id, false, time.Now())
	if b == nil || !b.IsFamily() {
		return b, hidden
	}
	b, err := k.instance(b)
	if hidden == nil && err == nil && !b.Public {
		hidden = notFound(id)
	}
	return b, cmp.Or(hidden, err)
}

// Named returns the board of a name, as it was at a time or later, or a not_found. A
// family is not resolved, so the answer says nothing about its periods, and stays the same
// while there is the board. Unless private, it finds public boards alone, as PublicBoard
// does. Of many unknown names with the same time only the first is waited for.
func (c *Catalog) Named(
	ctx context.Context, id scoreboard.BoardID, private bool, at time.Time,
) (*scoreboard.Board, error) {
	_, b, err := c.find(ctx, id, private, at)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// find returns the board of a name. Where the name is not known, it looks again, if it has
// not since the time; if the store does not answer then, the board may exist, and the
// error is the store's. Without private, a private board comes with a not_found, after the
// same look.
func (c *Catalog) find(
	ctx context.Context, id scoreboard.BoardID, private bool, at time.Time,
) (k *catalog, b *scoreboard.Board, err error) {
	if k = c.known.Load(); k != nil {
		b = k.boards[id]
	}
	if b == nil || !private && !b.Public {
		newer, err := c.since(ctx, at)
		if err != nil {
			return k, b, err
		}
		k, b = newer, newer.boards[id]
	}
	if b == nil || !private && !b.Public {
		err = notFound(id)
	}
	return k, b, err
}

// instance returns the current instance of a family, or a not_found.
func (k *catalog) instance(family *scoreboard.Board) (*scoreboard.Board, error) {
	if b := k.current(family.ID); b != nil {
		return b, nil
	}
	if !family.Public { // nobody must learn that it exists
		return nil, notFound(family.ID)
	}
	return nil, scoreboard.Errorf(wire.CodeNotFound, "board %s has no current period", family.ID)
}

func notFound(id scoreboard.BoardID) error {
	return scoreboard.Errorf(wire.CodeNotFound, "board %s not found", id)
}

// current returns the instance of a family that began last; between two seasons
// that is the previous one.
func (k *catalog) current(family scoreboard.BoardID) *scoreboard.Board {
	now := k.at.Add(time.Since(k.read))
	all := k.spans[family]
	for i := len(all) - 1; i >= 0; i-- {
		if !all[i].PeriodStart.After(now) {
			return all[i]
		}
	}
	return nil
}

// Known returns a board as last read, without waiting; nil if it is not known.
func (c *Catalog) Known(id scoreboard.BoardID) *scoreboard.Board {
	if k := c.known.Load(); k != nil {
		return k.boards[id]
	}
	return nil
}

// Tiers returns the tiers of a board and its order, as last read, without waiting.
func (c *Catalog) Tiers(id scoreboard.BoardID) (scoreboard.Tiers, scoreboard.Order) {
	if b := c.Known(id); b != nil {
		return b.Tiers, b.Order
	}
	return nil, ""
}

// All returns every board by id; the map must not be modified.
func (c *Catalog) All(ctx context.Context) (map[scoreboard.BoardID]*scoreboard.Board, error) {
	k, err := c.any(ctx)
	if err != nil {
		return nil, err
	}
	return k.boards, nil
}

// Families returns the boards that have a name of their own, private ones too, by name: all but
// the instances of periodic boards. The slice must not be modified.
func (c *Catalog) Families(ctx context.Context) ([]*scoreboard.Board, error) {
	k, err := c.any(ctx)
	if err != nil {
		return nil, err
	}
	return k.named, nil
}

// Periods returns the instances of a family, private ones too, in the order of their starts; none
// for a board without periods. The slice must not be modified.
func (c *Catalog) Periods(ctx context.Context, family scoreboard.BoardID) ([]*scoreboard.Board, error) {
	k, err := c.any(ctx)
	if err != nil {
		return nil, err
	}
	return k.spans[family], nil
}

// any returns the boards as last read.
func (c *Catalog) any(ctx context.Context) (*catalog, error) {
	if k := c.known.Load(); k != nil {
		return k, nil
	}
	return c.since(ctx, time.Now())
}

// since returns the boards as of a time or later. It waits at most catalogPause
// for names that do not exist.
func (c *Catalog) since(ctx context.Context, t time.Time) (*catalog, error) {
	k := c.known.Load()
	if k != nil && k.asked.After(t) {
		return k, nil
	}
	if k != nil {
		select {
		case <-time.After(catalogPause - t.Sub(k.asked)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if k = c.known.Load(); k.asked.After(t) {
			return k, nil
		}
	}
	if err := c.Refresh(ctx); err != nil {
		return nil, err
	}
	return c.known.Load(), nil
}

// Refresh reads the boards now; concurrent calls share one read.
func (c *Catalog) Refresh(ctx context.Context) error {
	now := time.Now()
	for {
		if err := c.share(ctx); err != nil {
			return err
		}
		if c.known.Load().asked.After(now) { // otherwise it began before now
			return nil
		}
	}
}

// share waits for a read of the boards, its own or one that is running.
func (c *Catalog) share(ctx context.Context) error {
	shared := c.flight.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), catalogEvery)
		defer cancel()
		return nil, c.read(ctx)
	})
	select {
	case answer := <-shared:
		return answer.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Catalog) read(ctx context.Context) error {
	asked := time.Now()
	mark, at, err := c.boards.Mark(ctx)
	if err != nil {
		return err
	}
	read := asked.Add(time.Since(asked) / 2)
	if k := c.known.Load(); k != nil && k.mark == mark {
		c.known.Store(&catalog{asked, mark, read, at, k.boards, k.named, k.spans})
		return nil
	}
	list, err := c.boards.All(ctx)
	if err != nil {
		return err
	}
	k := &catalog{
		asked: asked, mark: mark, read: read, at: at,
		boards: make(map[scoreboard.BoardID]*scoreboard.Board, len(list)),
		spans:  make(map[scoreboard.BoardID][]*scoreboard.Board),
	}
	for i := range list {
		b := &list[i]
		k.boards[b.ID] = b
		if b.ID != b.Family {
			k.spans[b.Family] = append(k.spans[b.Family], b)
		} else {
			k.named = append(k.named, b)
		}
	}
	slices.SortFunc(k.named, func(a, b *scoreboard.Board) int { return cmp.Compare(a.ID, b.ID) })
	for _, instances := range k.spans {
		slices.SortFunc(instances, func(a, b *scoreboard.Board) int { return a.PeriodStart.Compare(b.PeriodStart) })
	}
	c.known.Store(k)
	return nil
}
