package scoreboard

import "time"

// UserID names a user: 1 to 64 of A-Z a-z 0-9 . _ : @ -.
// The alphabet cannot hold the delimiter of the field signature.
type UserID string

// MaxUserIDLength is the longest user id, in bytes.
const MaxUserIDLength = 64

// ParseUserID checks s and returns it as a UserID, or an invalid_request.
func ParseUserID(s string) (UserID, error) {
	if !isName(s, MaxUserIDLength) {
		return "", Invalid("user_id", "user_id must be 1 to %d of A-Z a-z 0-9 . _ : @ -", MaxUserIDLength)
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

// UserState is what a user is now: active, frozen (writes nothing), banned (and
// is not seen) or erased.
type UserState struct {
	User    UserID
	Status  string
	Changed bool // by what was just asked for; false: it was so before
	// Moved are the revisions of scores that this shows or hides, by board.
	Moved   map[BoardID]int64
	Pending bool // rankings do not show it yet
}

// UserRecord is what an operator looks at before deciding about a user.
type UserRecord struct {
	User      UserID
	Status    string
	Created   time.Time
	Since     time.Time // frozen or banned; zero where the user is neither
	By        UserID
	Reason    string
	OpenFlags int64
	Scores    []Change // the last that moved
}

// Erased is a user who is erased, of whom the name is left for a time.
type Erased struct {
	User       UserID
	Anonymous  UserID // where the ledger goes
	Unfinished bool   // and has not all gone
}

// ErasureTime is how long the name of an erased user is kept: longer than
// anything of that user can be on its way.
const ErasureTime = 30 * 24 * time.Hour
