package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The database's clock was ahead when a user was recorded last, by days or years.
// The user's time never goes back, and everyone is recorded, in the same instance
// of a daily board.
func TestUserAheadOfTheClock(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{
		"a day": 24 * time.Hour, "days": 5 * 24 * time.Hour, "years": 3 * 365 * 24 * time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, conn := storetest.New(t)
			create(t, s, boardOf("daily", every(scoreboard.PeriodDaily)))
			today := scoreboard.BoardID("daily:" + databaseTime(t, conn).Format(time.DateOnly))
			record(t, s, increment("ahead", 1, "e0"))
			conn.Do(t, `update users set last_recorded_at = last_recorded_at + $1::interval where user_id = 'ahead'`,
				ahead)
			got := record(
				t,
				s,
				increment("bob", 1, "e1", "daily"),
				increment("ahead", 2, "e1", "global", "daily"),
				increment("carol", 3, "e1"),
				increment("ahead", 4, "e2", "daily"),
			)
			for i, o := range got {
				if o.Err != nil {
					t.Fatalf("item %d: %v", i, o.Err)
				}
			}
			if a, b := got[1].Receipts[1], got[0].Receipts[0]; a.Board != today || b.Board != today {
				t.Errorf("recorded on %s and %s, want %s", a.Board, b.Board, today)
			}
			last := time.Now().Add(ahead - time.Hour)
			for _, o := range []scoreboard.Outcome{got[1], got[3]} {
				if at := o.Receipts[0].RecordedAt; at.Before(last) {
					t.Errorf("the user's time went back to %s, before %s", at, last)
				}
			}
			again := record(t, s, increment("ahead", 2, "e1", "global", "daily"))[0]
			if again.Err != nil || !again.Receipts[0].Replayed || again.Receipts[0].Version != 2 {
				t.Errorf("a repeat: got %+v", again)
			}
		})
	}
}

// A row that no transaction can read fails the batch, but not as an outage: the
// caller splits the batch, and the others are recorded.
func TestUnreadableUserIsNotAnOutage(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	record(t, s, increment("odd", 1, "e0"))
	conn.Do(t, `update users set last_recorded_at = 'infinity' where user_id = 'odd'`)
	_, err := s.Increments.Record(t.Context(), []scoreboard.Increment{
		increment("bob", 1, "e1"), increment("odd", 1, "e1"),
	})
	if err == nil || wire.CodeOf(err) == wire.CodeUnavailable {
		t.Errorf("got %v, want an error that is no outage", err)
	}
	if got := record(t, s, increment("bob", 1, "e1"))[0]; got.Err != nil || got.Receipts[0].Version != 1 {
		t.Errorf("bob alone: got %+v", got)
	}
}

// The clock goes back into a day that is closed: everyone counts in the day that was
// current before.
func TestClockWentBackIntoClosedPeriod(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	create(t, s, boardOf("daily", every(scoreboard.PeriodDaily)))
	now := databaseTime(t, conn)
	today := scoreboard.BoardID("daily:" + now.Format(time.DateOnly))
	record(t, s, increment("alice", 1, "e0", "daily"))
	conn.Do(t, `update boards set status = 'frozen', closed_at = period_end + interval '1 minute' where board_id = $1`,
		today)
	conn.Do(t, `update users set last_recorded_at = last_recorded_at + interval '1 day'`)
	got := record(t, s, increment("alice", 1, "e1", "daily"), increment("new", 1, "e1", "daily"))
	for i, o := range got {
		if o.Err != nil {
			t.Fatalf("item %d: %v", i, o.Err)
		}
		if board := o.Receipts[0].Board; board <= today || !strings.HasPrefix(string(board), "daily:") {
			t.Errorf("item %d: recorded on %s, want the day after %s", i, board, today)
		}
	}
	if a, b := got[0].Receipts[0].Board, got[1].Receipts[0].Board; a != b {
		t.Errorf("recorded on %s and %s, want the same day", a, b)
	}
	// An operator's freeze of the current day is another matter.
	conn.Do(t, `update boards set closed_at = null where board_id = $1`, today)
	o := record(t, s, increment("bob", 1, "e1", "daily"))[0]
	if wire.CodeOf(o.Err) != wire.CodeBoardClosed {
		t.Errorf("the current day is frozen: got %+v, want board_closed", o)
	}
}

// A lease of a dead owner was taken while the clock was ahead: it does not last
// until the clock is there again.
func TestLeasesAfterTheClockWentBack(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	const ttl = 3 * time.Second
	if _, _, ok, err := s.Outbox.ClaimShard(t.Context(), 0, "dead", ttl); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if held, err := s.Leases.TakeLease(t.Context(), "rollover", "dead", ttl); err != nil || !held {
		t.Fatal(held, err)
	}
	if _, err := s.Outbox.JoinRelays(t.Context(), "dead", ttl); err != nil {
		t.Fatal(err)
	}
	if _, _, ok, err := s.Outbox.ClaimShard(t.Context(), 0, "live", ttl); err != nil || ok {
		t.Errorf("a lease that has not ended: claimed %t, %v", ok, err)
	}
	conn.Do(t, `update relay_shards set lease_until = lease_until + interval '2 days'`)
	conn.Do(t, `update leases set until = until + interval '2 days'`)
	conn.Do(t, `update relay_members set alive_until = alive_until + interval '2 days'`)
	generation, _, ok, err := s.Outbox.ClaimShard(t.Context(), 0, "live", ttl)
	if err != nil || !ok || generation != 2 {
		t.Errorf("the shard: claimed %t with generation %d, %v; want generation 2", ok, generation, err)
	}
	if held, err := s.Leases.TakeLease(t.Context(), "rollover", "live", ttl); err != nil || !held {
		t.Errorf("the rollover: held %t, %v", held, err)
	}
	alive, err := s.Outbox.JoinRelays(t.Context(), "live", ttl)
	if err != nil || len(alive) != 1 || alive[0] != "live" {
		t.Errorf("relays alive: %v, %v; want the live one", alive, err)
	}
}
