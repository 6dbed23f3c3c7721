package scoreboard

import (
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"
)

// Bounds of tables of rewards.
const (
	MaxRewardBands       = 50
	MaxReward            = 2048 // bytes of its JSON
	DefaultRewardExpiry  = 90 * 24 * time.Hour
	MinRewardExpiry      = time.Minute
	MaxRewardExpiry      = 10 * 366 * 24 * time.Hour
	FirstRewardsRevision = 1 // of standings as they were sealed
)

// RewardBand is a line of a table of rewards. Exactly one of its bounds is set.
type RewardBand struct {
	FirstRank, LastRank int64 // ranks in the final standings; 0 if another bound is set
	// Percent is in the unit of Tier.Percent: of the users in the final standings, best first,
	// rounded up to whole users. 0 if another bound is set.
	Percent  int64
	Tier     string // the name of a tier of the board; "" if another bound is set
	Division int    // of the cohort in which the user played, on the board of a league; 0 if another bound is set
	Reward   string // JSON, which the server does not interpret
}

// RewardTable says which winners of a period get what: the reward of the first band that holds.
type RewardTable struct {
	ID      int64
	Board   BoardID   // the periodic board
	Since   time.Time // zero: there was never one
	Private bool      // private users get rewards, too
	Expires time.Duration
	Bands   []RewardBand // none: nobody gets anything
}

// Check validates a table, but not whether the board has its tiers. It returns an invalid_request.
func (t *RewardTable) Check() error {
	if len(t.Bands) > MaxRewardBands {
		return Invalid("bands", "a table of rewards has at most %d bands", MaxRewardBands)
	}
	if err := CheckRewardExpiry(t.Expires); err != nil {
		return err
	}
	for i := range t.Bands {
		if err := t.Bands[i].check(i + 1); err != nil {
			return err
		}
	}
	return nil
}

func (b *RewardBand) check(n int) error {
	bounds := 0
	ranks := b.FirstRank != 0 || b.LastRank != 0
	for _, set := range []bool{ranks, b.Percent != 0, b.Tier != "", b.Division != 0} {
		if set {
			bounds++
		}
	}
	switch {
	case bounds != 1:
		return Invalid("bands", "band %d must have exactly one of last_rank, percentile, tier and division", n)
	case b.Percent < 0 || b.Percent > 100*percentScale:
		return Invalid("bands", "the percentile of band %d must be above 0 and at most 100", n)
	case b.Tier != "" && !isBoardName(b.Tier):
		return Invalid("bands", "the tier of band %d must match [a-z0-9][a-z0-9_.-]{0,47}", n)
	case b.Division < 0 || b.Division > MaxDivisions:
		return Invalid("bands", "the division of band %d must be 1 to %d", n, MaxDivisions)
	case ranks && (b.FirstRank < 1 || b.LastRank < b.FirstRank || b.LastRank > MaxScore):
		return Invalid("bands", "the ranks of band %d must be 1 to 2^53 − 1, the first one not above the last", n)
	}
	return CheckReward(b.Reward)
}

// CheckRewardExpiry validates how long a reward can be claimed. It returns an invalid_request.
func CheckRewardExpiry(d time.Duration) error {
	if d < MinRewardExpiry || d > MaxRewardExpiry || d%time.Second != 0 {
		return Invalid("expires", "expires must be whole seconds, %s to %s", MinRewardExpiry, MaxRewardExpiry)
	}
	return nil
}

// CheckReward validates what is granted. It returns an invalid_request.
func CheckReward(reward string) error {
	if reward == "" || len(reward) > MaxReward || !utf8.ValidString(reward) || !json.Valid([]byte(reward)) {
		return Invalid("reward", "a reward must be a JSON value of at most %d bytes", MaxReward)
	}
	return nil
}

// RankRange is the ranks from First to Last; empty if Last is before First.
type RankRange struct{ First, Last int64 }

// Ranges returns the ranks of each tier among total users. atLeast returns the last rank with a score
// that is within the bound of a tier by score.
func (t Tiers) Ranges(total int64, atLeast func(Score) (int64, error)) ([]RankRange, error) {
	ranges := make([]RankRange, len(t))
	var before int64 // the last rank of all earlier tiers
	for i := range t {
		last := t[i].LastRank(total)
		if t[i].Score != nil {
			var err error
			if last, err = atLeast(*t[i].Score); err != nil {
				return nil, err
			}
		}
		last = min(last, total)
		ranges[i] = RankRange{before + 1, last}
		before = max(before, last)
	}
	return ranges, nil
}

// RewardSegment is a range of ranks whose users get the same rewards. Bands are indexes from 0, or -1 for no
// reward: that of the users of each division, first of those who have played in none. There is only the first
// where no band is one of a division.
type RewardSegment struct {
	RankRange
	Bands []int
}

// HasDivisions reports whether a reward depends on the division.
func (t *RewardTable) HasDivisions() bool {
	return slices.ContainsFunc(t.Bands, func(b RewardBand) bool { return b.Division != 0 })
}

