package scoreboard

import (
	"cmp"
	"time"
)

// TopSize is how many standings carry a board's version: the version rises
// exactly when membership, order or a score among them changes.
const TopSize = 100

// Entry is one row of a board as it is shown.
type Entry struct {
	Rank    int64
	User    UserID
	Score   Score
	Profile *Profile // nil where the user has none, or it is not known here yet
}

// Position is what orders a board: of two, the smaller key is ahead, then who
// reached it first, then the smaller user id.
type Position struct {
	Key       int64
	ReachedAt time.Time // microseconds
	User      UserID
}

// Compare orders positions: negative where p is ahead of q.
func (p *Position) Compare(q *Position) int {
	if c := cmp.Compare(p.Key, q.Key); c != 0 {
		return c
	}
	if c := p.ReachedAt.Compare(q.ReachedAt); c != 0 {
		return c
	}
	return cmp.Compare(p.User, q.User)
}

// Top is the head of a board at one version, or a page of it further down. It
// is shared by all who read it: nobody changes one that was handed out.
type Top struct {
	Board     BoardID
	Epoch     int64 // rises with every rebuild; 0 when degraded
	Version   int64 // rises within an epoch; 0 when degraded
	UpdatedAt time.Time
	AsOf      time.Time // every change committed before it is in
	Total     int64
	Entries   []Entry     // at most TopSize, best first
	Reached   []time.Time // when each of Entries was reached; nil in notices
	State     BoardState
	Degraded  string // why this is not from a healthy ranking; empty when it is
}

// Position is where the entry at index i stands on a board of this order.
func (t *Top) Position(i int, o Order) Position {
	return Position{Key: o.Key(t.Entries[i].Score), ReachedAt: t.Reached[i], User: t.Entries[i].User}
}

// Place is one user's standing on a board, with neighbours on request.
type Place struct {
	Board      BoardID
	User       UserID
	Score      Score
	Rank       int64
	Total      int64
	Version    int64 // of the board; 0 when degraded
	Epoch      int64
	UpdatedAt  time.Time // when the score was reached
	AsOf       time.Time
	Neighbours []Entry // k above, the user, k below; nil unless asked for
	State      BoardState
	Degraded   string

	UserVersion int64 // of the user's last event that is in; 0: not told
	Revision    int64 // the user's, likewise
}

// List is the standings of some users on a board, best first.
type List struct {
	Board    BoardID
	Epoch    int64 // 0 when degraded
	Version  int64
	AsOf     time.Time
	Total    int64 // of the board
	Entries  []Entry
	Missing  []UserID // those who are not on the board
	State    BoardState
	Degraded string
}

// Percentile is the share of all ranked users who rank below this one, in
// percent, rounded to one decimal, half up: of 1,000 users the first has 99.9
// and the last 0. Somebody alone on a board has 0.
func (p *Place) Percentile() float64 {
	if p.Total == 0 {
		return 0
	}
	tenths := ((p.Total-p.Rank)*2000 + p.Total) / (2 * p.Total)
	return float64(tenths) / 10
}

// Notice tells gateways that a batch was applied to a board. Top is set when
// the version rose with it; Hides, when somebody is not to be seen from now on.
type Notice struct {
	Board BoardID
	Top   *Top
	Moved []Moved
	Hides bool
}

// Moved is a user whose standing a batch changed.
type Moved struct {
	User     UserID
	Score    Score
	Revision int64
	Version  int64
}
