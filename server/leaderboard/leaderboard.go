package leaderboard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Catalog says what a board is; a not_found for one that is not.
type Catalog interface {
	Board(ctx context.Context, id scoreboard.BoardID) (*scoreboard.Board, error)
}

// Ranking is the fast answer.
type Ranking interface {
	Top(ctx context.Context, board scoreboard.BoardID) (*scoreboard.Top, error)
	Place(ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID, k int) (*scoreboard.Place, error)
}

// Truth is the slow answer that is always there.
type Truth interface {
	Top(ctx context.Context, board *scoreboard.Board, limit int) (*scoreboard.Top, error)
	Place(ctx context.Context, board *scoreboard.Board, user scoreboard.UserID, k int) (*scoreboard.Place, error)
}

// Budgets of one read: what the ranking may take before the store is asked,
// and what the store may take.
const (
	rankingBudget = 500 * time.Millisecond
	truthBudget   = 2 * time.Second
)

// Why an answer is degraded.
const (
	reasonCold = "rebuilding"          // the ranking does not hold the board
	reasonAway = "ranking_unavailable" // the ranking does not answer
)

// Leaderboard answers reads.
type Leaderboard struct {
	catalog  Catalog
	ranking  Ranking
	truth    Truth
	cold     error // what the ranking says of a board that it does not hold
	ask      func(scoreboard.BoardID)
	log      *slog.Logger
	flight   singleflight.Group
	reads    *guard
	receipts *guard
	degraded prometheus.Counter
}

// New makes a Leaderboard. ask is told of a board that the ranking has lost.
func New(c Catalog, r Ranking, t Truth, cold error, ask func(scoreboard.BoardID), log *slog.Logger) *Leaderboard {
	return &Leaderboard{
		catalog: c, ranking: r, truth: t, cold: cold, ask: ask, log: log,
		reads: newGuard("reads", rankingBudget, cold), receipts: newGuard("receipts", rankBudget, cold),
		degraded: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_leaderboard_degraded_reads_total", Help: "Reads answered by the store, because the ranking could not.",
		}),
	}
}

// Collectors are what the root registers.
func (l *Leaderboard) Collectors() []prometheus.Collector {
	return []prometheus.Collector{l.degraded, l.reads.open, l.receipts.open}
}

// Top returns the first scoreboard.TopSize standings of a board.
func (l *Leaderboard) Top(ctx context.Context, id scoreboard.BoardID) (*scoreboard.Top, error) {
	board, err := l.catalog.Board(ctx, id)
	if err != nil {
		return nil, err
	}
	// Everybody who asks at once for a board shares one answer.
	shared := l.flight.DoChan("top "+string(board.ID), func() (any, error) {
		return l.top(context.WithoutCancel(ctx), board)
	})
	select {
	case answer := <-shared:
		if answer.Err != nil {
			return nil, answer.Err
		}
		return answer.Val.(*scoreboard.Top), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *Leaderboard) top(ctx context.Context, board *scoreboard.Board) (top *scoreboard.Top, err error) {
	err = l.reads.try(ctx, func(ctx context.Context) (err error) {
		top, err = l.ranking.Top(ctx, board.ID)
		return err
	})
	if err == nil {
		return top, nil
	}
	reason := l.degrade(board.ID, err)
	slow, cancel := context.WithTimeout(ctx, truthBudget)
	defer cancel()
	if top, err = l.truth.Top(slow, board, scoreboard.TopSize); err != nil {
		return nil, err
	}
	top.Degraded = reason
	return top, nil
}

// Place returns a user's standing with k neighbours on each side, or a
// not_found.
func (l *Leaderboard) Place(ctx context.Context, id scoreboard.BoardID, user scoreboard.UserID, k int) (*scoreboard.Place, error) {
	board, err := l.catalog.Board(ctx, id)
	if err != nil {
		return nil, err
	}
	var place *scoreboard.Place
	err = l.reads.try(ctx, func(ctx context.Context) (err error) {
		place, err = l.ranking.Place(ctx, board.ID, user, k)
		return err
	})
	if err == nil {
		return place, nil
	}
	slow, cancel := context.WithTimeout(ctx, truthBudget)
	defer cancel()
	if scoreboard.CodeOf(err) == scoreboard.CodeNotFound {
		// The ranking may only be late: a score that was just acknowledged is
		// in the store.
		late, err := l.truth.Place(slow, board, user, k)
		if err != nil {
			return nil, err
		}
		late.Degraded = "not_ranked_yet"
		return late, nil
	}
	reason := l.degrade(board.ID, err)
	if place, err = l.truth.Place(slow, board, user, k); err != nil {
		return nil, err
	}
	place.Degraded = reason
	return place, nil
}

// degrade counts a read that the ranking could not answer, and says why.
func (l *Leaderboard) degrade(board scoreboard.BoardID, err error) string {
	l.degraded.Inc()
	if errors.Is(err, l.cold) {
		l.ask(board)
		return reasonCold
	}
	l.log.Debug("ranking did not answer", "board", board, "err", fmt.Sprint(err))
	return reasonAway
}
