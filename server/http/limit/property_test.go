package limit

import (
	"context"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// model behaves like take.lua, with a clock that the test controls.
type model struct {
	now  time.Time
	full time.Time
	away bool
}

func (m *model) ask(b *Bucket, want int64) (grant, error) {
	if m.away {
		return grant{}, errors.New("away")
	}
	ahead := max(m.full.Sub(m.now), 0)
	taken := min(want, int64((time.Duration(b.burst)*b.interval-ahead)/b.interval))
	m.full = m.now.Add(ahead + time.Duration(taken)*b.interval)
	return grant{taken, ahead + time.Duration(taken)*b.interval}, nil
}

// node is one process with one limit, and the model as its Redis.
func (m *model) node(perMinute, burst int) *Bucket {
	b := New(nil, func() time.Time { return m.now }).Bucket("updates", perMinute, burst)
	b.lease = func(_ context.Context, _ string, want int64) (grant, error) { return m.ask(b, want) }
	return b
}

// checkBound checks every interval between two admissions.
func checkBound(t *rapid.T, who string, admitted []time.Time, interval time.Duration, more int64) {
	for i := range admitted {
		for j := i; j < len(admitted); j++ {
			limit := int64(admitted[j].Sub(admitted[i])/interval) + more
			if got := int64(j - i + 1); got > limit {
				t.Fatalf("%s: admitted %d within %s, want at most %d", who, got, admitted[j].Sub(admitted[i]), limit)
			}
		}
	}
}

// A bucket admits at most rate·t + burst, and a slice for each node: all nodes
// together while Redis answers, and each node in any case.
func TestRateBound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		faults := rapid.Bool().Draw(t, "faults")
		perMinute := rapid.SampledFrom([]int{1, 7, 10, 60, 6_000, 600_000}).Draw(t, "per minute")
		burst := rapid.IntRange(1, 30).Draw(t, "burst")
		m := &model{now: time.Unix(1, 0)}
		nodes := make([]*Bucket, rapid.IntRange(1, 3).Draw(t, "nodes"))
		each := make([][]time.Time, len(nodes))
		for i := range nodes {
			nodes[i] = m.node(perMinute, burst)
		}
		var all []time.Time
		slice, interval := nodes[0].slice, nodes[0].interval
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			step := rapid.IntRange(0, 5).Draw(t, "step")
			switch {
			case step == 0:
				m.now = m.now.Add(time.Duration(rapid.Int64Range(0, 3*int64(interval)).Draw(t, "wait")))
			case step == 1 && faults:
				m.away = !m.away
			case step == 2 && faults:
				m.full = time.Time{} // flushed
			case step == 3 && faults:
				m.now = m.now.Add(pause) // for the breaker to probe
			default:
				n := rapid.IntRange(0, len(nodes)-1).Draw(t, "node")
				switch wait := nodes[n].Take(t.Context(), "alice"); {
				case wait < 0 || wait > interval:
					t.Fatalf("a wait of %s, want at most one token's: %s", wait, interval)
				case wait == 0:
					each[n], all = append(each[n], m.now), append(all, m.now)
				}
			}
		}
		for n := range nodes {
			checkBound(t, "one node", each[n], interval, int64(burst)+slice)
		}
		if !faults {
			more := int64(burst)
			if slice > 1 {
				more += int64(len(nodes)) * slice
			}
			checkBound(t, "all nodes", all, interval, more)
		}
	})
}

// One node with slices of one token decides each request like a plain token bucket
// and returns the exact wait, with Redis and without.
func TestOneNodeMatchesTokenBucket(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &model{now: time.Unix(1, 0), away: rapid.Bool().Draw(t, "away")}
		b := m.node(rapid.IntRange(1, 1_000).Draw(t, "per minute"), rapid.IntRange(1, 20).Draw(t, "burst"))
		plain := &model{}
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			m.now = m.now.Add(time.Duration(rapid.Int64Range(0, 2*int64(b.interval)).Draw(t, "pause")))
			plain.now = m.now
			g, err := plain.ask(b, 1)
			if err != nil {
				t.Fatal(err)
			}
			var want time.Duration
			if g.taken == 0 {
				want = max(g.ahead-time.Duration(b.burst-1)*b.interval, 0)
			}
			if got := b.Take(t.Context(), "alice"); got != want {
				t.Fatalf("got a wait of %s, want %s", got, want)
			}
		}
	})
}

func TestKeyStatesAreBounded(t *testing.T) {
	t.Parallel()
	m := &model{now: time.Unix(1, 0), away: true}
	b := m.node(10, 10)
	for range 10 {
		b.Take(t.Context(), "alice")
	}
	name := make([]byte, 4)
	for i := range 20 * shards * generation {
		name[0], name[1], name[2], name[3] = byte(i), byte(i>>8), byte(i>>16), 'x'
		b.keys.state(string(name))
		if i%generation == 0 {
			b.Take(t.Context(), "alice")
		}
	}
	if b.Take(t.Context(), "alice") == 0 {
		t.Error("a key in use was evicted")
	}
	held := 0
	for i := range b.keys.shards {
		held += len(b.keys.shards[i].young) + len(b.keys.shards[i].old)
	}
	if limit := 2 * shards * generation; held > limit {
		t.Errorf("got %d keys, want at most %d", held, limit)
	}
}

func TestFlushedRedisGrantsNoSecondBurst(t *testing.T) {
	t.Parallel()
	m := &model{now: time.Unix(1, 0)}
	b := m.node(6_000, 10)
	admitted := func() (n int) {
		for b.Take(t.Context(), "alice") == 0 {
			n++
		}
		return n
	}
	if got := admitted(); got != 10 {
		t.Fatalf("got %d tokens from a full bucket, want 10", got)
	}
	m.full, m.now = time.Time{}, m.now.Add(b.interval)
	if got := admitted(); got != 1 {
		t.Errorf("got %d tokens after one token's interval and a flush, want 1", got)
	}
}
