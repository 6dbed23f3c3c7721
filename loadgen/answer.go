package loadgen

import (
	"bytes"
	"net/http"
	"strconv"
)

// answer is what matters of any answer to an increment. Its bytes are those of
// the body.
//
// It is read by hand: encoding/json takes longer for an answer than signing and
// recording do together.
type answer struct {
	applied  int64
	replayed bool
	receipt  bool // an item of a batch has one
	id       []byte
	code     []byte
}

// read reads an answer, and says whether it was one.
func (a *answer) read(body []byte) bool {
	rest, ok := object(body, a.field)
	return ok && len(bytes.TrimSpace(rest)) == 0
}

func (a *answer) field(name, value []byte) bool {
	switch string(name) {
	case "applied":
		n, err := strconv.ParseInt(string(value), 10, 64)
		a.applied = n
		return err == nil
	case "replayed":
		a.replayed = string(value) == "true"
	case "processed_event_id":
		a.id = unquote(value)
	case "error_code":
		a.code = unquote(value)
	}
	return true
}

// is says whether an id is that of the event.
func (e *event) is(id []byte) bool {
	var room [36]byte
	return bytes.Equal(appendUUID(room[:0], e.id), id)
}

// readBatch reads the answer to a batch, item by item.
func readBatch(body []byte, item func(answer)) bool {
	_, ok := object(body, func(name, value []byte) bool {
		if string(name) != "results" {
			return true
		}
		return array(value, func(result []byte) bool {
			var a answer
			_, ok := object(result, func(name, value []byte) bool {
				switch string(name) {
				case "receipt":
					a.receipt = true
					return a.read(value)
				case "error":
					return a.read(value)
				}
				return true
			})
			item(a)
			return ok
		})
	})
	return ok
}

// status is what an item of a batch would have been answered alone.
func (a *answer) status() int {
	switch code := string(a.code); {
	case a.receipt:
		return http.StatusOK
	case code == "event_conflict":
		return http.StatusConflict
	case code == "unavailable" || code == "overloaded" || code == "internal":
		return http.StatusServiceUnavailable
	case code != "":
		return http.StatusUnprocessableEntity
	}
	return http.StatusAccepted
}

// object calls field for each field of the object that b begins with, and
// returns what follows it.
func object(b []byte, field func(name, value []byte) bool) (rest []byte, ok bool) {
	if b = space(b); len(b) == 0 || b[0] != '{' {
		return nil, false
	}
	if b = space(b[1:]); len(b) > 0 && b[0] == '}' {
		return b[1:], true
	}
	for {
		name, after, ok := value(b)
		if after = space(after); !ok || len(name) < 2 || name[0] != '"' || len(after) == 0 || after[0] != ':' {
			return nil, false
		}
		v, after, ok := value(space(after[1:]))
		if !ok || !field(unquote(name), v) {
			return nil, false
		}
		if after = space(after); len(after) == 0 {
			return nil, false
		}
		switch after[0] {
		case '}':
			return after[1:], true
		case ',':
			b = space(after[1:])
		default:
			return nil, false
		}
	}
}

// array calls item for each item of the array that is b.
func array(b []byte, item func(value []byte) bool) bool {
	if len(b) < 2 || b[0] != '[' {
		return false
	}
	for b = space(b[1:]); len(b) > 0 && b[0] != ']'; {
		v, after, ok := value(b)
		if after = space(after); !ok || !item(v) || len(after) == 0 {
			return false
		}
		if b = after; b[0] == ',' {
			b = space(b[1:])
		}
	}
	return len(b) == 1
}

// value divides b behind the value that it begins with.
func value(b []byte) (v, rest []byte, ok bool) {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			end := quoted(b[i:])
			if end < 0 {
				return nil, nil, false
			}
			i += end
			if depth == 0 {
				return b[:i+1], b[i+1:], true
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 { // that of what holds a number or a word
				return b[:i], b[i:], i > 0
			}
			if depth--; depth == 0 {
				return b[:i+1], b[i+1:], true
			}
		case ',', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return b[:i], b[i:], i > 0
			}
		}
	}
	return nil, nil, false
}

// quoted is where the text ends that b begins with.
func quoted(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// unquote takes the quotes off. Nothing that is looked at has escapes.
func unquote(b []byte) []byte {
	if len(b) >= 2 && b[0] == '"' {
		return b[1 : len(b)-1]
	}
	return b
}

func space(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\n' || b[0] == '\r' || b[0] == '\t') {
		b = b[1:]
	}
	return b
}
