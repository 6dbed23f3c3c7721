package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestLaterRejectionReplacesEarlier(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	base := databaseTime(t, conn).Truncate(time.Microsecond)
	attempt := func(n int) scoreboard.Increment {
		in := increment("alice", 5, "e1")
		in.Accepted = base.Add(time.Duration(n) * time.Second)
		return in
	}
	reject := func(code wire.Code, batch ...scoreboard.Increment) {
		t.Helper()
		reasons := make([]*scoreboard.Error, len(batch))
		for i := range reasons {
			reasons[i] = scoreboard.Errorf(code, "no")
		}
		if err := s.Increments.Reject(t.Context(), batch, reasons); err != nil {
			t.Fatal(err)
		}
	}
	want := func(when string, code wire.Code, n int, rejected ...bool) {
		t.Helper()
		first := attempt(0)
		r, err := s.Increments.Rejection(t.Context(), first.User, first.Event)
		if err != nil || r == nil || r.Reason.Code != code || !r.Accepted.Equal(attempt(n).Accepted) {
			t.Errorf("%s: got %+v, %v, want %s of attempt %d", when, r, err, code, n)
		}
		got, err := s.Increments.Rejected(t.Context(), []scoreboard.Increment{attempt(0), attempt(1), attempt(2)})
		if err != nil || fmt.Sprint(got) != fmt.Sprint(rejected) {
			t.Errorf("%s: attempts rejected: %v, %v, want %v", when, got, err, rejected)
		}
	}
	if r, err := s.Increments.Rejection(t.Context(), "alice", attempt(0).Event); r != nil || err != nil {
		t.Errorf("before: got %+v, %v", r, err)
	}
	reject(wire.CodeBoardClosed, attempt(0))
	want("rejected", wire.CodeBoardClosed, 0, true, false, false)
	reject(wire.CodeForbidden, attempt(0))
	want("delivered again", wire.CodeBoardClosed, 0, true, false, false)
	reject(wire.CodeForbidden, attempt(1), attempt(0))
	want("accepted and rejected again", wire.CodeForbidden, 1, true, true, false)
	reject(wire.CodeInternal, attempt(2))
	want("not recorded", wire.CodeInternal, 2, false, false, false)
}

func TestRejectionsAreDeletedByAgeAndNumber(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	conn.Do(t, `insert into rejected_events (user_id, event_id, payload_hash, error_code, message, accepted_at,
    rejected_at)
select 'u' || n, gen_random_uuid(), '', 'forbidden', 'no', clock_timestamp() - n * interval '1 hour',
    clock_timestamp() - n * interval '1 hour'
from generate_series(1, 20) as n`)
	remove := func(age time.Duration, keep, limit int, want, left int64) {
		t.Helper()
		n, err := s.Increments.DeleteRejections(t.Context(), time.Now().Add(-age), keep, limit)
		if err != nil || n != want {
			t.Errorf("deleted %d, %v, want %d", n, err, want)
		}
		if got := conn.Count(t, `select count(*) from rejected_events`); got != left {
			t.Errorf("%d are left, want %d", got, left)
		}
	}
	remove(24*time.Hour, 100, 10, 0, 20)
	remove(12*time.Hour+30*time.Minute, 100, 5, 5, 15)
	remove(12*time.Hour+30*time.Minute, 100, 5, 3, 12)
	remove(24*time.Hour, 10, 5, 2, 10)
	newest := conn.Count(t, `select count(*) from rejected_events
where rejected_at > clock_timestamp() - interval '11 hours'`)
	if newest != 10 {
		t.Errorf("%d of the newest are left, want 10", newest)
	}
}
