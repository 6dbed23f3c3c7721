package leaderboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/share"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Catalog looks up boards; a not_found for an unknown one.
type Catalog interface {
	Board(ctx context.Context, id scoreboard.BoardID) (*scoreboard.Board, error)
}

// Ranking is the primary source of reads.
type Ranking interface {
	Top(ctx context.Context, board *scoreboard.Board) (*scoreboard.Top, error)
	Page(ctx context.Context, board *scoreboard.Board, after *scoreboard.Position, limit int) (*scoreboard.Top, error)
	// Around returns standings on both sides of a position, which need not be taken.
	Around(
		ctx context.Context, board *scoreboard.Board, at *scoreboard.Position, before, behind int,
	) (*scoreboard.Top, error)
	Place(ctx context.Context, board *scoreboard.Board, user scoreboard.UserID, k int) (*scoreboard.Place, error)
	List(ctx context.Context, board *scoreboard.Board, users []scoreboard.UserID) (*scoreboard.List, error)
	// Ranks returns a 1-based rank for each user, or nil, in one round trip. A
	// nil pair means the current rank.
	Ranks(
		ctx context.Context, board *scoreboard.Board, users []scoreboard.UserID, pairs []*scoreboard.Pair,
	) ([]*int64, error)
}

// Fallback answers, more slowly, what the ranking cannot.
type Fallback interface {
	Standings
	// HasStanding reports whether a user is on a board; nobody is on one that does not exist.
	HasStanding(ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID) (bool, error)
}

// Standings reads standings from a store.
type Standings interface {
	// Scores returns the standings of those users who have one, without ranks: it reads only their rows, and
	// the others may scan a board to count.
	Scores(ctx context.Context, board *scoreboard.Board, users []scoreboard.UserID) ([]scoreboard.Place, error)
	Page(ctx context.Context, board *scoreboard.Board, after *scoreboard.Position, limit int) (*scoreboard.Top, error)
	Place(ctx context.Context, board *scoreboard.Board, user scoreboard.UserID, k int) (*scoreboard.Place, error)
	List(ctx context.Context, board *scoreboard.Board, users []scoreboard.UserID) (*scoreboard.List, error)
	RankOf(ctx context.Context, board *scoreboard.Board, pair scoreboard.Pair) (int64, error)
}

// Budgets of one read: of the ranking before the store is called, of the store,
// and how many calls the store gets at a time, because writes need its
// connections too.
const (
	rankingBudget = 500 * time.Millisecond
	storeBudget   = 2 * time.Second
	storeSlots    = 4
)

// Why an answer is degraded.
const (
	reasonRebuilding = "rebuilding"          // the ranking does not hold the board
	reasonAway       = "ranking_unavailable" // the ranking does not answer
	reasonNotYet     = "not_ranked_yet"      // the ranking is behind the store
	reasonArchived   = "archived"            // the ranking no longer holds the board
	reasonStoreDown  = "store_unavailable"   // the ranking answers, but gets no changes and cannot be checked
	reasonBehind     = "replica_behind"      // a replica answers that is behind, and its primary does not
)

// Options are the parts of a Leaderboard.
type Options struct {
	Catalog Catalog
	Ranking Ranking
	// Fallback answers when the ranking cannot.
	Fallback Fallback
	// RankingReplica and FallbackReplica answer instead of the two while they are fresh; nil:
	// there is none. Only the two themselves have a version that was just recorded.
	RankingReplica  *Replicated[Ranking]
	FallbackReplica *Replicated[Standings]
	// TriggerRebuild is called when the ranking does not hold a board.
	TriggerRebuild func()
	// StoreUnavailable reports whether the store has stopped answering; nil is never.
	StoreUnavailable func() bool
	// AttemptCounts counts the attempts of users on boards that limit them.
	AttemptCounts AttemptCounter
	// Metadata reads the metadata of standings on boards that show it.
	Metadata MetadataReads
	// UserCache is how long a user's standing is cached; 0 is not at all.
	UserCache time.Duration
	Display   Display // nil shows everyone under the id alone
	Log       *slog.Logger
}

