package ranking_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// inTheYear10000 is in microseconds; JSON cannot hold it.
const inTheYear10000 = "253402351199000000"

// Whoever can write to Redis can store times that JSON cannot hold. Encoding one must not
// end the daemon, and the board must not keep it.
func TestTimesOutsideTheCalendarInRedis(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		next := follow(t, r)
		at := time.Now()
		if err := r.RecordHeartbeats(ctx, []scoreboard.Heartbeat{{Shards: 1, Partitions: 1, AsOf: at}}); err != nil {
			t.Fatal(err)
		}
		r.apply(t, change("alice", 5, 1, 1))
		next()
		for i, updated := range []string{inTheYear10000, "-99999999999999999", "never"} {
			for _, field := range []string{"updated", "asof", "built"} {
				if field == "updated" || updated != "never" {
					r.rdb.HSet(ctx, "sb:{global}:meta", field, updated)
				}
			}
			if top, err := r.Top(ctx, board); err == nil {
				writable(t, top.UpdatedAt, top.AsOf)
			} else if updated != "never" {
				t.Errorf("%s: top: %v", updated, err)
			}
			if s, err := r.Status(ctx, board.ID); err == nil {
				writable(t, s.Built, s.AsOf)
			}
			r.apply(t, change("alice", 6+int64(i), 2+int64(i), 1))
			n := next()
			writable(t, n.Top.UpdatedAt, n.Top.AsOf)
			if n.Top.UpdatedAt.Year() != 2027 {
				t.Errorf("the board keeps %s", n.Top.UpdatedAt)
			}
		}
	})
}

func TestImpossibleNoticesAreReported(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		bad := make(chan error, 16)
		next := followAll(t, r, func(err error) { bad <- err })
		for _, notice := range []string{
			"global 7 42 " + inTheYear10000 + " highest 1 10\n4 -99 EVIL",
			"global 7 42 -99999999999999999 highest 1 10\n4 -99 EVIL",
			"global 7 42 1 highest 1 10\n4 -99 EVIL" + "complete=" + inTheYear10000,
			"global 7 42 1 highest 1 10\n4 -99 EVIL" + "EVIL 99 1 1 complete=1," + inTheYear10000,
		} {
			if err := r.rdb.Publish(ctx, "sb:notices", notice).Err(); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-bad:
				if !strings.Contains(err.Error(), "invalid time") {
					t.Errorf("%q: got %v", notice, err)
				}
			case <-time.After(5 * time.Second):
				t.Fatalf("%q is not reported", notice)
			}
		}
		r.apply(t, change("alice", 5, 1, 1))
		if n := next(); len(n.Moved) != 1 || n.Moved[0].User != "alice" {
			t.Errorf("got %+v, want the notice that was well formed", n)
		}
	})
}

// writable fails for a time that JSON cannot hold.
func writable(t *testing.T, times ...time.Time) {
	t.Helper()
	for _, at := range times {
		if _, err := at.MarshalJSON(); err != nil || at.Location() != time.UTC {
			t.Error(errors.Join(err, errors.New(at.String())))
		}
	}
}

// A heartbeat from the future claims that nothing is missing until then: it is not
// believed, and neither is one that is in Redis already.
func TestHeartbeatsFromTheFuture(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		const leeway = 10 * time.Second
		beat := func(asOf time.Time) {
			t.Helper()
			for partition := range 2 {
				beat := scoreboard.Heartbeat{Shards: 1, Partition: partition, Partitions: 2, AsOf: asOf}
				if err := r.RecordHeartbeats(ctx, []scoreboard.Heartbeat{beat}); err != nil {
					t.Fatal(err)
				}
			}
		}
		bounded := func(why string) {
			t.Helper()
			if asOf := r.top(t).AsOf; asOf.After(time.Now().Add(leeway + time.Second)) {
				t.Errorf("%s: as of %s", why, asOf)
			}
		}
		future := time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
		beat(future)
		bounded("a heartbeat")
		if err := r.rdb.HSet(ctx, "sb:fresh", "0/0", future.UnixMicro(), "0/1", "never").Err(); err != nil {
			t.Fatal(err)
		}
		now := time.Now().Truncate(time.Microsecond).UTC()
		beat(now)
		if asOf := r.top(t).AsOf; !asOf.Equal(now) {
			t.Errorf("as of %s, want %s, of the last heartbeats", asOf, now)
		}
	})
}
