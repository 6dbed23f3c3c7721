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
	Page(ctx context.Context, board scoreboard.BoardID, after *scoreboard.Position, limit int) (*scoreboard.Top, error)
	Place(ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID, k int) (*scoreboard.Place, error)
	List(ctx context.Context, board scoreboard.BoardID, users []scoreboard.UserID) (*scoreboard.List, error)
	// Ranks answers many questions in one round trip: a 1-based rank for each,
	// or nil. A nil score asks for the rank of today.
	Ranks(ctx context.Context, board *scoreboard.Board, users []scoreboard.UserID, scores []*scoreboard.Score) ([]*int64, error)
}

// Fallback is the slow answer that is always there.
type Fallback interface {
	Page(ctx context.Context, board *scoreboard.Board, after *scoreboard.Position, limit int) (*scoreboard.Top, error)
	Place(ctx context.Context, board *scoreboard.Board, user scoreboard.UserID, k int) (*scoreboard.Place, error)
	List(ctx context.Context, board *scoreboard.Board, users []scoreboard.UserID) (*scoreboard.List, error)
	RankOf(ctx context.Context, board *scoreboard.Board, score scoreboard.Score) (int64, error)
}

// Budgets of one read: what the ranking may take before the store is asked,
// what the store may take, and how many questions it gets at once: writes need
// its connections, too.
const (
	rankingBudget = 500 * time.Millisecond
	truthBudget   = 2 * time.Second
	truthTurns    = 4
)

// Why an answer is degraded.
const (
	reasonCold     = "rebuilding"          // the ranking does not hold the board
	reasonAway     = "ranking_unavailable" // the ranking does not answer
	reasonNotYet   = "not_ranked_yet"      // the ranking is behind the store
	reasonArchived = "archived"            // the ranking holds the board no longer
	reasonStale    = "stale"               // nothing answers: this is what was known last
	reasonTruth    = "store_unavailable"   // the ranking answers, but cannot be checked, and nothing is added to it
)

// Options are what a Leaderboard is made of.
type Options struct {
	Catalog Catalog
	Ranking Ranking
	// Fallback answers when the ranking cannot.
	Fallback Fallback
	// TriggerRebuild is called with a board that the ranking does not hold.
	TriggerRebuild func(scoreboard.BoardID)
	// StoreAway says whether the truth has not answered lately; nil is never.
	StoreAway func() bool
	// UserCache is how long a user's standing is told again; 0 is not at all.
	UserCache time.Duration
	Show      func(context.Context, []scoreboard.Entry) // puts profiles beside rows that nobody has yet
	Log       *slog.Logger
}

// Leaderboard answers reads.
type Leaderboard struct {
	Options
	flight   singleflight.Group
	heads    heads
	places   *recent[placeKey, *scoreboard.Place]
	absent   *recent[placeKey, struct{}]
	reads    *guard
	receipts *guard
	store    *guard
	truths   *guard // the store, for receipts
	degraded prometheus.Counter
	cached   *prometheus.CounterVec
}

// What is kept of single users: at most so many rows of neighbours, for as long
// as one may be served who asks too often; and users who are nowhere, for so
// long that asking again and again does not reach the store.
const (
	keptRows  = 60_000
	keptLong  = 5 * time.Second
	absentFor = time.Second
	keptNone  = 20_000
)

// New makes a Leaderboard.
func New(o Options) *Leaderboard {
	if o.StoreAway == nil {
		o.StoreAway = func() bool { return false }
	}
	if o.Show == nil {
		o.Show = func(context.Context, []scoreboard.Entry) {}
	}
	l := &Leaderboard{
		Options: o,
		places:  newRecent[placeKey, *scoreboard.Place](keptLong, keptRows), absent: newRecent[placeKey, struct{}](absentFor, keptNone),
		reads: newGuard("reads", rankingBudget), receipts: newGuard("receipts", rankBudget), store: newGuard("store", truthBudget),
		truths: newGuard("receipts from the store", truthRankBudget),
		degraded: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_leaderboard_degraded_reads_total", Help: "Reads answered by the store, because the ranking could not.",
		}),
		cached: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "scoreboard_leaderboard_cache_total", Help: "Reads by what was asked for and whether this node's memory had it.",
		}, []string{"what", "result"}),
	}
	l.store.turns = make(chan struct{}, truthTurns)
	l.heads.init(l.cached)
	return l
}