// Display decides how users are shown.
type Display interface {
	// Show hides users in rows that are not shared yet, but one, and adds profiles to the others.
	Show(ctx context.Context, board scoreboard.BoardID, rows []scoreboard.Entry, except scoreboard.UserID)
	// Name adds profiles to rows that are not shared yet, and hides nobody.
	Name(ctx context.Context, rows []scoreboard.Entry)
	// Refresh returns rows as Show would show them now: the same ones if nothing differs.
	Refresh(board scoreboard.BoardID, rows []scoreboard.Entry, except scoreboard.UserID) []scoreboard.Entry
	// Version rises with every change of the hidden users.
	Version() uint64
	// Visibility returns to whom a user is visible.
	Visibility(user scoreboard.UserID) scoreboard.Visibility
}

// ids shows everyone under the id.
type ids struct{}

func (ids) Show(context.Context, scoreboard.BoardID, []scoreboard.Entry, scoreboard.UserID) {}

func (ids) Name(context.Context, []scoreboard.Entry) {}

func (ids) Refresh(
	_ scoreboard.BoardID, rows []scoreboard.Entry, _ scoreboard.UserID,
) []scoreboard.Entry {
	return rows
}

func (ids) Version() uint64 { return 0 }

func (ids) Visibility(scoreboard.UserID) scoreboard.Visibility { return scoreboard.VisibilityPublic }

// Leaderboard answers reads.
type Leaderboard struct {
	Options
	flight   singleflight.Group
	tops     topCache
	places   *cache[placeKey, *scoreboard.Place]
	absent   *cache[placeKey, struct{}]
	reads    *guard
	receipts *guard
	store    *guard
	degraded prometheus.Counter
	cached   *prometheus.CounterVec

	storeReceipts *guard // the store, for receipts
	details              // of the store

	ranking  Ranking   // Ranking, or its replica
	fallback Standings // Fallback, or its replica
	truth    *guard    // Fallback itself
	primary  *guard    // Ranking itself; nil without a replica
	guards   []*guard
}

// Bounds of the caches: standings are kept as long as clients over their limit
// may get them, up to a number of rows; users without a standing long enough that
// repeated requests do not reach the store.
const (
	cacheTTL    = 5 * time.Second
	cacheRows   = 60_000
	absentTTL   = time.Second
	absentUsers = 20_000
)

// New makes a Leaderboard.
func New(o Options) *Leaderboard {
	if o.StoreUnavailable == nil {
		o.StoreUnavailable = func() bool { return false }
	}
	if o.Display == nil {
		o.Display = ids{}
	}
	l := &Leaderboard{
		Options:       o,
		places:        newCache[placeKey, *scoreboard.Place](cacheTTL, cacheRows),
		absent:        newCache[placeKey, struct{}](absentTTL, absentUsers),
		reads:         newGuard("reads", rankingBudget),
		receipts:      newGuard("receipts", rankBudget),
		store:         newGuard("store", storeBudget),
		storeReceipts: newGuard("receipts from the store", storeRankBudget),
		details: details{
			counts: o.AttemptCounts, described: o.Metadata,
			attempts: newGuard("attempts", attemptsBudget), metadata: newGuard("metadata", metadataBudget),
		},
		degraded: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_leaderboard_degraded_reads_total",
			Help: "Reads that PostgreSQL answered because the ranking could not.",
		}),
		cached: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "scoreboard_leaderboard_cache_total",
			Help: "Reads by kind, and by whether this node's cache had the answer.",
		}, []string{"what", "result"}),
	}
	l.store.slots, l.storeReceipts.slots = share.New(storeSlots), share.New(storeSlots)
	l.attempts.slots, l.metadata.slots = share.New(attemptsSlots), share.New(metadataSlots)
	l.guards = []*guard{l.reads, l.receipts, l.store, l.storeReceipts, l.attempts, l.metadata}
	l.useReplicas()
	l.tops.init(l.cached)
	return l
}

