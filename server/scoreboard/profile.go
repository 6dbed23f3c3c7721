package scoreboard

import (
	"net/url"
	"strings"
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
// characters of any script without control characters, line breaks, direction marks
// and characters without a glyph, so that it cannot break a list, be invisible or
// imitate another name; spaces are single and not at the ends. An avatar is an https
// URL without credentials.
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
		case c == ' ', modifiesEmoji(c) && seen:
		case unicode.Is(unicode.M, c) && seen: // an accent, on the preceding letter
			if isBlank(c) {
				return errInvisible()
			}
		case c == utf8.RuneError, !unicode.IsGraphic(c), unicode.Is(unicode.Zs, c), unicode.Is(unicode.Cf, c),
			unicode.Is(unicode.M, c), isBlank(c):
			return errInvisible()
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

func errInvisible() error {
	return Invalid("display_name",
		"display_name must not contain control characters, unusual spaces or invisible characters")
}

// isBlank reports whether a character has no glyph although Unicode counts it as
// graphic, such as the Hangul fillers and the empty Braille pattern.
func isBlank(c rune) bool {
	return unicode.Is(unicode.Other_Default_Ignorable_Code_Point, c) || c == '\u2800' || c == '\U0001d159'
}

// modifiesEmoji reports whether a character is only visible by what it does to the
// emoji before it: the joiner and the variation selectors.
func modifiesEmoji(c rune) bool {
	const zeroWidthJoiner = '\u200d'
	return c == zeroWidthJoiner || unicode.Is(unicode.Variation_Selector, c)
}

// ShownAs returns the user id that the name looks like; false for none.
func (p *Profile) ShownAs() (UserID, bool) {
	id, err := ParseUserID(strings.Map(func(c rune) rune {
		if modifiesEmoji(c) {
			return -1
		}
		return c
	}, p.DisplayName))
	return id, err == nil
}

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
