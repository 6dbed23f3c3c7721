package upkeep_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
	"github.com/scoreboard/scoreboard/server/store/boards"
	"github.com/scoreboard/scoreboard/server/upkeep"
)

// rolloverRig is a store with a family of seasons. It collects announcements and can make
// them fail.
type rolloverRig struct {
	*boards.Boards
	store *store.Store
	t     testing.TB
	conn  *backends.Conn

	mu        sync.Mutex
	reject    error
	forget    bool // fail after announcing, before it is recorded
	announced []scoreboard.EndedPeriod
}

func newRolloverRig(t testing.TB) *rolloverRig {
	t.Helper()
	s, conn := storetest.New(t, func(o *store.Options) { o.MaxConns, o.LockWait = 6, time.Second })
	return &rolloverRig{Boards: s.Boards, store: s, t: t, conn: conn}
}

func (r *rolloverRig) AnnounceClosed(_ context.Context, e *scoreboard.EndedPeriod) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reject != nil {
		return r.reject
	}
	r.announced = append(r.announced, *e)
	return nil
}

func (r *rolloverRig) MarkAnnounced(ctx context.Context, id scoreboard.BoardID) error {
	if r.forget {
		return errors.New("the process ended")
	}
	return r.Boards.MarkAnnounced(ctx, id)
}

func (r *rolloverRig) events() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, e := range r.announced {
		all = append(all, scoreboard.FormatUUID(e.EventID().UUID)+" "+string(e.Board.ID))
	}
	return all
}

// season creates a family with one season that ends after a duration, and scores
// on it.
func (r *rolloverRig) season(name scoreboard.BoardID, users int, ends time.Duration) {
	r.t.Helper()
	b := &scoreboard.Board{
		ID:        name,
		Mode:      scoreboard.ModeIncrement,
		Order:     scoreboard.OrderHighest,
		Period:    scoreboard.PeriodSeason,
		TimeZone:  "UTC",
		WeekStart: time.Monday,
		MinDelta:  1,
		MaxDelta:  1000,
		MaxScore:  scoreboard.MaxScore,
	}
	now := time.Now()
	if _, err := r.Boards.CreateBoard(
		r.t.Context(),
		b,
		&scoreboard.Span{Name: "one", Start: now.Add(-time.Hour), End: now.Add(time.Hour)},
		nil,
	); err != nil {
		r.t.Fatal(err)
	}
	var batch []scoreboard.Increment
	for i := range users {
		user := scoreboard.UserID(fmt.Sprintf("u%d", i))
		id, err := scoreboard.ParseEventID(user, string(name))
		if err != nil {
			r.t.Fatal(err)
		}
		batch = append(batch, scoreboard.Increment{
			User:   user,
			Delta:  int64(i + 1),
			Event:  id,
			Boards: []scoreboard.BoardID{name},
			Source: scoreboard.SourceAPI,
		})
	}
	outcomes, err := r.store.Increments.Record(r.t.Context(), batch)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, o := range outcomes {
		if o.Err != nil {
			r.t.Fatal(o.Err)
		}
	}
	r.conn.Do(
		r.t,
		`update boards set period_end = clock_timestamp() + $2::interval where family_id = $1
and board_id <> family_id`,
		name,
		ends,
	)
}

// run runs a rollover of this owner until done reports true.
func (r *rolloverRig) run(name string, boards upkeep.RolloverBoards, done func() bool) {
	r.t.Helper()
	roll := upkeep.NewRollover(
		boards,
		store.NewCatalog(r.Boards, slog.New(slog.DiscardHandler)),
		r,
		upkeep.NewRunner(name, r.store.Leases, slog.New(slog.DiscardHandler)),
	)
	stop := backends.Run(r.t, roll.Run)
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Errorf("timed out after 20 s; announced: %q", r.events())
			break
		}
	}
	stop()
}

func (r *rolloverRig) state() (state string) {
	r.t.Helper()
	if err := r.conn.QueryRow(r.t.Context(), `select format('%s closed %s, sealed %s over %s, announced %s', status,
closed_at is not null,
standings_hash is not null, standings_users, announced_at is not null) from boards where board_id = 'season:one'`).
		Scan(&state); err != nil {
		r.t.Fatal(err)
	}
	return state
}

func TestFailedAnnouncementIsRepeated(t *testing.T) {
	t.Parallel()
	r := newRolloverRig(t)
	r.season("season", 3, 0)
	r.reject = errors.New("no broker")
	r.run("a", r, func() bool { return r.state() == "frozen closed t, sealed t over 3, announced f" })
	if len(r.events()) != 0 {
		t.Errorf("announced %q", r.events())
	}
	r.reject = nil
	r.run("b", r, func() bool { return r.state() == "frozen closed t, sealed t over 3, announced t" })
	if len(r.events()) != 1 {
		t.Fatalf("announced %q, want one announcement", r.events())
	}
	e := r.announced[0]
	if e.Users != 3 || e.Board.StandingsHash == "" || len(e.Top) != 3 ||
		e.Top[0] != (scoreboard.Entry{Rank: 1, User: "u2", Score: 3}) {
		t.Errorf("announced %+v", e)
	}
}