// Collectors returns the metrics of l.
func (l *Leaderboard) Collectors() []prometheus.Collector {
	all := []prometheus.Collector{l.degraded, l.cached}
	for _, g := range l.guards {
		all = append(all, g.open)
	}
	return all
}

// mark completes an answer with why it is degraded, and with the board's state in it. A
// replica has marked its answer if it is behind.
func mark(reason string, degraded *string, state *scoreboard.BoardState) {
	*degraded = cmp.Or(reason, *degraded)
	*state = degradedState(*degraded, *state)
}

// ShowNow returns top with those users hidden that must be now, also where it was read
// before one of them was.
func (l *Leaderboard) ShowNow(top *scoreboard.Top) *scoreboard.Top {
	version := l.Display.Version()
	if top == nil || top.Shown == version {
		return top
	}
	next := *top
	next.Shown, next.Entries = version, l.Display.Refresh(top.Board, top.Entries, "")
	return &next
}

// placeNow is ShowNow for a standing.
func placeNow(d Display, p *scoreboard.Place) *scoreboard.Place {
	version := d.Version()
	if p == nil || p.Shown == version {
		return p
	}
	next := *p
	next.Shown, next.Neighbours = version, d.Refresh(p.Board, p.Neighbours, p.User)
	return &next
}

// degrade counts a read that the ranking could not answer, and returns the reason.
func (l *Leaderboard) degrade(board *scoreboard.Board, err error) string {
	l.degraded.Inc()
	if board.Status == scoreboard.StatusArchived {
		return reasonArchived
	}
	if errors.Is(err, scoreboard.ErrNotLoaded) {
		l.TriggerRebuild()
		return reasonRebuilding
	}
	l.Log.Debug("ranking did not answer", "board", board.ID, "err", fmt.Sprint(err))
	return reasonAway
}

// withFallback calls the ranking, and the store if the ranking cannot answer. reason
// is why the answer is the store's, or why the ranking's may be incomplete; a
// not_found without a reason is the ranking's.
func (l *Leaderboard) withFallback(
	ctx context.Context, board *scoreboard.Board, ranking, fallback func(context.Context) error,
) (reason string, err error) {
	if board.Status == scoreboard.StatusArchived {
		err = scoreboard.ErrNotLoaded
	} else {
		err = l.reads.try(ctx, board.ID, ranking)
	}
	if err == nil && l.StoreUnavailable() {
		return reasonStoreDown, nil
	}
	if err == nil || wire.CodeOf(err) == wire.CodeNotFound {
		return "", err
	}
	reason = l.degrade(board, err)
	return reason, l.store.try(ctx, board.ID, fallback)
}

