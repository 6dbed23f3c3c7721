package limit

import (
	"hash/maphash"
	"sync"
	"time"
)

// state is the local state of one key.
type state struct {
	mu        sync.Mutex
	full      time.Duration // when the bucket is full again, since the start
	leased    int64         // unused tokens taken from Redis
	refilling chan struct{} // closed at the end of the running refill; nil without one
}

// The bound of the local state: each shard keeps two generations.
const (
	shards     = 16
	generation = 1024
)

// keys holds the state of recently used keys. Whole generations are evicted, which
// needs no bookkeeping, unlike a list ordered by use.
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

// state returns the state of a key, and creates it if there is none.
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
