package scoreboard

import (
	"cmp"
	"time"
)

// Score is a user's points on one board, within ±MaxScore.
type Score int64

// MaxScore bounds scores and deltas: 2^53 − 1. Redis ranks by doubles, which
// cannot represent every larger integer.
const MaxScore = 1<<53 - 1

// InRange reports whether s is exact in every store.
func (s Score) InRange() bool { return -MaxScore <= s && s <= MaxScore }

// TopSize is the number of standings that a board's version covers: the version
// rises exactly when membership, order or a score among them changes.
const TopSize = 100

// Entry is one displayed row of a board. Who needs the user, and not what is displayed,
// calls ID.
type Entry struct {
	Rank  int64
	User  UserID // or a pseudonym
	Score Score
	// Subscore decides among equal scores; 0 on a board without them.
	Subscore Score
	Profile  *Profile // nil if the user has none, or it is not cached yet
	Private  bool     // the user is on no board, and Rank is the one that the score would have
}

// Pair returns the score and the subscore.
func (e *Entry) Pair() Pair { return Pair{e.Score, e.Subscore} }

// Position is the sort key of a board: the smaller key is ahead, then the smaller key of the
// subscore, then the earlier time, then the smaller user id.
type Position struct {
	Key       int64
	SubKey    int64     // 0 on a board without subscores
	ReachedAt time.Time // microseconds
	User      UserID
}

// Compare orders positions: negative where p is ahead of q.
func (p *Position) Compare(q *Position) int {
	if c := cmp.Compare(p.Key, q.Key); c != 0 {
		return c
	}
	if c := cmp.Compare(p.SubKey, q.SubKey); c != 0 {
		return c
	}
	if c := p.ReachedAt.Compare(q.ReachedAt); c != 0 {
		return c
	}
	return cmp.Compare(p.User, q.User)
}

// Top is the head of a board at one version, or a page further down. It is shared
// between readers and must not be modified.
type Top struct {
	Board     BoardID
	Epoch     int64 // rises with every rebuild; 0 when degraded
	Version   int64 // rises within an epoch; 0 when degraded
	UpdatedAt time.Time
	AsOf      time.Time // every change committed before it is included
	Total     int64
	Entries   []Entry // at most TopSize, best first
	// First is the rank of the first row in the order of the board, where Entries have shared ranks;
	// may be 0 if it is 1.
	First   int64
	Reached []time.Time // when each of Entries was reached; nil in notices
	// Subscores says that the board has them, in a top that Leaderboard has read or a notice.
	Subscores bool

	State    BoardState
	Degraded string // why this is not from a healthy ranking; empty if it is
	Shown    uint64 // the version of the users hidden in Entries
}

// Position returns the position of entry i on a board.
func (t *Top) Position(i int, b *Board) Position {
	e := &t.Entries[i]
	return b.PositionOf(e.Pair(), t.Reached[i], e.ID())
}

// Snapshot is what a rebuild has read of a board from the store.
type Snapshot struct {
	Epoch     int64     // greater than every epoch of the board before
	Users     int64     // read, including hidden ones
	UpdatedAt time.Time // when the newest change in it was recorded
	AsOf      time.Time // every change committed before it is in it
}

// MaxEpoch bounds epochs: 2^53 − 1. Clients read them as doubles.
const MaxEpoch = 1<<53 - 1

// Place is one user's standing on a board, with neighbours on request.
type Place struct {
	Board      BoardID
	User       UserID
	Score      Score
	Subscore   Score
	Rank       int64
	Total      int64
	Version    int64 // of the board; 0 when degraded
	Epoch      int64
	UpdatedAt  time.Time // when the score was reached
	AsOf       time.Time
	Neighbours []Entry // k above, the user, k below; nil unless requested
	State      BoardState
	Degraded   string
	Shown      uint64 // the version of the users hidden in Neighbours, among whom User is not
	// Private says that the user is on no board. Rank, Total and Neighbours are as if the user
	// were on this one.
	Private bool

	UserVersion int64 // of the user's last event that is included; 0: unknown
	Revision    int64 // of the user, likewise
}

