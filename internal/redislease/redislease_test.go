package redislease_test

import (
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/redislease"
	"github.com/scoreboard/scoreboard/internal/test/backends"
)

func TestMain(m *testing.M) { backends.Main(m) }

// Of two nodes one holds a lease. The other one takes it when the first releases it, or has
// not renewed it, because it is slow or dead; the first cannot release it then.
func TestOneOwnerAtATime(t *testing.T) {
	t.Parallel()
	backends.EachRedis(t, func(t *testing.T, url string) {
		rdb := backends.RedisClient(t, url)
		const key = "sb:test-lease"
		take := func(what, owner string, ttl time.Duration, want bool) {
			t.Helper()
			if held, err := redislease.Take(t.Context(), rdb, key, owner, ttl); err != nil || held != want {
				t.Fatalf("%s: got %t, %v, want %t", what, held, err, want)
			}
		}
		release := func(owner string) {
			t.Helper()
			if err := redislease.Release(t.Context(), rdb, key, owner); err != nil {
				t.Fatal(err)
			}
		}
		take("the first", "a", time.Minute, true)
		take("the second", "b", time.Minute, false)
		release("b")
		take("the second, after it released what it does not hold", "b", time.Minute, false)
		release("a")
		take("the second, after the release", "b", time.Minute, true)

		take("renewed", "b", time.Hour, true)
		if left := rdb.PTTL(t.Context(), key).Val(); left <= time.Minute || left > time.Hour {
			t.Errorf("a renewed lease ends in %s, want an hour", left)
		}
		take("about to expire", "b", 10*time.Millisecond, true)
		for deadline := time.Now().Add(10 * time.Second); rdb.Exists(t.Context(), key).Val() == 1; {
			if time.Now().After(deadline) {
				t.Fatal("the lease of a dead node does not expire")
			}
			time.Sleep(time.Millisecond)
		}
		take("after it has expired", "a", time.Minute, true)
		take("the slow node, once it goes on", "b", time.Minute, false)
		release("b")
		if owner := rdb.Get(t.Context(), key).Val(); owner != "a" {
			t.Errorf("the lease belongs to %q after another node released it, want a", owner)
		}
	})
}
