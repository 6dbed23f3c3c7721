package auth

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Bounds of reading keys. Clients choose the ids, so this is what a flood of invented
// ones can cost: one connection to the store, with one statement at a time. A batch
// holds more ids than requests arrive during a statement, so that a valid key beside
// the flood waits for one or two.
const (
	keyReadTimeout = 2 * time.Second // of a batch, waiting for its turn included
	maxKeyBatch    = 500             // ids of a statement
	maxKeyBatches  = 20              // full batches that wait for their turn
)

// keyReads reads keys from the store in batches: while one is being read, the next
// collects the ids that are asked for meanwhile.
type keyReads struct {
	store KeyStore
	now   func() time.Time
	read  func(keyID string, found *scoreboard.SigningKey, at time.Time) (*liveKey, error)
	turn  chan struct{} // holds an element while a batch is read

	mu      sync.Mutex
	open    *keyBatch // takes more ids; nil for none
	waiting int       // batches that have not been read
}

// keyBatch is read by the request that opened it. found and err are set when done is
// closed.
type keyBatch struct {
	ids   map[string]bool
	done  chan struct{}
	found map[string]keyRead
	err   error
}

type keyRead struct {
	key *liveKey
	err error
}

// do returns a key as it is in the store after the call began; nil if it is unknown,
// revoked or expired. A cached key is always read, so that a flood cannot keep a
// revoked one valid.
func (r *keyReads) do(ctx context.Context, keyID string, cached bool) (*liveKey, error) {
	r.mu.Lock()
	b := r.open
	if b == nil || len(b.ids) >= maxKeyBatch && !b.ids[keyID] {
		if r.waiting >= maxKeyBatches && !cached {
			r.mu.Unlock()
			return nil, &scoreboard.Error{
				Code: wire.CodeOverloaded, Message: "too many signatures to verify", RetryAfter: time.Second,
			}
		}
		r.open = &keyBatch{ids: map[string]bool{keyID: true}, done: make(chan struct{})}
		b = r.open
		r.waiting++
		r.mu.Unlock()
		r.run(context.WithoutCancel(ctx), b) // others wait for it
	} else {
		b.ids[keyID] = true
		r.mu.Unlock()
		select {
		case <-b.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if b.err != nil {
		return nil, b.err
	}
	return b.found[keyID].key, b.found[keyID].err
}

// run reads a batch when it is its turn.
func (r *keyReads) run(ctx context.Context, b *keyBatch) {
	defer close(b.done)
	ctx, cancel := context.WithTimeout(ctx, keyReadTimeout)
	defer cancel()
	late := false
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		late = true
	}
	r.mu.Lock()
	r.waiting--
	if r.open == b {
		r.open = nil
	}
	r.mu.Unlock()
	if late {
		b.err = &scoreboard.Error{
			Code: wire.CodeUnavailable, Message: "signatures cannot be verified in time",
			RetryAfter: time.Second, Err: ctx.Err(),
		}
		return
	}
	// The time before the read: a key that is revoked during it is read again in time.
	at := r.now()
	found, err := r.store.SigningKeys(ctx, slices.Collect(maps.Keys(b.ids)))
	if err != nil {
		b.err = err
		return
	}
	b.found = make(map[string]keyRead, len(b.ids))
	for id := range b.ids {
		key, err := r.read(id, found[id], at)
		b.found[id] = keyRead{key, err}
	}
}
