package scoreboard

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// IsText reports whether s can be stored and shown: valid UTF-8 without control
// characters (C0 with NUL and line breaks, DEL, C1) and without U+FFFD, which decoders
// put in place of what they could not decode.
func IsText(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f {
			return isText(s[i:])
		}
	}
	return true // ASCII, as nearly always
}

// ParseTime parses an RFC 3339 time, and returns it in UTC. It is stricter than time.Parse,
// which also accepts an hour of one digit, a comma before the fraction and an offset of a day,
// and accepts t and z in lower case. Leap seconds are rejected: no clock that Go reads has them.
func ParseTime(s string) (time.Time, error) {
	if !isRFC3339(s) {
		return time.Time{}, fmt.Errorf("%.40q is not an RFC 3339 time", s)
	}
	t, err := time.Parse(time.RFC3339, strings.ToUpper(s))
	if err == nil && !IsWritable(t) {
		err = fmt.Errorf("%s is not in the years 1 to 9999 of UTC", s)
	}
	if err != nil {
		return time.Time{}, err
	}
	return t.UTC(), nil
}

// maxTime bounds the text of a time: digits beyond nanoseconds are dropped.
const maxTime = 64

// isRFC3339 reports whether s has the form of an RFC 3339 time, and its offset is one.
// time.Parse checks the date and the time of day.
func isRFC3339(s string) bool {
	const seconds = len("2006-01-02T15:04:05")
	if len(s) > maxTime || len(s) <= seconds || !hasForm(s[:seconds], "0000-00-00T00:00:00") {
		return false
	}
	zone := s[seconds:]
	if fraction, ok := strings.CutPrefix(zone, "."); ok {
		if zone = strings.TrimLeft(fraction, "0123456789"); zone == fraction {
			return false
		}
	}
	if zone == "Z" || zone == "z" {
		return true
	}
	return (hasForm(zone, "+00:00") || hasForm(zone, "-00:00")) && zone[1:3] < "24" && zone[4:] < "60"
}

// hasForm reports whether s has a digit for each 0 of a form, and else its characters; t is
// the same as T.
func hasForm(s, form string) bool {
	if len(s) != len(form) {
		return false
	}
	for i := range len(form) {
		switch c := form[i]; {
		case c == '0' && '0' <= s[i] && s[i] <= '9', c == s[i], c == 'T' && s[i] == 't':
		default:
			return false
		}
	}
	return true
}

// IsWritable says whether a time can be written in RFC 3339 in UTC. A text with an offset
// can name one that cannot, at either end of the calendar.
func IsWritable(t time.Time) bool {
	year := t.UTC().Year()
	return year >= 1 && year <= 9999
}

var (
	firstTime = time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC) // the zero time means none
	lastTime  = time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
)

// WritableTime returns t in UTC or, if that cannot be written (IsWritable), about the
// nearest time that can, which is not the zero time. It is for times that were not
// checked when they entered, such as those that Redis has stored.
func WritableTime(t time.Time) time.Time {
	t = t.UTC()
	switch year := t.Year(); {
	case year < 1:
		return firstTime
	case year > 9999:
		return lastTime
	}
	return t
}

func isText(s string) bool {
	for _, c := range s {
		if c == utf8.RuneError || unicode.IsControl(c) {
			return false
		}
	}
	return true
}

// Escape makes a text of others safe to show within a line: control characters could
// drive a terminal, and direction marks make a line read as another one. Characters
// without a glyph become \u202e or \U000e0041, bytes that are not UTF-8 \ufffd.
func Escape(s string) string {
	safe := func(r rune) bool { return unicode.IsGraphic(r) && r != utf8.RuneError }
	if !strings.ContainsFunc(s, func(r rune) bool { return !safe(r) }) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case safe(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
