package scoreboard

import "time"

// Sender selects the events of one key or one address within a period.
type Sender struct {
	KeyID, Address string // exactly one is set
	From, To       time.Time
}

// Check requires one sender and a period in the past.
func (s *Sender) Check(now time.Time) error {
	switch {
	case (s.KeyID == "") == (s.Address == ""):
		return Invalid("key_id", "specify either key_id or address")
	case len(s.KeyID) > 64 || len(s.Address) > 64:
		return Invalid("key_id", "key_id and address have at most 64 bytes")
	case s.From.IsZero() || s.To.IsZero() || !s.From.Before(s.To):
		return Invalid("from", "from and to are required, and from must be before to")
	case s.To.After(now.Add(time.Second)): // tolerates clock skew
		return Invalid("to", "to must not be in the future")
	}
	return nil
}

// Void is a job that reverses all events of a sender, or those that a what-if has rejected.
type Void struct {
	ID      int64
	Sender  Sender  // of a what-if only From and To, of its events
	Board   BoardID // of the what-if; empty: none
	Digest  string  // of the what-if's events
	Reason  string
	Actor   UserID
	Created time.Time
	State   VoidState
	Done    time.Time // zero until all is reversed; starts the undo window
	// Events by progress; Undone is a part of Reversed.
	Todo, Reversed, Skipped, Undone int64
	// Skipped events by reason, the ten most frequent.
	SkippedFor map[string]int64
	// ClosedBoards counts the corrected events that have ended boards, by such a board, the
	// ten most frequent. There the events stay as they were.
	ClosedBoards map[BoardID]int64
	// Problem is why the last attempt to work on the void ended early; empty: it did
	// not. The void is tried again at Next.
	Problem  string
	Attempts int // failed in a row
	Next     time.Time
	// Wait is how long the void has nothing to do, because its remaining events wait;
	// known only to the one that works on it.
	Wait time.Duration
	// Waiting is the number of events in Todo, or Reversed while it is undone, that
	// failed and are tried again.
	Waiting int64
	// Failed are events that wait or are skipped, at most MaxVoidFailures, waiting ones
	// first.
	Failed []VoidFailure
	// Rewards are those that are taken back now; after an undo, none.
	Rewards VoidedRewards
	// Of the undo; zero until it is requested.
	UndoAt     time.Time
	UndoBy     UserID
	UndoReason string
}

// MaxVoidFailures bounds the failures that are listed for a void or a user.
const MaxVoidFailures = 20

// VoidFailure is an event that a void could not reverse or restore.
type VoidFailure struct {
	Void     int64
	User     UserID
	Event    [16]byte
	Skipped  bool // it is not tried again
	Reason   string
	Attempts int
	Next     time.Time // of the next attempt; zero if it was skipped
}

// VoidState is the progress of a void.
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
	Rewards       VoidedRewards
}

// MaxVoidedRewards bounds the rewards that a preview lists.
const MaxVoidedRewards = 100

// VoidedRewards are the rewards that a void takes back.
type VoidedRewards struct {
	Revoked int64         // unclaimed ones
	Flagged int64         // claimed ones
	First   []RewardGrant // in a preview, by period and user
}

// VoidedBoard is the part of a void on one board.
type VoidedBoard struct {
	Board   BoardID
	Events  int64
	Users   int64
	Applied int64 // sum of the events' effects on scores, at most ±MaxScore
	Ended   bool  // the board stays as it is
}
