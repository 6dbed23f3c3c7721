package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// TestReplicasOfSentinels reads the replica of a primary that dies. Reads go on: none fails, and
// none lacks what was acknowledged before its as_of. The dead server comes back as the replica,
// and is read instead of the one that was promoted.
func TestReplicasOfSentinels(t *testing.T) {
	t.Parallel()
	sentinels := backends.OwnRedisSentinels(t, 1)
	r := &replicated{harness: newHarness(t)}
	r.settings["redis-url"], r.settings["reads-user-cache"] = sentinels.URL, "0s"
	r.game = r.start(allRoles).client("game", auth.ScopeUpdate)
	r.reads = r.start("read", "redis-replica-url", sentinels.URL)
	r.reader = r.reads.client("reader", auth.ScopeUpdate)
	r.add("bob")
	r.await("the ranking of the replica to have bob", func() bool { return !r.score("bob", 0).Degraded })
	r.awaitReplicaReads()

	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		r.writeAndReadUntil("bob", 1, stop)
	}()
	sentinels.Servers[0].Kill()
	sentinels.AwaitPrimary(1)
	r.await("the promoted server to be rejected as a replica", func() bool {
		return strings.Contains(r.reads.Log(), "it was promoted, or is the primary itself")
	})
	r.await("the promoted server to be read as the primary", func() bool { return !r.score("bob", 0).Degraded })
	sentinels.Servers[0].Start()
	r.awaitReplicaReads()
	r.await("the boards of the new primary to be healthy", func() bool {
		p := r.score("bob", 0)
		return !p.Degraded && time.Since(p.AsOf) < 3*time.Second
	})
	close(stop)
	<-ended
}

// awaitReplicaReads waits until twenty reads one after the other come from the replica of Redis.
func (r *replicated) awaitReplicaReads() {
	r.t.Helper()
	r.await("reads to come from the replica of Redis", func() bool {
		others := func() float64 { return r.readsBy("redis", "primary") + r.readsBy("redis", "behind") }
		before, elsewhere := r.readsBy("redis", "replica"), others()
		for range 20 {
			r.score("bob", 0)
			time.Sleep(10 * time.Millisecond)
		}
		return r.readsBy("redis", "replica") > before && others() == elsewhere
	})
}

// writeAndReadUntil has a user with a number of events write and read until stop is closed.
func (r *replicated) writeAndReadUntil(user string, events int64, stop <-chan struct{}) {
	began := time.Now()
	var acknowledged []time.Time
	for {
		select {
		case <-stop:
			return
		case <-time.After(10 * time.Millisecond):
		}
		if _, err := r.game.Submit(r.t.Context(), client.Increment{User: user, Delta: 1}); err != nil {
			r.t.Errorf("after %s: %v", time.Since(began), err)
			return
		}
		acknowledged = append(acknowledged, time.Now())
		p, err := r.reader.Score(r.t.Context(), user, client.PlaceQuery{})
		if err != nil {
			r.t.Errorf("after %s: %v", time.Since(began), err)
			return
		}
		included := events
		for _, at := range acknowledged {
			if !at.After(p.AsOf) {
				included++
			}
		}
		if p.Score < included {
			r.t.Errorf("as of %s: got the score %d, want %d: %+v", p.AsOf, p.Score, included, p)
		}
	}
}
