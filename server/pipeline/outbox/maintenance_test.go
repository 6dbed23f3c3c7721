package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// insertAt inserts a row of a user ($1) and a shard ($2), recorded at the start of
// this hour plus an interval ($3).
const insertAt = `insert into outbox_score_updates
    (shard, event_id, user_id, board_id, score, delta, order_key, version, revision, reached_at, recorded_at)
select $2, gen_random_uuid(), $1, 'global', 1, 1, -1, 1, 1, t, t
from (select date_trunc('hour', clock_timestamp()) + $3::interval as t) as x`

func TestPartitionsAreCreatedAhead(t *testing.T) {
	t.Parallel()
	r := open(t)
	conn := r.connect(t)
	row(t, conn, "early") // before this hour has a partition
	made, err := r.Outbox.MakePartitions(ctx)
	if err != nil || made < 3 {
		t.Fatalf("created %d, %v; want those of the next hours", made, err)
	}
	if again, err := r.Outbox.MakePartitions(ctx); err != nil || again != 0 {
		t.Errorf("created %d more, %v; want none", again, err)
	}
	conn.Do(t, insertAt, "ahead", 0, "2 hours")
	var leaf string
	err = conn.QueryRow(ctx, `select tableoid::regclass::text from outbox_score_updates
where user_id = 'ahead'`).Scan(&leaf)
	if err != nil || leaf == "outbox_score_updates_default" {
		t.Errorf("a row two hours ahead is in %s (%v)", leaf, err)
	}
	p := &publisher{}
	start(t, options("relay"), r, p)
	until(t, "both published", func() bool { return strings.Join(p.published(), " ") == "early ahead" })
}

// The owner of a database can have shorter partitions, to see them made and dropped in a test.
func TestOwnerSetsShorterPartitions(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.connect(t).Do(t, `do $$ begin
    execute format('alter database %I set scoreboard.outbox_span = ''1 minute''', current_database());
end $$`)
	s := storetest.Open(t, r.url, func(*store.Options) {}) // with connections that have it
	if made, err := s.Outbox.MakePartitions(ctx); err != nil || made < 3 {
		t.Fatalf("created %d, %v; want those of the next minutes", made, err)
	}
	conn := r.connect(t)
	conn.Do(t, `insert into outbox_score_updates
    (shard, event_id, user_id, board_id, score, delta, order_key, version, revision, reached_at, recorded_at)
select 0, gen_random_uuid(), 'ahead', 'global', 1, 1, -1, 1, 1, t, t
from (select clock_timestamp() + interval '90 seconds' as t) as x`)
	n := conn.Count(t, `select count(*) from outbox_score_updates where tableoid =
    ('outbox_score_updates_' || to_char(recorded_at at time zone 'UTC', 'YYYYMMDDHH24MI'))::regclass`)
	if n != 1 {
		t.Errorf("%d rows are in the partition of their minute, want 1", n)
	}
	// An old minute goes five minutes after its end, not after its hour.
	conn.Do(t, `delete from outbox_score_updates`)
	conn.Do(t, `select create_outbox_partition(m, m + interval '1 minute') from (
    select date_trunc('minute', clock_timestamp()) - interval '10 minutes' as m) as x`)
	storetest.UpdateStandings(t, s)
	if dropped, err := s.Outbox.DropPartitions(ctx); err != nil || dropped != 1 {
		t.Errorf("dropped %d, %v; want the old minute", dropped, err)
	}
}

