package limit

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// MaxPerMinute is the highest rate that a bucket measures well: tokens come in
// whole microseconds.
const MaxPerMinute = 1_000_000

// sliceLength is how much of its rate a node takes ahead for a key.
const sliceLength = 100 * time.Millisecond

// Bucket is one limit, with a bucket of tokens for each key.
type Bucket struct {
	*Limiter
	name     string
	interval time.Duration // brings a token; whole microseconds
	burst    int64         // tokens in a full bucket
	slice    int64         // the most that this node holds of a key
	keys     *keys
	refusals prometheus.Counter
	lease    func(ctx context.Context, key string, want int64) (grant, error)
}

// Bucket makes the limit of that name, which is part of its keys in Redis:
// perMinute tokens come in a minute, 1 to MaxPerMinute, and at most burst are
// there at once.
func (l *Limiter) Bucket(name string, perMinute, burst int) *Bucket {
	// Rounded up, so that never more than the rate is let in.
	interval := (time.Minute/time.Microsecond + time.Duration(perMinute) - 1) / time.Duration(perMinute) * time.Microsecond
	b := &Bucket{
		Limiter: l, name: name, interval: interval, burst: int64(burst), keys: newKeys(), refusals: l.refused.WithLabelValues(name),
		slice: min(max(int64(sliceLength/interval), 1), int64(burst)),
	}
	b.lease = func(ctx context.Context, key string, want int64) (grant, error) { return l.ask(ctx, b, key, want) }
	return b
}

// Take takes a token of key and returns 0, or how long to wait for one.
func (b *Bucket) Take(ctx context.Context, key string) (wait time.Duration) {
	s := b.keys.state(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.leased > b.slice/4 || s.leased > 0 && (s.asking != nil || b.wait(s) > 0) {
			s.leased--
			return 0
		}
		if wait := b.wait(s); wait > 0 {
			return b.refuse(wait)
		}
		if s.asking == nil {
			return b.refill(ctx, s, key)
		}
		// Who asks already asks for us too.
		asking := s.asking
		s.mu.Unlock()
		select {
		case <-asking:
		case <-ctx.Done():
		}
		s.mu.Lock()
		if ctx.Err() != nil { // nobody hears the answer
			return b.refuse(b.interval)
		}
	}
}

// refill asks Redis for tokens and takes one of them. While Redis does not
// answer, this node's own knowledge decides. s is locked, except while asking.
func (b *Bucket) refill(ctx context.Context, s *state, key string) time.Duration {
	if budget, ok := b.breaker.Budget(askBudget); ok {
		asked := b.sinceStart()
		g, err := b.askUnlocked(ctx, s, key, budget)
		b.breaker.Done(err == nil)
		if err == nil {
			// Since it was asked at the latest: rather ask again too early
			// than keep somebody waiting. What this node gave out while Redis
			// was away, or has forgotten it, still counts.
			s.full = max(max(s.full, asked)+time.Duration(g.taken)*b.interval, asked+g.ahead)
			s.leased += g.taken
			if s.leased == 0 {
				return b.refuse(max(b.wait(s), time.Microsecond)) // it may be over by now
			}
			s.leased--
			return 0
		}
	}
	if s.leased > 0 {
		s.leased--
		return 0
	}
	b.alone.Inc()
	if wait := b.wait(s); wait > 0 { // another may have taken it meanwhile
		return b.refuse(wait)
	}
	s.full = max(s.full, b.sinceStart()) + b.interval
	return 0
}

// askUnlocked lets others have what is left of the slice meanwhile. It does not
// end with its caller, for others wait for it.
func (b *Bucket) askUnlocked(ctx context.Context, s *state, key string, budget time.Duration) (grant, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), budget)
	defer cancel()
	// No more than is there by what this node knows: Redis may have forgotten.
	want := min(b.slice-s.leased, 1-int64(b.wait(s)/b.interval))
	s.asking = make(chan struct{})
	s.mu.Unlock()
	g, err := b.lease(ctx, key, want)
	s.mu.Lock()
	close(s.asking)
	s.asking = nil
	return g, err
}

// Wait is how long a key that is refused here stays so; 0 while it is not. It
// takes nothing and asks nobody.
func (b *Bucket) Wait(key string) time.Duration {
	s := b.keys.known(key)
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leased > 0 {
		return 0
	}
	return max(b.wait(s), 0)
}

// wait is how long the bucket stays without a token, as far as is known here;
// not above 0 where there is one.
func (b *Bucket) wait(s *state) time.Duration {
	return s.full + b.interval - time.Duration(b.burst)*b.interval - b.sinceStart()
}

func (b *Bucket) refuse(wait time.Duration) time.Duration {
	b.refusals.Inc()
	return wait
}
