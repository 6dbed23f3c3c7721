package outbox_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestLateCommitIsPublishedInOrder(t *testing.T) {
	t.Parallel()
	r := open(t)
	a, b := r.connect(t), r.connect(t)
	p := &publisher{}
	start(t, options("relay"), r, p)
	row(t, a, "first")
	until(t, "the first row published", func() bool { return len(p.published()) == 1 })

	late, err := a.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	row(t, late, "late") // the lower transaction id, and the lower row id
	row(t, b, "passing")
	began := p.lastBeat()
	time.Sleep(100 * time.Millisecond) // ten polls of the relay
	if got := p.published(); !slices.Equal(got, []string{"first"}) {
		t.Fatalf("published %q while an earlier transaction runs", got)
	}
	if err := late.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	until(t, "all published", func() bool { return len(p.published()) == 3 })
	if got := p.published(); !slices.Equal(got, []string{"first", "late", "passing"}) {
		t.Errorf("published %q, want the order of transactions", got)
	}
	until(t, "a newer heartbeat", func() bool { return p.lastBeat().After(began) })
}

// Many transactions commit in a different order than they began, while the relay
// publishes. Every row committed before a heartbeat's as_of must have been
// published before that heartbeat.
func TestHeartbeatsCoverEveryCommittedRow(t *testing.T) {
	t.Parallel()
	r := open(t)
	const writers, each = 6, 60
	var mu sync.Mutex
	committed := map[string]time.Time{} // soon after the commit, by PostgreSQL's clock
	p := &publisher{}
	var uncovered []string
	p.beat = func(h scoreboard.Heartbeat) {
		mu.Lock()
		defer mu.Unlock()
		for user, at := range committed {
			if at.Before(h.AsOf) && !slices.Contains(p.users, user) {
				uncovered = append(uncovered, user)
			}
		}
	}
	stop := start(t, options("relay"), r, p)
	var all sync.WaitGroup
	for w := range writers {
		conn := r.connect(t)
		all.Go(func() {
			for i := range each {
				user := strconv.Itoa(w) + "-" + strconv.Itoa(i)
				tx, err := conn.Begin(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				row(t, tx, user)
				time.Sleep(rand.N(8 * time.Millisecond))
				if err := tx.Commit(ctx); err != nil {
					t.Error(err)
				}
				var at time.Time
				if err := conn.QueryRow(ctx, "select clock_timestamp()").Scan(&at); err != nil {
					t.Error(err)
				}
				mu.Lock()
				committed[user] = at
				mu.Unlock()
			}
		})
	}
	all.Wait()
	until(t, "everything published", func() bool { return len(p.published()) == writers*each })
	until(t, "a heartbeat after the last row", func() bool {
		return p.lastBeat().After(slices.MaxFunc(slices.Collect(maps.Values(committed)), time.Time.Compare))
	})
	stop() // p is not written from here on
	users := p.published()
	slices.Sort(users)
	if n := len(slices.Compact(users)); n != writers*each {
		t.Errorf("%d different rows were published, want %d", n, writers*each)
	}
	if len(uncovered) > 0 {
		t.Errorf("%d rows were committed before a heartbeat's as_of and published after it: %q",
			len(uncovered), uncovered[:min(5, len(uncovered))])
	}
}

// A row committed after a running transaction began cannot be published yet, so
// no heartbeat may cover it.
func TestRunningTransactionDelaysHeartbeat(t *testing.T) {
	t.Parallel()
	r := open(t)
	a, b := r.connect(t), r.connect(t)
	p := &publisher{}
	start(t, options("relay"), r, p)
	tx, err := a.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	row(t, tx, "first")
	row(t, b, "second")
	var committed time.Time
	if err := b.QueryRow(ctx, "select clock_timestamp()").Scan(&committed); err != nil {
		t.Fatal(err)
	}
	time.Sleep(150 * time.Millisecond) // seven heartbeats
	if got := p.lastBeat(); got.After(committed) {
		t.Errorf("a heartbeat covers %v, but the row committed at %v waits for an earlier transaction", got, committed)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	until(t, "a heartbeat after the row", func() bool { return p.lastBeat().After(committed) })
	if got := p.published(); !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("published %q, want the order of transactions", got)
	}
}

func TestCursorStopsAtFirstUnacknowledgedRow(t *testing.T) {
	t.Parallel()
	r := open(t)
	conn := r.connect(t)
	for i := range 10 {
		row(t, conn, strconv.Itoa(i))
	}
	readable(t, conn)
	var offered [][]string
	p := &publisher{}
	p.publish = func(changes []scoreboard.Change) (int, error) {
		var users []string
		for _, c := range changes {
			users = append(users, string(c.User))
		}
		offered = append(offered, users)
		if len(offered) == 1 {
			return 3, errors.New("the fourth was not acknowledged")
		}
		return len(changes), nil
	}
	stop := start(t, options("relay"), r, p)
	until(t, "all published", func() bool { return len(p.published()) == 10 })
	stop()
	if len(offered) != 2 || offered[1][0] != "3" || len(offered[1]) != 7 {
		t.Errorf("offered %q, want the second batch to start after the third row", offered)
	}
}

func (r rig) cursor(t testing.TB) (c scoreboard.Cursor) {
	t.Helper()
	err := r.connect(t).QueryRow(ctx, "select cursor_xid, cursor_id from relay_shards where shard = 0").
		Scan(&c.XID, &c.ID)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRejectedRowGoesToDeadLettersAlone(t *testing.T) {
	t.Parallel()
	r := open(t)
	conn := r.connect(t)
	for i := range 40 {
		row(t, conn, strconv.Itoa(i))
	}
	readable(t, conn)
	attempts := 0
	p := &publisher{}
	p.publish = func(changes []scoreboard.Change) (int, error) {
		for _, c := range changes {
			if c.User == "17" {
				if len(changes) == 1 {
					attempts++
				}
				// Like a broker, which rejects the whole batch.
				return 0, scoreboard.Errorf(wire.CodePayloadTooLarge, "too large")
			}
		}
		return len(changes), nil
	}
	stop := start(t, options("relay"), r, p)
	until(t, "the others published", func() bool { return len(p.published()) == 39 })
	stop()
	if attempts != 3 {
		t.Errorf("the row alone was attempted %d times, want 3", attempts)
	}
	var user, reason string
	var tries int
	err := conn.QueryRow(ctx, `select convert_from(value, 'UTF8')::jsonb->>'user_id', reason, attempts
from dead_letters where topic = 'outbox'`).
		Scan(&user, &reason, &tries)
	if err != nil || user != "17" || reason == "" || tries != 3 {
		t.Errorf("the dead letter is of %q with reason %q after %d attempts (%v)", user, reason, tries, err)
	}
}

func TestOutageMovesNoRowToDeadLetters(t *testing.T) {
	t.Parallel()
	r := open(t)
	conn := r.connect(t)
	row(t, conn, "alice")
	var failures atomic.Int64
	p := &publisher{publish: func(changes []scoreboard.Change) (int, error) {
		if failures.Add(1) <= 6 { // twice the attempts that a rejected row gets
			return 0, errors.New("the broker does not answer")
		}
		return len(changes), nil
	}}
	start(t, options("relay"), r, p)
	until(t, "published after the outage", func() bool { return slices.Equal(p.published(), []string{"alice"}) })
	var letters int
	if err := conn.QueryRow(ctx, "select count(*) from dead_letters").Scan(&letters); err != nil || letters > 0 {
		t.Errorf("%d rows went to the dead letters (%v)", letters, err)
	}
}
