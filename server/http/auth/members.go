package auth

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// decodeExact decodes those members of a JSON object whose names are exactly one of
// known, and ignores the others. encoding/json would also accept "SUB" as sub, after or
// in place of it, so that a token would mean something else here than to its issuer. A
// duplicate name is an error (RFC 7515, 4; RFC 7519, 4).
func decodeExact(object []byte, into any, known ...string) error {
	members, err := membersOf(object)
	if err != nil {
		return err
	}
	return decodeMembers(members, into, known...)
}

// decodeMembers decodes those members of an object that are known.
func decodeMembers(members map[string]json.RawMessage, into any, known ...string) error {
	kept := make(map[string]json.RawMessage, len(known))
	for _, name := range known {
		if value, ok := members[name]; ok {
			kept[name] = value
		}
	}
	b, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}

// membersOf returns the members of a JSON object.
func membersOf(object []byte) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	members := make(map[string]json.RawMessage)
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		text, _ := name.(string) // the decoder ensures it
		if _, twice := members[text]; twice {
			return nil, fmt.Errorf("duplicate member %.50q", text)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		members[text] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("unexpected data after the JSON object")
	}
	return members, nil
}

// checkJWSHeader rejects duplicate members of a JWS's header. The parser decodes the
// header into a map, so its names are exact.
func checkJWSHeader(jws string) error {
	header, _, _ := strings.Cut(jws, ".")
	b, err := base64.RawURLEncoding.Strict().DecodeString(header)
	if err == nil {
		_, err = membersOf(b)
	}
	return err
}

// The registered claims of a token.
var registeredClaims = []string{"iss", "sub", "aud", "exp", "nbf", "iat", "jti"}
