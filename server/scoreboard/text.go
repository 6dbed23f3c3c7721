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

// ParseTime parses an RFC 3339 time. It is stricter than time.Parse, which also accepts
// an hour of one digit and a comma before the fraction.
func ParseTime(s string) (t time.Time, err error) {
	if err = t.UnmarshalText([]byte(s)); err == nil && !IsWritable(t) {
		return time.Time{}, fmt.Errorf("%s is not in the years 1 to 9999 of UTC", s)
	}
	return t, err
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
// checked when they entered, such as those that Redis or an earlier version has stored.
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
