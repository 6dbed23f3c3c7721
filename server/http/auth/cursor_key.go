package auth

import (
	"crypto/hmac"
	"crypto/sha256"
)

// ConsoleKey derives the key that encrypts the console's sessions from the master key: every
// node accepts the sessions of the others.
func ConsoleKey(masterKey string) ([]byte, error) { return deriveKey(masterKey, "console sessions") }

// CursorKey derives the key that signs page cursors from the master key, else
// from the development secret: all nodes that serve the same readers share one
// of them, so a cursor is valid on each.
func CursorKey(masterKey, jwtSecret string) []byte {
	secret := masterKey
	if secret == "" {
		secret = jwtSecret
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("cursors of pages"))
	return mac.Sum(nil)
}
