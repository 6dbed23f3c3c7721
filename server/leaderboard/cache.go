package leaderboard

import (
	"hash/maphash"
	"sync"
	"time"
)

// cache keeps recent answers. Each shard has two generations, and drops the older
// one when the younger is full or has expired; unlike a list of uses, this costs
// nothing to maintain.
type cache[K comparable, V any] struct {
	keep   time.Duration // how long an answer is kept at least, unless the cache is full
	max    int           // weight of a generation of a shard
	seed   maphash.Seed
	shards [16]cacheShard[K, V]
}

type cacheShard[K comparable, V any] struct {
	mu         sync.Mutex
	young, old map[K]cached[V]
	began      time.Time // of the younger generation
	weight     int       // of the younger generation
}

type cached[V any] struct {
	value V
	at    time.Time
}

// newCache returns a cache whose total weight is at most twice size.
func newCache[K comparable, V any](keep time.Duration, size int) *cache[K, V] {
	r := &cache[K, V]{keep: keep, seed: maphash.MakeSeed()}
	r.max = max(size/len(r.shards), 1)
	for i := range r.shards {
		r.shards[i].young = make(map[K]cached[V])
	}
	return r
}

func (r *cache[K, V]) shard(key K) *cacheShard[K, V] {
	return &r.shards[maphash.Comparable(r.seed, key)%uint64(len(r.shards))]
}

// get returns the answer under key if it is at most ttl old.
func (r *cache[K, V]) get(key K, ttl time.Duration) (v V, ok bool) {
	s := r.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.young[key]
	if !ok {
		c, ok = s.old[key]
	}
	if !ok || time.Since(c.at) > ttl {
		return v, false
	}
	return c.value, true
}

// put stores an answer of a point in time.
func (r *cache[K, V]) put(key K, v V, weight int, at time.Time) {
	now := time.Now()
	s := r.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.weight >= r.max || now.Sub(s.began) > r.keep {
		s.old, s.young = s.young, make(map[K]cached[V])
		s.began, s.weight = now, 0
	}
	s.young[key] = cached[V]{v, at}
	s.weight += weight
}
