package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/scoreboard/scoreboard/internal/jsonint"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// scanner parses one JSON text.
type scanner struct {
	b []byte
	i int
	// anyText accepts strings that are not text: in our own records, where unknown
	// fields of a newer build are skipped.
	anyText bool
	// noNull rejects null: encoding/json would leave the field as it is, as if absent.
	noNull bool
	// opaque is the name of fields with any JSON, which skip takes as if neither were set; "" for none.
	opaque string
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

// expect consumes c, or returns an error.
func (s *scanner) expect(c byte) error {
	s.space()
	if s.i >= len(s.b) || s.b[s.i] != c {
		return scoreboard.Invalid("", "invalid JSON: expected %q at byte %d", c, s.i)
	}
	s.i++
	return nil
}

// accept consumes c if it comes next, and reports whether it did.
func (s *scanner) accept(c byte) bool {
	if s.space(); s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

// end returns an error if data follows.
func (s *scanner) end() error {
	if s.space(); s.i < len(s.b) {
		return scoreboard.Invalid("", "unexpected data after the JSON object")
	}
	return nil
}

// object calls field at the value of each field, and rejects duplicate names. The
// name is valid until field returns.
func (s *scanner) object(field func(name []byte) error) error {
	if err := s.expect('{'); err != nil {
		return err
	}
	if s.accept('}') {
		return nil
	}
	var buffer [20][]byte
	seen := buffer[:0]
	for {
		name, err := s.bytes("")
		if err != nil {
			return err
		}
		for _, other := range seen {
			if bytes.Equal(name, other) {
				return scoreboard.Invalid(string(name), "duplicate field %q", name)
			}
		}
		seen = append(seen, name)
		if err := s.expect(':'); err != nil {
			return err
		}
		if err := field(name); err != nil {
			return err
		}
		if !s.accept(',') {
			return s.expect('}')
		}
	}
}

func (s *scanner) array(name string, item func() error) error {
	s.space()
	if s.i >= len(s.b) || s.b[s.i] != '[' {
		return scoreboard.Invalid(name, "%s must be an array", name)
	}
	s.i++
	if s.accept(']') {
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		if !s.accept(',') {
			return s.expect(']')
		}
	}
}

// text parses a JSON string.
func (s *scanner) text(name string) (string, error) {
	b, err := s.bytes(name)
	return string(b), err
}

// bytes parses a JSON string, without a copy if nothing is escaped.
func (s *scanner) bytes(name string) ([]byte, error) {
	s.space()
	if s.i >= len(s.b) || s.b[s.i] != '"' {
		if name == "" {
			return nil, scoreboard.Invalid("", "invalid JSON: expected a field name at byte %d", s.i)
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
				return nil, scoreboard.Invalid(name, "malformed string")
			}
			if !s.anyText && !scoreboard.IsText(v) { // encoding/json puts U+FFFD for what is not UTF-8
				return nil, errNotText(name)
			}
			return []byte(v), nil
		case c == '\\':
			plain = false
			s.i++
		case c < ' ', c == 0x7f && !s.anyText:
			return nil, errNotText(name)
		case c >= 0x80:
			plain = false
		}
	}
	return nil, scoreboard.Invalid(name, "unterminated string")
}

func errNotText(name string) error {
	return scoreboard.Invalid(name, "strings must be UTF-8 without control characters")
}

// integer parses a plain JSON integer of 64 bits, as our own records have. 1.5, 1e3, -0
// and "5" are rejected.
func (s *scanner) integer(name string) (n int64, fits bool, err error) {
	s.space()
	start := s.i
	for s.i < len(s.b) && jsonint.IsPart(s.b[s.i]) {
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

// delta parses a whole number, however it is written, and returns its text, too; beyond
// scoreboard.MaxScore it is a delta_out_of_range.
func (s *scanner) delta(name string) (n int64, text []byte, err error) {
	s.space()
	start := s.i
	for s.i < len(s.b) && jsonint.IsPart(s.b[s.i]) {
		s.i++
	}
	text = s.b[start:s.i]
	n, whole, fits := jsonint.Parse(text)
	if !whole {
		return 0, text, scoreboard.Invalid(
			name, "%s must be a whole number of at most %d characters", name, jsonint.MaxLength,
		)
	}
	if !fits || n > scoreboard.MaxScore || n < -scoreboard.MaxScore {
		return 0, text, &scoreboard.Error{
			Code: wire.CodeDeltaOutOfRange, Field: name,
			Message: fmt.Sprintf("%s must be within ±%d", name, int64(scoreboard.MaxScore)),
		}
	}
	return n, text, nil
}

// number parses an integer that must fit into 64 bits.
func (s *scanner) number(name string) (int64, error) {
	n, fits, err := s.integer(name)
	if err == nil && !fits {
		err = scoreboard.Invalid(name, "%s exceeds 64 bits", name)
	}
	return n, err
}

// literal consumes true, false or null if it comes next.
func (s *scanner) literal(w string) bool {
	s.space()
	if !bytes.HasPrefix(s.b[s.i:], []byte(w)) {
		return false
	}
	s.i += len(w)
	return true
}

// maxDepth bounds the nesting of skipped values.
const maxDepth = 16

// skip consumes any value of the field with a name.
func (s *scanner) skip(name string, depth int) error {
	if depth > maxDepth {
		return scoreboard.Invalid("", "the JSON is nested too deeply")
	}
	if name != "" && name == s.opaque {
		outside := *s
		s.noNull, s.anyText, s.opaque = false, true, ""
		defer func() { s.noNull, s.anyText, s.opaque = outside.noNull, outside.anyText, outside.opaque }()
	}
	s.space()
	if s.i >= len(s.b) {
		return scoreboard.Invalid("", "unexpected end of JSON")
	}
	switch s.b[s.i] {
	case '{':
		return s.object(func(field []byte) error {
			if s.noNull && otherCase(field) {
				return unknown(field)
			}
			return s.skip(string(field), depth+1)
		})
	case '[':
		return s.array("", func() error { return s.skip(name, depth+1) })
	case '"':
		_, err := s.bytes(name)
		return err
	}
	if s.noNull && s.literal("null") {
		return scoreboard.Invalid(name, "%s must not be null; leave the field out", name)
	}
	for _, w := range []string{"true", "false", "null"} {
		if s.literal(w) {
			return nil
		}
	}
	start := s.i
	for s.i < len(s.b) && jsonint.IsPart(s.b[s.i]) {
		s.i++
	}
	if !json.Valid(s.b[start:s.i]) {
		return scoreboard.Invalid("", "invalid JSON: expected a value at byte %d", start)
	}
	return nil
}
