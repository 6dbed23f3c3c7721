package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"

	"github.com/scoreboard/scoreboard/internal/backoff"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Bounds of a key set. A provider that rotates publishes the new key ahead, so
// the regular reading finds it; reading for a key id that is not known is for
// those that do not, and must not let anybody make us ask without end.
const (
	keySetEvery   = 5 * time.Minute // between two readings
	unknownEvery  = 5 * time.Second // between two readings for an unknown key id
	keySetTimeout = 3 * time.Second // of one reading
	maxKeySetBody = 256 << 10       // bytes of one reading
	maxKeySetKeys = 64              // keys of one reading
	maxWaiting    = 256             // requests that wait for a reading
	minRSABits    = 2048            //
	maxRSABits    = 8192            // beyond it a verification costs milliseconds
	maxKeyIDBytes = 256             // of a token's kid
	retryAfterSet = 1 * time.Second // told to callers while there is no key set yet
)

// KeySet holds the public keys that a provider publishes (RFC 7517) and verifies
// RS256, ES256 and EdDSA with them. The keys that were read last stay good while
// the provider is away.
type KeySet struct {
	client *http.Client
	log    *slog.Logger
	now    func() time.Time
	keys   *jwkset.MemoryJWKSet
	find   jwt.Keyfunc
	read   atomic.Bool   // some set has been read
	change atomic.Uint64 // counts sets that differed from the one before

	mu      sync.Mutex
	url     string
	last    [sha256.Size]byte // of the body that was read last
	unknown time.Time         // when it was last read for an unknown key id
	reading chan struct{}     // closed when that reading has ended; nil while there is none
	waiting int
}

// NewKeySet reads from a URL that CheckKeySetURL accepts; Run keeps it fresh.
func NewKeySet(address string, log *slog.Logger, now func() time.Time) (*KeySet, error) {
	k := &KeySet{
		client: &http.Client{
			Timeout: keySetTimeout,
			// A redirect could lead into our own network.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		log: log, now: now, url: address, keys: jwkset.NewMemoryStorage(),
	}
	finder, err := keyfunc.New(keyfunc.Options{Storage: k.keys, UseWhitelist: []jwkset.USE{"", jwkset.UseSig}})
	if err != nil {
		return nil, fmt.Errorf("make a key set: %w", err)
	}
	k.find = finder.Keyfunc
	return k, CheckKeySetURL(address)
}

// CheckKeySetURL accepts https, and http to this machine.
func CheckKeySetURL(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return errors.New("the address of a key set must be an https URL without a password")
	}
	ip := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !local) {
		return errors.New("the address of a key set must be https, or http to this machine")
	}
	return nil
}

// Run reads the set now and then until ctx ends; after a failure sooner.
func (k *KeySet) Run(ctx context.Context) error {
	for failures := 0; ctx.Err() == nil; {
		if err := k.refresh(ctx); err != nil && ctx.Err() == nil {
			failures++
			k.log.Warn("key set not read; the keys that are known stay good", "attempt", failures, "err", err)
			backoff.Wait(ctx, failures)
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

// Try says why the set at a URL could not be used; nil where it could.
func (k *KeySet) Try(ctx context.Context, address string) error {
	if err := CheckKeySetURL(address); err != nil {
		return err
	}
	_, _, err := k.fetch(ctx, address)
	return err
}

// Use reads another URL and, if that went well, goes on with its keys alone.
func (k *KeySet) Use(ctx context.Context, address string) error {
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
	return k.keep(ctx, address, body, keys)
}

func (k *KeySet) refresh(ctx context.Context) error {
	k.mu.Lock()
	address := k.url
	k.mu.Unlock()
	body, keys, err := k.fetch(ctx, address)
	if err != nil {
		return err
	}
	return k.keep(ctx, address, body, keys)
}

// fetch reads and parses a set, within its bounds.
func (k *KeySet) fetch(ctx context.Context, address string) ([]byte, []jwkset.JWK, error) {
	ctx, cancel := context.WithTimeout(ctx, keySetTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("read the key set: %w", err)
	}
	resp, err := k.client.Do(req)
	if err != nil {
		return nil, nil, fmt.Errorf("read the key set: %w", err)
	}
	defer func() { _ = resp.Body.Close() }() // only read
	if resp.StatusCode != http.StatusOK {
		return nil, nil, fmt.Errorf("read the key set: it answers %s", resp.Status)
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, resp.Body, maxKeySetBody))
	if err != nil {
		return nil, nil, fmt.Errorf("read the key set, of at most %d bytes: %w", maxKeySetBody, err)
	}
	keys, err := parseKeySet(body)
	return body, keys, err
}

// keep takes a set over, unless another address has been put in its place.
func (k *KeySet) keep(ctx context.Context, address string, body []byte, keys []jwkset.JWK) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if address != k.url {
		return nil
	}
	if err := k.keys.KeyReplaceAll(ctx, keys); err != nil {
		return fmt.Errorf("keep the key set: %w", err)
	}
	if sum := sha256.Sum256(body); sum != k.last {
		k.last = sum
		k.change.Add(1)
		k.log.Info("key set read", "keys", len(keys))
	}
	k.read.Store(true)
	return nil
}

// errNoKeySet is the answer while no set has been read: nobody can be told yet.
func errNoKeySet() error {
	return &scoreboard.Error{Code: scoreboard.CodeUnavailable, Message: "the keys of the identity provider are not known yet", RetryAfter: retryAfterSet}
}

// key is the key that a token names, if its algorithm is that of the token.
func (k *KeySet) key(ctx context.Context, token *jwt.Token) (any, error) {
	kid, ok := token.Header["kid"].(string)
	if !ok || kid == "" || len(kid) > maxKeyIDBytes {
		return nil, errors.New("the token names no key")
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
		return nil, errors.New("the token's algorithm is not that of its key")
	}
	return key, nil
}

// readAgain reads the set for a key id that is not in it, or waits for who does;
// at most once in unknownEvery, whatever is asked for.
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

// readOnce ends by itself: fetch has its time-out.
func (k *KeySet) readOnce(ctx context.Context, done chan struct{}) {
	if err := k.refresh(ctx); err != nil {
		k.log.Warn("key set not read for an unknown key", "err", err)
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
