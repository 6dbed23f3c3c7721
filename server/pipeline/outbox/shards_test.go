package outbox_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/pipeline/outbox"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// rowOf inserts a row of a shard.
func rowOf(t testing.TB, in execer, shard int, user string) {
	t.Helper()
	_, err := in.Exec(ctx, `insert into outbox_score_updates
    (shard, event_id, user_id, board_id, score, delta, order_key, version, revision, reached_at, recorded_at)
values ($1, gen_random_uuid(), $2, 'global', 1, 1, -1, 1, 1, clock_timestamp(), clock_timestamp())`, shard, user)
	if err != nil {
		t.Fatal(err)
	}
}

// owners counts the shards that each relay owns.
func (r rig) owners(t testing.TB) map[string]int {
	t.Helper()
	status, err := r.Outbox.OutboxStatus(ctx)
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]int{}
	for _, s := range status.Shards {
		if s.Owner != "" && s.LeaseLeft > 0 {
			of[s.Owner]++
		}
	}
	return of
}

func four(owner string) outbox.Options {
	o := options(owner)
	o.Shards = 4
	return o
}

func TestRelaysShareShardsAndTakeOver(t *testing.T) {
	t.Parallel()
	r := open(t)
	conn := r.connect(t)
	sent := 0
	var all []*publisher
	published := func() int {
		users := map[string]bool{}
		for _, p := range all {
			for _, u := range p.published() {
				users[u] = true
			}
		}
		return len(users)
	}
	send := func() {
		t.Helper()
		for shard := range 4 {
			sent++
			rowOf(t, conn, shard, strconv.Itoa(sent))
		}
		until(t, "rows of every shard published", func() bool { return published() == sent })
	}
	join := func(owner string, q outbox.Queue) (stop func()) {
		t.Helper()
		p := &publisher{}
		all = append(all, p)
		return start(t, four(owner), q, p)
	}
	mortal := &mortalQueue{rig: r}
	stopMortal := join("mortal", mortal)
	until(t, "all shards with the only relay", func() bool { return r.owners(t)["mortal"] == 4 })
	send()
	stopLeaving := join("leaving", r)
	until(t, "two shards each", func() bool { o := r.owners(t); return o["mortal"] == 2 && o["leaving"] == 2 })
	send()
	join("staying", r)
	until(t, "at least one shard each", func() bool {
		o := r.owners(t)
		return len(o) == 3 && o["mortal"]+o["leaving"]+o["staying"] == 4
	})
	send()
	stopLeaving() // it releases its leases, so nothing waits for their end
	until(t, "two shards each again", func() bool { o := r.owners(t); return o["mortal"] == 2 && o["staying"] == 2 })
	send()

	mortal.dead.Store(true)
	died := time.Now()
	until(t, "all shards with the remaining relay", func() bool { return r.owners(t)["staying"] == 4 })
	if took := time.Since(died); took > 2500*time.Millisecond { // 2 s, and some slack on a loaded machine
		t.Errorf("taken over after %v, want at most 2 s", took)
	}
	stopMortal()
	send()
}

func TestShardsAboveConfiguredAreRelayed(t *testing.T) {
	t.Parallel()
	r := open(t)
	conn := r.connect(t)
	for shard := range 6 {
		rowOf(t, conn, shard, "of "+strconv.Itoa(shard))
	}
	o := options("relay")
	o.Shards = 2 // lowered from 6
	p := &publisher{}
	beats := make(chan scoreboard.Heartbeat, 1000)
	p.beat = func(h scoreboard.Heartbeat) {
		select {
		case beats <- h:
		default:
		}
	}
	start(t, o, r, p)
	until(t, "all published", func() bool { return len(p.published()) == 6 })
	got := p.published()
	slices.Sort(got)
	if fmt.Sprint(got) != "[of 0 of 1 of 2 of 3 of 4 of 5]" {
		t.Errorf("published %q", got)
	}
	until(t, "a heartbeat of the last shard", func() bool {
		h := <-beats
		if h.Shards != 6 {
			t.Errorf("a heartbeat counts %d shards, want 6: rows of shards 2 to 5 would count as published", h.Shards)
			return true
		}
		return h.Shard == 5
	})
}

// A database restored to an earlier state may have the same generation, and gives out
// the same transaction ids again: the relay goes on from the cursor there.
func TestRelayFollowsRestoredCursor(t *testing.T) {
	t.Parallel()
	r := open(t)
	conn := r.connect(t)
	row(t, conn, "one")
	p := &publisher{}
	o := options("relay")
	o.LeaseDuration = 600 * time.Millisecond
	start(t, o, r, p)
	until(t, "published", func() bool { return len(p.published()) == 1 && r.cursor(t).ID > 0 })
	conn.Do(t, `update relay_shards set cursor_xid = '0', cursor_id = 0`)
	until(t, "published again from the earlier cursor", func() bool { return len(p.published()) == 2 })
	row(t, conn, "two")
	until(t, "the next published", func() bool { return slices.Contains(p.published(), "two") })
}

// The cursor has the history of another database, as after a restore.
func TestRelayWaitsUntilNewHistoryIsAdopted(t *testing.T) {
	t.Parallel()
	r := open(t)
	conn := r.connect(t)
	row(t, conn, "before")
	p := &publisher{}
	stop := start(t, options("relay"), r, p)
	until(t, "published", func() bool { return len(p.published()) == 1 })
	stop()
	conn.Do(t, `update relay_shards set history = '1/00000001/2', cursor_xid = '9000000000'`)
	// A row with a transaction id of the other cluster, far ahead.
	conn.Do(t, `insert into outbox_score_updates
    (xid, shard, event_id, user_id, board_id, score, delta, order_key, version, revision, reached_at, recorded_at)
values ('8000000000', 0, gen_random_uuid(), 'ahead', 'global', 1, 1, -1, 1, 1, clock_timestamp(), clock_timestamp())`)
	row(t, conn, "after")
	start(t, options("relay"), r, p)
	until(t, "the reason in the status", func() bool {
		s, err := r.Outbox.OutboxStatus(ctx)
		return err == nil && len(s.Shards) > 0 && s.Shards[0].LastError != ""
	})
	if got := p.published(); len(got) != 1 {
		t.Fatalf("published %q with the cursor of another history", got)
	}
	if _, cursors, err := r.store.Recovery.History(ctx); err != nil || cursors != "1/00000001/2" {
		t.Errorf("the cursors have the history %q, %v", cursors, err)
	}
	now, cursors, err := r.store.Recovery.History(ctx)
	if err != nil {
		t.Fatal(err)
	}
	why := &scoreboard.AuditEntry{Actor: "root", Action: "history.adopt", Target: "database:x", Reason: "restored"}
	if err := r.store.Recovery.AdoptHistory(ctx, now, scoreboard.History{ID: cursors}, why); err != nil {
		t.Fatal(err)
	}
	until(t, "everything published again", func() bool { return len(p.published()) == 4 })
	if got := p.published(); !slices.Contains(got, "after") || !slices.Contains(got, "ahead") {
		t.Errorf("published %q", got)
	}
	if since, err := r.store.Recovery.HistorySince(ctx); err != nil || since.IsZero() {
		t.Errorf("adopted at %v, %v", since, err)
	}
}
