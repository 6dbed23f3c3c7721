package scoreboard

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// Increment is one submitted event, checked for form and signature, not yet
// recorded.
type Increment struct {
	User   UserID
	Delta  int64
	Event  EventID
	Boards []BoardID // as requested; never empty once validated
	Action string
	Client time.Time // the client's timestamp, kept for the audit only
	// Accepted is when the server took it for later; zero where it was recorded
	// at once. It decides the period.
	Accepted time.Time
	Source   Source
	KeyID    string // of the signature
	Signer   string // subject of the token or attestation
	Address  string
	Agent    string
	Trace    string // W3C traceparent
	Server   bool   // the token may act for any user
	Country  string // two letters, where it is known

	ActionID [16]byte // of the action token that it came with; zero: none
	Attested bool     // by an authoritative server
	// Objection is why it is refused, unless the event is known: a repeat is
	// answered with its receipt, whatever has expired since.
	Objection *Error
}

// Source says which way an increment came in.
type Source string

const (
	SourceAPI   Source = "api"
	SourceBatch Source = "batch"
	SourceAsync Source = "async"
	SourceAdmin Source = "admin"
)

// MaxActionLength is the longest action name, in bytes.
const MaxActionLength = 64

// CheckAction accepts an empty action or 1 to 64 of A-Z a-z 0-9 . _ : @ -.
func CheckAction(s string) error {
	if s != "" && !isName(s, MaxActionLength) {
		return Invalid("action", "action must be 1 to %d of A-Z a-z 0-9 . _ : @ -", MaxActionLength)
	}
	return nil
}

// PayloadHash identifies what a repeat must repeat: user, delta, boards as
// requested and action. Timestamp, signature and key are left out, because a
// retry is signed anew.
func (in *Increment) PayloadHash() [16]byte {
	b := make([]byte, 0, 128)
	b = appendString(b, string(in.User))
	b = binary.BigEndian.AppendUint64(b, uint64(in.Delta))
	b = appendString(b, in.Action)
	for _, board := range in.Boards {
		b = appendString(b, string(board))
	}
	sum := sha256.Sum256(b)
	return [16]byte(sum[:16])
}

func appendString(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
	return append(b, s...)
}
