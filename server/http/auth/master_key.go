package auth

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// decodeMasterKeys returns the 32 bytes of each master key in hex; at least one.
func decodeMasterKeys(masterKeys []string) ([][]byte, error) {
	raw := make([][]byte, len(masterKeys))
	for i, text := range masterKeys {
		var err error
		if raw[i], err = hex.DecodeString(text); err != nil || len(raw[i]) != 32 {
			return nil, errors.New("auth.master_key must be 32 bytes in hex")
		}
	}
	if len(raw) == 0 {
		return nil, errors.New("auth.master_key must be 32 bytes in hex, and is empty")
	}
	return raw, nil
}

// deriveKeys derives the key of 32 bytes for one purpose from each master key of 32 bytes in
// hex. The first signs, and what any of them has signed is valid. Every node derives the same
// keys, and the keys of two purposes tell nothing about each other. The purpose must stay the
// same bytes: what it signed is invalid otherwise.
func deriveKeys(masterKeys []string, purpose string) ([][]byte, error) {
	keys, err := decodeMasterKeys(masterKeys)
	if err != nil {
		return nil, err
	}
	for i, raw := range keys {
		if keys[i], err = hkdf.Key(sha256.New, raw, nil, "scoreboard "+purpose, sha256.Size); err != nil {
			return nil, fmt.Errorf("derive the key of %s: %w", purpose, err)
		}
	}
	return keys, nil
}

// ConsoleKeys derives the keys that seal the console's sessions from the master keys: every
// node accepts the sessions of the others.
func ConsoleKeys(masterKeys []string) ([][]byte, error) {
	return deriveKeys(masterKeys, "console sessions")
}

// CursorKeys derives the keys that sign page cursors from the master keys, else from the
// development secret: all nodes that serve the same readers share one of them, so a cursor is
// valid on each.
func CursorKeys(masterKeys []string, jwtSecret string) [][]byte {
	if len(masterKeys) == 0 {
		masterKeys = []string{jwtSecret}
	}
	keys := make([][]byte, len(masterKeys))
	for i, secret := range masterKeys {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte("cursors of pages"))
		keys[i] = mac.Sum(nil)
	}
	return keys
}
