package limit_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/limit"
)

func TestMain(m *testing.M) { backends.Main(m) }

func connect(t testing.TB, url string) *redis.Client {
	t.Helper()
	return backends.RedisClient(t, url, func(o *redis.Options) { o.ContextTimeoutEnabled = true })
}

func TestNodesShareBuckets(t *testing.T) {
	t.Parallel()
	backends.EachRedis(t, func(t *testing.T, url string) {
		rdb := connect(t, url)
		first := limit.New(rdb, time.Now).Bucket("updates", 10, 10)
		second := limit.New(rdb, time.Now).Bucket("updates", 10, 10)
		for i := range 10 {
			node := []*limit.Bucket{first, second}[i%2]
			if wait := node.Take(t.Context(), "alice"); wait != 0 {
				t.Fatalf("token %d of 10: got a wait of %s", i+1, wait)
			}
		}
		for name, node := range map[string]*limit.Bucket{"first": first, "second": second} {
			if wait := node.Take(t.Context(), "alice"); wait < 5*time.Second || wait > 6*time.Second {
				t.Errorf("the eleventh of the %s node: got a wait of %s, want nearly 6s", name, wait)
			}
			if wait := node.Take(t.Context(), "bob"); wait != 0 {
				t.Errorf("another user: got a wait of %s", wait)
			}
		}
		if wait := limit.New(rdb, time.Now).Bucket("top", 10, 10).Take(t.Context(), "alice"); wait != 0 {
			t.Errorf("another limit: got a wait of %s", wait)
		}
		keys, err := rdb.Keys(t.Context(), "*").Result()
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(keys)
		if want := []string{
			"sb:limit:{top:alice}",
			"sb:limit:{updates:alice}",
			"sb:limit:{updates:bob}",
		}; !slices.Equal(
			keys,
			want,
		) {
			t.Errorf("got keys %q, want %q", keys, want)
		}
		for _, key := range keys {
			full, err := rdb.Get(t.Context(), key).Int64()
			if in := time.Until(time.UnixMicro(full)); err != nil || in <= 0 || in > time.Minute {
				t.Errorf("%s is full in %s (%v), want within a minute", key, in, err)
			}
			if ttl := rdb.PTTL(t.Context(), key).Val(); ttl <= 0 || ttl > time.Minute {
				t.Errorf("%s lives for %s, want no longer than the bucket takes to fill", key, ttl)
			}
		}
	})
}

// Three nodes with many callers, in real time and by the clock of Redis: every
// interval admits at most rate·t + burst and a slice for each node, and the whole
// run hardly less, so slices starve no caller.
func TestNodesTogetherKeepRate(t *testing.T) {
	t.Parallel()
	backends.EachRedis(t, func(t *testing.T, url string) {
		const perMinute, burst, slice, nodes, callers = 12_000, 100, 20, 3, 4
		const interval = time.Minute / perMinute
		type admission struct{ before, after time.Time }
		var mu sync.Mutex
		var admitted []admission
		var all sync.WaitGroup
		began := time.Now()
		for range nodes {
			rdb := connect(t, url)
			b := limit.New(rdb, time.Now).Bucket("updates", perMinute, burst)
			for range callers {
				all.Go(func() {
					for time.Since(began) < time.Second {
						before := time.Now()
						if wait := b.Take(context.Background(), "alice"); wait > 0 {
							time.Sleep(wait)
							continue
						}
						mu.Lock()
						admitted = append(admitted, admission{before, time.Now()})
						mu.Unlock()
					}
				})
			}
		}
		all.Wait()
		took := time.Since(began)
		slices.SortFunc(admitted, func(a, b admission) int { return a.before.Compare(b.before) })
		for i := range admitted {
			for j := i; j < len(admitted); j++ {
				within := admitted[j].after.Sub(admitted[i].before)
				if got, limit := j-i+1, int(within/interval)+burst+nodes*slice; got > limit {
					t.Fatalf("admitted %d within %s, want at most %d", got, within, limit)
				}
			}
		}
		if got, minimum := len(admitted), int(took/interval)*8/10; got < minimum {
			t.Errorf("admitted %d in %s, want at least %d", got, took, minimum)
		}
	})
}

func TestOneRoundTripForASlice(t *testing.T) {
	t.Parallel()
	rdb := connect(t, backends.Redis(t))
	b := limit.New(rdb, time.Now).Bucket("servers", 600_000, 10_000)
	const requests = 5_000
	for i := range requests {
		if wait := b.Take(t.Context(), "game"); wait != 0 {
			t.Fatalf("request %d: got a wait of %s", i, wait)
		}
	}
	stats, err := rdb.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for line := range strings.Lines(stats) {
		if name, counts, _ := strings.Cut(line, ":calls="); name == "cmdstat_eval" || name == "cmdstat_evalsha" {
			n, err := strconv.Atoi(counts[:strings.Index(counts, ",")])
			if err != nil {
				t.Fatal(err)
			}
			calls += n
		}
	}
	if calls == 0 || calls > 10 {
		t.Errorf("got %d calls of the script for %d requests, want at most 10", calls, requests)
	}
}

