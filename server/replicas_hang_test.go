package server_test

import (
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// TestReplicasThatHang has both replicas stop answering while clients read. Their connections stay
// open. Each read is answered soon, by the primary.
func TestReplicasThatHang(t *testing.T) {
	t.Parallel()
	r := newReplicated(t)
	postgres := newName(t, hostOf(t, r.standby.URL))
	r.reads = r.start("read", "postgres-replica-url", postgres.of(t, r.standby.URL), "redis-replica-url", r.replica.URL)
	r.reader = r.reads.client("reader", auth.ScopeUpdate+" "+auth.ScopeAdmin)
	r.awaitScore("alice", 1)
	at := time.Now()
	r.await("the moment to be settled on the replica", func() bool {
		before := r.readsBy("postgres", "replica")
		_, err := r.reader.Top(t.Context(), client.TopQuery{At: at})
		return err == nil && r.readsBy("postgres", "replica") > before
	})
	const soon = 3 * time.Second
	end := time.Now().Add(6 * time.Second)
	var all sync.WaitGroup
	for name, read := range map[string]func() error{
		"a statement": func() error {
			_, err := r.reader.Statement(t.Context(), "alice", client.StatementQuery{})
			return err
		},
		"a standing of the past": func() error {
			_, err := r.reader.Score(t.Context(), "alice", client.PlaceQuery{At: at})
			return err
		},
		"a standing": func() error {
			_, err := r.reader.Score(t.Context(), "alice", client.PlaceQuery{})
			return err
		},
	} {
		all.Go(func() {
			for time.Now().Before(end) {
				began := time.Now()
				err := read()
				if took := time.Since(began); err != nil || took > soon {
					t.Errorf("%s took %s: %v", name, took, err)
				}
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	time.Sleep(200 * time.Millisecond)
	resume := r.replica.Hang()
	postgres.gate.Lock()
	all.Wait()
	postgres.gate.Unlock()
	resume()
	r.awaitUsable("postgres", true)
	r.awaitUsable("redis", true)
}
