package codec

import (
	"bytes"
	"net/http"
	"strconv"

	"github.com/scoreboard/scoreboard/loadgen/plan"
)

// Response holds the fields of a response to an increment that a run needs. Its
// slices share memory with the body.
type Response struct {
	Applied  int64
	Replayed bool
	ID       []byte
	Code     []byte // of an error
	receipt  bool   // an item of a batch that has a receipt
}

// Parse parses a body and reports whether it is valid.
func (r *Response) Parse(body []byte) bool {
	rest, ok := parseObject(body, r.field)
	return ok && len(bytes.TrimSpace(rest)) == 0
}

func (r *Response) field(name, value []byte) bool {
	switch string(name) {
	case "applied":
		n, err := strconv.ParseInt(string(value), 10, 64)
		r.Applied = n
		return err == nil
	case "replayed":
		r.Replayed = string(value) == "true"
	case "processed_event_id":
		r.ID = unquote(value)
	case "error_code":
		r.Code = unquote(value)
	}
	return true
}

// Matches reports whether the response is about event e.
func (r *Response) Matches(e *plan.Event) bool {
	var buf [36]byte
	return bytes.Equal(e.AppendID(buf[:0]), r.ID)
}

// Status is the status that an item of a batch would have had in a request of
// its own.
func (r *Response) Status() int {
	switch code := string(r.Code); {
	case r.receipt:
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

// ParseBatch parses the response to a batch, calls item for each result, and
// reports whether the body is valid.
func ParseBatch(body []byte, item func(Response)) bool {
	_, ok := parseObject(body, func(name, value []byte) bool {
		if string(name) != "results" {
			return true
		}
		return parseArray(value, func(result []byte) bool {
			var r Response
			_, ok := parseObject(result, func(name, value []byte) bool {
				switch string(name) {
				case "receipt":
					r.receipt = true
					return r.Parse(value)
				case "error":
					return r.Parse(value)
				}
				return true
			})
			item(r)
			return ok
		})
	})
	return ok
}

// parseObject calls field for each field of the object at the start of b, and
// returns the bytes after the object.
func parseObject(b []byte, field func(name, value []byte) bool) (rest []byte, ok bool) {
	if b = trimSpace(b); len(b) == 0 || b[0] != '{' {
		return nil, false
	}
	if b = trimSpace(b[1:]); len(b) > 0 && b[0] == '}' {
		return b[1:], true
	}
	for {
		name, after, ok := cutValue(b)
		if after = trimSpace(after); !ok || len(name) < 2 || name[0] != '"' || len(after) == 0 || after[0] != ':' {
			return nil, false
		}
		v, after, ok := cutValue(trimSpace(after[1:]))
		if !ok || !field(unquote(name), v) {
			return nil, false
		}
		if after = trimSpace(after); len(after) == 0 {
			return nil, false
		}
		switch after[0] {
		case '}':
			return after[1:], true
		case ',':
			b = trimSpace(after[1:])
		default:
			return nil, false
		}
	}
}

// parseArray calls item for each item of the array b.
func parseArray(b []byte, item func(value []byte) bool) bool {
	if len(b) < 2 || b[0] != '[' {
		return false
	}
	for b = trimSpace(b[1:]); len(b) > 0 && b[0] != ']'; {
		v, after, ok := cutValue(b)
		if after = trimSpace(after); !ok || !item(v) || len(after) == 0 {
			return false
		}
		if b = after; b[0] == ',' {
			b = trimSpace(b[1:])
		}
	}
	return len(b) == 1
}

// cutValue splits b after the JSON value at its start.
func cutValue(b []byte) (v, rest []byte, ok bool) {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			end := stringEnd(b[i:])
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
			if depth == 0 { // closes the object or array that contains a number or literal
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

// stringEnd is the index of the closing quote of the string at the start of b, or
// -1.
func stringEnd(b []byte) int {
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

// unquote removes the quotes. The strings that a run reads contain no escapes.
func unquote(b []byte) []byte {
	if len(b) >= 2 && b[0] == '"' {
		return b[1 : len(b)-1]
	}
	return b
}

func trimSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\n' || b[0] == '\r' || b[0] == '\t') {
		b = b[1:]
	}
	return b
}
