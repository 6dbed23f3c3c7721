package scoreboard

import "time"

// BoardState says how far a board's ranking can be believed.
type BoardState string

const (
	StateHealthy    BoardState = "HEALTHY"
	StateCatchingUp BoardState = "CATCHING_UP"         // built, but not every change since has been confirmed
	StateRebuilding BoardState = "DEGRADED_REBUILDING" // not held: reads come from the store
)

// Condition is how a board's ranking is.
type Condition struct {
	Board      BoardID
	State      BoardState
	Rebuilding bool // a rebuild is under way, perhaps beside the live board
	Suspect    bool // built on another server than the one that answers
	Epoch      int64
	Version    int64
	Members    int64
	Bytes      int64
	Built      time.Time
	AsOf       time.Time // every change committed before it is in; zero: not known
}
