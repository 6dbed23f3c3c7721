package auth

import (
	"encoding/base64"
)

// CountKeys returns the number of usable keys in a set.
func CountKeys(body []byte) (int, error) {
	keys, err := parseKeySet(body)
	return len(keys), err
}

// SignAction issues an action token with any payload.
func (t *ActionTokens) SignAction(payload []byte) string {
	signed := append(append([]byte{}, payload...), signAction(t.keys[0], actionPrefix, payload)...)
	return actionPrefix + base64.RawURLEncoding.EncodeToString(signed)
}
