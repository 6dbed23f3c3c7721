package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// scanner walks over one JSON text.
type scanner struct {
	b []byte
	i int
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\r', '\n':
			s.i++
		default:
			return
		}
	}
}

// take moves over c, or says that it was expected.
func (s *scanner) take(c byte) error {
	s.space()
	if s.i >= len(s.b) || s.b[s.i] != c {
		return scoreboard.Invalid("", "the body is not the JSON that is expected: want %q at byte %d", c, s.i)
	}
	s.i++
	return nil
}

// more reports whether c comes next, and moves over it.
func (s *scanner) more(c byte) bool {
	if s.space(); s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

// end says whether something follows.
func (s *scanner) end() error {
	if s.space(); s.i < len(s.b) {
		return scoreboard.Invalid("", "something follows the JSON object")
	}
	return nil
}

// object calls field at the value of each field, and refuses a name twice. The
// name is good until field returns.
func (s *scanner) object(field func(name []byte) error) error {
	if err := s.take('{'); err != nil {
		return err
	}
	if s.more('}') {
		return nil
	}
	var room [20][]byte
	seen := room[:0]
	for {
		name, err := s.bytes("")
		if err != nil {
			return err
		}
		for _, other := range seen {
			if bytes.Equal(name, other) {
				return scoreboard.Invalid(string(name), "%s stands twice", name)
			}
		}
		seen = append(seen, name)
		if err := s.take(':'); err != nil {
			return err
		}
		if err := field(name); err != nil {
			return err
		}
		if !s.more(',') {
			return s.take('}')
		}
	}
}

func (s *scanner) array(name string, item func() error) error {
	s.space()
	if s.i >= len(s.b) || s.b[s.i] != '[' {
		return scoreboard.Invalid(name, "%s must be an array", name)
	}
	s.i++
	if s.more(']') {
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		if !s.more(',') {
			return s.take(']')
		}
	}
}

// text reads a JSON string.
func (s *scanner) text(name string) (string, error) {
	b, err := s.bytes(name)
	return string(b), err
}

// bytes reads a JSON string, in place where nothing is escaped.
func (s *scanner) bytes(name string) ([]byte, error) {
	s.space()
	if s.i >= len(s.b) || s.b[s.i] != '"' {
		if name == "" {
			return nil, scoreboard.Invalid("", "the body is not the JSON that is expected: want a field's name at byte %d", s.i)
		}
		return nil, scoreboard.Invalid(name, "%s must be a string", name)
	}
	start, plain := s.i, true
	for s.i++; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			if plain {
				return s.b[start+1 : s.i-1], nil
			}
			var v string
			if err := json.Unmarshal(s.b[start:s.i], &v); err != nil {
				return nil, scoreboard.Invalid(name, "a string is malformed")
			}
			return []byte(v), nil
		case c == '\\':
			plain = false
			s.i++
		case c < ' ':
			return nil, scoreboard.Invalid(name, "a string holds a control character")
		case c >= 0x80:
			plain = false // let encoding/json look at the UTF-8
		}
	}
	return nil, scoreboard.Invalid(name, "a string has no end")
}

// integer reads a plain JSON integer of 64 bits. 1.5, 1e3, -0 and "5" are not
// integers here, because what is signed must read one way only.
func (s *scanner) integer(name string) (n int64, fits bool, err error) {
	s.space()
	start := s.i
	for s.i < len(s.b) && strings.IndexByte("+-.0123456789eE", s.b[s.i]) >= 0 {
		s.i++
	}
	text := s.b[start:s.i]
	digits := bytes.TrimPrefix(text, []byte("-"))
	ok := len(digits) > 0 && (digits[0] != '0' || len(text) == 1)
	for _, c := range digits {
		ok = ok && '0' <= c && c <= '9'
	}
	if !ok {
		return 0, false, scoreboard.Invalid(name, "%s must be a JSON integer", name)
	}
	n, err = strconv.ParseInt(string(text), 10, 64)
	return n, err == nil, nil
}

// delta reads an integer; one that is whole but beyond scoreboard.MaxScore is
// a delta_out_of_range.
func (s *scanner) delta(name string) (int64, error) {
	n, fits, err := s.integer(name)
	if err == nil && (!fits || n > scoreboard.MaxScore || n < -scoreboard.MaxScore) {
		err = &scoreboard.Error{
			Code: scoreboard.CodeDeltaOutOfRange, Field: name,
			Message: fmt.Sprintf("%s must be within ±%d", name, int64(scoreboard.MaxScore)),
		}
	}
	return n, err
}

// number reads an integer that must fit.
func (s *scanner) number(name string) (int64, error) {
	n, fits, err := s.integer(name)
	if err == nil && !fits {
		err = scoreboard.Invalid(name, "%s is beyond 64 bits", name)
	}
	return n, err
}

// word moves over true, false or null where it comes next.
func (s *scanner) word(w string) bool {
	s.space()
	if !bytes.HasPrefix(s.b[s.i:], []byte(w)) {
		return false
	}
	s.i += len(w)
	return true
}

// maxDepth bounds what skip goes into.
const maxDepth = 16

// skip moves over any value.
func (s *scanner) skip(depth int) error {
	if depth > maxDepth {
		return scoreboard.Invalid("", "the JSON is nested too deeply")
	}
	s.space()
	if s.i >= len(s.b) {
		return scoreboard.Invalid("", "the JSON ends early")
	}
	switch s.b[s.i] {
	case '{':
		return s.object(func([]byte) error { return s.skip(depth + 1) })
	case '[':
		return s.array("", func() error { return s.skip(depth + 1) })
	case '"':
		_, err := s.bytes("")
		return err
	}
	for _, w := range []string{"true", "false", "null"} {
		if s.word(w) {
			return nil
		}
	}
	start := s.i
	for s.i < len(s.b) && strings.IndexByte("+-.0123456789eE", s.b[s.i]) >= 0 {
		s.i++
	}
	if !json.Valid(s.b[start:s.i]) {
		return scoreboard.Invalid("", "the JSON has no value at byte %d", start)
	}
	return nil
}
