package leaderboard

import (
	"context"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/share"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The tiers of a board follow each other in its ranking: what is in one of the first tiers is a
// prefix of it. So the first user of a tier is found by bisection, with reads of one row, and
// what a tier has is decided row by row, by the rank and the total of one read.

// tierGap is how many rows are read at once rather than halved further, and maxTierReads bounds
// the reads of a search: a board where thousands reached a score in one microsecond.
const (
	tierGap      = 100
	maxTierReads = 256
	// tierSearches is how many searches run at a time on a node, at most one less for one caller or board.
	tierSearches = 4
)

// errNoTierSearch is the error of a tier in the middle of a board that only the store has: there, a
// search would count thousands of rows.
var errNoTierSearch = &scoreboard.Error{
	Code:       wire.CodeUnavailable,
	Message:    "this tier cannot be listed while the ranking does not have the board",
	RetryAfter: pause,
}

// firstTime is before every time of a standing.
var firstTime = time.UnixMicro(0).UTC()

// TierReads lists the users of tiers.
type TierReads struct {
	reads *Leaderboard
	turns *share.Pool // of searches for where a tier begins
}

// NewTierReads returns reads of tiers by those of pages.
func NewTierReads(reads *Leaderboard) *TierReads {
	return &TierReads{reads: reads, turns: share.New(tierSearches)}
}

// TierPage returns up to limit users of a tier, those behind a position if there is one, and
// whether there are more of them.
func (t *TierReads) TierPage(
	ctx context.Context, board *scoreboard.Board, tier int, after *scoreboard.Position, limit int,
) (page *scoreboard.Top, more bool, err error) {
	s := tierSearch{l: t.reads, board: board, tier: tier}
	if after == nil {
		after = s.start()
	}
	if page, err = t.reads.Page(ctx, board, after, limit+1); err != nil {
		return nil, false, err
	}
	if s.earlier(page, len(page.Entries)-1) { // also where a cursor is ahead of the tier
		if page.Degraded != "" {
			return nil, false, errNoTierSearch
		}
		release, err := t.turns.Take(ctx, share.Claim{Board: string(board.ID)})
		if err != nil {
			return nil, false, errBreakerOpen
		}
		after, err = s.search(ctx, page)
		release()
		if err != nil {
			return nil, false, err
		}
		if page, err = t.reads.Page(ctx, board, after, limit+1+tierGap); err != nil {
			return nil, false, err
		}
	} else if s.earlier(page, 0) { // the tier begins within the page
		first := 0
		for s.earlier(page, first) {
			first++
		}
		before := page.Position(first-1, board)
		if page, err = t.reads.Page(ctx, board, &before, limit+1); err != nil {
			return nil, false, err
		}
	}
	page, more = s.cut(page, limit)
	return page, more, nil
}

// tierSearch finds where a tier begins.
type tierSearch struct {
	l     *Leaderboard
	board *scoreboard.Board
	tier  int
	reads int
}

// start is before every standing.
func (s *tierSearch) start() *scoreboard.Position {
	return &scoreboard.Position{Key: -scoreboard.MaxScore - 1, ReachedAt: firstTime}
}

// of returns the index of the tier of a row of a page; one without a tier is behind all.
func (s *tierSearch) of(page *scoreboard.Top, i int) int {
	e := &page.Entries[i]
	own := s.board.Tiers.Of(s.board.Order, e.Rank, page.Total, e.Score)
	if own < 0 {
		return len(s.board.Tiers)
	}
	return own
}

// earlier reports whether a page has row i, and that is in a tier before the searched one.
func (s *tierSearch) earlier(page *scoreboard.Top, i int) bool {
	return i >= 0 && i < len(page.Entries) && s.of(page, i) < s.tier
}

// search returns a position behind which the tier begins within tierGap rows, unless users have
// moved meanwhile. All rows of page are in earlier tiers.
func (s *tierSearch) search(ctx context.Context, page *scoreboard.Top) (*scoreboard.Position, error) {
	n := len(page.Entries)
	lo, loRank := page.Position(n-1, s.board), page.Ordinal(n-1)
	hi, hiRank := scoreboard.Position{Key: scoreboard.MaxScore + 1, ReachedAt: firstTime}, page.Total+1
	last := time.Now().Add(time.Hour) // clocks differ
	for hiRank-loRank > tierGap && s.reads < maxTierReads {
		mid, ok := s.between(&lo, &hi, last)
		if !ok {
			break // many users reached a score at the same time
		}
		s.reads++
		row, err := s.l.Page(ctx, s.board, &mid, 1)
		if err != nil {
			return nil, err
		}
		if row.Degraded != "" {
			return nil, errNoTierSearch
		}
		if s.earlier(row, 0) {
			lo, loRank = row.Position(0, s.board), row.Ordinal(0)
			continue
		}
		hi = mid
		if len(row.Entries) > 0 {
			hiRank = row.Entries[0].Rank
		}
	}
	for hiRank-loRank > tierGap && s.reads < maxTierReads { // row by row
		s.reads++
		rows, err := s.l.Page(ctx, s.board, &lo, tierGap)
		if err != nil {
			return nil, err
		}
		n := len(rows.Entries)
		if !s.earlier(rows, n-1) {
			break
		}
		lo, loRank = rows.Position(n-1, s.board), rows.Ordinal(n-1)
	}
	return &lo, nil
}

// between returns a position between two, by score, then by subscore, then by time; false if there
// is none.
func (s *tierSearch) between(lo, hi *scoreboard.Position, last time.Time) (mid scoreboard.Position, ok bool) {
	var firstSub, endSub int64 // around those of all subscores; 0 where there are none
	if s.board.HasSubscores() {
		firstSub, endSub = -scoreboard.MaxScore-1, scoreboard.MaxScore+1
	}
	switch {
	case hi.Key-lo.Key > 1:
		return scoreboard.Position{Key: lo.Key + (hi.Key-lo.Key)/2, SubKey: firstSub, ReachedAt: firstTime}, true
	case hi.Key > lo.Key && (hi.SubKey > firstSub || hi.ReachedAt.After(firstTime)):
		return scoreboard.Position{Key: hi.Key, SubKey: firstSub, ReachedAt: firstTime}, true
	}
	end := scoreboard.Position{Key: lo.Key, SubKey: endSub, ReachedAt: firstTime} // behind all of this score
	if hi.Key == lo.Key {
		end = *hi
	}
	switch {
	case end.SubKey-lo.SubKey > 1:
		half := lo.SubKey + (end.SubKey-lo.SubKey)/2
		return scoreboard.Position{Key: lo.Key, SubKey: half, ReachedAt: firstTime}, true
	case end.SubKey > lo.SubKey && end.ReachedAt.After(firstTime):
		return scoreboard.Position{Key: lo.Key, SubKey: end.SubKey, ReachedAt: firstTime}, true
	case hi.Key == lo.Key && end.SubKey == lo.SubKey:
		last = end.ReachedAt
	}
	half := last.Sub(lo.ReachedAt) / 2
	if half < time.Microsecond {
		return mid, false
	}
	return scoreboard.Position{
		Key: lo.Key, SubKey: lo.SubKey, ReachedAt: lo.ReachedAt.Add(half.Truncate(time.Microsecond)),
	}, true
}

// cut leaves the first rows of the tier in a page.
func (s *tierSearch) cut(page *scoreboard.Top, limit int) (*scoreboard.Top, bool) {
	first := 0
	for s.earlier(page, first) {
		first++
	}
	end := first
	for end < len(page.Entries) && s.of(page, end) == s.tier {
		end++
	}
	// Where users have moved meanwhile, a page may have fewer rows than it could.
	more := end > first && (end-first > limit || end == len(page.Entries) && page.Ordinal(end-1) < page.Total)
	end = min(end, first+limit)
	out := *page
	if out.First > 0 {
		out.First += int64(first)
	}
	out.Entries, out.Reached = page.Entries[first:end:end], page.Reached[first:end:end]
	return &out, more
}
