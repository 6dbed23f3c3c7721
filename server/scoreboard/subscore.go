package scoreboard

import (
	"fmt"
	"slices"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

// Pair is a score and the subscore that decides among equal scores. On a board without
// subscores the second is 0.
type Pair struct{ Score, Subscore Score }

// Sum returns the sum of both scores.
func (p Pair) Sum(q Pair) Pair { return Pair{p.Score + q.Score, p.Subscore + q.Subscore} }

// Less returns the difference of both scores.
func (p Pair) Less(q Pair) Pair { return Pair{p.Score - q.Score, p.Subscore - q.Subscore} }

// HasSubscores reports whether submissions to b have a second score, which decides among
// equal scores.
func (b *Board) HasSubscores() bool { return b.Subscore != "" }

// ParseSubscores parses which subscore of a board ranks first: none (or ""), highest or lowest.
func ParseSubscores(s string) (Order, error) {
	switch o := Order(s); o {
	case "", "none":
		return "", nil
	case OrderHighest, OrderLowest:
		return o, nil
	}
	return "", Invalid("subscore", "subscore must be none, highest or lowest")
}

// Keys returns the sort keys of a pair: the smaller one is ahead, the first before the
// second. That of the subscore is 0 on a board without them.
func (b *Board) Keys(p Pair) (key, subKey int64) {
	if b.HasSubscores() {
		subKey = b.Subscore.Key(p.Subscore)
	}
	return b.Order.Key(p.Score), subKey
}

// Pair is the inverse of Keys.
func (b *Board) Pair(key, subKey int64) Pair {
	p := Pair{Score: b.Order.Score(key)}
	if b.HasSubscores() {
		p.Subscore = b.Subscore.Score(subKey)
	}
	return p
}

// PositionOf returns the position of a user who reached a pair at a time.
func (b *Board) PositionOf(p Pair, reached time.Time, user UserID) Position {
	key, subKey := b.Keys(p)
	return Position{Key: key, SubKey: subKey, ReachedAt: reached, User: user}
}

// Better reports whether p is ahead of q, regardless of when they were reached.
func (b *Board) Better(p, q Pair) bool {
	key, subKey := b.Keys(p)
	otherKey, otherSubKey := b.Keys(q)
	return key < otherKey || key == otherKey && subKey < otherSubKey
}

// PairAfter returns the pair after a submission, regardless of the bounds: both are added,
// or the better pair is kept, or the last one; had is whether the user had a pair.
func (b *Board) PairAfter(previous Pair, had bool, submitted Pair) Pair {
	if !b.HasSubscores() {
		submitted.Subscore = 0
	}
	switch {
	case b.Mode == ModeIncrement: // all within ±2^53, no overflow
		return previous.Sum(submitted)
	case b.Mode == ModeBest && had && !b.Better(submitted, previous):
		return previous
	}
	return submitted
}

// Next returns the pair after a submission; had is whether the user had one. It returns a
// score_out_of_range outside the board's bounds.
func (b *Board) Next(previous Pair, had bool, submitted Pair) (Pair, error) {
	next := b.PairAfter(previous, had, submitted)
	if err := b.CheckPair(next); err != nil {
		return Pair{}, err
	}
	return next, nil
}

// CheckPair returns a score_out_of_range if a score is outside the bounds of b, or a subscore is
// not exact in every store.
func (b *Board) CheckPair(p Pair) error {
	if p.Score < b.MinScore || p.Score > b.MaxScore || !p.Score.InRange() {
		return &Error{
			Code:  wire.CodeScoreOutOfRange,
			Field: "delta",
			Message: fmt.Sprintf(
				"the score would be outside the bounds of the board, %d to %d", b.MinScore, b.MaxScore,
			),
		}
	}
	if !p.Subscore.InRange() {
		return &Error{
			Code: wire.CodeScoreOutOfRange, Field: "subscore",
			Message: "the subscore would be outside ±(2^53 − 1)",
		}
	}
	return nil
}

// Submitted returns the pair that an increment submits: 0 as the subscore if it has none.
func (in *Increment) Submitted() Pair {
	p := Pair{Score: Score(in.Delta)}
	if in.Subscore != nil {
		p.Subscore = *in.Subscore
	}
	return p
}

// CheckSubscores returns an invalid_request if an increment has a subscore and none of its boards
// has any.
func (in *Increment) CheckSubscores(boards []*Board) error {
	if in.Subscore == nil || slices.ContainsFunc(boards, (*Board).HasSubscores) {
		return nil
	}
	return Invalid("subscore", "no board of the increment has subscores")
}

// subscoreMark begins the subscore in a hash; no length of a board is so large.
const subscoreMark = metadataMark - 1

// CheckSubscore validates the subscore of a submission: a delta_out_of_range outside the
// bounds of b.
func (b *Board) CheckSubscore(subscore Score) error {
	if !b.HasSubscores() || b.MinSubscore <= subscore && subscore <= b.MaxSubscore {
		return nil
	}
	return &Error{
		Code: wire.CodeDeltaOutOfRange, Field: "subscore", Reason: wire.ReasonBoardBounds,
		Message: fmt.Sprintf("subscore is outside the bounds of the board, %d to %d", b.MinSubscore, b.MaxSubscore),
	}
}
