package scoreboard

import (
	"net/url"
	"time"
	"unicode"
	"unicode/utf8"
)

// Profile is how a user wants to be shown. Either field may be empty.
type Profile struct {
	User        UserID
	DisplayName string
	AvatarURL   string
	UpdatedAt   time.Time
}

// Bounds of a profile: characters of a name, bytes of an address.
const (
	MaxDisplayName = 32
	MaxAvatarURL   = 512
)

// Check says what about a profile cannot be shown to others, as an
// invalid_request. A name is 1 to 32 characters of any script, without control
// characters, line breaks and what changes the direction of text, so that it
// can neither break a list nor pass for another's; spaces are single and
// inside. An avatar is an https URL without a password in it.
func (p *Profile) Check() error {
	if err := checkDisplayName(p.DisplayName); err != nil {
		return err
	}
	return checkAvatarURL(p.AvatarURL)
}

func checkDisplayName(name string) error {
	if name == "" {
		return nil
	}
	if !utf8.ValidString(name) || utf8.RuneCountInString(name) > MaxDisplayName {
		return Invalid("display_name", "display_name must be 1 to %d characters", MaxDisplayName)
	}
	before, seen := ' ', false
	for _, c := range name {
		switch {
		case c == ' ' && before == ' ':
			return Invalid("display_name", "display_name must not begin with a space or hold two in a row")
		case c == ' ', c == zeroWidthJoiner && seen, unicode.Is(unicode.Variation_Selector, c) && seen:
			// Both join emoji, after something that they can change.
		case c == utf8.RuneError, !unicode.IsGraphic(c), unicode.Is(unicode.Zs, c), unicode.Is(unicode.Cf, c):
			return Invalid("display_name", "display_name must not hold control characters, unusual spaces or invisible characters")
		default:
			seen = true
		}
		before = c
	}
	if before == ' ' || !seen {
		return Invalid("display_name", "display_name must not end with a space, and must show something")
	}
	return nil
}

// zeroWidthJoiner makes one emoji out of several.
const zeroWidthJoiner = '\u200d'

func checkAvatarURL(text string) error {
	if text == "" {
		return nil
	}
	if len(text) > MaxAvatarURL {
		return Invalid("avatar_url", "avatar_url must be at most %d bytes", MaxAvatarURL)
	}
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c >= 0x7f || c == '"' || c == '<' || c == '>' || c == '\\' || c == '`' {
			return Invalid("avatar_url", "avatar_url must be a plain https URL")
		}
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return Invalid("avatar_url", "avatar_url must be an https URL with a host and without a user")
	}
	return nil
}
