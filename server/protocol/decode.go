package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// DecodeIncrement reads the body of an increment strictly: one object, known
// fields once each, a delta that is a plain JSON integer. By hand, because
// encoding/json takes the last of two equal fields, and half the time of the
// request. Errors are scoreboard.Errors that name the field; the request holds
// what was read before one, for the answer's event id.
func DecodeIncrement(body []byte) (*IncrementRequest, error) {
	s := scanner{b: body}
	r := &IncrementRequest{}
	if err := s.increment(r); err != nil {
		return r, err
	}
	if s.space(); s.i < len(s.b) {
		return r, scoreboard.Invalid("", "something follows the JSON object")
	}
	return r, nil
}

// DecodeBatch reads the body of a batch as strictly: {"items":[…]}.
func DecodeBatch(body []byte) (*Batch, error) {
	s := scanner{b: body}
	b := &Batch{}
	err := s.object(func(name string) error {
		if name != "items" {
			return unknown(name)
		}
		return s.array("items", func() error {
			if len(b.Items) == MaxBatch {
				return scoreboard.Invalid("items", "items must be at most %d", MaxBatch)
			}
			b.Items = append(b.Items, IncrementRequest{})
			return s.increment(&b.Items[len(b.Items)-1])
		})
	})
	if err != nil {
		return nil, err
	}
	if s.space(); s.i < len(s.b) {
		return nil, scoreboard.Invalid("", "something follows the JSON object")
	}
	return b, nil
}

func unknown(name string) error {
	const longest = 64
	return scoreboard.Invalid(name[:min(len(name), longest)], "there is no such field")
}

func (s *scanner) increment(r *IncrementRequest) error {
	return s.object(func(name string) (err error) {
		switch name {
		case "user_id":
			r.UserID, err = s.text(name)
		case "delta":
			r.Delta, err = s.integer(name)
		case "event_id":
			r.EventID, err = s.text(name)
		case "timestamp":
			r.Timestamp, err = s.text(name)
		case "signature":
			r.Signature, err = s.text(name)
		case "key_id":
			r.KeyID, err = s.text(name)
		case "board":
			r.Board, err = s.text(name)
		case "boards":
			r.Boards = []string{}
			err = s.array(name, func() error {
				if len(r.Boards) == scoreboard.MaxBoards {
					return scoreboard.Invalid(name, "boards must be at most %d", scoreboard.MaxBoards)
				}
				board, err := s.text(name)
				r.Boards = append(r.Boards, board)
				return err
			})
		case "action":
			r.Action, err = s.text(name)
		case "action_token":
			r.ActionToken, err = s.text(name)
		case "attestation":
			r.Attestation, err = s.text(name)
		default:
			err = unknown(name)
		}
		return err
	})
}

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

// object calls field at the value of each field, and refuses a name twice.
func (s *scanner) object(field func(name string) error) error {
	if err := s.take('{'); err != nil {
		return err
	}
	if s.more('}') {
		return nil
	}
	var room [12]string
	seen := room[:0]
	for {
		s.space()
		name, err := s.text("")
		if err != nil {
			return err
		}
		for _, other := range seen {
			if name == other {
				return scoreboard.Invalid(name, "%s stands twice", name)
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
	s.space()
	if s.i >= len(s.b) || s.b[s.i] != '"' {
		if name == "" {
			return "", scoreboard.Invalid("", "the body is not the JSON that is expected: want a field's name at byte %d", s.i)
		}
		return "", scoreboard.Invalid(name, "%s must be a string", name)
	}
	start, plain := s.i, true
	for s.i++; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			if plain {
				return string(s.b[start+1 : s.i-1]), nil
			}
			var v string
			if err := json.Unmarshal(s.b[start:s.i], &v); err != nil {
				return "", scoreboard.Invalid(name, "a string is malformed")
			}
			return v, nil
		case c == '\\':
			plain = false
			s.i++
		case c < ' ':
			return "", scoreboard.Invalid(name, "a string holds a control character")
		case c >= 0x80:
			plain = false // let encoding/json look at the UTF-8
		}
	}
	return "", scoreboard.Invalid(name, "a string has no end")
}

// integer reads a plain JSON integer. One that is whole but beyond
// scoreboard.MaxScore is a delta_out_of_range; 1.5, 1e3, -0 and "5" are not
// integers here, because what is signed must read one way only.
func (s *scanner) integer(name string) (int64, error) {
	s.space()
	start := s.i
	for s.i < len(s.b) && bytes.IndexByte([]byte("+-.0123456789eE"), s.b[s.i]) >= 0 {
		s.i++
	}
	text := s.b[start:s.i]
	digits := bytes.TrimPrefix(text, []byte("-"))
	ok := len(digits) > 0 && (digits[0] != '0' || len(text) == 1)
	for _, c := range digits {
		ok = ok && '0' <= c && c <= '9'
	}
	if !ok {
		return 0, scoreboard.Invalid(name, "%s must be a JSON integer", name)
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n > scoreboard.MaxScore || n < -scoreboard.MaxScore {
		return 0, &scoreboard.Error{
			Code: scoreboard.CodeDeltaOutOfRange, Field: name,
			Message: fmt.Sprintf("%s must be within ±%d", name, int64(scoreboard.MaxScore)),
		}
	}
	return n, nil
}
