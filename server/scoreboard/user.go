package scoreboard

import "time"

// UserID names a user: 1 to 64 of A-Z a-z 0-9 . _ : @ -.
// The alphabet excludes the delimiter of the field signature.
type UserID string

// MaxUserIDLength is the longest user id, in bytes.
const MaxUserIDLength = 64

// ParseUserID checks s and returns it as a UserID, or an invalid_request.
func ParseUserID(s string) (UserID, error) {
	if s == reservedUser {
		return "", Invalid("user_id", "user_id must not be %q, which stands for the token's user", reservedUser)
	}
	if !isName(s, MaxUserIDLength) {
		return "", Invalid("user_id", "user_id must be 1 to %d characters of A-Z a-z 0-9 . _ : @ -", MaxUserIDLength)
	}
	return UserID(s), nil
}

// isName reports whether s is 1 to limit bytes of the alphabet that user ids,
// event ids and action names share.
func isName(s string, limit int) bool {
	if s == "" || len(s) > limit {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '.', c == '_', c == ':', c == '@', c == '-':
		default:
			return false
		}
	}
	return true
}

// The statuses of a user.
const (
	UserActive = "active"
	UserFrozen = "frozen" // cannot write
	UserBanned = "banned" // cannot write, and is hidden from others
	UserErased = "erased" // only the name is kept, for Window.Tombstone
)

// UserState is a user's current status: active, frozen (cannot write), banned
// (cannot write and is hidden) or erased.
type UserState struct {
	User    UserID
	Status  string
	Changed bool // by this request; false: already so
	// Moved holds, by board, the revisions of scores that the change shows or hides.
	Moved   map[BoardID]int64
	Pending bool // rankings do not reflect it yet
}

// UserRecord is what an operator reviews before acting on a user.
type UserRecord struct {
	User      UserID
	External  string // the id of the identity provider, if User is derived from it
	Status    string
	Created   time.Time
	Since     time.Time // frozen or banned; zero otherwise
	By        UserID
	Reason    string
	OpenFlags int64
	// VoidFailures are events of the user that voids could not reverse or restore, at
	// most MaxVoidFailures, those of the newest voids first.
	VoidFailures []VoidFailure
	Scores       []Change // most recently changed
}

// ErasedUser is an erased user whose name is still kept.
type ErasedUser struct {
	User      UserID
	Anonymous UserID // the new owner of the ledger rows
}
