package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

func topIs(c *client.Client, check func(client.Top) error) func() error {
	return func() error {
		ctx, cancel := contextFor(5 * time.Second)
		defer cancel()
		top, err := c.Top(ctx, client.TopQuery{})
		if err != nil {
			return err
		}
		return check(top)
	}
}

func shows(rows ...string) func(client.Top) error {
	return func(top client.Top) error {
		var got []string
		for _, e := range top.Entries {
			got = append(got, fmt.Sprintf("%d %s %d", e.Rank, e.UserID, e.Score))
		}
		if strings.Join(got, ", ") != strings.Join(rows, ", ") || top.Degraded {
			return fmt.Errorf("got %q, degraded %q, want %q", got, top.DegradedReason, rows)
		}
		return nil
	}
}

func TestSignedIncrementEndToEnd(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d := h.start()
	alice := h.client(d, "alice", "")
	ctx, cancel := contextFor(time.Minute)
	defer cancel()
	states := alice.Watch(ctx, "", client.WatchOptions{})
	first := <-states
	for first.Connection != client.WebSocket {
		var open bool
		if first, open = <-states; !open {
			t.Fatal("the watch ended")
		}
	}
	receipt, err := alice.Submit(ctx, client.Increment{User: "alice", Delta: 5})
	if err != nil {
		t.Fatal(err)
	}
	committed := time.Now()
	// Without a rank, it could not be read in time.
	if receipt.NewScore != 5 || receipt.Rank != nil && *receipt.Rank != 1 || receipt.Version != 1 ||
		receipt.Status != "done" {
		t.Errorf("receipt: got %+v", receipt)
	}
	for state := range states {
		if len(state.Entries) == 1 && state.Entries[0].UserID == "alice" && state.Entries[0].Score == 5 {
			t.Logf("commit to frame: %s", time.Since(committed))
			break
		}
		if ctx.Err() != nil {
			t.Fatal("no frame received")
		}
	}
	eventually(t, "the top to show alice", topIs(alice, shows("1 alice 5")))
	me, err := alice.Me(ctx, client.PlaceQuery{})
	if err != nil || me.Rank != 1 || me.Score != 5 || me.Total != 1 || me.Degraded {
		t.Errorf("me: got %+v, %v", me, err)
	}
	event, err := alice.Receipt(ctx, receipt.ProcessedEventID)
	if err != nil || len(event.Receipts) != 1 || event.Receipts[0].NewScore != 5 || !event.Receipts[0].Replayed {
		t.Errorf("event: got %+v, %v", event, err)
	}
	cancel()
	if err := d.stop(); err != nil {
		t.Errorf("the stop: %v", err)
	}
}

