package wire

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Object is a JSON object that nobody here looks into, as its text; "" is none.
type Object string

// MarshalJSON implements json.Marshaler.
func (o Object) MarshalJSON() ([]byte, error) { return []byte(o), nil }

// UnmarshalJSON implements json.Unmarshaler.
func (o *Object) UnmarshalJSON(b []byte) error {
	if b = bytes.TrimSpace(b); len(b) == 0 || b[0] != '{' || !json.Valid(b) {
		return errors.New("must be a JSON object")
	}
	*o = Object(b)
	return nil
}