func TestRedisClockSetBack(t *testing.T) {
	t.Parallel()
	backends.EachRedis(t, func(t *testing.T, url string) {
		rdb := connect(t, url)
		hour := time.Now().Add(time.Hour).UnixMicro()
		if err := rdb.Set(t.Context(), "sb:limit:{updates:alice}", hour, time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
		wait := limit.New(rdb, time.Now).Bucket("updates", 10, 10).Take(t.Context(), "alice")
		if wait <= 5*time.Second || wait > 6*time.Second {
			t.Errorf("got a wait of %s, want one token's", wait)
		}
	})
}

func BenchmarkTake(b *testing.B) {
	l := limit.New(connect(b, backends.Redis(b)), time.Now)
	b.Run("servers", func(b *testing.B) {
		// As fast as possible, hence with a rate that it cannot reach.
		bucket := l.Bucket("servers", limit.MaxPerMinute, 1<<40)
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				if bucket.Take(b.Context(), "game") != 0 {
					b.Error("rejected")
				}
			}
		})
	})
	b.Run("refused", func(b *testing.B) {
		bucket := l.Bucket("updates", 10, 10)
		for b.Loop() {
			bucket.Take(b.Context(), "alice")
		}
	})
	b.Run("round trip", func(b *testing.B) {
		bucket := l.Bucket("round", 60, 1<<30)
		for b.Loop() {
			bucket.Take(b.Context(), "alice")
		}
	})
}

// A raised limit helps a user who is already limited at once: after one token's time of the
// new rate, whatever the lower one had left to wait.
func TestRaisedLimit(t *testing.T) {
	t.Parallel()
	backends.EachRedis(t, func(t *testing.T, url string) {
		for name, rates := range map[string]struct {
			old, raised limit.Rates
			limit       func(*limit.Set) *limit.Adjustable
		}{
			"updates": {
				old: limit.Rates{Updates: 10, IPv6Prefix: 64}, raised: limit.Rates{Updates: 600, IPv6Prefix: 64},
				limit: func(s *limit.Set) *limit.Adjustable { return s.Updates.Users },
			},
			"top": {
				old: limit.Rates{Top: 1, IPv6Prefix: 64}, raised: limit.Rates{Top: 600, IPv6Prefix: 64},
				limit: func(s *limit.Set) *limit.Adjustable { return s.Top.Users },
			},
		} {
			nodes := []*limit.Set{
				limit.NewSet(limit.New(connect(t, url), time.Now), rates.old),
				limit.NewSet(limit.New(connect(t, url), time.Now), rates.old),
			}
			for range 20 {
				rates.limit(nodes[0]).Take(t.Context(), "raised")
			}
			admitted := 0
			for _, s := range nodes {
				s.Configure(rates.raised)
			}
			for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				for _, s := range nodes {
					if rates.limit(s).Take(t.Context(), "raised") == 0 {
						admitted++
					}
				}
			}
			// Ten a second, less what a busy machine delays.
			if admitted < 10 || admitted > 32 {
				t.Errorf("%s: admitted %d in two seconds after the limit was raised to 10 a second", name, admitted)
			}
		}
	})
}

// A token that is given back is granted again, without a round trip.
func TestReturnedToken(t *testing.T) {
	t.Parallel()
	backends.EachRedis(t, func(t *testing.T, url string) {
		b := limit.New(connect(t, url), time.Now).Bucket("returned", 3, 3)
		for i := range 20 {
			if wait := b.Take(t.Context(), "k"); wait != 0 {
				t.Fatalf("token %d: got a wait of %s", i, wait)
			}
			b.Return("k")
		}
		for i := range 3 {
			if wait := b.Take(t.Context(), "k"); wait != 0 {
				t.Fatalf("of the bucket, %d: got a wait of %s", i, wait)
			}
		}
		if b.Take(t.Context(), "k") == 0 {
			t.Error("a fourth token of three")
		}
	})
}

// The number of updates counts in its window, also after the window was changed.
func TestUpdatesWindow(t *testing.T) {
	t.Parallel()
	rdb := connect(t, backends.Redis(t))
	s := limit.NewSet(limit.New(rdb, time.Now), limit.Rates{Updates: 3, UpdatesWindow: time.Hour, IPv6Prefix: 64})
	for range 3 {
		if wait := s.Updates.Users.Take(t.Context(), "alice"); wait != 0 {
			t.Fatalf("one of the first three has to wait for %s", wait)
		}
	}
	within := func(longest time.Duration) {
		t.Helper()
		if wait := s.Updates.Users.Take(t.Context(), "alice"); wait <= longest*9/10 || wait > longest {
			t.Errorf("the fourth has to wait for %s, want %s", wait, longest)
		}
	}
	within(20 * time.Minute)
	s.Configure(limit.Rates{Updates: 3, UpdatesWindow: 30 * time.Second, IPv6Prefix: 64})
	within(10 * time.Second)
	s.Configure(limit.Rates{Updates: 3, IPv6Prefix: 64}) // a minute
	if wait := s.Actions.Users.Take(t.Context(), "bob"); wait != 0 {
		t.Errorf("an action of another user has to wait for %s", wait)
	}
	if wait := s.Updates.Servers.Take(t.Context(), "game"); wait != 0 {
		t.Errorf("a server has to wait for %s", wait)
	}
}
