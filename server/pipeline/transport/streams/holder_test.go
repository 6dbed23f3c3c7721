package streams_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/pipeline/transport"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/streams"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/transporttest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// A server that holds a stream of a cluster and restarts, or takes over, may have lost
// entries. The consumer says so before it handles the next one, and until that succeeds.
func TestMovedStreamIsReported(t *testing.T) {
	t.Parallel()
	cluster := backends.OwnRedisCluster(t, 1, 0)
	rdb := cluster.Client()
	s := streams.New(streams.Options{Name: "moved", Group: "group", Shards: 1, Length: 100, Batch: 10}, rdb)
	events := transport.NewEvents(s)
	var reports, handled atomic.Int64
	var failing atomic.Bool
	run := func() (stop func()) {
		c := s.Consumer(transporttest.Quiet)
		c.OnMove(func(context.Context) error {
			if failing.Load() {
				return errors.New("not now")
			}
			reports.Add(1)
			return nil
		})
		return backends.Run(t, func(ctx context.Context) error {
			for ctx.Err() == nil {
				_ = c.Consume(ctx, func(_ context.Context, r []scoreboard.Record) (map[int]int64, error) {
					handled.Add(int64(len(r)))
					return nil, nil
				})
			}
			return nil
		})
	}
	publish := func(n int, reported int64) {
		t.Helper()
		before := handled.Load()
		transporttest.Publish(t, events, transporttest.Events(0, n))
		transporttest.Until(t, "entries to be handled", func() bool { return handled.Load() == before+int64(n) })
		if got := reports.Load(); got != reported {
			t.Errorf("got %d reports, want %d", got, reported)
		}
	}
	stop := run()
	publish(3, 1) // the first time
	publish(3, 1)
	stop()
	stop = run()
	publish(3, 1) // another process
	cluster.Servers[0].Stop()
	cluster.Servers[0].Start()
	cluster.AwaitReady(t.Context())
	failing.Store(true)
	before := handled.Load()
	transporttest.Until(t, "the stream to be writable", func() bool {
		_, err := events.Publish(t.Context(), transporttest.Events(0, 1))
		return err == nil
	})
	transporttest.Until(t, "the entry to be read", func() bool {
		p, err := rdb.XPending(t.Context(), "{moved:0}", "group").Result()
		return err == nil && p.Count > 0
	})
	if handled.Load() != before {
		t.Error("an entry was handled before the report succeeded")
	}
	failing.Store(false)
	transporttest.Until(t, "the entry to be handled", func() bool { return handled.Load() > before })
	if got := reports.Load(); got != 2 {
		t.Errorf("got %d reports after a restart, want 2", got)
	}
	stop()
}