// Segments returns who gets what among total users, in the order of ranks, without ranks where nobody gets
// anything. ranges are those of tiers, the tiers of the period.
func (t *RewardTable) Segments(total int64, tiers Tiers, ranges []RankRange) []RewardSegment {
	bands := make([]RankRange, len(t.Bands))
	starts := []int64{1}
	for i := range t.Bands {
		b := &t.Bands[i]
		of := RankRange{b.FirstRank, b.LastRank}
		switch {
		case b.Division != 0:
			of = RankRange{1, total}
		case b.Percent != 0:
			of = RankRange{1, (&Tier{Percent: b.Percent}).LastRank(total)}
		case b.Tier != "":
			of = RankRange{1, 0} // a tier that the period does not have
			if n := tiers.Find(b.Tier); n >= 0 {
				of = ranges[n]
			}
		}
		of.Last = min(of.Last, total)
		bands[i] = of
		if of.First <= of.Last {
			starts = append(starts, of.First, of.Last+1)
		}
	}
	starts = append(starts, total+1)
	slices.Sort(starts)
	starts = slices.Compact(starts)
	divisions := 0
	if t.HasDivisions() {
		divisions = MaxDivisions
	}
	var segments []RewardSegment
	for i, first := range starts[:len(starts)-1] { // all ranks until the next start are in the same bands
		next := starts[i+1]
		of, some := make([]int, divisions+1), false
		for division := range of {
			of[division] = -1
			for n, r := range bands {
				only := t.Bands[n].Division
				if r.First <= first && first <= r.Last && (only == 0 || only == division) {
					of[division], some = n, true
					break
				}
			}
		}
		if !some {
			continue
		}
		if n := len(segments); n > 0 && slices.Equal(segments[n-1].Bands, of) && segments[n-1].Last == first-1 {
			segments[n-1].Last = next - 1
			continue
		}
		segments = append(segments, RewardSegment{RankRange{first, next - 1}, of})
	}
	return segments
}

// BandOf returns the index of the band of a standing among total users, or -1; tier and division are those
// of the user in the period. It is for a user without a place in the final standings, so rank may be
// total + 1.
func (t *RewardTable) BandOf(rank, total int64, tier string, division int) int {
	return slices.IndexFunc(t.Bands, func(b RewardBand) bool {
		switch {
		case b.Division != 0:
			return b.Division == division
		case b.Percent != 0:
			return rank <= (&Tier{Percent: b.Percent}).LastRank(total)
		case b.Tier != "":
			return b.Tier == tier
		}
		return b.FirstRank <= rank && rank <= b.LastRank
	})
}

// RewardState is what can be done with a grant.
type RewardState string

const (
	RewardClaimable RewardState = "claimable"
	RewardClaimed   RewardState = "claimed"
	RewardRevoked   RewardState = "revoked" // by an operator or a void, before it was claimed
	RewardExpired   RewardState = "expired" // nobody claimed it in time
)

// ParseRewardState parses the name of a state; "" and all are all of them, which is "".
func ParseRewardState(s string) (RewardState, error) {
	switch p := RewardState(s); p {
	case "", "all":
		return "", nil
	case RewardClaimable, RewardClaimed, RewardRevoked, RewardExpired:
		return p, nil
	}
	return "", Invalid("state", "state must be claimable, claimed, revoked, expired or all")
}

// RewardGrant is what a user has won in a period of a board.
type RewardGrant struct {
	ID       int64
	Board    BoardID // the instance
	User     UserID
	Rank     int64  // in the final standings; 0: an operator granted it
	Revision int    // of those standings; 0: an operator granted it
	Reward   string // JSON
	State    RewardState
	Flagged  bool // claimed before a void took back events of the user in this period
	Granted  time.Time
	Expires  time.Time
	Claimed  time.Time // zero: it is not claimed
	Revoked  time.Time // zero: it is not revoked
}

// RewardDifferenceKind is how a grant differs from what the final standings of its period say.
type RewardDifferenceKind string

const (
	RewardMissing      RewardDifferenceKind = "reward_missing"
	RewardExtra        RewardDifferenceKind = "reward_extra"
	RewardWrong        RewardDifferenceKind = "reward_wrong" // of another band or rank
	RewardTableDiffers RewardDifferenceKind = "reward_table" // another table was in force; of no user
)

// RewardDifference is a grant that differs, or is missing. Bands are numbered from 1, 0 is none.
type RewardDifference struct {
	Kind    RewardDifferenceKind
	User    UserID
	Grant   int64 // 0: it is missing
	Rank    int64 // in the final standings; 0: the user is not in them
	Want    int64 // band; for RewardTableDiffers the table
	Got     int64
	GotRank int64 // for which it was granted
}

// RewardHorizon is up to which id all grants are committed, or never will be: ids are given before transactions end.
type RewardHorizon struct {
	Safe int64 // 0: not known yet

	last int64  // the highest id when it was last looked for
	xmax uint64 // transactions from this one on began later
}

// Move looks further: the highest id is last, transactions below xmin have ended, and none from xmax on has begun.
func (h *RewardHorizon) Move(last int64, xmin, xmax uint64) {
	if last < h.last || xmax < h.xmax {
		*h = RewardHorizon{} // the database has gone back
	}
	if h.xmax != 0 && xmin < h.xmax {
		return // some that may have lower ids still run
	}
	if h.xmax != 0 {
		h.Safe = h.last
	}
	h.last, h.xmax = last, xmax
}
