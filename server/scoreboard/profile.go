package scoreboard

import (
	"net/url"
	"time"
	"unicode"
	"unicode/utf8"
)

// Profile is how a user is displayed. Either field may be empty.
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

// Check validates a profile. It returns an invalid_request. A name is 1 to 32
// characters of any script without control characters, line breaks and direction
// marks, so that it cannot break a list or imitate another name; spaces are single
// and not at the ends. An avatar is an https URL without credentials.
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
			return Invalid("display_name", "display_name must not begin with a space or contain two in a row")
		case c == ' ', c == zeroWidthJoiner && seen, unicode.Is(unicode.Variation_Selector, c) && seen:
			// Both modify the preceding emoji.
		case c == utf8.RuneError, !unicode.IsGraphic(c), unicode.Is(unicode.Zs, c), unicode.Is(unicode.Cf, c):
			return Invalid(
				"display_name",
				"display_name must not contain control characters, unusual spaces or invisible characters",
			)
		default:
			seen = true
		}
		before = c
	}
	if before == ' ' || !seen {
		return Invalid("display_name", "display_name must not end with a space and must contain a visible character")
	}
	return nil
}

// zeroWidthJoiner joins several emoji into one.
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
		return Invalid("avatar_url", "avatar_url must be an https URL with a host and without credentials")
	}
	return nil
}
