package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/publicnet"
	"github.com/scoreboard/scoreboard/internal/retry"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Bounds of a key set. Most providers publish a new key before they use it, so that
// the regular read finds it. For the others the set is read again for an unknown key
// id, but not more often than clients could trigger at will.
const (
	keySetEvery   = 5 * time.Minute // between two reads
	unknownEvery  = 5 * time.Second // between two reads for unknown key ids
	keySetTimeout = 3 * time.Second // of one read
	maxKeySetBody = 256 << 10       // bytes of one set
	maxKeySetKeys = 64              // keys of one set
	maxWaiting    = 256             // requests that wait for a read
	minRSABits    = 2048
	maxRSABits    = 8192            // larger keys cost milliseconds per verification
	maxKeyIDBytes = 256             // of a token's kid
	retryAfterSet = 1 * time.Second // until a set has been read
)

// KeySet holds the public keys of a provider (RFC 7517), for RS256, ES256 and EdDSA.
// The last keys read stay valid while the provider is unavailable.
type KeySet struct {
	client *http.Client
	log    *slog.Logger
	now    func() time.Time
	keys   *jwkset.MemoryJWKSet
	find   jwt.Keyfunc
	read   atomic.Bool   // a set has been read
	change atomic.Uint64 // counts changes of the set

	mu      sync.Mutex
	url     string
	last    [sha256.Size]byte // of the last body
	unknown time.Time         // time of the last read for an unknown key id
	reading chan struct{}     // closed at the end of that read; nil without one
	waiting int
}

// NewKeySet reads from a URL that CheckKeySetURL accepts, at a public address or in one
// of the networks; Run refreshes it.
func NewKeySet(address string, networks publicnet.Networks, log *slog.Logger, now func() time.Time) (*KeySet, error) {
	return newKeySet(address, networks.Client(keySetTimeout), log, now)
}

func newKeySet(address string, client *http.Client, log *slog.Logger, now func() time.Time) (*KeySet, error) {
	k := &KeySet{client: client, log: log, now: now, url: address, keys: jwkset.NewMemoryStorage()}
	finder, err := keyfunc.New(keyfunc.Options{Storage: k.keys, UseWhitelist: []jwkset.USE{"", jwkset.UseSig}})
	if err != nil {
		return nil, fmt.Errorf("create a key set: %w", err)
	}
	k.find = finder.Keyfunc
	return k, CheckKeySetURL(address)
}

// CheckKeySetURL accepts https, and http to the local machine.
func CheckKeySetURL(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return errors.New("the URL of a key set must be https and contain no password")
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !publicnet.IsLoopback(u.Hostname())) {
		return errors.New("the URL of a key set must be https, or http to localhost")
	}
	return nil
}

// Run refreshes the set regularly until ctx ends, and sooner after a failure.
func (k *KeySet) Run(ctx context.Context) error {
	for failures := 0; ctx.Err() == nil; {
		if err := k.refresh(ctx); err != nil && ctx.Err() == nil {
			failures++
			k.log.Warn("key set not read; the known keys stay valid", "attempt", failures, "err", err)
			retry.Wait(ctx, failures)
			continue
		}
		failures = 0
		select {
		case <-time.After(keySetEvery):
		case <-ctx.Done():
		}
	}
	return nil
}

// Check returns why the set at a URL cannot be used; nil if it can.
func (k *KeySet) Check(ctx context.Context, address string) error {
	if err := CheckKeySetURL(address); err != nil {
		return err
	}
	_, _, err := k.fetch(ctx, address)
	return err
}

// SwitchTo switches to the keys at another URL, if they can be read.
func (k *KeySet) SwitchTo(ctx context.Context, address string) error {
	if err := CheckKeySetURL(address); err != nil {
		return err
	}
	body, keys, err := k.fetch(ctx, address)
	if err != nil {
		return err
	}
	k.mu.Lock()
	k.url = address
	k.mu.Unlock()
	return k.replace(ctx, address, body, keys)
}

// Forget drops all keys. The next ones are those at another URL.
func (k *KeySet) Forget(address string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.url == address {
		return
	}
	k.url = address
	// Memory is always there.
	_ = k.keys.KeyReplaceAll(context.Background(), nil)
	k.last = [sha256.Size]byte{}
	k.read.Store(false)
	k.change.Add(1)
}

// address is where the set is read.
func (k *KeySet) address() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.url
}

// at returns the set at another URL, as it is now.
func (k *KeySet) at(ctx context.Context, address string) (*KeySet, error) {
	other, err := newKeySet(address, k.client, k.log, k.now)
	if err != nil {
		return nil, err
	}
	return other, other.refresh(ctx)
}

