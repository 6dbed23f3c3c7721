package scoreboard

import (
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Profile is how a user is displayed. Either field may be empty.
type Profile struct {
	User        UserID
	DisplayName string
	AvatarURL   string
	UpdatedAt   time.Time

	hides UserID // the user that is shown as User; "" where User is the user's own id
}

// FoundUser is a user that was searched for by name.
type FoundUser struct {
	User        UserID
	DisplayName string
	Status      string // active, frozen or banned
}

// Empty reports whether the profile says nothing about the user.
func (p *Profile) Empty() bool { return p.DisplayName == "" && p.AvatarURL == "" }

// Bounds of a profile: characters of a name, bytes of an address.
const (
	MaxDisplayName = 32
	MaxAvatarURL   = 512
)

// maxMarks is how many marks, such as accents, may follow a letter.
const maxMarks = 3

// Normalize brings the name into Unicode's form NFKC, but for accents that stand alone, and
// validates the profile. It returns
// an invalid_request. A name is 1 to 32 characters of one script, or of those that Japanese,
// Korean or Chinese are written with, among them Latin (Unicode TR 39, highly restrictive),
// with at most 3 marks on a letter, without control characters, line breaks, direction marks
// and characters without a glyph. So it cannot break a list or be invisible, and differs
// visibly from names of mixed letters; spaces are single and not at the ends. An avatar is an
// https URL without credentials.
func (p *Profile) Normalize() error {
	if !utf8.ValidString(p.DisplayName) || utf8.RuneCountInString(p.DisplayName) > MaxDisplayName {
		return errNameLength()
	}
	// Unusual spaces and the like are rejected, although NFKC would replace them.
	if err := checkLine("display_name", p.DisplayName); err != nil {
		return err
	}
	p.DisplayName = normalizeName(p.DisplayName)
	if utf8.RuneCountInString(p.DisplayName) > MaxDisplayName {
		return errNameLength()
	}
	if err := checkLine("display_name", p.DisplayName); err != nil {
		return err
	}
	if err := checkScripts(p.DisplayName); err != nil {
		return err
	}
	return checkHTTPSURL("avatar_url", p.AvatarURL, MaxAvatarURL)
}

// CheckReserved returns an invalid_request if the name, which is normalised, reads as one that
// the server makes.
func (p *Profile) CheckReserved() error {
	if reservedName(p.DisplayName) {
		return Invalid("display_name", "display_name must not look like a pseudonym or begin with %s",
			strings.Join(reservedPrefixes, ", "))
	}
	return nil
}

// normalizeName is a name in form NFKC. An accent that stands alone, such as a macron, stays as it
// is: in that form it would be a space with an accent on it.
func normalizeName(name string) string {
	var b strings.Builder
	rest := 0
	for i, c := range name {
		if c == ' ' || !strings.HasPrefix(norm.NFKC.String(string(c)), " ") {
			continue
		}
		b.WriteString(norm.NFKC.String(name[rest:i]))
		b.WriteRune(c)
		rest = i + utf8.RuneLen(c)
	}
	b.WriteString(norm.NFKC.String(name[rest:]))
	return b.String()
}

func errNameLength() error {
	return Invalid("display_name", "display_name must be 1 to %d characters", MaxDisplayName)
}

// checkLine validates the text of a field: one line of visible characters, with single spaces between them.
func checkLine(field, name string) error {
	if name == "" {
		return nil
	}
	before, seen, marks := ' ', false, 0
	runes := []rune(name)
	for i := 0; i < len(runes); i++ {
		c := runes[i]
		switch {
		case c == ' ' && before == ' ':
			return Invalid(field, "%s must not begin with a space or contain two in a row", field)
		case c == ' ':
		case c == zeroWidthJoiner || c == zeroWidthNonJoiner:
			if !joins(runes, i, before) {
				return errInvisible(field, i, c)
			}
		case c == emojiStyle:
			if !isEmoji(before) && !isKeycap(runes[i:], before) {
				return errInvisible(field, i, c)
			}
			continue // a joiner may follow, which joins what is before
		case c == blackFlag && tags(runes[i+1:]) > 0:
			i += tags(runes[i+1:])
			seen = true
		case unicode.Is(unicode.M, c) && seen && before != ' ': // an accent, on the preceding letter
			if isBlank(c) {
				return errInvisible(field, i, c)
			}
			if marks++; marks > maxMarks {
				return Invalid(field, "%s must not have more than %d marks on a letter", field, maxMarks)
			}
			continue
		case isReservedEmoji(c):
			seen = true
		case c == utf8.RuneError, !unicode.IsGraphic(c), unicode.Is(unicode.Zs, c), unicode.Is(unicode.Cf, c),
			unicode.Is(unicode.M, c), isBlank(c):
			return errInvisible(field, i, c)
		default:
			seen = true
		}
		before, marks = c, 0
	}
	if before == ' ' || !seen {
		return Invalid(field, "%s must not end with a space and must contain a visible character", field)
	}
	return nil
}

// errInvisible names the character c at index i of a field.
func errInvisible(field string, i int, c rune) error {
	return Invalid(field, "%s must not contain control characters, unusual spaces or "+
		"invisible characters: character %d is %U", field, i+1, c)
}

// isBlank reports whether a character has no glyph although Unicode counts it as
// graphic, such as the Hangul fillers and the empty Braille pattern.
func isBlank(c rune) bool {
	return unicode.Is(unicode.Other_Default_Ignorable_Code_Point, c) || unicode.Is(unicode.Variation_Selector, c) ||
		c == '\u2800' || c == '\U0001d159'
}

// Scripts that are written together.
var scriptsTogether = []string{"Latin Han Hiragana Katakana", "Latin Han Bopomofo", "Latin Han Hangul"}

// checkScripts rejects a name whose letters are of several scripts, such as a Cyrillic a in
// a Latin name, unless they are written together.
func checkScripts(name string) error {
	scripts := make(map[string]bool)
	for _, c := range name {
		if script := scriptOf(c); script != "Common" && script != "Inherited" && !isReservedEmoji(c) {
			scripts[script] = true
		}
	}
	if len(scripts) <= 1 {
		return nil
	}
	for _, together := range scriptsTogether {
		n := 0
		for script := range strings.FieldsSeq(together) {
			if scripts[script] {
				n++
			}
		}
		if n == len(scripts) {
			return nil
		}
	}
	return Invalid("display_name", "display_name must not mix letters of different scripts")
}

// scriptOf returns the script of a character, "" for one that is not assigned.
func scriptOf(c rune) string {
	if c < 0x80 {
		if 'a' <= c|0x20 && c|0x20 <= 'z' {
			return "Latin"
		}
		return "Common"
	}
	for name, table := range unicode.Scripts {
		if unicode.Is(table, c) {
			return name
		}
	}
	return ""
}

// ShownAs returns the user ids that the name looks like: itself, and itself in lower and
// upper case; none if it does not look like one.
func (p *Profile) ShownAs() []UserID {
	if _, err := ParseUserID(p.DisplayName); err != nil {
		return nil
	}
	return []UserID{
		UserID(p.DisplayName), UserID(strings.ToLower(p.DisplayName)), UserID(strings.ToUpper(p.DisplayName)),
	}
}

// checkHTTPSURL validates the address of a picture: an https URL without credentials.
func checkHTTPSURL(field, text string, limit int) error {
	if text == "" {
		return nil
	}
	if len(text) > limit {
		return Invalid(field, "%s must be at most %d bytes", field, limit)
	}
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c >= 0x7f || c == '"' || c == '<' || c == '>' || c == '\\' || c == '`' {
			return Invalid(field, "%s must be a plain https URL", field)
		}
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return Invalid(field, "%s must be an https URL with a host and without credentials", field)
	}
	return nil
}
