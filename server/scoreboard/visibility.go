package scoreboard

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"strings"
	"time"
)

// Visibility is to whom a user's id and profile are shown on boards. Ranks and scores are the same for
// all of them, but for private users, who are on no board.
type Visibility string

// The visibilities. Users themselves, servers that look a user up, and operators see who it
// is in any case.
const (
	VisibilityPublic    Visibility = "public"    // everyone; the default
	VisibilityFriends   Visibility = "friends"   // friends; others see a pseudonym
	VisibilityPseudonym Visibility = "pseudonym" // nobody else
	VisibilityPrivate   Visibility = "private"   // friends, and the user is on no board
)

// ParseVisibility returns an invalid_request for any other text.
func ParseVisibility(text string) (Visibility, error) {
	switch v := Visibility(text); v {
	case VisibilityPublic, VisibilityFriends, VisibilityPseudonym, VisibilityPrivate:
		return v, nil
	}
	return "", Invalid("visibility", "visibility must be public, friends, pseudonym or private")
}

// ToFriends reports whether friends see the user.
func (v Visibility) ToFriends() bool { return v == VisibilityFriends || v == VisibilityPrivate }

// Covers reports whether everyone who sees a user of to, or of to's place on boards, sees one of v.
func (v Visibility) Covers(to Visibility) bool {
	switch to {
	case VisibilityPublic:
		return v == VisibilityPublic
	case VisibilityFriends:
		return v == VisibilityPublic || v == VisibilityFriends
	case VisibilityPrivate:
		return v != VisibilityPseudonym
	case VisibilityPseudonym:
		return v != VisibilityPrivate
	}
	return false
}

// Hides reports whether a change to another visibility shows the user to nobody who does not see
// them now, or takes them off the boards.
func (v Visibility) Hides(to Visibility) bool {
	return v != to && (v.Covers(to) || to == VisibilityPrivate)
}

// Privacy is a user's visibility, with its history.
type Privacy struct {
	User       UserID
	Visibility Visibility
	// Key makes the user's pseudonyms. It is a secret: with it and the id, anyone could tell
	// whether a pseudonym is this user's. It never changes.
	Key       []byte
	ChangedAt time.Time // zero: never
	Pending   bool      // rankings do not reflect this change yet
}

// NewPseudonymKey returns a random key of 32 bytes.
func NewPseudonymKey() []byte {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // it never fails
	return key
}

// pseudonymMark begins every pseudonym. No user id contains it, so a pseudonym is never
// somebody's id.
const pseudonymMark = "~"

// pseudonymLength is the length of what follows the mark.
const pseudonymLength = 16

var pseudonymText = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Pseudonym returns the name of the key's user on a board, the instance of a periodic one: "~"
// and 16 characters, 80 bits of an HMAC. Without the key, the pseudonyms on two boards cannot
// be told to be of one user.
func Pseudonym(key []byte, board BoardID) UserID {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("pseudonym\n" + string(board)))
	return UserID(pseudonymMark + pseudonymText.EncodeToString(mac.Sum(nil)[:10]))
}

// Nobody returns an id that no user can have, for look-ups of a hidden user by those who may
// not see the user: they take the course of a look-up of somebody without a score.
func Nobody(user UserID) UserID { return pseudonymMark + user }

// Somebody returns the user of whom Nobody made an id; another id as it is.
func Somebody(user UserID) UserID { return UserID(strings.TrimPrefix(string(user), pseudonymMark)) }

// WithoutNobody returns a message about Nobody(user) as one about user.
func WithoutNobody(message string, user UserID) string {
	return strings.ReplaceAll(message, string(Nobody(user)), string(user))
}

// HiddenProfile returns how a hidden user is shown: under a pseudonym, without a name.
func HiddenProfile(user, pseudonym UserID) *Profile { return &Profile{User: pseudonym, hides: user} }

// ID returns the user of the row, also of a hidden one, whose User is a pseudonym.
func (e *Entry) ID() UserID {
	if e.Hidden() {
		return e.Profile.hides
	}
	return e.User
}

// Hidden reports whether User is a pseudonym.
func (e *Entry) Hidden() bool { return e.Profile != nil && e.Profile.hides != "" }

// Hide shows the user of the row as p, which HiddenProfile has made.
func (e *Entry) Hide(p *Profile) { e.User, e.Profile = p.User, p }

// Reveal shows the user of the row under the id again, without a profile.
func (e *Entry) Reveal() {
	if e.Hidden() {
		e.User, e.Profile = e.Profile.hides, nil
	}
}
