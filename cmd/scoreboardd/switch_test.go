package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// Two processes relay and project while an operator switches the transport, and one
// of them is killed during each switch. Repairs are disabled, so that a lost change
// would show.
func TestSwitchingTransportLosesNothing(t *testing.T) {
	if os.Getenv(backends.EnvKind) == "kfake" {
		t.Skip("kfake restarts the rebalance timeout for every member that dies in it, so the test would time out; " +
			"it runs on Apache Kafka")
	}
	t.Parallel()
	h := newHarness(t)
	h.env = append(h.env, "SCOREBOARD_RECONCILE_REPAIR=false", "SCOREBOARD_RECONCILE_EVERY=0s",
		"SCOREBOARD_OUTBOX_SHARDS=2")
	one, two := h.start(), h.start()
	root := h.client(one, "root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	rdb := backends.RedisClient(t, h.redis.URL)
	ctx, cancel := contextFor(3 * time.Minute)
	defer cancel()
	switchTo := func(to string) {
		t.Helper()
		if _, err := root.ChangeSetting(ctx, "transport",
			client.SettingRequest{Value: &to, Reason: "a test"}); err != nil {
			t.Fatal(err)
		}
	}
	load := drive(ctx, t, root)
	load.more(t, 500)

	switchTo("streams")
	load.more(t, 100) // most of them before the other process reads the setting
	two.kill()
	load.more(t, 300)
	two = h.start() // as deployed: it relays to Kafka until it reads the settings
	load.more(t, 700)
	eventually(t, "changes to go over Redis streams", func() error {
		n, err := rdb.XInfoStream(ctx, "{sb:stream}:0").Result()
		if err == nil && n.EntriesAdded < 50 {
			err = fmt.Errorf("there were %d", n.EntriesAdded)
		}
		return err
	})

	switchTo("kafka")
	load.more(t, 100)
	two.kill()
	load.more(t, 700)
	two = h.start()
	load.more(t, 700)

	// The ranking is unavailable for a while: published records stay in Kafka after
	// both processes have switched away from it.
	if err := rdb.Do(ctx, "CLIENT", "PAUSE", 2000, "WRITE").Err(); err != nil {
		t.Fatal(err)
	}
	load.more(t, 200)
	switchTo("direct")
	load.more(t, 1500)
	sent := load.stop()

	eventually(t, "the ranking to match the store", func() error {
		line, err := root.Verify(ctx, client.JobRequest{All: true}, func(client.JobLine) {})
		if v := line.Verified; err == nil && (v.Wrong > 0 || v.Users != sent/writtenEach+1) {
			err = fmt.Errorf("of %d users %d differ: %+v", v.Users, v.Wrong, v.Differences)
		}
		return err
	})
	if n := h.sql(`select sum(score)::bigint from scores`); n != sent {
		t.Errorf("the store has %d points, acknowledged were %d", n, sent)
	}
	ended := time.Now()
	eventually(t, "current reads over the last transport", topIs(root, func(top client.Top) error {
		if top.Degraded || top.AsOf.Before(ended) {
			return fmt.Errorf("as of %s, degraded %q", top.AsOf, top.DegradedReason)
		}
		return nil
	}))
	status, err := root.Status(ctx, "")
	if err != nil || status.OutboxDepth == nil || *status.OutboxDepth > 0 || len(status.Problems) > 0 {
		t.Errorf("status: got %+v, %v", status, err)
	}
	for _, topic := range []string{
		h.setting("SCOREBOARD_KAFKA_TOPIC"), h.setting("SCOREBOARD_KAFKA_INCREMENTS_TOPIC"),
		"sb:stream",
	} {
		if _, known := status.ConsumerLag[topic]; !known {
			t.Errorf("the status lacks the lag of %s: %v", topic, status.ConsumerLag)
		}
	}
	began := time.Now().Add(-5 * time.Minute)
	for _, topic := range []string{h.setting("SCOREBOARD_KAFKA_TOPIC"), "sb:stream"} {
		done, err := root.Replay(ctx, client.ReplayRequest{FromTime: &began, Topic: topic}, func(client.JobLine) {})
		if err != nil || done.Changed > 0 || done.Unchanged == 0 {
			t.Errorf("replay of %s: got %+v, %v; want nothing new in it", topic, done, err)
		}
	}
	if err := two.stop(); err != nil {
		t.Error(err)
	}
}

// writtenEach is how often each user is updated, within a moment: no later update
// hides a lost one.
const writtenEach = 50

// writers submit increments throughout the test.
type writers struct {
	sent atomic.Int64
	end  context.CancelFunc
	all  sync.WaitGroup
}

// drive submits a few hundred increments a second.
func drive(ctx context.Context, t *testing.T, c *client.Client) *writers {
	l := &writers{}
	working, end := context.WithCancel(ctx)
	l.end = end
	t.Cleanup(func() { l.stop() })
	l.all.Go(func() {
		for n := 0; working.Err() == nil; time.Sleep(25 * time.Millisecond) {
			batch := make([]client.Increment, 20)
			for i := range batch {
				n++
				batch[i] = client.Increment{
					User: fmt.Sprint("user-", n/writtenEach), Delta: 1,
					EventID: fmt.Sprint("event-", n),
				}
			}
			results, err := c.SubmitBatch(ctx, batch)
			if err != nil {
				t.Error(err)
				return
			}
			for _, r := range results {
				if r.Err != nil {
					t.Error(r.Err)
				}
			}
			l.sent.Add(int64(len(results)))
		}
	})
	return l
}

// more waits until n more increments have been acknowledged.
func (l *writers) more(t *testing.T, n int64) {
	t.Helper()
	from := l.sent.Load()
	eventually(t, "more increments", func() error {
		if got := l.sent.Load() - from; got < n {
			return fmt.Errorf("%d were acknowledged, not %d", got, n)
		}
		return nil
	})
}

func (l *writers) stop() int64 {
	l.end()
	l.all.Wait()
	return l.sent.Load()
}
