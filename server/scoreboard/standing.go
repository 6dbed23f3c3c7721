package scoreboard

import "time"

// TopSize is how many standings carry a board's version: the version rises
// exactly when membership, order or a score among them changes.
const TopSize = 100

// Entry is one row of a board as it is shown.
type Entry struct {
	Rank  int64
	User  UserID
	Score Score
}

// Top is the head of a board at one version.
type Top struct {
	Board     BoardID
	Epoch     int64 // rises with every rebuild; 0 when degraded
	Version   int64 // rises within an epoch; 0 when degraded
	UpdatedAt time.Time
	AsOf      time.Time // every change committed before it is in
	Total     int64
	Entries   []Entry // at most TopSize, best first
	Degraded  string  // why this is not from a healthy ranking; empty when it is
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
	Degraded   string
}

// Percentile is the share of users ranked below, in percent, rounded to one
// decimal.
func (p *Place) Percentile() float64 {
	if p.Total == 0 {
		return 0
	}
	tenths := ((p.Total-p.Rank)*2000 + p.Total) / (2 * p.Total)
	return float64(tenths) / 10
}

// Notice tells gateways that a batch was applied to a board. Top is set when
// the version rose with it.
type Notice struct {
	Board BoardID
	Top   *Top
	Moved []Moved
}

// Moved is a user whose standing a batch changed.
type Moved struct {
	User     UserID
	Score    Score
	Revision int64
	Version  int64
}
