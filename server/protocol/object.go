package protocol

import (
	"bytes"
	"unicode"
)

// CheckObject rejects what encoding/json would accept in a body: duplicate fields,
// names that differ from a field's only in case, null in place of a value, text that is not UTF-8 or has control
// characters, and data after the object. Fields with the name opaque contain any JSON: of these, only duplicate
// fields and deep nesting are rejected.
func CheckObject(body []byte, opaque string) error {
	s := scanner{b: body, noNull: true, opaque: opaque}
	err := s.object(func(name []byte) error {
		if otherCase(name) {
			return unknown(name)
		}
		return s.skip(string(name), 1)
	})
	if err != nil {
		return err
	}
	return s.end()
}

// otherCase reports whether encoding/json could take a name for that of a field which differs
// in case.
func otherCase(name []byte) bool {
	return bytes.ContainsFunc(name, func(r rune) bool { return unicode.ToLower(r) != r || r > unicode.MaxASCII })
}
