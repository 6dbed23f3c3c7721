package scoreboard

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// SigningKey is a key as those who verify by it need it.
type SigningKey struct {
	Secrets []SealedSecret // several while the key is being rotated
	Expires time.Time      // zero: never
	Scope   KeyScope
}

// SealedSecret is a secret under the master key. It is live until Retires,
// which is zero for the newest.
type SealedSecret struct {
	Sealed  []byte
	Retires time.Time
}

// KeyScope bounds what a key may sign. What is empty bounds nothing.
type KeyScope struct {
	Boards     []BoardID
	UserPrefix string // of the users' ids
	MaxDelta   int64  // of one event, in either direction
	PerMinute  int    // events
}

// Check says whether the key may sign an increment: a forbidden or a
// delta_out_of_range if not. PerMinute is the caller's to count.
func (s *KeyScope) Check(in *Increment) error {
	if !strings.HasPrefix(string(in.User), s.UserPrefix) {
		return Errorf(CodeForbidden, "the key signs for users whose id begins with %s", s.UserPrefix)
	}
	for _, board := range in.Boards {
		if len(s.Boards) > 0 && !slices.Contains(s.Boards, board) {
			return Errorf(CodeForbidden, "the key does not sign for board %s", board)
		}
	}
	if s.MaxDelta > 0 && (in.Delta > s.MaxDelta || in.Delta < -s.MaxDelta) {
		return &Error{
			Code: CodeDeltaOutOfRange, Field: "delta", Reason: ReasonKeyScope,
			Message: fmt.Sprintf("the key signs deltas of at most ±%d", s.MaxDelta),
		}
	}
	return nil
}
