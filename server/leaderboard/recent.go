package leaderboard

import (
	"hash/maphash"
	"sync"
	"time"
)

// recent keeps the answers of the last moments: each shard has two generations,
// and the older one is forgotten when the younger is full or has had its time.
// Forgetting a generation at once costs nothing to keep in order, unlike a list
// of uses.
type recent[K comparable, V any] struct {
	keep   time.Duration // an answer is kept at least so long, unless there are too many
	most   int           // weight of a generation of a shard
	seed   maphash.Seed
	shards [16]recentShard[K, V]
}

type recentShard[K comparable, V any] struct {
	mu         sync.Mutex
	young, old map[K]kept[V]
	began      time.Time // the younger generation
	weight     int       // of it
}

type kept[V any] struct {
	value V
	at    time.Time
}

// newRecent keeps answers of a total weight of at most twice most.
func newRecent[K comparable, V any](keep time.Duration, most int) *recent[K, V] {
	r := &recent[K, V]{keep: keep, seed: maphash.MakeSeed()}
	r.most = max(most/len(r.shards), 1)
	for i := range r.shards {
		r.shards[i].young = make(map[K]kept[V])
	}
	return r
}

func (r *recent[K, V]) shard(key K) *recentShard[K, V] {
	return &r.shards[maphash.Comparable(r.seed, key)%uint64(len(r.shards))]
}

// get returns what is kept under key, where it is of at most life ago.
func (r *recent[K, V]) get(key K, life time.Duration) (v V, ok bool) {
	s := r.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.young[key]
	if !ok {
		k, ok = s.old[key]
	}
	if !ok || time.Since(k.at) > life {
		return v, false
	}
	return k.value, true
}

// put keeps what is of a time.
func (r *recent[K, V]) put(key K, v V, weight int, at time.Time) {
	now := time.Now()
	s := r.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.weight >= r.most || now.Sub(s.began) > r.keep {
		s.old, s.young = s.young, make(map[K]kept[V])
		s.began, s.weight = now, 0
	}
	s.young[key] = kept[V]{v, at}
	s.weight += weight
}
