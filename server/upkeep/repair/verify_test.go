package repair_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
	"github.com/scoreboard/scoreboard/server/upkeep/repair"
)

func TestMain(m *testing.M) { backends.Main(m) }

var ctx = context.Background()

type rig struct {
	*store.Store
	ranking *ranking.Ranking
	rdb     *redis.Client
	conn    *backends.Conn
	url     string
	board   scoreboard.Board
	events  int

	lookedUp int // users, by the last check
}

// lookups counts the users that are looked up one by one.
type lookups struct {
	repair.VerifiedStore
	users *int
}

func (l lookups) WithoutScore(
	ctx context.Context, board scoreboard.BoardID, users []scoreboard.UserID,
) ([]scoreboard.UserID, error) {
	*l.users += len(users)
	return l.VerifiedStore.WithoutScore(ctx, board, users)
}

func open(t *testing.T) *rig {
	t.Helper()
	return openOn(t, backends.Postgres(t, migrations.Up))
}

func openOn(t *testing.T, url string) *rig {
	t.Helper()
	r := &rig{rdb: backends.RedisClient(t, backends.Redis(t))}
	r.ranking = ranking.New(r.rdb)
	r.reopen(t, url)
	boards, err := r.Boards.All(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r.board = boards[0]
	return r
}

// reopen connects to the database, which may have restarted.
func (r *rig) reopen(t *testing.T, url string) {
	t.Helper()
	r.url = url
	r.Store = storetest.Open(t, url, func(o *store.Options) { o.MaxConns, o.LockWait = 6, time.Second })
	r.conn = backends.Connect(t, url)
}

// close closes the connections to the database.
func (r *rig) close() {
	r.Close()
	_ = r.conn.Close(ctx)
}

// record records one increment for each of n users, starting with a number.
func (r *rig) record(t *testing.T, from, n int) {
	t.Helper()
	var batch []scoreboard.Increment
	for i := from; i < from+n; i++ {
		user := scoreboard.UserID("user" + strconv.Itoa(i))
		r.events++
		event, err := scoreboard.ParseEventID(user, "event"+strconv.Itoa(r.events))
		if err != nil {
			t.Fatal(err)
		}
		batch = append(batch, scoreboard.Increment{
			User:   user,
			Delta:  rand.Int64N(100) + 1,
			Event:  event,
			Boards: []scoreboard.BoardID{r.board.ID},
			Source: scoreboard.SourceAPI,
		})
	}
	out, err := r.Increments.Record(ctx, batch)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range out {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}
}

func (r *rig) rebuild(t *testing.T) *repair.RebuildResult {
	t.Helper()
	done, err := repair.Rebuild(ctx, r.Recovery, r.ranking, &r.board, func(int64) {})
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func (r *rig) check(t *testing.T, fix bool) *repair.VerifyResult {
	t.Helper()
	r.lookedUp = 0
	c := repair.Check{
		Store:       lookups{r.Recovery, &r.lookedUp},
		Ranking:     r.ranking,
		CheckLedger: true,
		Repair:      fix,
		Progress:    func(*repair.VerifyResult) {},
	}
	v, err := c.Run(ctx, []scoreboard.Board{r.board})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// relay applies the outbox rows after a cursor to the ranking; errors do not end the test.
func (r *rig) relay(t *testing.T, at scoreboard.Cursor) scoreboard.Cursor {
	t.Helper()
	page, err := r.Outbox.OutboxPage(ctx, 0, at, 500)
	if err != nil {
		t.Error(err)
		return at
	}
	var changes []scoreboard.Change
	for _, row := range page.Rows {
		changes, at = append(changes, row.Change), row.Cursor
	}
	if _, err := r.ranking.Apply(ctx, changes); err != nil {
		t.Error(err)
	}
	return at
}

func kinds(v *repair.VerifyResult) string {
	var all []string
	for _, d := range v.Differences {
		all = append(all, string(d.User)+":"+d.Kind)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestVerifyFindsEveryKindOfDifference(t *testing.T) {
	t.Parallel()
	r := open(t)
	for range 3 {
		r.record(t, 0, 40)
	}
	r.rebuild(t)
	if v := r.check(t, false); v.DifferenceCount != 0 || v.Users != 40 || v.Rows != 120 {
		t.Fatalf("a healthy board: %d users, %d rows, %d differences: %s", v.Users, v.Rows, v.DifferenceCount, kinds(v))
	}
	if r.lookedUp > 0 {
		t.Errorf("%d users of a healthy board looked up one by one", r.lookedUp)
	}

	const rank, users = "sb:{global}:rank", "sb:{global}:users"
	state := func(user string) string { return r.rdb.HGet(ctx, users, user).Val() }
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	// In the ranking:
	ok(r.rdb.HDel(ctx, users, "user1").Err()) // its member stays, an orphan
	member := func(user string) string { return state(user)[:8] + user }
	ok(r.rdb.ZRem(ctx, rank, member("user2")).Err())
	ok(r.rdb.ZIncrBy(ctx, rank, -5, member("user3")).Err())
	ok(r.rdb.HSet(ctx, users, "ghost", state("user4")).Err())
	ok(r.rdb.ZAdd(ctx, rank, redis.Z{Score: -1e6, Member: member("ghost")}).Err())
	ahead := state("user5")
	ok(r.rdb.HSet(ctx, users, "user5", strings.TrimSuffix(ahead, "3 3 0")+"9 3 0").Err())
	ok(r.rdb.HSet(ctx, users, "user6", strings.TrimSuffix(state("user6"), "3 3 0")+"2 3 0").Err())
	ok(r.rdb.HSet(ctx, users, "user7", "rubbish").Err())
	ok(r.rdb.ZAdd(ctx, rank, redis.Z{Score: -1e6, Member: "\x00\x00\x00\x00\x00\x00\x00\x01nobody"}).Err()) // no state
	ok(
		r.rdb.ZAdd(ctx, rank, redis.Z{Score: -2e6, Member: "\x00\x00\x00\x00\x00\x00\x00\x01user8"}).Err(),
	) // next to the right one
	inRanking := "user15:other ghost:not_in_store user1:not_in_ranking user2:other user3:other " +
		"user5:ahead user6:behind user7:behind nobody:orphaned_member user8:orphaned_member"
	// In the store:
	r.conn.Do(t, `delete from user_score_histories where user_id = 'user10' and version = 2`)
	r.conn.Do(t, `update user_score_histories set applied = applied + 1 where user_id = 'user11' and version = 1`)
	r.conn.Do(t, `delete from user_score_histories where user_id = 'user12'`)
	r.conn.Do(t, `update user_score_histories set user_id = 'user99' where user_id = 'user13' and version = 3`)
	r.conn.Do(t, `delete from user_score_histories where user_id = 'user14' and version = 1`) // archived: no difference
	// All rows archived, older than the remaining ledger: no difference there,
	// but the ranking must have the same time.
	r.conn.Do(t, `delete from user_score_histories where user_id = 'user15'`)
	r.conn.Do(t, `update scores set reached_at = now() - interval '3 years' where user_id = 'user15'`)
	inStore := "user10:version_gap user11:sum user12:no_ledger user13:version_gap user99:no_score"

	v := r.check(t, true)
	want := strings.Fields(inRanking + " " + inStore)
	slices.Sort(want)
	if got := kinds(v); got != strings.Join(want, " ") {
		t.Errorf("found\n%s, want\n%s", got, strings.Join(want, " "))
	}
	if v.Repaired != 10 {
		t.Errorf("repaired %d, want the 10 differences of the ranking", v.Repaired)
	}
	if r.lookedUp == 0 || r.lookedUp > 3 {
		t.Errorf("%d users looked up one by one, want the one that the store lacks", r.lookedUp)
	}
	if got := kinds(r.check(t, false)); got != inStore {
		t.Errorf("after the repair: %s, want only the differences of the store: %s", got, inStore)
	}
	r.same(t)
}

// A user without a score is a difference only if the ranking has a state.
func TestVerifyOneUserChecksStoreAndRanking(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.record(t, 0, 3)
	r.rebuild(t)
	const users = "sb:{global}:users"
	if err := r.rdb.HSet(ctx, users, "ghost", r.rdb.HGet(ctx, users, "user1").Val()).Err(); err != nil {
		t.Fatal(err)
	}
	for _, rows := range []bool{true, false} { // verify, and reconcile
		for user, want := range map[scoreboard.UserID]string{
			"user1": "1 ", "nobody": "0 ", "ghost": "0 ghost:not_in_store",
		} {
			c := repair.Check{
				Store:       r.Recovery,
				Ranking:     r.ranking,
				User:        user,
				CheckLedger: rows,
				Progress:    func(*repair.VerifyResult) {},
			}
			v, err := c.Run(ctx, []scoreboard.Board{r.board})
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprintf("%d %s", v.Users, kinds(v)); got != want {
				t.Errorf("%s (ledger rows: %t): got %q, want %q", user, rows, got, want)
			}
		}
	}
}

// same compares the order of the store and the ranking.
func (r *rig) same(t *testing.T) {
	t.Helper()
	storetest.CopyScores(t, r.Store, r.conn) // also those that a test has written itself
	want, err := r.Reads.Page(ctx, &r.board, nil, scoreboard.TopSize)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.ranking.Top(ctx, &r.board)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Entries, want.Entries) || got.Total != want.Total {
		t.Errorf("Redis has %v of %d, PostgreSQL %v of %d", got.Entries, got.Total, want.Entries, want.Total)
	}
}

func TestVerifyToleratesALatePipeline(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.record(t, 0, 50)
	r.rebuild(t)
	stop := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		for at := (scoreboard.Cursor{}); ; time.Sleep(300 * time.Millisecond) { // late
			at = r.relay(t, at)
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	all.Go(func() {
		for {
			r.record(t, rand.IntN(50), 20)
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	time.Sleep(400 * time.Millisecond)
	for range 2 {
		if v := r.check(t, false); v.DifferenceCount != 0 {
			t.Errorf("%d differences in a healthy pipeline: %v", v.DifferenceCount, v.Differences[0])
		}
	}
	close(stop)
	all.Wait()
}

// A wrong number of attempts is found: rows of the ledger that are none, and reversed events, say what it must be.
func TestVerifyFindsWrongAttempts(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.record(t, 0, 3)
	why := &scoreboard.AuditEntry{Actor: "root", Action: "event.reverse", Target: "user:user0", Reason: "test"}
	event, err := scoreboard.ParseEventID("user0", "event1")
	if err == nil {
		_, _, err = r.Corrections.Reverse(ctx, "user0", event, scoreboard.Reversing{}, why)
	}
	if err == nil {
		_, err = r.Corrections.Adjust(ctx, scoreboard.Adjustment{
			User: "user1", Board: r.board.ID, Delta: 5, Event: scoreboard.NamedEventID("user1", "a"),
		}, why)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.rebuild(t)
	if v := r.check(t, false); v.DifferenceCount != 0 {
		t.Errorf("after a reversal and an adjustment: %+v", v.Differences)
	}
	r.conn.Do(t, `update scores set uncounted = uncounted + 1 where user_id <> 'user2'`)
	v := r.check(t, false)
	if v.DifferenceCount != 2 || v.Differences[0].Kind != "uncounted" || v.Differences[1].Kind != "uncounted" {
		t.Errorf("got %+v, want two", v.Differences)
	}
}
