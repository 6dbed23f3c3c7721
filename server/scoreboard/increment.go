package scoreboard

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"time"
)

// Increment is one submitted event: validated and verified, not yet recorded.
type Increment struct {
	User  UserID
	Delta int64
	// Subscore decides among equal scores, on boards that have subscores; nil: none, which counts as 0.
	Subscore *Score
	Event    EventID
	Boards   []BoardID // as requested; never empty once validated
	// ByRules says that the request names no board: beside the default board, or that of its
	// dialect, it counts on those whose rule matches it, of RuleBoards unless that is empty.
	ByRules    bool
	RuleBoards []BoardID
	Matched    []BoardID // by rules, in order; set when it is recorded
	Attributes Attributes
	// IfPeriod is the period of one of Boards that must be current; "": any is.
	IfPeriod BoardID
	Metadata Metadata
	Action   string
	// Once is the window of its action's rule, if that has none; see Rule.Once.
	Once   time.Duration
	Client time.Time // the client's timestamp, kept for the audit only
	// Accepted is when the server queued it; zero if it is recorded at once. It
	// decides the period.
	Accepted time.Time
	Source   Source
	KeyID    string // of the signature
	Signer   string // subject of the token or attestation
	Address  string
	Agent    string
	Trace    string // W3C traceparent if the request is sampled, else ""
	Server   bool   // the token may act for any user
	Country  string // two letters; empty: unknown

	ActionID   [16]byte // of the action token; zero: none
	ActionTime ActionTime
	Attested   bool // by an authoritative server
	// OnlyIfBetter records nothing, not even the event, where the score is not better than
	// the user's on a board of mode best. For a dialect whose specification wants it so.
	OnlyIfBetter bool
	// Objection is why it is rejected, unless the event is known: a repeat gets
	// its receipt even if a token has expired since.
	Objection *Error
}

// Source is how an increment was submitted.
type Source string

const (
	SourceAPI   Source = "api"
	SourceBatch Source = "batch"
	SourceAsync Source = "async"
	SourceAdmin Source = "admin"
)

// Internal reports whether the server itself is the source. Ids of internal events are
// in a space of their own: a client's event with the same id is another event.
func (s Source) Internal() bool { return s == SourceAdmin }

// MaxActionLength is the longest action name, in bytes.
const MaxActionLength = 64

// CheckAction accepts an empty action or 1 to 64 of A-Z a-z 0-9 . _ : @ -.
func CheckAction(s string) error {
	if s != "" && !isName(s, MaxActionLength) {
		return Invalid("action", "action must be 1 to %d characters of A-Z a-z 0-9 . _ : @ -", MaxActionLength)
	}
	return nil
}

// The actions of corrections, which clients cannot name.
const (
	ActionAdjust   = "adjust"
	ActionReversal = "reversal:" // followed by the id of the reversed event
	ActionUndo     = "undo:"     // followed by the id of the event that counts again
)

// ActionImport is the action of internal events that an import has written. An event of a
// client with this action is not one.
const ActionImport = "import"

// ActionTeam is the action of internal events that set the score of a team to what its
// members have.
const ActionTeam = "team"

// CheckClientAction is CheckAction for an action that a client names: not one that is
// shown for a correction.
func CheckClientAction(s string) error {
	if s == ActionAdjust || strings.HasPrefix(s, ActionReversal) || strings.HasPrefix(s, ActionUndo) {
		return Invalid("action", "action %s is reserved for corrections", s)
	}
	return CheckAction(s)
}

// EventKind tells a client's event from corrections, whose ids are apart.
type EventKind string

// The kinds of events.
const (
	KindEvent      EventKind = "event"
	KindAdjustment EventKind = "adjustment"
	KindReversal   EventKind = "reversal"
	KindUndo       EventKind = "undo"
	KindImport     EventKind = "import"
	KindTeam       EventKind = "team"
)

// KindOf returns the kind of a ledger row by its source and action.
func KindOf(internal bool, action string) EventKind {
	switch {
	case !internal:
		return KindEvent
	case strings.HasPrefix(action, ActionReversal):
		return KindReversal
	case strings.HasPrefix(action, ActionUndo):
		return KindUndo
	case action == ActionImport:
		return KindImport
	case action == ActionTeam:
		return KindTeam
	}
	return KindAdjustment
}

// ParseEventKind parses what an operator may reverse: event, adjustment, or "" for
// whichever there is.
func ParseEventKind(s string) (EventKind, error) {
	switch kind := EventKind(s); kind {
	case "", KindEvent, KindAdjustment:
		return kind, nil
	}
	return "", Invalid("kind", "kind must be %s or %s", KindEvent, KindAdjustment)
}

// Reversing is how an event is reversed.
type Reversing struct {
	Kind       EventKind // "": whichever there is
	OpenBoards bool      // leave boards that have ended as they are
}

// Targets are all boards of the increment: the requested ones, and those that rules add.
func (in *Increment) Targets() []BoardID {
	if len(in.Matched) == 0 {
		return in.Boards
	}
	return slices.Concat(in.Boards, in.Matched)
}

// PayloadHash covers what a retry must not change: user, delta, requested boards, action,
// attributes, metadata and subscore. It excludes timestamp, signature and key, because a retry is signed
// again.
func (in *Increment) PayloadHash() [16]byte {
	b := make([]byte, 0, 128)
	b = appendString(b, string(in.User))
	b = binary.BigEndian.AppendUint64(b, uint64(in.Delta))
	b = appendString(b, in.Action)
	for _, board := range in.Boards {
		b = appendString(b, string(board))
	}
	b = in.Metadata.appendHashed(in.Attributes.appendHashed(b))
	if in.Subscore != nil {
		b = binary.BigEndian.AppendUint32(b, subscoreMark)
		b = binary.BigEndian.AppendUint64(b, uint64(*in.Subscore))
	}
	sum := sha256.Sum256(b)
	return [16]byte(sum[:16])
}

func appendString(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
	return append(b, s...)
}

// Receipt is the outcome of one event on one board.
type Receipt struct {
	User             UserID
	Board            BoardID // the instance, for a periodic board
	Event            EventID
	NewScore         Score
	NewSubscore      Score  // 0 on a board without subscores, as those below
	PreviousSubscore *Score // nil where Previous is
	Previous         *Score // nil for the first score on a best or latest board
	Applied          int64  // after − before
	Version          int64  // counts the user's ledger rows on the board: 1, 2, 3
	RecordedAt       time.Time
	Replayed         bool // the event was known; everything but Rank is the original
	// NotRecorded says that an increment with OnlyIfBetter was not better: the score, the
	// version and the time at which it was reached are the user's, and nothing was written.
	NotRecorded bool
	Reversed    bool
	Rank        *int64 // 1-based, current; nil if it was not available in time
}

// Moved reports whether the event changed the user's score or subscore.
func (r *Receipt) Moved() bool {
	var before Score
	if r.PreviousSubscore != nil {
		before = *r.PreviousSubscore
	}
	return r.Applied != 0 || r.NewSubscore != before
}

// Rejection is why an event was not recorded after it had been accepted.
type Rejection struct {
	Reason *Error
	// Accepted is when the rejected increment was accepted: an attempt that was
	// accepted later has its own outcome.
	Accepted time.Time
}

// Outcome is the result of one increment of a batch: receipts in the order of its
// boards, then of those that rules added, by name; or an error.
type Outcome struct {
	Receipts []Receipt
	Err      error
}
