package protocol

import (
	"bytes"
	"unicode"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// CheckObject refuses what encoding/json would let pass in a body: a field
// twice, of which it takes the last; a name in other letters, which it takes for
// the same; and something behind the object.
func CheckObject(body []byte) error {
	s := scanner{b: body}
	err := s.object(func(name []byte) error {
		if bytes.ContainsFunc(name, func(r rune) bool { return unicode.ToLower(r) != r || r > unicode.MaxASCII }) {
			return unknown(name)
		}
		return s.skip(1)
	})
	if err != nil {
		return err
	}
	if s.space(); s.i < len(s.b) {
		return scoreboard.Invalid("", "something follows the JSON object")
	}
	return nil
}