// Nodes that start at once create the same partitions.
func TestPartitionsAreCreatedAtOnce(t *testing.T) {
	t.Parallel()
	r := open(t)
	var nodes sync.WaitGroup
	for range 8 {
		nodes.Go(func() {
			if _, err := r.Outbox.MakePartitions(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	nodes.Wait()
}

// A node whose turn has ended may still drop partitions beside the next one: each is dropped once, and
// neither node fails.
func TestPartitionsAreDroppedAtOnce(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.connect(t).Do(t, `select create_outbox_partition(h, h + interval '1 hour') from (
    select date_trunc('hour', clock_timestamp()) - make_interval(hours => n) as h
    from generate_series(3, 22) as n) as x`)
	storetest.UpdateStandings(t, r.store)
	var nodes sync.WaitGroup
	var dropped atomic.Int64
	for range 2 {
		nodes.Go(func() {
			for deadline := time.Now().Add(30 * time.Second); ; {
				n, err := r.Outbox.DropPartitions(ctx)
				dropped.Add(int64(n))
				// A lock that the other node held for too long is tried again in the next round.
				if err == nil || !strings.Contains(err.Error(), "lock timeout") || time.Now().After(deadline) {
					if err != nil {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	nodes.Wait()
	if n := dropped.Load(); n != 20 {
		t.Errorf("two nodes dropped %d partitions, want each of 20 once", n)
	}
}

// Of several old partitions one holds a row that no relay has read.
func TestPartitionsBehindEveryCursorAreDropped(t *testing.T) {
	t.Parallel()
	r := open(t)
	conn := r.connect(t)
	conn.Do(t, `select create_outbox_partition(h, h + interval '1 hour') from (
    select date_trunc('hour', clock_timestamp()) - make_interval(hours => n) as h
    from generate_series(3, 5) as n) as x`)
	put := func(user string, shard, hours int) {
		t.Helper()
		conn.Do(t, insertAt, user, shard, fmt.Sprintf("-%d hours", hours))
	}
	put("published", 0, 5)
	put("unread", 1, 4) // of a shard that makes no progress
	put("default", 0, 30)
	p := &publisher{publish: func(changes []scoreboard.Change) (int, error) {
		if changes[0].User == "unread" {
			return 0, errors.New("temporary")
		}
		return len(changes), nil
	}}
	stop := start(t, options("relay"), r, p)
	until(t, "shard 0 published", func() bool {
		s, err := r.Outbox.OutboxStatus(ctx)
		return err == nil && len(s.Shards) > 0 && s.Shards[0].Depth == 0 && len(p.published()) == 2
	})
	stop()
	storetest.UpdateStandings(t, r.store)
	before := r.partitions(t)

	// A running transaction has written to an old partition.
	tx, err := r.connect(t).Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, insertAt, "running", 0, "-3 hours"); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if dropped, err := r.Outbox.DropPartitions(ctx); err == nil {
		t.Errorf("dropped %d while a transaction was writing to one", dropped)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("writers may have waited %v for its lock", took)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if dropped, err := r.Outbox.DropPartitions(ctx); err != nil || dropped != 2 {
		t.Errorf("dropped %d of %q (%v), want the published one, and the default one emptied", dropped, before, err)
	}
	if got := len(r.partitions(t)); got != len(before)-1 {
		t.Errorf("partitions left: %q", r.partitions(t))
	}
	var left []string
	rows, _ := conn.Query(ctx, "select user_id from outbox_score_updates order by 1")
	for rows.Next() {
		var user string
		if err := rows.Scan(&user); err != nil {
			t.Fatal(err)
		}
		left = append(left, user)
	}
	if strings.Join(left, " ") != "running unread" {
		t.Errorf("rows left: %q, want those that no relay has read", left)
	}
	start(t, options("relay"), r, p)
	until(t, "the late row published", func() bool { return len(p.published()) == 3 })
}

func (r rig) partitions(t testing.TB) []string {
	t.Helper()
	status, err := r.Outbox.OutboxStatus(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return status.Partitions
}

func TestOutboxStatus(t *testing.T) {
	t.Parallel()
	r := open(t)
	conn := r.connect(t)
	p := &publisher{publish: func([]scoreboard.Change) (int, error) { return 0, context.DeadlineExceeded }}
	stop := start(t, options("stuck"), r, p)
	for i := range 7 {
		row(t, conn, strconv.Itoa(i))
	}
	tx, err := r.connect(t).Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	row(t, tx, "keeps the horizon")
	until(t, "the complete status", func() bool {
		s, err := r.Outbox.OutboxStatus(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Shards) == 0 {
			return false // no relay has claimed the shard yet
		}
		w := s.Shards[0]
		return w.Depth == 7 && w.OldestAge > 50*time.Millisecond && w.Attempts > 0 &&
			strings.Contains(w.LastError, "deadline") && s.HorizonAge > 50*time.Millisecond && w.Generation > 0
	})
	stop()
	if err := tx.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	start(t, options("healthy"), r, &publisher{})
	until(t, "drained", func() bool {
		s, err := r.Outbox.OutboxStatus(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Shards) == 0 {
			return false // no relay has claimed the shard yet
		}
		w := s.Shards[0]
		return w.Depth == 0 && w.OldestAge == 0 && w.Attempts == 0 && w.LastError == "" &&
			w.Owner == "healthy" && w.LeaseLeft > 0
	})
}

func TestDeadLetterIsRequeuedOnceOrDropped(t *testing.T) {
	t.Parallel()
	r := open(t)
	at := time.Now().UTC().Truncate(time.Microsecond)
	change := scoreboard.Change{
		Type: scoreboard.ChangeScore, Board: "global", User: "alice", Score: 5, Key: -5, Version: 3, Revision: 2,
		ReachedAt: at, RecordedAt: at, Hidden: true,
	}
	addLetter := func(offset int64, value []byte) {
		t.Helper()
		for range 2 { // delivered twice, it is one letter
			letter := &scoreboard.DeadLetter{
				Topic: "events", Partition: 1, Offset: offset, Value: value, Reason: "why", Attempts: 1,
			}
			if err := r.store.DeadLetters.Add(ctx, letter); err != nil {
				t.Fatal(err)
			}
		}
	}
	old := change
	old.RecordedAt = at.AddDate(0, -3, 0)
	addLetter(1, protocol.AppendEvent(nil, &change))
	addLetter(2, []byte("no JSON"))
	addLetter(3, protocol.AppendEvent(nil, &old))
	letters, err := r.store.DeadLetters.DeadLetters(ctx, 0, 10)
	if err != nil || len(letters) != 3 {
		t.Fatalf("letters %+v, %v; want 3", letters, err)
	}
	if more, err := r.store.DeadLetters.DeadLetters(ctx, letters[1].ID, 10); err != nil || len(more) != 1 {
		t.Errorf("after the second: %+v, %v", more, err)
	}
	err = r.store.DeadLetters.RequeueLetter(ctx, letters[2].ID, &old, nil)
	if wire.CodeOf(err) != wire.CodeGone {
		t.Errorf("requeue of a record from before the window: %v, want gone", err)
	}
	if err := r.store.DeadLetters.RequeueLetter(ctx, letters[0].ID, &change, nil); err != nil {
		t.Fatal(err)
	}
	for _, end := range []func() error{
		func() error { return r.store.DeadLetters.RequeueLetter(ctx, letters[0].ID, &change, nil) },
		func() error { return r.store.DeadLetters.DropLetter(ctx, letters[0].ID, nil) },
	} {
		if err := end(); wire.CodeOf(err) != wire.CodeNotFound {
			t.Errorf("second requeue or drop of a letter: %v, want not_found", err)
		}
	}
	if err := r.store.DeadLetters.DropLetter(ctx, letters[1].ID, nil); err != nil {
		t.Error(err)
	}
	var published []scoreboard.Change
	p := &publisher{publish: func(c []scoreboard.Change) (int, error) {
		published = append(published, c...)
		return len(c), nil
	}}
	stop := start(t, options("relay"), r, p)
	until(t, "published again", func() bool { return len(p.published()) == 1 })
	stop()
	got, want := string(protocol.AppendEvent(nil, &published[0])), string(protocol.AppendEvent(nil, &change))
	if got != want {
		t.Errorf("published %s, want %s", got, want)
	}
}
