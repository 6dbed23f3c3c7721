package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// outage is how long a backend is down: a minute in the long tests (make proof).
func outage() time.Duration {
	if os.Getenv("SCOREBOARD_PROOF") != "" {
		return time.Minute
	}
	return 3 * time.Second
}

// writes submits increments of a few users until it is stopped, and fails the test
// if one is rejected.
type writes struct {
	done atomic.Int64
	stop func()
}

func (h *harness) write(c *client.Client) *writes {
	ctx, cancel := context.WithCancel(context.Background())
	w := &writes{}
	var all sync.WaitGroup
	for u := range 4 {
		all.Go(func() {
			for ctx.Err() == nil {
				call, end := context.WithTimeout(context.Background(), 10*time.Second)
				_, err := c.Submit(call, client.Increment{User: fmt.Sprint("user-", u), Delta: 1})
				end()
				if err != nil {
					h.t.Errorf("a write was rejected: %v", err)
					return
				}
				w.done.Add(1)
				select {
				case <-time.After(20 * time.Millisecond):
				case <-ctx.Done():
				}
			}
		})
	}
	w.stop = sync.OnceFunc(func() { cancel(); all.Wait() })
	h.t.Cleanup(w.stop)
	return w
}

// sum waits until Redis has exactly the points that were written.
func (h *harness) sum(c *client.Client, want int64) {
	h.t.Helper()
	eventually(h.t, "Redis to have every point", topIs(c, func(top client.Top) error {
		sum := int64(0)
		for _, e := range top.Entries {
			sum += e.Score
		}
		if sum != want || top.Degraded {
			return fmt.Errorf("%d points of %d, degraded %q", sum, want, top.DegradedReason)
		}
		return nil
	}))
	if n := h.sql(`select coalesce(sum(score), 0)::bigint from scores`); n != want {
		h.t.Errorf("PostgreSQL has %d points, want %d", n, want)
	}
}

// What the clients of the backends log during an outage is in the form of the log, too.
func TestRedisOutageUnderWrites(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d := h.start()
	server := h.client(d, "server", auth.ScopeUpdate)
	w := h.write(server)
	eventually(t, "writes to flow", func() error {
		if w.done.Load() < 20 {
			return fmt.Errorf("only %d", w.done.Load())
		}
		return nil
	})
	h.redis.Stop()
	before := w.done.Load()
	time.Sleep(outage())
	if during := w.done.Load() - before; during < 20 {
		t.Errorf("%d writes while Redis was down, want them to continue", during)
	}
	h.redis.Start()
	time.Sleep(500 * time.Millisecond) // also while it restarts
	w.stop()
	h.sum(server, w.done.Load())
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(d.logs.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("the log has the line %q", line)
		}
	}
}

func TestKafkaOutageFillsAndDrainsOutbox(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	kafka := backends.OwnKafka(t)
	h.env = slices.DeleteFunc(h.env, func(v string) bool { return strings.HasPrefix(v, "SCOREBOARD_KAFKA_BROKERS=") })
	h.env = append(h.env, "SCOREBOARD_KAFKA_BROKERS="+kafka.Brokers[0])
	d := h.start()
	root := h.client(d, "root", auth.ScopeUpdate+" "+auth.ScopeAdmin)
	depth := func() (n int64) {
		t.Helper()
		ctx, cancel := contextFor(10 * time.Second)
		defer cancel()
		o, err := root.Outbox(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range o.Shards {
			n += s.Depth
		}
		return n
	}
	w := h.write(root)
	eventually(t, "writes to be ranked", topIs(root, func(top client.Top) error {
		if len(top.Entries) < 4 {
			return fmt.Errorf("%d users", len(top.Entries))
		}
		return nil
	}))
	kafka.Kill()
	before := w.done.Load()
	time.Sleep(outage())
	if during := w.done.Load() - before; during < 20 {
		t.Errorf("%d writes while Kafka was down, want them to continue", during)
	}
	if n := depth(); n < 20 {
		t.Errorf("%d rows wait in the outbox, want those written during the outage", n)
	}
	kafka.Start()
	w.stop()
	deadline := time.Now().Add(time.Minute)
	for depth() > 0 { // readers and writers reconnect with backoff
		if time.Now().After(deadline) {
			t.Fatal("the outbox has not drained within a minute")
		}
		time.Sleep(100 * time.Millisecond)
	}
	h.sum(root, w.done.Load())
	if n := h.sql(`select count(*) from dead_letters`); n > 0 {
		t.Errorf("the outage moved %d rows to the dead letters", n)
	}
}
