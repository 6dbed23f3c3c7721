package server_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// failover is two nodes on a primary and a standby. postgres.url names both.
type failover struct {
	*harness
	primary, standby *backends.PostgresServer
	game             *client.Client
	root             *client.Client
}

func newFailover(t *testing.T, synchronous bool) *failover {
	t.Helper()
	r := &failover{harness: newHarness(t), primary: backends.OwnPostgres(t, migrations.Up)}
	r.standby = r.primary.Standby()
	r.awaitPrimary(`select count(*) = 1 from pg_stat_replication where state = 'streaming'`)
	if synchronous {
		r.onPrimary(`alter system set synchronous_standby_names = '*'`)
		r.onPrimary(`select pg_reload_conf()`)
		r.awaitPrimary(`select count(*) = 1 from pg_stat_replication where sync_state = 'sync'`)
	}
	r.postgres = backends.Hosts(r.primary.URL, r.standby.URL) + "&target_session_attrs=read-write"
	nodes := []*node{r.start(allRoles), r.start(allRoles)}
	r.game, r.root = nodes[0].client("game", auth.ScopeUpdate), nodes[1].client("root", auth.ScopeAdmin)
	return r
}

func (r *failover) onPrimary(query string) {
	r.t.Helper()
	if _, err := r.owner(r.primary).Exec(r.t.Context(), query); err != nil {
		r.t.Fatal(query, err)
	}
}

func (r *failover) owner(s *backends.PostgresServer) *pgx.Conn {
	r.t.Helper()
	conn, err := pgx.Connect(r.t.Context(), backends.Owner(s.URL))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close(r.t.Context()) })
	return conn
}

// awaitPrimary waits until a query on the primary is true.
func (r *failover) awaitPrimary(query string) {
	r.t.Helper()
	conn := r.owner(r.primary)
	r.await(query, func() (ok bool) {
		if err := conn.QueryRow(r.t.Context(), query).Scan(&ok); err != nil {
			r.t.Fatal(err)
		}
		return ok
	})
}

// promote kills the primary and makes the standby the new one.
func (r *failover) promote() {
	r.t.Helper()
	r.primary.Kill()
	if !r.standby.Running() {
		r.standby.Start()
	}
	if _, err := r.owner(r.standby).Exec(r.t.Context(), `select pg_promote()`); err != nil {
		r.t.Fatal(err)
	}
}

// submit sends events of one point each until each is acknowledged. The user follows
// from the event.
func (r *failover) submit(events []string) {
	for _, event := range events {
		r.await(event+" to be acknowledged", func() bool {
			_, err := r.game.Submit(r.t.Context(), client.Increment{
				User: "user-" + event[len(event)-1:], Delta: 1, EventID: event,
			})
			return err == nil
		})
	}
}

// check compares the new primary's ledger with the events that it must have, and waits
// until the ranking agrees and no check of the history fails.
func (r *failover) check(want []string) {
	r.t.Helper()
	rows, err := r.owner(r.standby).Query(r.t.Context(), `select event_id from user_score_histories order by 1`)
	if err != nil {
		r.t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if want = slices.Sorted(slices.Values(want)); err != nil || !slices.Equal(got, want) {
		r.t.Fatalf("the ledger has %d events %v, want %d: %v", len(got), err, len(want), difference(got, want))
	}
	r.await("ranking and ledger to agree", func() bool {
		verified, err := r.root.Verify(r.t.Context(), client.JobRequest{All: true}, func(client.JobLine) {})
		if err != nil || verified.Verified == nil || verified.Verified.Wrong != 0 {
			return false
		}
		top, err := r.root.Top(r.t.Context(), client.TopQuery{})
		var points int64
		for _, e := range top.Entries {
			points += e.Score
		}
		return err == nil && !top.Degraded && points == int64(len(want))
	})
	r.await("the check of the history", func() bool { return r.doctor("history") == wire.CheckOK })
}

// doctor returns the status of one of its checks.
func (r *failover) doctor(name string) string {
	checks, err := r.root.Checks(r.t.Context())
	if err != nil {
		return ""
	}
	for _, c := range checks.Checks {
		if c.Name == name {
			return c.Status
		}
	}
	r.t.Fatalf("no check %s", name)
	return ""
}

// difference lists what is in one of two lists only.
func difference(a, b []string) string {
	var lines []string
	for _, x := range a {
		if !slices.Contains(b, x) {
			lines = append(lines, "unexpected "+x)
		}
	}
	for _, x := range b {
		if !slices.Contains(a, x) {
			lines = append(lines, "missing "+x)
		}
	}
	return strings.Join(lines, ", ")
}

// eventIDs returns n event ids that no other kind has.
func eventIDs(kind, n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("%08d-0000-4000-8000-%012d", kind, i))
	}
	return ids
}

// The primary dies under load, and the standby that every commit waited for takes over:
// nothing that was acknowledged is lost, and nothing counts twice.
func TestPromoteSynchronousStandby(t *testing.T) {
	t.Parallel()
	r := newFailover(t, true)
	if got := r.doctor("durability"); got != wire.CheckOK {
		t.Errorf("durability: %s, want ok", got)
	}
	var writers sync.WaitGroup
	var all []string
	for w := range 4 {
		events := eventIDs(w, 150)
		all = append(all, events...)
		writers.Go(func() { r.submit(events) })
	}
	r.awaitPrimary(`select count(*) > 100 from user_score_histories`)
	r.promote()
	writers.Wait()
	r.check(all)
}

// The standby lacks what was acknowledged last: that is lost, as the doctor warned. The
// nodes adopt the new history by themselves, and clients' repeats count once.
func TestPromoteAsynchronousStandby(t *testing.T) {
	t.Parallel()
	r := newFailover(t, false)
	if got := r.doctor("durability"); got != wire.CheckWarn {
		t.Errorf("durability: %s, want a warning", got)
	}
	kept, lost, later := eventIDs(1, 60), eventIDs(2, 40), eventIDs(3, 50)
	r.submit(kept)
	// A node notices a loss that is older than its last check of the history.
	r.awaitPrimary(`select pg_current_wal_flush_lsn() = min(replay_lsn) from pg_stat_replication`)
	r.standby.Stop()
	r.submit(lost)
	r.promote()
	r.submit(later)
	r.check(append(slices.Clone(kept), later...))
	for range 2 {
		r.submit(slices.Concat(kept, lost, later))
	}
	r.check(slices.Concat(kept, lost, later))
}
