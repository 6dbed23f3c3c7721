package limit

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// MaxPerMinute is the highest rate with a precise bucket: tokens are added at whole
// microseconds.
const MaxPerMinute = 1_000_000

// sliceLength is how much of a key's rate a node takes from Redis in advance.
const sliceLength = 100 * time.Millisecond

// Bucket is one limit, with a token bucket for each key.
type Bucket struct {
	*Limiter
	name     string
	interval time.Duration // between two tokens; whole microseconds
	burst    int64         // tokens in a full bucket
	slice    int64         // maximum of tokens of a key that this node leases
	keys     *keys
	rejected prometheus.Counter
	lease    func(ctx context.Context, key string, want int64) (grant, error)
}

// Bucket returns the limit with a name, which is part of its keys in Redis. It adds
// perMinute tokens a minute, 1 to MaxPerMinute, up to burst.
func (l *Limiter) Bucket(name string, perMinute, burst int) *Bucket {
	return l.bucket(name, interval(perMinute, time.Minute), burst)
}

// interval is the time between two of n tokens in a time, in whole microseconds: rounded
// up, so that the rate is never exceeded.
func interval(n int, in time.Duration) time.Duration {
	return (in/time.Microsecond + time.Duration(n) - 1) / time.Duration(n) * time.Microsecond
}

func (l *Limiter) bucket(name string, interval time.Duration, burst int) *Bucket {
	b := &Bucket{
		Limiter: l, name: name, interval: interval, burst: int64(burst), keys: newKeys(),
		rejected: l.rejected.WithLabelValues(name), slice: min(max(int64(sliceLength/interval), 1), int64(burst)),
	}
	b.lease = func(ctx context.Context, key string, want int64) (grant, error) { return l.lease(ctx, b, key, want) }
	return b
}

// Take takes a token of key and returns 0, or how long to wait for one.
func (b *Bucket) Take(ctx context.Context, key string) (wait time.Duration) {
	s := b.keys.state(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.leased > b.slice/4 || s.leased > 0 && (s.refilling != nil || b.wait(s) > 0) {
			s.leased--
			return 0
		}
		if wait := b.wait(s); wait > 0 {
			return b.reject(wait)
		}
		if s.refilling == nil {
			return b.refill(ctx, s, key)
		}
		// Another request is refilling; its tokens serve this one, too.
		refilling := s.refilling
		s.mu.Unlock()
		select {
		case <-refilling:
		case <-ctx.Done():
		}
		s.mu.Lock()
		if ctx.Err() != nil { // the caller is gone
			return b.reject(b.interval)
		}
	}
}

// refill leases tokens from Redis and takes one. While Redis does not answer, the
// local state decides. s is locked, except during the call to Redis.
func (b *Bucket) refill(ctx context.Context, s *state, key string) time.Duration {
	if budget, ok := b.breaker.Budget(redisTimeout); ok {
		called := b.sinceStart()
		g, err := b.leaseUnlocked(ctx, s, key, budget)
		b.breaker.Done(err == nil)
		if err == nil {
			// Counted from the time of the call, so that the wait is rather too
			// short than too long. Tokens that this node granted while Redis was
			// unavailable, or lost data, still count.
			s.full = max(max(s.full, called)+time.Duration(g.taken)*b.interval, called+g.ahead)
			s.leased += g.taken
			if s.leased == 0 {
				return b.reject(max(b.wait(s), time.Microsecond)) // the wait may have passed by now
			}
			s.leased--
			return 0
		}
	}
	if s.leased > 0 {
		s.leased--
		return 0
	}
	b.local.Inc()
	if wait := b.wait(s); wait > 0 { // another request may have taken it meanwhile
		return b.reject(wait)
	}
	s.full = max(s.full, b.sinceStart()) + b.interval
	return 0
}

// leaseUnlocked calls Redis with s unlocked, so that others can use the rest of the
// slice. The call does not end with its caller, because others wait for it.
func (b *Bucket) leaseUnlocked(ctx context.Context, s *state, key string, budget time.Duration) (grant, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), budget)
	defer cancel()
	// Redis may have lost data: never lease more than the local state allows.
	want := min(b.slice-s.leased, 1-int64(b.wait(s)/b.interval))
	s.refilling = make(chan struct{})
	s.mu.Unlock()
	g, err := b.lease(ctx, key, want)
	s.mu.Lock()
	close(s.refilling)
	s.refilling = nil
	return g, err
}

// Return gives back a token of key that was taken and not used. This node grants it to the
// next request, without a round trip. It keeps at most a full bucket of such tokens.
func (b *Bucket) Return(key string) {
	s := b.keys.state(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leased = min(s.leased+1, b.burst)
}

// wait is the time until the next token by the local state; at most 0 if there is a
// token.
func (b *Bucket) wait(s *state) time.Duration {
	return s.full + b.interval - time.Duration(b.burst)*b.interval - b.sinceStart()
}

func (b *Bucket) reject(wait time.Duration) time.Duration {
	b.rejected.Inc()
	return wait
}
