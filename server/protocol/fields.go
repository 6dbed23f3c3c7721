package protocol

import (
	"encoding/json"
	"math/big"
	"strings"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Field is a field of a body that DecodeFields parses.
type Field struct {
	Name string
	// To is where its value goes: *string for a string, *int64 for a plain JSON integer
	// within ±(2^53 − 1), or *Whole.
	To any
	// Given is set if the body has the field; nil where that makes no difference.
	Given *bool
}

// Whole is a number with an integer value within ±(2^53 − 1), however it is written: 5,
// 5.0 and 5e0 are the same.
type Whole int64

// DecodeFields parses one object with known fields at most once. Other fields are an
// error if strict, and else skipped, whatever they hold.
func DecodeFields(body []byte, strict bool, fields ...Field) error {
	s := scanner{b: body}
	err := s.object(func(name []byte) error {
		for i := range fields {
			if string(name) == fields[i].Name {
				return s.field(&fields[i])
			}
		}
		if strict {
			return unknown(name)
		}
		return s.skip(string(name), 1)
	})
	if err != nil {
		return err
	}
	return s.end()
}

func (s *scanner) field(f *Field) (err error) {
	if f.Given != nil {
		*f.Given = true
	}
	switch to := f.To.(type) {
	case *string:
		*to, err = s.text(f.Name)
	case *int64:
		*to, err = s.delta(f.Name)
	case *Whole:
		*to, err = s.whole(f.Name)
	default:
		panic("protocol: field " + f.Name + " has a type that cannot be parsed")
	}
	return err
}

// maxNumber bounds the text of a Whole. An exponent of two digits fits into a few bytes
// of a big.Rat.
const maxNumber = 24

// whole parses a Whole.
func (s *scanner) whole(name string) (Whole, error) {
	s.space()
	start := s.i
	for s.i < len(s.b) && strings.IndexByte("+-.0123456789eE", s.b[s.i]) >= 0 {
		s.i++
	}
	text := string(s.b[start:s.i])
	wrong := scoreboard.Invalid(name, "%s must be a number with an integer value within ±(2^53 − 1)", name)
	if !json.Valid(s.b[start:s.i]) || len(text) > maxNumber {
		return 0, wrong
	}
	if _, exponent, ok := strings.Cut(strings.ToLower(text), "e"); ok && len(strings.TrimLeft(exponent, "+-0")) > 2 {
		return 0, wrong
	}
	value, ok := new(big.Rat).SetString(text)
	if !ok || !value.IsInt() || !value.Num().IsInt64() {
		return 0, wrong
	}
	n := value.Num().Int64()
	if !scoreboard.Score(n).InRange() {
		return 0, wrong
	}
	return Whole(n), nil
}
