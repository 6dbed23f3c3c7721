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

// Skew bounds the difference of a signature's time to the clock (specification A).
const Skew = 60 * time.Second

// keyLife is how long a key is cached, and so how long a revoked key may still be
// accepted while the store answers.
const keyLife = time.Second

// maxKeys bounds the cached keys, and the cached ids of unknown keys.
const maxKeys = 10_000

// KeyStore returns a key with its live secrets; nil if the key is unknown, revoked or
// expired.
type KeyStore interface {
	SigningKey(ctx context.Context, keyID string) (*scoreboard.SigningKey, error)
}

// Keyring verifies signatures.
type Keyring struct {
	store KeyStore
	seal  cipher.AEAD
	now   func() time.Time

	flight  singleflight.Group
	mu      sync.RWMutex
	known   map[string]*liveKey
	unknown map[string]time.Time // when each was read; separate, so that unknown ids evict no key
}

type liveKey struct {
	secrets []liveSecret
	expires time.Time // zero: never
	scope   scoreboard.KeyScope
	read    time.Time
}

type liveSecret struct {
	secret  []byte
	retires time.Time // zero: never
}

// passed reports whether a time, zero for never, has passed.
func passed(end, now time.Time) bool { return !end.IsZero() && !now.Before(end) }

// NewKeyring decrypts secrets with a master key of 32 bytes in hex.
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
	return &Keyring{
		store: store, seal: seal, now: now,
		known: make(map[string]*liveKey), unknown: make(map[string]time.Time),
	}, nil
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
		return nil, errors.New("a sealed secret is truncated")
	}
	secret, err := k.seal.Open(nil, sealed[:n], sealed[n:], []byte(keyID))
	if err != nil {
		return nil, fmt.Errorf("decrypt the secret of key %s: it was encrypted with another master key", keyID)
	}
	return secret, nil
}

// Check verifies that signature is the HMAC-SHA256 of text in hex under a live secret
// of the key, and that signed is within Skew of now. It returns the key's scope, and
// the same invalid_signature for every failure; other errors are the store's.
func (k *Keyring) Check(
	ctx context.Context, keyID string, text []byte, signature string, signed time.Time,
) (*scoreboard.KeyScope, error) {
	key, err := k.key(ctx, keyID)
	if err != nil {
		return nil, err
	}
	now := k.now()
	known := key != nil && !passed(key.expires, now)
	if !known {
		key = decoyKey // as much work as for a known key
	}
	given, err := hex.DecodeString(signature)
	good := err == nil && len(given) == sha256.Size
	match := false
	for _, s := range key.secrets {
		mac := hmac.New(sha256.New, s.secret)
		mac.Write(text)
		if hmac.Equal(mac.Sum(nil), given) && !passed(s.retires, now) {
			match = true
		}
	}
	if age := now.Sub(signed); !known || !good || !match || age > Skew || age < -Skew {
		return nil, ErrSignature()
	}
	return &key.scope, nil
}

// decoyKey is checked instead of an unknown key.
var decoyKey = &liveKey{secrets: []liveSecret{{secret: make([]byte, 32)}}}

// ErrSignature returns the same error for every signature that is not accepted.
func ErrSignature() error {
	return scoreboard.Errorf(scoreboard.CodeInvalidSignature,
		"the request was not signed with a valid key within the last 60 seconds")
}

// key returns a key, nil if it is unknown. While the store is unavailable, cached keys
// stay valid.
func (k *Keyring) key(ctx context.Context, keyID string) (*liveKey, error) {
	// Key ids have the alphabet and length of user ids. Others are not looked up: the
	// store cannot represent some of them.
	if _, err := scoreboard.ParseUserID(keyID); err != nil {
		return nil, nil
	}
	k.mu.RLock()
	key := k.known[keyID]
	missed, miss := k.unknown[keyID]
	k.mu.RUnlock()
	if key != nil && k.now().Sub(key.read) < keyLife {
		return key, nil
	}
	if key == nil && miss && k.now().Sub(missed) < keyLife {
		return nil, nil
	}
	read, err, _ := k.flight.Do(keyID, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		return k.read(ctx, keyID)
	})
	if err != nil {
		if key != nil {
			return key, nil
		}
		return nil, err
	}
	return read.(*liveKey), nil
}

func (k *Keyring) read(ctx context.Context, keyID string) (*liveKey, error) {
	started := k.now() // a key that is revoked during the read must be read again in time
	found, err := k.store.SigningKey(ctx, keyID)
	if err != nil {
		return nil, err
	}
	var key *liveKey
	if found != nil && len(found.Secrets) > 0 {
		key = &liveKey{expires: found.Expires, scope: found.Scope, read: started}
		for _, s := range found.Secrets {
			secret, err := k.open(keyID, s.Sealed)
			if err != nil {
				return nil, err
			}
			key.secrets = append(key.secrets, liveSecret{secret, s.Retires})
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if key == nil {
		delete(k.known, keyID)
		if len(k.unknown) >= maxKeys {
			clear(k.unknown)
		}
		k.unknown[keyID] = started
		return nil, nil
	}
	if len(k.known) >= maxKeys {
		clear(k.known)
	}
	delete(k.unknown, keyID)
	k.known[keyID] = key
	return key, nil
}

// Knows reports whether a key was live when it was last read. Such a key does not cost
// a lookup per request.
func (k *Keyring) Knows(keyID string) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	_, ok := k.known[keyID]
	return ok
}