// Page returns up to limit standings behind a position.
func (l *Leaderboard) Page(
	ctx context.Context, board *scoreboard.Board, after *scoreboard.Position, limit int,
) (page *scoreboard.Top, err error) {
	shown := l.Display.Version()
	reason, err := l.withFallback(ctx, board, func(ctx context.Context) (err error) {
		page, err = l.ranking.Page(ctx, board, after, limit)
		return err
	}, func(ctx context.Context) (err error) {
		page, err = l.fallback.Page(ctx, board, after, limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	mark(reason, &page.Degraded, &page.State)
	l.Display.Show(ctx, board.ID, page.Entries, "")
	page.Shown = shown
	return l.ShowNow(page), nil
}

// List returns the standings of users, all at one version, also of hidden ones: the caller
// asks only for users who may be shown. Private ones come from the store, with the ranks that
// they would have.
func (l *Leaderboard) List(
	ctx context.Context, board *scoreboard.Board, users []scoreboard.UserID,
) (*scoreboard.List, error) {
	var private, others []scoreboard.UserID
	for _, user := range users {
		if l.private(user) {
			private = append(private, user)
		} else {
			others = append(others, user)
		}
	}
	list, err := l.list(ctx, board, others)
	if err != nil || private == nil {
		return list, err
	}
	unlisted, err := l.privateList(ctx, board, private)
	if err != nil { // they are missing until the store answers
		unlisted = &scoreboard.List{Missing: private}
	}
	l.Display.Name(ctx, unlisted.Entries)
	merged := *list
	merged.Entries = append(slices.Clone(unlisted.Entries), list.Entries...)
	slices.SortStableFunc(merged.Entries, func(a, b scoreboard.Entry) int { return cmp.Compare(a.Rank, b.Rank) })
	merged.Missing = inOrder(users, append(slices.Clone(list.Missing), unlisted.Missing...))
	return &merged, nil
}

// privateList returns the standings that private users would have, each counted in the ranking.
func (l *Leaderboard) privateList(
	ctx context.Context, board *scoreboard.Board, users []scoreboard.UserID,
) (*scoreboard.List, error) {
	var scores []scoreboard.Place
	err := l.store.try(ctx, board.ID, func(ctx context.Context) (err error) {
		scores, err = l.Fallback.Scores(ctx, board, users)
		return err
	})
	if err != nil {
		return nil, err
	}
	list := &scoreboard.List{Missing: slices.Clone(users)}
	for i := range scores {
		p, err := l.standing(ctx, l.Fallback, l.store, board, &scores[i], nil, 0)
		if err != nil {
			return nil, err
		}
		list.Entries = append(list.Entries, scoreboard.Entry{
			Rank: p.Rank, User: p.User, Score: p.Score, Subscore: p.Subscore, Private: p.Private,
		})
		list.Missing = slices.DeleteFunc(list.Missing, func(u scoreboard.UserID) bool { return u == p.User })
	}
	return list, nil
}

// inOrder returns some of users in their order.
func inOrder(users, some []scoreboard.UserID) []scoreboard.UserID {
	return slices.DeleteFunc(slices.Clone(users), func(u scoreboard.UserID) bool { return !slices.Contains(some, u) })
}

// list is List without private users. Users missing in a healthy ranking are looked up in the
// store; if it has one of them, the whole list comes from there.
func (l *Leaderboard) list(
	ctx context.Context, board *scoreboard.Board, users []scoreboard.UserID,
) (list *scoreboard.List, err error) {
	reason, err := l.withFallback(ctx, board, func(ctx context.Context) (err error) {
		list, err = l.ranking.List(ctx, board, users)
		return err
	}, func(ctx context.Context) (err error) {
		list, err = l.fallback.List(ctx, board, users)
		return err
	})
	if err != nil {
		return nil, err
	}
	if reason == "" && !knownAbsent(l.absent, board.ID, list.Missing) {
		ranked := list
		stored := l.truth.try(ctx, board.ID, func(ctx context.Context) (err error) {
			found, err := l.Fallback.Scores(ctx, board, ranked.Missing)
			if err == nil && len(found) > 0 { // only then the store counts
				list, err = l.Fallback.List(ctx, board, users)
			}
			return err
		})
		if stored != nil {
			list = ranked // users that only the store has appear later
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
	mark(reason, &list.Degraded, &list.State)
	list.SharedRanks = board.SharesRanks()
	l.Display.Name(ctx, list.Entries)
	return list, nil
}

func knownAbsent(absent *cache[placeKey, struct{}], board scoreboard.BoardID, users []scoreboard.UserID) bool {
	for _, user := range users {
		if _, known := absent.get(placeKey{board, user, 0}, absentTTL); !known {
			return false
		}
	}
	return true
}

// RankOf returns the rank of a score and a subscore if they were reached now: behind all equal
// ones, or with them on a board that shares ranks.
func (l *Leaderboard) RankOf(
	ctx context.Context, board *scoreboard.Board, pair scoreboard.Pair,
) (rank int64, err error) {
	_, err = l.withFallback(ctx, board, func(ctx context.Context) error {
		// No user has an empty id.
		ranks, err := l.ranking.Ranks(ctx, board, []scoreboard.UserID{""}, []*scoreboard.Pair{&pair})
		if err == nil && ranks[0] != nil {
			rank = *ranks[0]
		}
		return err
	}, func(ctx context.Context) (err error) {
		rank, err = l.fallback.RankOf(ctx, board, pair)
		return err
	})
	return rank, err
}
