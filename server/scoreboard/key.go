package scoreboard

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

// Key is a signing key as operators see it, without its secrets.
type Key struct {
	ID      string
	Name    string
	Scope   KeyScope
	Created time.Time
	Expires time.Time // zero: never
	Revoked time.Time // zero: not revoked
	// Generation counts the key's secrets. The previous secret is valid until
	// Retires, which is zero if that has passed or there is none.
	Generation int
	Retires    time.Time
}

// SigningKey is a key as needed for verification.
type SigningKey struct {
	Secrets []EncryptedSecret // several while the key is being rotated
	Expires time.Time         // zero: never
	Scope   KeyScope
}

// EncryptedSecret is a secret encrypted with the master key. It is valid until
// Retires, which is zero for the newest.
type EncryptedSecret struct {
	Encrypted []byte
	Retires   time.Time
}

// KeyScope limits what a key may sign. Empty fields impose no limit.
type KeyScope struct {
	Boards     []BoardID
	UserPrefix string // of user ids
	MaxDelta   int64  // of one event, in either direction
	PerMinute  int    // events
}

// Check returns a forbidden or a delta_out_of_range if the key may not sign an
// increment. The caller enforces PerMinute.
func (s *KeyScope) Check(in *Increment) error {
	if !strings.HasPrefix(string(in.User), s.UserPrefix) {
		return Errorf(wire.CodeForbidden, "the key may sign only for user ids with prefix %s", s.UserPrefix)
	}
	for _, board := range in.Boards {
		if len(s.Boards) > 0 && !slices.Contains(s.Boards, board) {
			return Errorf(wire.CodeForbidden, "the key may not sign for board %s", board)
		}
	}
	if s.MaxDelta > 0 && (in.Delta > s.MaxDelta || in.Delta < -s.MaxDelta) {
		return &Error{
			Code: wire.CodeDeltaOutOfRange, Field: "delta", Reason: wire.ReasonKeyScope,
			Message: fmt.Sprintf("the key may sign deltas up to ±%d", s.MaxDelta),
		}
	}
	return nil
}
