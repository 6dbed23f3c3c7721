package auth_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// slowKeys answers each read after took, and knows one key.
type slowKeys struct {
	took               time.Duration
	sealed             []byte
	away               atomic.Bool
	now, highest, runs atomic.Int64
	largest            atomic.Int64
}

func (s *slowKeys) SigningKeys(ctx context.Context, ids []string) (map[string]*scoreboard.SigningKey, error) {
	s.highest.Store(max(s.highest.Load(), s.now.Add(1)))
	defer s.now.Add(-1)
	s.runs.Add(1)
	s.largest.Store(max(s.largest.Load(), int64(len(ids))))
	if s.away.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	time.Sleep(s.took)
	if !slices.Contains(ids, "good") {
		return nil, nil
	}
	secrets := []scoreboard.EncryptedSecret{{Encrypted: s.sealed}}
	return map[string]*scoreboard.SigningKey{"good": {Secrets: secrets}}, nil
}

func slowRing(t *testing.T, took time.Duration) (*auth.Keyring, *slowKeys) {
	t.Helper()
	s := &slowKeys{took: took}
	ring, err := auth.NewKeyring([]string{strings.Repeat("0f", 32)}, s, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	s.sealed = ring.Encrypt("good", "secret")
	return ring, s
}

func signedBy(ctx context.Context, ring *auth.Keyring, id, secret string) error {
	_, err := ring.Check(ctx, id, []byte("text"), wire.Sign(secret, []byte("text")), time.Now())
	return err
}

// A flood of invented key ids costs one statement at a time, and a valid key that is
// not cached passes beside it.
func TestFloodOfKeysLetsValidKeyPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ring, s := slowRing(t, 5*time.Millisecond)
		var flood sync.WaitGroup
		var wrong atomic.Int64
		for i := range 3000 {
			flood.Go(func() {
				time.Sleep(time.Duration(i) * 20 * time.Microsecond)
				err := signedBy(t.Context(), ring, fmt.Sprintf("made-%d", i), "x")
				if wire.CodeOf(err) == wire.CodeInvalidSignature {
					wrong.Add(1)
				}
			})
		}
		time.Sleep(30 * time.Millisecond)
		started := time.Now()
		if err := signedBy(t.Context(), ring, "good", "secret"); err != nil {
			t.Errorf("a valid key: %v", err)
		}
		if took := time.Since(started); took > 10*time.Millisecond {
			t.Errorf("a valid key waited %s, want at most two statements of 5ms", took)
		}
		flood.Wait()
		if wrong.Load() != 3000 {
			t.Errorf("%d of 3000 invented keys are an invalid signature", wrong.Load())
		}
		if s.highest.Load() != 1 || s.runs.Load() > 20 || s.largest.Load() > 500 {
			t.Errorf("%d statements, %d at once, of at most %d keys", s.runs.Load(), s.highest.Load(), s.largest.Load())
		}
	})
}

// While the store does not answer, waiting requests are bounded in time and number,
// and a cached key stays valid.
func TestKeyReadsWhileStoreHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ring, s := slowRing(t, 0)
		if err := signedBy(t.Context(), ring, "good", "secret"); err != nil {
			t.Fatal(err)
		}
		s.away.Store(true)
		time.Sleep(2 * time.Second)
		var all sync.WaitGroup
		var overloaded, waited atomic.Int64
		started := time.Now()
		for i := range 20_000 {
			all.Go(func() {
				err := signedBy(t.Context(), ring, fmt.Sprintf("made-%d", i), "x")
				switch {
				case wire.CodeOf(err) == wire.CodeOverloaded:
					overloaded.Add(1)
				case wire.CodeOf(err) == wire.CodeUnavailable, errors.Is(err, context.DeadlineExceeded):
					waited.Add(1)
				}
			})
		}
		time.Sleep(time.Second)
		if err := signedBy(t.Context(), ring, "good", "secret"); err != nil {
			t.Errorf("a cached key: %v", err)
		}
		all.Wait()
		if took := time.Since(started); took > 5*time.Second {
			t.Errorf("the requests took %s", took)
		}
		if overloaded.Load() == 0 || overloaded.Load()+waited.Load() != 20_000 {
			t.Errorf("%d overloaded and %d unavailable of 20000", overloaded.Load(), waited.Load())
		}
	})
}
