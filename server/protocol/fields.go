package protocol

// Field is a field of a body that DecodeFields parses.
type Field struct {
	Name string
	// To is where its value goes: *string for a string, *int64 for a whole number within
	// ±(2^53 − 1), however it is written.
	To any
	// Given is set if the body has the field; nil where that makes no difference.
	Given *bool
}

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
		*to, _, err = s.delta(f.Name)
	default:
		panic("protocol: field " + f.Name + " has a type that cannot be parsed")
	}
	return err
}
