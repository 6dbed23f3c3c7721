package scoreboard

import "strings"

// What the server names itself. Nobody may bring such an id or name: it would read as the
// server's in boards, statements and the audit trail.
const (
	reservedUser          = "me"          // stands for the token's user in paths
	teamUsers             = "team:"       // then a team: the user whose score is the team's
	anonymousUsers        = "erased-"     // then random text: the owner of an erased user's rows
	databaseUsers         = "role:"       // then a role of PostgreSQL, in the audit trail
	SystemActor    UserID = "scoreboardd" // the Actor of what the daemon does by itself
)

var (
	reservedIDs      = []string{reservedUser, string(SystemActor)}
	reservedPrefixes = []string{teamUsers, anonymousUsers, databaseUsers}
)

// Reserved reports whether a user id has a form that the server makes itself.
func (u UserID) Reserved() bool {
	for _, id := range reservedIDs {
		if string(u) == id {
			return true
		}
	}
	return hasReservedPrefix(string(u))
}

func hasReservedPrefix(s string) bool {
	for _, prefix := range reservedPrefixes {
		if strings.HasPrefix(s, prefix) {
			return true
		}
	}
	return false
}

// AnonymousUser returns the owner of an erased user's rows; text is random.
func AnonymousUser(text string) UserID { return UserID(anonymousUsers + strings.ToLower(text)) }

// Anonymous reports whether a user id is the owner of an erased user's rows.
func (u UserID) Anonymous() bool { return strings.HasPrefix(string(u), anonymousUsers) }

// ParseClientUserID is ParseUserID for an id that a client brings into the installation, to
// write for it. One that the server could have made is an invalid_request. Ids that were
// accepted before they were reserved can still be read, moderated and erased.
func ParseClientUserID(s string) (UserID, error) {
	user, err := ParseUserID(s)
	if err == nil && user.Reserved() {
		return "", Invalid("user_id", "user_id must not be %q or begin with %s: the server makes such ids itself",
			string(SystemActor), strings.Join(reservedPrefixes, ", "))
	}
	return user, err
}

// tildes are characters that look like the first one of a pseudonym.
const tildes = "~˜˷∼∽〜⁓～"

// reservedName reports whether a display name reads as a name that the server makes: a
// reserved user id in any case, or a pseudonym. "me" is a name like any other.
func reservedName(name string) bool {
	lower := strings.ToLower(name)
	if lower == string(SystemActor) || hasReservedPrefix(lower) {
		return true
	}
	text := strings.TrimLeft(lower, tildes)
	return len(text) < len(lower) && len(text) == pseudonymLength && isName(text, pseudonymLength)
}
