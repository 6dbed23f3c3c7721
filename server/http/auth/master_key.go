package auth

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// decodeMasterKey returns the 32 bytes of a master key in hex.
func decodeMasterKey(masterKey string) ([]byte, error) {
	raw, err := hex.DecodeString(masterKey)
	if err != nil || len(raw) != 32 {
		return nil, errors.New("auth.master_key must be 32 bytes in hex")
	}
	return raw, nil
}

// deriveKey derives the key of 32 bytes for one purpose from a master key of 32 bytes in
// hex. Every node derives the same key, and the keys of two purposes tell nothing about
// each other. The purpose must stay the same bytes: what it signed is invalid otherwise.
func deriveKey(masterKey, purpose string) ([]byte, error) {
	raw, err := decodeMasterKey(masterKey)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, raw, nil, "scoreboard "+purpose, sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("derive the key of %s: %w", purpose, err)
	}
	return key, nil
}
