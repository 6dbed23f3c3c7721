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
	"log/slog"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Skew bounds the difference of a signature's time to the clock (specification A).
const Skew = 60 * time.Second

// keyTTL is how long a key is cached, and so how long a revoked key may still be
// accepted while the store answers.
const keyTTL = time.Second

// maxKeys bounds the cached keys.
const maxKeys = 10_000

// KeyStore reads keys with their live secrets.
type KeyStore interface {
	// SigningKeys returns the keys of ids, at most two secrets each. Keys that are
	// unknown, revoked or expired are left out.
	SigningKeys(ctx context.Context, ids []string) (map[string]*scoreboard.SigningKey, error)
}

// Keyring verifies signatures.
type Keyring struct {
	ciphers []cipher.AEAD // of the master keys: the first encrypts
	now     func() time.Time
	log     *slog.Logger
	reads   keyReads
	mu      sync.RWMutex
	known   map[string]*liveKey
	// Keys that were encrypted with another master key, each logged once.
	unreadable map[string]bool
	decoy      []byte // encrypted; decrypted for unknown ids
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

// NewKeyring decrypts secrets with master keys of 32 bytes in hex, and encrypts them with the
// first.
func NewKeyring(masterKeys []string, store KeyStore, log *slog.Logger, now func() time.Time) (*Keyring, error) {
	raw, err := decodeMasterKeys(masterKeys)
	if err != nil {
		return nil, err
	}
	k := &Keyring{log: log, now: now, unreadable: make(map[string]bool), known: make(map[string]*liveKey)}
	for _, key := range raw {
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, fmt.Errorf("use the master key: %w", err)
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, fmt.Errorf("use the master key: %w", err)
		}
		k.ciphers = append(k.ciphers, aead)
	}
	k.decoy = k.Encrypt(decoyID, decoyID)
	k.reads = keyReads{store: store, now: now, read: k.read, turn: make(chan struct{}, 1)}
	return k, nil
}

// Encrypt encrypts a secret for the store, bound to its key id.
func (k *Keyring) Encrypt(keyID, secret string) []byte {
	aead := k.ciphers[0]
	nonce := make([]byte, aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	return aead.Seal(nonce, nonce, []byte(secret), []byte(keyID))
}

// Decrypt decrypts what Encrypt has encrypted for an id.
func (k *Keyring) Decrypt(id string, encrypted []byte) (string, error) {
	secret, _, err := k.decrypt(id, encrypted)
	return string(secret), err
}

// Reencrypt encrypts what Encrypt has encrypted for an id with the first master key, or returns nil if
// that has encrypted it.
func (k *Keyring) Reencrypt(id string, encrypted []byte) ([]byte, error) {
	secret, by, err := k.decrypt(id, encrypted)
	if err != nil || by == 0 {
		return nil, err
	}
	return k.Encrypt(id, string(secret)), nil
}

// decrypt returns a secret and which master key has encrypted it. It tries them all, so that the
// time does not tell which.
func (k *Keyring) decrypt(keyID string, encrypted []byte) (secret []byte, by int, err error) {
	by = -1
	for i, aead := range k.ciphers {
		n := aead.NonceSize()
		if len(encrypted) < n {
			return nil, by, errors.New("an encrypted secret is truncated")
		}
		if plain, err := aead.Open(nil, encrypted[:n], encrypted[n:], []byte(keyID)); err == nil {
			secret, by = plain, i
		}
	}
	if by < 0 {
		return nil, by, fmt.Errorf("decrypt the secret of key %s: it was encrypted with another master key", keyID)
	}
	return secret, by, nil
}

// Check verifies that signature is the HMAC-SHA256 of text in hex under a live secret
// of the key, and that signed is within Skew of now. It returns the key's scope, and
// the same invalid_signature for every failure; other errors are the store's.
//
// The cache only ever accepts: what it does not accept is checked again with the key as
// it is in the store. So a key that was created or rotated on another node is valid at
// once, and a failure takes the same work whether the key exists or not.
func (k *Keyring) Check(
	ctx context.Context, keyID string, text []byte, signature string, signed time.Time,
) (*scoreboard.KeyScope, error) {
	given, err := hex.DecodeString(signature)
	now := k.now()
	if age := now.Sub(signed); err != nil || len(given) != sha256.Size || age > Skew || age < -Skew {
		return nil, ErrSignature() // for every key
	}
	// Key ids have the alphabet and length of user ids. Others are not looked up: the
	// store cannot represent some of them.
	if _, err := scoreboard.ParseUserID(keyID); err != nil {
		return nil, ErrSignature()
	}
	k.mu.RLock()
	cached := k.known[keyID]
	k.mu.RUnlock()
	match := cached.signed(text, given, now)
	if match && now.Sub(cached.read) < keyTTL {
		return &cached.scope, nil
	}
	key, err := k.reads.do(ctx, keyID, cached != nil)
	if err != nil {
		if match { // the store is unavailable
			return &cached.scope, nil
		}
		return nil, err
	}
	if !key.signed(text, given, k.now()) {
		return nil, ErrSignature()
	}
	return &key.scope, nil
}

// maxSecrets is how many secrets a key has at most: two during a rotation.
const maxSecrets = 2

// decoyID names no key: it has a character that no id has.
const decoyID = "?"

// decoySecret is used in the place of a secret that a key does not have.
var decoySecret = make([]byte, sha256.Size)

// signed reports whether a key is live and one of its live secrets signed a text. It
// does the same work for every key, nil for an unknown one.
func (l *liveKey) signed(text, given []byte, now time.Time) bool {
	match := false
	for i := range maxSecrets {
		secret, live := decoySecret, false
		if l != nil && i < len(l.secrets) {
			secret, live = l.secrets[i].secret, !passed(l.secrets[i].retires, now) && !passed(l.expires, now)
		}
		mac := hmac.New(sha256.New, secret)
		mac.Write(text)
		if hmac.Equal(mac.Sum(nil), given) && live {
			match = true
		}
	}
	return match
}

// ErrSignature returns the same error for every signature that is not accepted.
func ErrSignature() *scoreboard.Error {
	return scoreboard.Errorf(wire.CodeInvalidSignature,
		"the request was not signed with a valid key within the last 60 seconds")
}

// read decrypts a key as it was found in the store at a time, and caches it. found is
// nil for no key.
func (k *Keyring) read(keyID string, found *scoreboard.SigningKey, at time.Time) (*liveKey, error) {
	if found == nil || len(found.Secrets) == 0 {
		_, _, _ = k.decrypt(decoyID, k.decoy) // as much work as for a key
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.known, keyID)
		return nil, nil
	}
	key := &liveKey{expires: found.Expires, scope: found.Scope, read: at}
	var unreadable error
	for _, s := range found.Secrets {
		secret, _, err := k.decrypt(keyID, s.Encrypted)
		if err != nil {
			unreadable = err
			continue
		}
		key.secrets = append(key.secrets, liveSecret{secret, s.Retires})
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if unreadable != nil && !k.unreadable[keyID] && len(k.unreadable) < maxKeys {
		k.unreadable[keyID] = true
		k.log.Error("signing key unusable: restore its master key, or create another key", "err", unreadable)
	}
	if len(key.secrets) == 0 { // as an unknown key: its existence is not told
		delete(k.known, keyID)
		return nil, nil
	}
	if len(k.known) >= maxKeys {
		clear(k.known) // rare, and simpler than an eviction order
	}
	k.known[keyID] = key
	return key, nil
}