func TestEndBetweenAnnounceAndRecordRepeatsTheEvent(t *testing.T) {
	t.Parallel()
	r := newRolloverRig(t)
	r.season("season", 2, 0)
	r.forget = true
	r.run("a", r, func() bool { return len(r.events()) == 1 })
	r.forget = false
	r.run("b", r, func() bool { return r.state() == "frozen closed t, sealed t over 2, announced t" })
	all := r.events()
	if same := slices.Compact(slices.Clone(all)); len(all) < 2 || len(same) != 1 {
		t.Errorf("announced %q, want one event twice", all)
	}
}

// failing is a store that fails at a step.
type failing struct {
	*rolloverRig
	at string
}

var errEnded = errors.New("the process ended")

func (f failing) CopyStandings(
	ctx context.Context, id scoreboard.BoardID, size int, next func(context.Context) error,
) (int, error) {
	if f.at == "copy" {
		return 0, errEnded
	}
	if f.at == "halfway" {
		calls := 0
		return f.rolloverRig.Boards.CopyStandings(ctx, id, 2, func(context.Context) error {
			if calls++; calls > 2 {
				return errEnded
			}
			return nil
		})
	}
	return f.rolloverRig.Boards.CopyStandings(ctx, id, size, next)
}

func (f failing) SealStandings(ctx context.Context, id scoreboard.BoardID) (bool, error) {
	return false, errEnded
}

func TestRolloverResumesAfterAnyStep(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"copy", "halfway", "seal"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			r := newRolloverRig(t)
			r.season("season", 5, 0)
			var copied int64
			r.run("a", failing{r, at}, func() bool {
				copied = r.conn.Count(t, `select count(*) from board_standings`)
				return r.state() == "frozen closed t, sealed f over , announced f" &&
					copied >= map[string]int64{"copy": 0, "halfway": 2, "seal": 5}[at]
			})
			r.run("b", r, func() bool { return r.state() == "frozen closed t, sealed t over 5, announced t" })
			var rows, users, lastRank int64
			if err := r.conn.QueryRow(t.Context(), `select count(*), count(distinct user_id), max(rank)
from board_standings`).
				Scan(&rows, &users, &lastRank); err != nil {
				t.Fatal(err)
			}
			if rows != 5 || users != 5 || lastRank != 5 {
				t.Errorf("%d rows of %d users, ranks to %d, want 5", rows, users, lastRank)
			}
		})
	}
}

func TestLeaseIsTakenOver(t *testing.T) {
	t.Parallel()
	r := newRolloverRig(t)
	r.season("season", 1, 1500*time.Millisecond)
	// The holder of the lease completes it, once.
	r.run("first", r, func() bool {
		r.run("second", r, func() bool { return r.state() == "frozen closed t, sealed t over 1, announced t" })
		return true
	})
	if owners := r.conn.Count(t, `select count(*) from leases`); owners != 0 {
		t.Errorf("%d leases remain", owners)
	}
	r.season("other", 1, 0)
	r.run("third", r, func() bool {
		ended, err := r.Boards.EndedPeriods(t.Context(), "")
		return err == nil && len(ended) == 0
	})
	if all := r.events(); len(all) != 2 || all[0] == all[1] {
		t.Errorf("announced %q", all)
	}
}

func TestRollListsAndDoesWhatIsDue(t *testing.T) {
	t.Parallel()
	r := newRolloverRig(t)
	r.season("season", 2, 0)
	r.season("later", 2, time.Hour)
	b := &scoreboard.Board{
		ID:        "daily",
		Mode:      scoreboard.ModeIncrement,
		Order:     scoreboard.OrderHighest,
		Period:    scoreboard.PeriodDaily,
		TimeZone:  "UTC",
		WeekStart: time.Monday,
		MinDelta:  1,
		MaxDelta:  1000,
		MaxScore:  scoreboard.MaxScore,
	}
	if _, err := r.Boards.CreateBoard(t.Context(), b, nil, nil); err != nil {
		t.Fatal(err)
	}
	r.conn.Do(t, `delete from boards where board_id like 'daily:%' and period_start > clock_timestamp()`)
	roll := upkeep.NewRollover(
		r,
		store.NewCatalog(r.Boards, slog.New(slog.DiscardHandler)),
		r,
		upkeep.NewRunner("a", r.store.Leases, slog.New(slog.DiscardHandler)),
	)
	for _, dry := range []bool{true, true, false} {
		made, ended, err := roll.Roll(t.Context(), "", dry)
		if err != nil || len(made) != 2 || len(ended) != 1 || ended[0].Board.ID != "season:one" ||
			(ended[0].Board.StandingsHash == "") != dry {
			t.Errorf("dry run %t: created %v, ended %+v, %v", dry, made, ended, err)
		}
	}
	if made, ended, err := roll.Roll(t.Context(), "daily", false); err != nil || len(made) != 0 || len(ended) != 0 {
		t.Errorf("a second roll: created %v, ended %+v, %v", made, ended, err)
	}
	if r.state() != "frozen closed t, sealed t over 2, announced f" {
		t.Error(r.state())
	}
}