func TestSameEventInParallelCountsOnce(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d := h.start()
	alice := h.client(d, "alice", "")
	ctx, cancel := contextFor(time.Minute)
	defer cancel()
	var all sync.WaitGroup
	receipts := make([]client.Receipt, 50)
	for i := range receipts {
		all.Go(func() {
			var err error
			if receipts[i], err = alice.Submit(ctx, client.Increment{
				User: "alice", Delta: 5,
				EventID: "match-17",
			}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	fresh := 0
	for _, r := range receipts {
		if !r.Replayed {
			fresh++
		}
		if r.NewScore != 5 || r.Version != 1 || r.ProcessedEventID != "match-17" ||
			!r.RecordedAt.Equal(receipts[0].RecordedAt) {
			t.Errorf("got %+v, want the one receipt", r)
		}
	}
	if fresh != 1 {
		t.Errorf("%d receipts are not replays, want 1", fresh)
	}
	if n := h.sql(`select count(*) from user_score_histories`); n != 1 {
		t.Errorf("ledger rows: got %d, want 1", n)
	}
	eventually(t, "the top to show alice", topIs(alice, shows("1 alice 5")))
}

func TestKilledBetweenCommitAndRelay(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d := h.start("--roles", "api") // commits; no process relays
	alice := h.client(d, "alice", "")
	ctx, cancel := contextFor(time.Minute)
	defer cancel()
	if _, err := alice.Submit(ctx, client.Increment{User: "alice", Delta: 7}); err != nil {
		t.Fatal(err)
	}
	d.kill()
	if n := h.sql(`select cursor_id from relay_shards union all select 0 order by 1 desc limit 1`); n != 0 {
		t.Fatalf("the row was relayed before the kill")
	}
	again := h.start()
	reader := h.client(again, "reader", "")
	eventually(t, "the change to be in Redis", topIs(reader, shows("1 alice 7")))
}

// Killed at a random moment with increments in flight: after clients repeat the
// unanswered ones, each is counted once.
func TestKilledUnderLoadLosesNothing(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d := h.start()
	ctx, cancel := contextFor(2 * time.Minute)
	defer cancel()
	const users, each = 8, 60
	var all sync.WaitGroup
	unanswered := make([][]string, users)
	for u := range users {
		c := h.client(d, fmt.Sprint("user-", u), "")
		all.Go(func() {
			for e := range each {
				id := fmt.Sprint("event-", e)
				if _, err := c.Submit(ctx, client.Increment{
					User: fmt.Sprint("user-", u), Delta: 1,
					EventID: id,
				}); err != nil {
					unanswered[u] = append(unanswered[u], id)
					return // the daemon was killed
				}
			}
		})
	}
	time.Sleep(time.Duration(20+rand.IntN(60)) * time.Millisecond)
	d.kill()
	all.Wait()
	again := h.start()
	server := h.client(again, "server", auth.ScopeUpdate)
	for u := range users {
		for e := range each { // repeat everything, answered or not
			in := client.Increment{User: fmt.Sprint("user-", u), Delta: 1, EventID: fmt.Sprint("event-", e)}
			if _, err := server.Submit(ctx, in); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := h.sql(`select count(*) from user_score_histories`); n != users*each {
		t.Errorf("ledger rows: got %d, want %d", n, users*each)
	}
	if n := h.sql(`select count(*) from scores where score = version and score = 60`); n != users {
		t.Errorf("correct scores: got %d, want %d", n, users)
	}
	eventually(t, "Redis to agree", topIs(server, func(top client.Top) error {
		if top.Degraded || len(top.Entries) != users {
			return fmt.Errorf("got %+v", top)
		}
		for _, e := range top.Entries {
			if e.Score != each {
				return fmt.Errorf("%s has %d, want %d", e.UserID, e.Score, each)
			}
		}
		return nil
	}))
}

func TestFlushedRedisIsRebuilt(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d := h.start()
	alice := h.client(d, "alice", "")
	ctx, cancel := contextFor(time.Minute)
	defer cancel()
	if _, err := alice.Submit(ctx, client.Increment{User: "alice", Delta: 5}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the top to show alice", topIs(alice, shows("1 alice 5")))
	before, err := alice.Top(ctx, client.TopQuery{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "standings to have alice", func() error {
		if n := h.sql(`select count(*) from standings where revision = 1`); n != 1 {
			return fmt.Errorf("%d standings", n)
		}
		return nil
	})
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}
	// Without the role maintenance nothing is rebuilt, so the state can be observed.
	blind := h.start("--roles", "api,relay,projector,gateway")
	alice = h.client(blind, "alice", "")
	flush(t, h)
	top, err := alice.Top(ctx, client.TopQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if !top.Degraded || top.DegradedReason == "" || top.Version != nil || top.Epoch != nil || len(top.Entries) != 1 ||
		top.Entries[0].Score != 5 {
		t.Errorf("after the flush: got %+v, want alice from PostgreSQL, marked", top)
	}
	me, err := alice.Me(ctx, client.PlaceQuery{})
	if err != nil || !me.Degraded || me.Rank != 1 || me.Score != 5 {
		t.Errorf("me after the flush: got %+v, %v", me, err)
	}
	// The rank comes from the store, or is null if that takes too long on a busy
	// machine; a repeat tries again.
	eventually(t, "a write after the flush to be ranked", func() error {
		receipt, err := alice.Submit(ctx, client.Increment{User: "alice", Delta: 2, EventID: "after-the-flush"})
		if err != nil || receipt.NewScore != 7 || receipt.Rank == nil || *receipt.Rank != 1 {
			return fmt.Errorf("got %+v, %w", receipt, err)
		}
		return nil
	})
	h.start("--roles", "maintenance")
	eventually(t, "the board to be rebuilt", topIs(alice, shows("1 alice 7")))
	after, err := alice.Top(ctx, client.TopQuery{})
	if err != nil || *after.Epoch <= *before.Epoch {
		t.Errorf("epoch: got %+v, %v, want it above %d", after, err, *before.Epoch)
	}
	h.redis.Stop()
	eventually(t, "reads without Redis to be marked", topIs(alice, func(top client.Top) error {
		if !top.Degraded || len(top.Entries) != 1 {
			return fmt.Errorf("got %+v", top)
		}
		return nil
	}))
	if _, err := alice.Submit(ctx, client.Increment{User: "alice", Delta: 1}); err != nil {
		t.Errorf("a write while Redis is down: %v", err)
	}
	h.redis.Start()
	eventually(t, "Redis to catch up", topIs(alice, shows("1 alice 8")))
}

func flush(t testing.TB, h *harness) {
	t.Helper()
	if err := backends.RedisClient(t, h.redis.URL).FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}
