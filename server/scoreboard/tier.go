package scoreboard

import (
	"math"
	"time"
)

// MaxTiers is the maximum number of tiers of a board.
const MaxTiers = 20

// percentScale is how many parts a percent of a tier has: percentages have at most three
// decimals, so that the last rank of a tier is computed in integers.
const percentScale = 1000

// Tier is a named band of a board. Exactly one of its bounds is set.
type Tier struct {
	Name string `json:"name"` // the fields have tags because a store keeps tiers in a document
	// Rank is the last rank that is in the band; 0 if another bound is set.
	Rank int64 `json:"rank,omitempty"`
	// Thousandths of a percent of the ranked users that are in the band, best first, rounded
	// up to whole users; 0 if another bound is set.
	Percent int64 `json:"percent,omitempty"`
	// Score is the worst score that is in the band; nil if another bound is set.
	Score *Score `json:"score,omitempty"`
}

// Tiers are the tiers of a board, the best first. A user is in the first one that holds.
type Tiers []Tier

// ParsePercent returns a percentage in the unit of Tier.Percent.
func ParsePercent(p float64) (int64, error) {
	n := math.Round(p * percentScale)
	if !(p > 0 && p <= 100) || math.Abs(p*percentScale-n) > 1e-6 {
		return 0, Invalid("tiers", "percentile must be above 0 and at most 100, with at most 3 decimals")
	}
	return int64(n), nil
}

// Percentile returns the percentage of a tier with one, as ParsePercent reads it.
func (t *Tier) Percentile() float64 { return float64(t.Percent) / percentScale }

// Check validates the tiers of a board: their number, names and bounds. It returns an
// invalid_request. A tier that can never hold, because an earlier one always does, is
// allowed: which one it is depends on the number of users.
func (t Tiers) Check() error {
	if len(t) > MaxTiers {
		return Invalid("tiers", "a board has at most %d tiers", MaxTiers)
	}
	names := make(map[string]bool, len(t))
	for i := range t {
		tier := &t[i]
		if !isBoardName(tier.Name) {
			return Invalid("tiers", "the name of a tier must match [a-z0-9][a-z0-9_.-]{0,47}")
		}
		if names[tier.Name] {
			return Invalid("tiers", "duplicate tier %s", tier.Name)
		}
		names[tier.Name] = true
		bounds := 0
		for _, set := range []bool{tier.Rank != 0, tier.Percent != 0, tier.Score != nil} {
			if set {
				bounds++
			}
		}
		switch {
		case bounds != 1:
			return Invalid("tiers", "tier %s must have exactly one of rank, percentile and score", tier.Name)
		case tier.Rank < 0 || tier.Rank > MaxScore:
			return Invalid("tiers", "the rank of tier %s must be 1 to 2^53 − 1", tier.Name)
		case tier.Percent < 0 || tier.Percent > 100*percentScale:
			return Invalid("tiers", "the percentile of tier %s must be above 0 and at most 100", tier.Name)
		case tier.Score != nil && !tier.Score.InRange():
			return Invalid("tiers", "the score of tier %s must be within ±(2^53 − 1)", tier.Name)
		}
	}
	return nil
}

// LastRank returns the last rank of a tier that is bounded by rank or percentile, among total
// users: ceil(p/100 × total) for a percentile.
func (t *Tier) LastRank(total int64) int64 {
	if t.Percent == 0 {
		return t.Rank
	}
	const whole = 100 * percentScale
	// Not percent × total, which may overflow.
	return total/whole*t.Percent + (total%whole*t.Percent+whole-1)/whole
}

// holds reports whether a standing is within the bound of t.
func (t *Tier) holds(o Order, rank, total int64, score Score) bool {
	if t.Score != nil {
		return o.Key(score) <= o.Key(*t.Score)
	}
	return rank <= t.LastRank(total)
}

// Of returns the index of the tier of a standing: the first that holds, or -1.
func (t Tiers) Of(o Order, rank, total int64, score Score) int {
	for i := range t {
		if t[i].holds(o, rank, total, score) {
			return i
		}
	}
	return -1
}

// Name returns the name of the tier at an index of Of, "" for none.
func (t Tiers) Name(i int) string {
	if i < 0 {
		return ""
	}
	return t[i].Name
}

// Find returns the index of the tier of a name, or -1.
func (t Tiers) Find(name string) int {
	for i := range t {
		if t[i].Name == name {
			return i
		}
	}
	return -1
}

// TierDistance is how far a standing is from the next better tier.
type TierDistance struct {
	Tier   *Tier
	Ranks  int64 // to climb, for a tier by rank or percentile; else 0
	Points int64 // to gain, or to lose where the lowest score ranks first; for a tier by score; else 0
}

// Next returns the distance of a standing from the tier before its own, the index of which is
// that of Of; nil for a standing in the first tier, and without tiers.
func (t Tiers) Next(own int, o Order, rank, total int64, score Score) *TierDistance {
	next := len(t) - 1 // of a standing without a tier
	if own >= 0 {
		next = own - 1
	}
	if next < 0 {
		return nil
	}
	d := &TierDistance{Tier: &t[next]}
	if d.Tier.Score != nil {
		d.Points = o.Key(score) - o.Key(*d.Tier.Score)
	} else {
		d.Ranks = rank - d.Tier.LastRank(total)
	}
	return d
}

// TierMove is what a user's own events have changed on a board: from where to where.
type TierMove struct {
	Board    BoardID
	User     UserID
	Before   *Position // nil: the user had no score
	After    Position
	Revision int64 // of the user after the last of the events
	Recorded time.Time
}

// TierMoves are the moves of a range of transactions.
type TierMoves struct {
	Moves    []TierMove
	From, To uint64 // transaction ids
}
