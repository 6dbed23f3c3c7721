package limit

import (
	"hash/maphash"
	"sync"
	"time"
)

// state is what this node knows of one key.
type state struct {
	mu     sync.Mutex
	full   time.Duration // since the start: when the bucket is full again
	leased int64         // tokens taken from Redis that nobody has used yet
	asking chan struct{} // closed when the question on its way is answered; nil while there is none
}

// The bound of what is known: each shard keeps two generations.
const (
	shards     = 16
	generation = 1024
)

// keys are the states of the keys that were used last. Forgetting a generation
// at once costs nothing to keep in order, unlike a list of uses.
type keys struct {
	seed   maphash.Seed
	shards [shards]shard
}

type shard struct {
	mu         sync.Mutex
	young, old map[string]*state
}

func newKeys() *keys {
	k := &keys{seed: maphash.MakeSeed()}
	for i := range k.shards {
		k.shards[i].young = make(map[string]*state)
	}
	return k
}

func (k *keys) shard(key string) *shard { return &k.shards[maphash.String(k.seed, key)%shards] }

// state returns what is known of a key, which may be nothing yet.
func (k *keys) state(key string) *state {
	s := k.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.young[key]; known != nil {
		return known
	}
	known := s.old[key]
	if known == nil {
		known = &state{}
	}
	if len(s.young) >= generation {
		s.old, s.young = s.young, make(map[string]*state)
	}
	s.young[key] = known
	return known
}

// known returns what is known of a key, or nil.
func (k *keys) known(key string) *state {
	s := k.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.young[key]; known != nil {
		return known
	}
	return s.old[key]
}
