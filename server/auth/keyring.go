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

// maxKeys bounds what is remembered of keys, and of ids that are none.
const maxKeys = 10_000

// KeyStore returns a key with the secrets that are live now; nil for a key that
// is unknown, revoked or expired.
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
	unknown map[string]time.Time // apart, so that made-up ids displace no key; when each was read
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

// passed says whether a time that may be zero, for never, is over.
func passed(end, now time.Time) bool { return !end.IsZero() && !now.Before(end) }

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
	return &Keyring{store: store, seal: seal, now: now, known: make(map[string]*liveKey), unknown: make(map[string]time.Time)}, nil
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
// secret of the key, and that signed lies within Skew of now; it returns what the
// key may sign. Every reason to refuse is one and the same invalid_signature;
// unavailable is the store's.
func (k *Keyring) Check(ctx context.Context, keyID string, text []byte, signature string, signed time.Time) (*scoreboard.KeyScope, error) {
	key, err := k.key(ctx, keyID)
	if err != nil {
		return nil, err
	}
	now := k.now()
	known := key != nil && !passed(key.expires, now)
	if !known {
		key = stranger // as much work as for a known key
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

// stranger is checked in the place of a key that is not known.
var stranger = &liveKey{secrets: []liveSecret{{secret: make([]byte, 32)}}}

// ErrSignature is the one answer to every signature that is not accepted.
func ErrSignature() error {
	return scoreboard.Errorf(scoreboard.CodeInvalidSignature, "the request is not signed by a live key within the last 60 seconds")
}

// key returns a key, nil if it is not known. While the store is away a key that
// was known goes on being so.
func (k *Keyring) key(ctx context.Context, keyID string) (*liveKey, error) {
	// Ids have the alphabet and the length of users': what has not is not asked
	// for, for the store would choke on some of it.
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
	asked := k.now() // what is revoked while the store answers is old by then
	found, err := k.store.SigningKey(ctx, keyID)
	if err != nil {
		return nil, err
	}
	var key *liveKey
	if found != nil && len(found.Secrets) > 0 {
		key = &liveKey{expires: found.Expires, scope: found.Scope, read: asked}
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
		k.unknown[keyID] = asked
		return nil, nil
	}
	if len(k.known) >= maxKeys {
		clear(k.known)
	}
	delete(k.unknown, keyID)
	k.known[keyID] = key
	return key, nil
}

// Knows reports whether a key was live when it was last looked up, and so does
// not cost the store a look-up for each request that names it.
func (k *Keyring) Knows(keyID string) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	_, ok := k.known[keyID]
	return ok
}
