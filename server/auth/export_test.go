package auth

import "encoding/base64"

// CountKeys says how many keys of a set are kept.
func CountKeys(body []byte) (int, error) {
	keys, err := parseKeySet(body)
	return len(keys), err
}

// SignAction makes an action token of any bytes.
func (t *ActionTokens) SignAction(payload []byte) string {
	return actionPrefix + base64.RawURLEncoding.EncodeToString(append(append([]byte{}, payload...), t.sign(payload)...))
}
