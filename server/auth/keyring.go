package auth

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Skew is how far a signature's time may be from ours (specification A).
const Skew = 60 * time.Second

// keyLife is how long a key is used before it is read again, and so the bound
// on how long a revoked one is accepted while the store answers.
const keyLife = time.Second

// maxKeyID bounds what is looked up; maxKeys what is remembered of keys, and of
// ids that are none.
const (
	maxKeyID = 64
	maxKeys  = 10_000
)

// KeyStore returns the sealed secrets of a key that are live now; none for a
// key that is unknown, revoked or expired.
type KeyStore interface {
	SealedSecrets(ctx context.Context, keyID string) ([][]byte, error)
}

// Keyring verifies signatures.
type Keyring struct {
	store KeyStore
	seal  cipher.AEAD
	now   func() time.Time

	flight  singleflight.Group
	mu      sync.RWMutex
	known   map[string]liveKey
	unknown map[string]time.Time // apart, so that made-up ids displace no key; when each was read
}

type liveKey struct {
	secrets [][]byte
	read    time.Time
}

// NewKeyring opens secrets with a master key of 32 bytes in hex.
func NewKeyring(masterKey string, store KeyStore, now func() time.Time) (*Keyring, error) {
	raw, err := hex.DecodeString(masterKey)
	if err != nil || len(raw) != 32 {
		return nil, errors.New("auth.master_key must be 32 bytes in hex")
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, fmt.Errorf("use the master key: %w", err)
	}
	seal, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("use the master key: %w", err)
	}
	return &Keyring{store: store, seal: seal, now: now, known: make(map[string]liveKey), unknown: make(map[string]time.Time)}, nil
}

// Seal encrypts a secret for the store, bound to its key id.
func (k *Keyring) Seal(keyID, secret string) []byte {
	nonce := make([]byte, k.seal.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	return k.seal.Seal(nonce, nonce, []byte(secret), []byte(keyID))
}

func (k *Keyring) open(keyID string, sealed []byte) ([]byte, error) {
	n := k.seal.NonceSize()
	if len(sealed) < n {
		return nil, errors.New("a sealed secret is cut short")
	}
	secret, err := k.seal.Open(nil, sealed[:n], sealed[n:], []byte(keyID))
	if err != nil {
		return nil, fmt.Errorf("open the secret of key %s: it was sealed under another master key", keyID)
	}
	return secret, nil
}

// Check verifies that signature is the HMAC-SHA256 of text in hex under a live
// secret of the key, and that signed lies within Skew of now. Every reason to
// refuse is one and the same invalid_signature; unavailable is the store's.
func (k *Keyring) Check(ctx context.Context, keyID string, text []byte, signature string, signed time.Time) error {
	secrets, err := k.secrets(ctx, keyID)
	if err != nil {
		return err
	}
	known := len(secrets) > 0
	if !known {
		secrets = [][]byte{make([]byte, 32)} // as much work as for a known key
	}
	given, err := hex.DecodeString(signature)
	good := err == nil && len(given) == sha256.Size
	match := false
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, secret)
		mac.Write(text)
		if hmac.Equal(mac.Sum(nil), given) {
			match = true
		}
	}
	if age := k.now().Sub(signed); !known || !good || !match || age > Skew || age < -Skew {
		return ErrSignature()
	}
	return nil
}

// ErrSignature is the one answer to every signature that is not accepted.
func ErrSignature() error {
	return scoreboard.Errorf(scoreboard.CodeInvalidSignature, "the request is not signed by a live key within the last 60 seconds")
}

// secrets returns the live secrets of a key, none if it is not known. While
// the store is away a key that was known goes on being so.
func (k *Keyring) secrets(ctx context.Context, keyID string) ([][]byte, error) {
	if keyID == "" || len(keyID) > maxKeyID {
		return nil, nil
	}
	k.mu.RLock()
	key, ok := k.known[keyID]
	missed, miss := k.unknown[keyID]
	k.mu.RUnlock()
	if ok && k.now().Sub(key.read) < keyLife {
		return key.secrets, nil
	}
	if !ok && miss && k.now().Sub(missed) < keyLife {
		return nil, nil
	}
	read, err, _ := k.flight.Do(keyID, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		return k.read(ctx, keyID)
	})
	if err != nil {
		if ok {
			return key.secrets, nil
		}
		return nil, err
	}
	return read.([][]byte), nil
}

func (k *Keyring) read(ctx context.Context, keyID string) ([][]byte, error) {
	sealed, err := k.store.SealedSecrets(ctx, keyID)
	if err != nil {
		return nil, err
	}
	secrets := make([][]byte, 0, len(sealed))
	for _, s := range sealed {
		secret, err := k.open(keyID, s)
		if err != nil {
			return nil, err
		}
		secrets = append(secrets, secret)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(secrets) == 0 {
		delete(k.known, keyID)
		if len(k.unknown) >= maxKeys {
			clear(k.unknown)
		}
		k.unknown[keyID] = k.now()
		return nil, nil
	}
	if len(k.known) >= maxKeys {
		clear(k.known)
	}
	delete(k.unknown, keyID)
	k.known[keyID] = liveKey{secrets, k.now()}
	return secrets, nil
}

// Knows reports whether a key was live when it was last looked up, and so does
// not cost the store a look-up for each request that names it.
func (k *Keyring) Knows(keyID string) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	_, ok := k.known[keyID]
	return ok
}