// Pair returns the score and the subscore.
func (p *Place) Pair() Pair { return Pair{p.Score, p.Subscore} }

// Position returns where the standing is on its board.
func (p *Place) Position(b *Board) Position {
	return b.PositionOf(p.Pair(), p.UpdatedAt, p.User)
}

// Including returns p with the score of a receipt of the same user and board that p is too
// old to include. A receipt that changed nothing, or is reversed, says nothing about the
// score.
func (p *Place) Including(r *Receipt) *Place {
	if p.UserVersion >= r.Version || !r.Moved() || r.Reversed {
		return p
	}
	newer := *p
	newer.Score, newer.Subscore = r.NewScore, r.NewSubscore
	newer.UpdatedAt, newer.UserVersion = r.RecordedAt, r.Version
	return &newer
}

// PastTime is a time of which the standings are read. Now reads them as they would have been with
// today's bans, private users and reversals; else they are as they were recorded. Masked also
// leaves out the users who are banned or private now.
type PastTime struct {
	At     time.Time
	Now    bool
	Masked bool
}

// RankPoint is a user's score and rank at a moment. Rank is 0 if the user had no score, or was
// hidden.
type RankPoint struct {
	At       time.Time
	Score    Score
	Subscore Score
	Rank     int64
	Total    int64 // ranked users of the board
}

// AllTimeRanks are statistics of the hourly samples of a user's ranks on a board.
type AllTimeRanks struct {
	BestRank    int64
	BestRankAt  time.Time // first sample with this rank
	DaysInTop10 int64     // days in UTC with a sample of rank 1 to 10
	Climb       *RankClimb
	Since       time.Time // first sample of the board
}

// RankClimb is the largest improvement of a rank between two consecutive samples of a board; of
// equal ones the first.
type RankClimb struct {
	Began, Ended time.Time
	Ranks        int64
}

// Frame is the first rows of a board at a moment.
type Frame struct {
	At      time.Time
	Total   int64 // ranked users of the board
	Entries []Entry
}

// List is the standings of some users on a board, best first.
type List struct {
	Board   BoardID
	Epoch   int64 // 0 when degraded
	Version int64
	AsOf    time.Time
	Total   int64 // of the board
	Entries []Entry
	Missing []UserID // users that are not on the board
	// SharedRanks says that equal scores have the same rank, on the board and in the list.
	SharedRanks bool
	State       BoardState
	Degraded    string
}

// Percentile is the share of all ranked users who rank below this one, in
// percent, rounded half up to one decimal: of 1,000 users the first has 99.9 and
// the last 0. A single user has 0.
func (p *Place) Percentile() float64 {
	if p.Total == 0 {
		return 0
	}
	tenths := ((p.Total-p.Rank)*2000 + p.Total) / (2 * p.Total)
	return float64(tenths) / 10
}

// Notice reports that a batch was applied to a board. Top is set when it raised
// the version; its AsOf, and the ReachedAt of Moved, are zero in notices of an older
// build and where one of the changes was not new. Hides is set when it hid a user.
type Notice struct {
	Board BoardID
	Top   *Top
	Moved []Moved
	Hides bool
	// Subscores says that the ranking has the board with subscores.
	Subscores bool

	Trace string // W3C traceparent of one sampled change in it; "" for none
}

// Moved is a user whose standing a batch changed.
type Moved struct {
	User     UserID
	Score    Score
	Subscore Score
	Revision int64
	Version  int64

	ReachedAt time.Time
}

// Explanation is what a user's rank follows from.
type Explanation struct {
	Place        *Place // with up to one neighbour on each side
	Above, Below *Neighbour
	Tied, Ahead  int64 // users with the same score and subscore, with the user, and those who reached it before
	First        Position
	HiddenAhead  int64
	Sources      ScoreSources
	Events       int64
	Latest       []LedgerRow // newest first
	More         bool
}

// Neighbour is a user next to another, and when the score was reached.
type Neighbour struct {
	Entry
	ReachedAt time.Time
}

// ScoreSources are the sums of changes of a score by where they came from.
type ScoreSources struct {
	Submitted, Adjusted, Reversed, Reinstated, Imported Score
	Archived                                            Score // before the rows in the database
}