func (k *KeySet) refresh(ctx context.Context) error {
	address := k.address()
	body, keys, err := k.fetch(ctx, address)
	if err != nil {
		return err
	}
	return k.replace(ctx, address, body, keys)
}

// fetch reads and parses a set within the bounds.
func (k *KeySet) fetch(ctx context.Context, address string) ([]byte, []jwkset.JWK, error) {
	ctx, cancel := context.WithTimeout(ctx, keySetTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil { // it would quote the URL
		return nil, nil, errors.New("read the key set: invalid URL")
	}
	resp, err := k.client.Do(req)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // without the URL, whose query may contain a secret
		}
		return nil, nil, fmt.Errorf("read the key set of %s: %w", req.URL.Host, err)
	}
	defer func() { _ = resp.Body.Close() }() // only read
	if resp.StatusCode != http.StatusOK {
		return nil, nil, fmt.Errorf("read the key set: the server answered %s", resp.Status)
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, resp.Body, maxKeySetBody))
	if err != nil {
		return nil, nil, fmt.Errorf("read the key set of at most %d bytes: %w", maxKeySetBody, err)
	}
	keys, err := parseKeySet(body)
	return body, keys, err
}

// replace puts a set into use, unless the URL has changed meanwhile.
func (k *KeySet) replace(ctx context.Context, address string, body []byte, keys []jwkset.JWK) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if address != k.url {
		return nil
	}
	if err := k.keys.KeyReplaceAll(ctx, keys); err != nil {
		return fmt.Errorf("replace the key set: %w", err)
	}
	if sum := sha256.Sum256(body); sum != k.last {
		k.last = sum
		k.change.Add(1)
		k.log.Info("key set read", "keys", len(keys))
	}
	k.read.Store(true)
	return nil
}

// errNoKeySet is the error until a set has been read once.
func errNoKeySet() error {
	return &scoreboard.Error{
		Code: wire.CodeUnavailable, Message: "the keys of the identity provider are not available yet",
		RetryAfter: retryAfterSet,
	}
}

// key returns the key that a token names, if the key is for the token's algorithm.
func (k *KeySet) key(ctx context.Context, token *jwt.Token) (any, error) {
	kid, ok := token.Header["kid"].(string)
	if !ok || kid == "" || len(kid) > maxKeyIDBytes {
		return nil, &Rejection{ReasonKey, "it names no key (kid)"}
	}
	key, err := k.find(token)
	if errors.Is(err, jwkset.ErrKeyNotFound) {
		if err := k.readAgain(ctx); err != nil {
			return nil, err
		}
		key, err = k.find(token)
	}
	if err != nil {
		return nil, err
	}
	if algorithmOf(key) != token.Method.Alg() {
		return nil, &Rejection{ReasonAlgorithm, "its key is for another alg"}
	}
	return key, nil
}

// named returns the key with an id; for an unknown one it reads the set again.
func (k *KeySet) named(ctx context.Context, kid string) (any, error) {
	key, err := k.keys.KeyRead(ctx, kid)
	if errors.Is(err, jwkset.ErrKeyNotFound) {
		if err := k.readAgain(ctx); err != nil {
			return nil, err
		}
		key, err = k.keys.KeyRead(ctx, kid)
	}
	return key.Key(), err
}

// readAgain reads the set for an unknown key id, or waits for a running read; at most
// once in unknownEvery for all key ids together.
func (k *KeySet) readAgain(ctx context.Context) error {
	k.mu.Lock()
	reading := k.reading
	if reading == nil {
		if k.now().Sub(k.unknown) < unknownEvery {
			k.mu.Unlock()
			return k.known()
		}
		k.unknown, reading = k.now(), make(chan struct{})
		k.reading = reading
		go k.readOnce(context.WithoutCancel(ctx), reading)
	}
	if k.waiting >= maxWaiting {
		k.mu.Unlock()
		return errNoKeySet()
	}
	k.waiting++
	k.mu.Unlock()
	select {
	case <-reading:
	case <-ctx.Done():
	}
	k.mu.Lock()
	k.waiting--
	k.mu.Unlock()
	return k.known()
}

// readOnce ends within the timeout of fetch.
func (k *KeySet) readOnce(ctx context.Context, done chan struct{}) {
	if err := k.refresh(ctx); err != nil {
		k.log.WarnContext(ctx, "key set not read for an unknown key", "err", err)
	}
	k.mu.Lock()
	k.reading = nil
	k.mu.Unlock()
	close(done)
}

func (k *KeySet) known() error {
	if !k.read.Load() {
		return errNoKeySet()
	}
	return nil
}
