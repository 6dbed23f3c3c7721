package leaderboard_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scoreboard/scoreboard/internal/share"
	"github.com/scoreboard/scoreboard/server/leaderboard"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// holding is a store that answers no look-up in time.
type holding struct {
	plainFallback
	running *atomic.Int32
}

func (h holding) wait(ctx context.Context) error {
	h.running.Add(1)
	defer h.running.Add(-1)
	<-ctx.Done()
	return ctx.Err()
}

func (h holding) Place(
	ctx context.Context, _ *scoreboard.Board, _ scoreboard.UserID, _ int,
) (*scoreboard.Place, error) {
	return nil, h.wait(ctx)
}

func (h holding) Scores(ctx context.Context, _ *scoreboard.Board, _ []scoreboard.UserID) ([]scoreboard.Place, error) {
	return nil, h.wait(ctx)
}

// Of the look-ups in PostgreSQL, for reads, for receipts and beside a replica, one caller or one
// board's readers leave a slot to others.
func TestLookUpsInTheStoreHaveShares(t *testing.T) {
	t.Parallel()
	read := func(ctx context.Context, l *leaderboard.Leaderboard, board scoreboard.BoardID, user scoreboard.UserID) {
		_, _ = l.Place(ctx, &scoreboard.Board{ID: board}, user, 0, 0)
	}
	for name, c := range map[string]struct {
		display leaderboard.Display
		replica bool
		read    func(context.Context, *leaderboard.Leaderboard, scoreboard.BoardID, scoreboard.UserID)
	}{
		"reads":              {nil, false, read},
		"reads of a replica": {nil, true, read},
		"private users":      {allPrivate{}, false, read},
		"receipts": {nil, false, func(
			ctx context.Context, l *leaderboard.Leaderboard, board scoreboard.BoardID, user scoreboard.UserID,
		) {
			leaderboard.NewRanker(l).Rank(ctx, []*scoreboard.Receipt{{Board: board, User: user}})
		}},
	} {
		for by, caller := range map[string]func(i int) (string, scoreboard.BoardID){
			"one caller": func(i int) (string, scoreboard.BoardID) {
				return "eve", scoreboard.BoardID(fmt.Sprint("b", i))
			},
			"one board": func(i int) (string, scoreboard.BoardID) { return fmt.Sprint("u", i), "busy" },
		} {
			synctest.Test(t, func(t *testing.T) {
				var running atomic.Int32
				store := holding{running: &running}
				o := leaderboard.Options{
					Catalog: oneBoard{}, Ranking: &hanging{err: scoreboard.ErrNotLoaded}, Fallback: store,
					Display: c.display, TriggerRebuild: func() {}, Log: slog.New(slog.DiscardHandler),
				}
				run, stop := context.WithCancel(t.Context())
				var ended sync.WaitGroup
				if c.replica {
					var at copyAt
					at.set(time.Now(), "h", true)
					state := leaderboard.NewReplica("postgres", &at, &at, slog.New(slog.DiscardHandler))
					o.FallbackReplica = &leaderboard.Replicated[leaderboard.Standings]{
						Source: func(scoreboard.ProgressCheck) leaderboard.Standings { return store }, State: state,
					}
					ended.Go(func() { _ = state.Run(run) })
					settle()
				}
				l := leaderboard.New(o)
				users := 0
				ask := func(caller string, board scoreboard.BoardID) {
					users++
					user := scoreboard.UserID(fmt.Sprint("user", users))
					ended.Go(func() { c.read(share.WithCaller(run, caller), l, board, user) })
				}
				for i := range 20 {
					ask(caller(i))
				}
				synctest.Wait()
				if n := running.Load(); n != 3 {
					t.Errorf("%s: %s has %d look-ups running, want 3", name, by, n)
				}
				ask("ada", "quiet")
				synctest.Wait()
				if n := running.Load(); n != 4 {
					t.Errorf("%s: beside those of %s, another's does not run: %d do", name, by, n)
				}
				stop()
				ended.Wait()
				time.Sleep(time.Minute) // shared reads outlive their callers
			})
		}
	}
}