// Collectors are what the root registers.
func (l *Leaderboard) Collectors() []prometheus.Collector {
	return []prometheus.Collector{l.degraded, l.cached, l.reads.open, l.receipts.open, l.store.open, l.truths.open}
}

// degrade counts a read that the ranking could not answer, and says why.
func (l *Leaderboard) degrade(board *scoreboard.Board, err error) string {
	l.degraded.Inc()
	if board.Status == scoreboard.StatusArchived {
		return reasonArchived
	}
	if errors.Is(err, scoreboard.ErrNotLoaded) {
		l.TriggerRebuild(board.ID)
		return reasonCold
	}
	l.Log.Debug("ranking did not answer", "board", board.ID, "err", fmt.Sprint(err))
	return reasonAway
}

// ask puts a question to the ranking, and where it cannot answer, to the store.
// reason says why it is the store's answer, or why the ranking's cannot be taken
// for the last word; a not_found without one is the ranking's.
func (l *Leaderboard) ask(ctx context.Context, board *scoreboard.Board, ranking, truth func(context.Context) error) (reason string, err error) {
	if board.Status == scoreboard.StatusArchived {
		err = scoreboard.ErrNotLoaded
	} else {
		err = l.reads.try(ctx, ranking)
	}
	if err == nil && l.StoreAway() {
		return reasonTruth, nil
	}
	if err == nil || scoreboard.CodeOf(err) == scoreboard.CodeNotFound {
		return "", err
	}
	reason = l.degrade(board, err)
	return reason, l.store.try(ctx, truth)
}

// Page returns up to limit standings behind a position.
func (l *Leaderboard) Page(ctx context.Context, board *scoreboard.Board, after *scoreboard.Position, limit int) (page *scoreboard.Top, err error) {
	reason, err := l.ask(ctx, board, func(ctx context.Context) (err error) {
		page, err = l.Ranking.Page(ctx, board.ID, after, limit)
		return err
	}, func(ctx context.Context) (err error) {
		page, err = l.Fallback.Page(ctx, board, after, limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	page.Degraded, page.State = reason, stateBy(reason, page.State)
	l.Show(ctx, page.Entries)
	return page, nil
}

// List returns the standings of users, all at one version. Who is missing in a
// healthy ranking is looked for in the store; where it has one of them, all
// come from there.
func (l *Leaderboard) List(ctx context.Context, board *scoreboard.Board, users []scoreboard.UserID) (list *scoreboard.List, err error) {
	truth := func(ctx context.Context) (err error) {
		list, err = l.Fallback.List(ctx, board, users)
		return err
	}
	reason, err := l.ask(ctx, board, func(ctx context.Context) (err error) {
		list, err = l.Ranking.List(ctx, board.ID, users)
		return err
	}, truth)
	if err != nil {
		return nil, err
	}
	if reason == "" && !l.knownAbsent(board.ID, list.Missing) {
		ranked := list
		if l.store.try(ctx, truth) != nil {
			list = ranked // whoever the store alone knows is late in the list, not more
		} else {
			for _, user := range list.Missing {
				l.absent.put(placeKey{board.ID, user, 0}, struct{}{}, 1, time.Now())
			}
			if len(list.Missing) == len(ranked.Missing) {
				list = ranked
			} else {
				reason = reasonNotYet
			}
		}
	}
	list.Degraded, list.State = reason, stateBy(reason, list.State)
	l.Show(ctx, list.Entries)
	return list, nil
}

func (l *Leaderboard) knownAbsent(board scoreboard.BoardID, users []scoreboard.UserID) bool {
	for _, user := range users {
		if _, known := l.absent.get(placeKey{board, user, 0}, absentFor); !known {
			return false
		}
	}
	return true
}

// RankOf is the rank that a score would have if somebody reached it now: behind
// all who have it already.
func (l *Leaderboard) RankOf(ctx context.Context, board *scoreboard.Board, score scoreboard.Score) (rank int64, err error) {
	_, err = l.ask(ctx, board, func(ctx context.Context) error {
		// No user has an empty id.
		ranks, err := l.Ranking.Ranks(ctx, board, []scoreboard.UserID{""}, []*scoreboard.Score{&score})
		if err == nil && ranks[0] != nil {
			rank = *ranks[0]
		}
		return err
	}, func(ctx context.Context) (err error) {
		rank, err = l.Fallback.RankOf(ctx, board, score)
		return err
	})
	return rank, err
}
