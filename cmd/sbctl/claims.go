package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// claims are the parts of a token that sbctl shows.
type claims struct {
	Subject string  `json:"sub"`
	Expires float64 `json:"exp"` // Unix seconds, 0 if absent
}

// expiry is when the token expires; zero if it does not say.
func (c claims) expiry() time.Time {
	if c.Expires == 0 {
		return time.Time{}
	}
	return time.Unix(int64(c.Expires), 0)
}

// readClaims reads the claims of a JWT. It does not verify the signature: the server
// does.
func readClaims(token string) (claims, error) {
	var c claims
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return c, errors.New("not a JWT")
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return c, fmt.Errorf("decode the token: %w", err)
	}
	if err := json.Unmarshal(payload, &c); err != nil {
		return c, fmt.Errorf("decode the token: %w", err)
	}
	return c, nil
}
