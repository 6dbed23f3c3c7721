package upkeep_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
	"github.com/scoreboard/scoreboard/server/upkeep"
	"github.com/scoreboard/scoreboard/server/upkeep/repair"
)

func TestMain(m *testing.M) {
	backends.Main(m, goleak.IgnoreTopFunction("github.com/jackc/pgx/v5/pgxpool.(*Pool).backgroundHealthCheck"))
}

var ctx = context.Background()

// whole reverses an event on all its boards, or an adjustment.
var whole scoreboard.Reversing

// moderationRig is a store with boards of every mode, and a ranking fed from its outbox.
type moderationRig struct {
	*store.Store
	conn    *backends.Conn
	ranking *ranking.Ranking
	boards  map[scoreboard.BoardID]scoreboard.Board
	cursor  scoreboard.Cursor
	window  scoreboard.Window // of workers; 0: the default
}

func newModerationRig(t testing.TB) *moderationRig {
	t.Helper()
	s, conn := storetest.New(t)
	r := &moderationRig{
		Store:   s,
		conn:    conn,
		ranking: ranking.New(backends.RedisClient(t, backends.Redis(t))),
		boards:  map[scoreboard.BoardID]scoreboard.Board{},
	}
	for _, b := range []scoreboard.Board{
		{ID: "sum", Mode: scoreboard.ModeIncrement, Order: scoreboard.OrderHighest},
		{ID: "other", Mode: scoreboard.ModeIncrement, Order: scoreboard.OrderLowest},
		{ID: "high", Mode: scoreboard.ModeBest, Order: scoreboard.OrderHighest},
		{ID: "low", Mode: scoreboard.ModeBest, Order: scoreboard.OrderLowest},
		{ID: "last", Mode: scoreboard.ModeLatest, Order: scoreboard.OrderHighest},
	} {
		b.MinScore, b.MaxScore = -scoreboard.MaxScore, scoreboard.MaxScore
		r.boards[b.ID] = b
		r.conn.Do(
			t,
			`insert into boards (board_id, family_id, mode, sort_order, min_delta, max_delta)
values ($1, $1, $2, $3, -100, 100)`,
			b.ID,
			b.Mode,
			b.Order,
		)
		if _, err := repair.Rebuild(ctx, s.Recovery, r.ranking, &b, func(int64) {}); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func why() *scoreboard.AuditEntry {
	return &scoreboard.AuditEntry{
		Actor:     "root",
		Address:   "127.0.0.1",
		RequestID: "r",
		Action:    "test",
		Target:    "test",
		Reason:    "because",
	}
}

func increment(
	user scoreboard.UserID,
	delta int64,
	event, key string,
	boards ...scoreboard.BoardID,
) scoreboard.Increment {
	id, err := scoreboard.ParseEventID(user, event)
	if err != nil {
		panic(err)
	}
	return scoreboard.Increment{
		User:    user,
		Delta:   delta,
		Event:   id,
		Boards:  boards,
		Source:  scoreboard.SourceAPI,
		KeyID:   key,
		Address: "192.0.2." + key,
		Agent:   "game",
	}
}

// relay applies the outbox to the ranking, out of order and twice.
func (r *moderationRig) relay(t testing.TB) {
	t.Helper()
	for {
		page, err := r.Outbox.OutboxPage(ctx, 0, r.cursor, 500)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Rows) == 0 {
			// Rows after a running transaction are not visible, whatever
			// database of the cluster it is in.
			if r.conn.Count(
				t,
				`select count(*) from outbox_score_updates where (xid, id) > ($1::text::xid8, $2)`,
				fmt.Sprint(r.cursor.XID),
				r.cursor.ID,
			) == 0 {
				return
			}
			time.Sleep(5 * time.Millisecond)
			continue
		}
		r.cursor = page.Rows[len(page.Rows)-1].Cursor
		var changes []scoreboard.Change
		for i := range page.Rows {
			changes = append(changes, page.Rows[i].Change)
		}
		for range 2 {
			rand.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
			if notLoaded, err := r.ranking.Apply(ctx, changes); err != nil || len(notLoaded) > 0 {
				t.Fatal(notLoaded, err)
			}
		}
	}
}

// checkAll compares ledger, scores and ranking.
func (r *moderationRig) checkAll(t testing.TB) {
	t.Helper()
	r.verify(t)
	r.refold(t)
}

func (r *moderationRig) verify(t testing.TB) {
	t.Helper()
	r.relay(t)
	var boards []scoreboard.Board
	for _, b := range r.boards {
		boards = append(boards, b)
	}
	check := repair.Check{
		Store:       r.Recovery,
		Ranking:     r.ranking,
		CheckLedger: true,
		Progress:    func(*repair.VerifyResult) {},
	}
	v, err := check.Run(ctx, boards)
	if err != nil {
		t.Fatal(err)
	}
	if v.DifferenceCount != 0 {
		t.Fatalf("verify found %+v", v.Differences)
	}
}

// refold computes the scores from the ledger without reversed events, and compares them.
func (r *moderationRig) refold(t testing.TB) {
	t.Helper()
	type place struct{ user, board string }
	type state struct {
		score int64
		had   bool
	}
	states := map[place]state{}
	rows, err := r.conn.Query(ctx, `select user_id, board_id, delta, source, coalesce(action, ''),
    exists (select from reversals r where r.user_id = h.user_id and r.event_id = h.event_id)
from user_score_histories h order by user_id, board_id, version`)
	if err != nil {
		t.Fatal(err)
	}
	var p place
	var delta int64
	var source, action string
	var off bool
	if _, err := pgx.ForEachRow(rows, []any{&p.user, &p.board, &delta, &source, &action, &off}, func() error {
		s := states[p]
		board := r.boards[scoreboard.BoardID(p.board)]
		switch {
		case off, source == "admin" && action != "adjust":
		case source == "admin", board.Mode == scoreboard.ModeIncrement:
			s = state{s.score + delta, true}
		case !s.had,
			board.Mode == scoreboard.ModeLatest,
			board.Order.Key(scoreboard.Score(delta)) < board.Order.Key(scoreboard.Score(s.score)):
			s = state{delta, true}
		}
		states[p] = s
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	rows, err = r.conn.Query(
		ctx,
		`select user_id, board_id, score, empty, hidden, (select case when private then 'banned' else status end
    from users u where u.user_id = s.user_id)
from scores s`,
	)
	if err != nil {
		t.Fatal(err)
	}
	var score int64
	var empty, hidden bool
	var status string
	if _, err := pgx.ForEachRow(rows, []any{&p.user, &p.board, &score, &empty, &hidden, &status}, func() error {
		want := states[p]
		if r.boards[scoreboard.BoardID(p.board)].Mode == scoreboard.ModeIncrement {
			want.had = true // a sum without events is 0, not empty
		}
		if score != want.score || empty == want.had || hidden != (empty || status == "banned" || status == "erased") {
			t.Errorf(
				"%+v (%s): score %d, empty %t, hidden %t; want %+v from its ledger",
				p,
				status,
				score,
				empty,
				hidden,
				want,
			)
		}
		delete(states, p)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(states) > 0 {
		t.Errorf("no score for ledger entries %+v", states)
	}
}

// worker returns a worker with an address retention of one hour.
func (r *moderationRig) worker() *upkeep.Moderation {
	return upkeep.NewModeration(
		r.Corrections,
		r.Privacy,
		r.ranking,
		func() time.Duration { return time.Hour },
		r.window,
		upkeep.NewRunner(fmt.Sprint(rand.Uint64()), r.Leases, slog.New(slog.DiscardHandler)),
	)
}

// work runs all voids to completion.
func (r *moderationRig) work(t testing.TB) {
	t.Helper()
	ttl := time.Minute
	for {
		v, err := r.Corrections.ClaimVoid(ctx, ttl)
		if err != nil {
			t.Fatal(err)
		}
		if v == nil {
			return
		}
		for more := true; more; {
			if more, err = r.Corrections.StepVoid(ctx, v, ttl); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Corrections.ReleaseVoid(ctx, v, nil); err != nil {
			t.Fatal(err)
		}
	}
}
