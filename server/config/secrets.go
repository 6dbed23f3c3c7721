package config

import (
	"encoding/hex"
	"slices"
	"strings"
)

// minSecret is the shortest secret of tokens, in bytes: the size of HS256's hash
// (RFC 7518, 3.2).
const minSecret = 32

// published are secrets that stood in this repository's files: anyone knows them.
var published = []string{
	"for-evaluation-only-change-me-0123456789",
	"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
}

// CheckSecrets reports secrets that can be guessed. Load does not: the development
// stack takes any.
func (c *Config) CheckSecrets() error {
	var p problems
	if s := c.Auth.JWTSecret; s != "" {
		switch {
		case len(s) < minSecret:
			p.add("auth.jwt_secret", "must be at least %d bytes, not %d; generate one with: openssl rand -hex 32",
				minSecret, len(s))
		case isGuessable(s):
			p.add("auth.jwt_secret", "is published or repeats one byte; generate one with: openssl rand -hex 32")
		}
	}
	if s := c.Auth.DefaultSecret; s != "" && (len(s) < minSecret || isGuessable(s)) {
		p.add("auth.default_key_secret", "must be at least %d bytes and hard to guess; generate one with: "+
			"openssl rand -hex 32", minSecret)
	}
	for _, s := range c.Auth.MasterKeys {
		raw, err := hex.DecodeString(s)
		switch {
		case err != nil || len(raw) != 32:
			p.add("auth.master_key", "must be 32 bytes in hex; generate one with: openssl rand -hex 32")
		case isGuessable(string(raw)) || isGuessable(strings.ToLower(s)):
			p.add("auth.master_key", "is published or repeats one byte; generate one with: openssl rand -hex 32")
		}
	}
	return p.err()
}

// isGuessable reports whether a secret is published or one byte repeated.
func isGuessable(s string) bool {
	return slices.Contains(published, s) || strings.Count(s, s[:1]) == len(s)
}
