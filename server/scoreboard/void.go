package scoreboard

import "time"

// Sender picks what one key or one address sent between two instants.
type Sender struct {
	KeyID, Address string // one of the two
	From, To       time.Time
}

// Check wants one sender and a time that is over.
func (s *Sender) Check(now time.Time) error {
	switch {
	case (s.KeyID == "") == (s.Address == ""):
		return Invalid("key_id", "name either key_id or address")
	case len(s.KeyID) > 64 || len(s.Address) > 64:
		return Invalid("key_id", "key_id and address have at most 64 bytes")
	case s.From.IsZero() || s.To.IsZero() || !s.From.Before(s.To):
		return Invalid("from", "from and to must be times, and from the earlier one")
	case s.To.After(now.Add(time.Second)): // of a clock that is a little ahead
		return Invalid("to", "to must not be in the future: what is still to come cannot be voided")
	}
	return nil
}

// Void is a job that reverses all that a sender sent.
type Void struct {
	ID      int64
	Sender  Sender
	Reason  string
	Who     UserID
	Created time.Time
	State   VoidState
	Done    time.Time // zero until all is reversed; the undo counts from here
	// How many events are where; Undone are of Reversed.
	Todo, Reversed, Skipped, Undone int64
	// Of the skipped ones how many why, the ten that are most.
	SkippedFor map[string]int64
	// Of the undo; zero until somebody asks for it.
	UndoAt     time.Time
	UndoBy     UserID
	UndoReason string
}

// VoidState says how far a void is.
type VoidState string

const (
	VoidListing   VoidState = "listing"
	VoidReversing VoidState = "reversing"
	VoidDone      VoidState = "done"
	VoidUndoing   VoidState = "undoing"
	VoidUndone    VoidState = "undone"
)

// UndoTime is how long a void can be undone.
const UndoTime = 30 * 24 * time.Hour

// VoidPreview is what a void would reverse.
type VoidPreview struct {
	Events, Users int64
	Boards        []VoidedBoard
}

// VoidedBoard is what of it is on one board.
type VoidedBoard struct {
	Board   BoardID
	Events  int64
	Users   int64
	Applied int64 // the sum of what the events came to
}
