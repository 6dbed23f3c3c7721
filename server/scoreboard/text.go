package scoreboard

import (
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
	err = t.UnmarshalText([]byte(s))
	return t, err
}

func isText(s string) bool {
	for _, c := range s {
		if c == utf8.RuneError || unicode.IsControl(c) {
			return false
		}
	}
	return true
}
