package bulk_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/bulk"
	"github.com/scoreboard/scoreboard/client/wire"
)

func away() error {
	return &client.Error{Code: wire.CodeUnavailable, Err: errors.New("no route")}
}

func TestErrorOfEveryLineEndsRun(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		err  error
		want error
	}{
		{"server unreachable", away(), bulk.ErrUnreachable},
		{"invalid token", &client.Error{Status: 401, Code: wire.CodeUnauthorized}, nil},
	} {
		l := newLedger()
		l.whole = func([]client.Increment) error { return tc.err }
		tally, _, err := submit(t, t.Context(), l, lines(10_000), "")
		if want := tc.want; err == nil || want != nil && !errors.Is(err, want) || want == nil &&
			!errors.Is(err, tc.err) {
			t.Errorf("%s: got %v", tc.name, err)
		}
		// In each of the four lanes: a batch that was sent, one that waits, and the
		// lines between them.
		if tally.Unsent == 0 || tally.Unsent > 4*3*200 || tally.Rejected != 0 || tally.Whole {
			t.Errorf("%s: got %+v, want a few batches unsent and no line rejected", tc.name, tally)
		}
	}
}

// A batch that is rejected as a whole is split, so that only the invalid line is
// rejected.
func TestInvalidBatchIsSplit(t *testing.T) {
	t.Parallel()
	l := newLedger()
	l.whole = func(ins []client.Increment) error {
		for _, in := range ins {
			if in.Delta == 123 {
				return &client.Error{Status: 422, Code: wire.CodeDeltaOutOfRange, Message: "delta is too large"}
			}
		}
		return nil
	}
	tally, failed, err := submit(t, t.Context(), l, lines(400), "")
	if err != nil || tally.Done != 399 || len(failed) != 1 || failed[0].Line != 123 ||
		failed[0].Code != wire.CodeDeltaOutOfRange {
		t.Errorf("got %+v, %v, %+v, want only line 123 rejected", tally, err, failed)
	}
	for user, deltas := range l.order {
		if !slices.IsSorted(deltas) {
			t.Errorf("the lines of %s arrived out of order: %v", user, deltas)
		}
	}
}

// A token without score:update may not send batches, only lines of its own user.
func TestLinesAreSentSinglyWithoutScope(t *testing.T) {
	t.Parallel()
	l := newLedger()
	l.whole = func([]client.Increment) error {
		return &client.Error{Status: 403, Code: wire.CodeForbidden, Message: "the token lacks the scope"}
	}
	l.before = func(in client.Increment) error {
		if in.User != "u0" {
			return &client.Error{Status: 403, Code: wire.CodeForbidden, Message: "the token is not for this user"}
		}
		return nil
	}
	tally, _, err := submit(t, t.Context(), l, lines(700), "")
	if err != nil || tally.Done != 100 || tally.Rejected != 600 {
		t.Errorf("got %+v, %v, want the hundred lines of u0 counted", tally, err)
	}
	if len(l.sent) > 8 {
		t.Errorf("%d batches were tried, want none after the rejection", len(l.sent))
	}
}

// Only lines that an overloaded server rejected are sent again.
func TestOverloadedLinesAreRetried(t *testing.T) {
	t.Parallel()
	l := newLedger()
	busy := map[string]int{}
	l.before = func(in client.Increment) error {
		if busy[in.EventID]++; in.Delta%3 == 0 && busy[in.EventID] < 4 {
			return &client.Error{
				Status: 200, Code: wire.CodeOverloaded,
				Message: "too many increments are waiting",
			}
		}
		return nil
	}
	tally, _, err := submit(t, t.Context(), l, lines(300), "")
	if err != nil || tally.Done != 300 || tally.Replayed != 0 {
		t.Errorf("got %+v, %v, want each counted once", tally, err)
	}
	sent := 0
	for _, n := range l.sent {
		sent += n
	}
	if sent != 300+3*100 {
		t.Errorf("%d lines were sent, want each rejected one four times and the others once", sent)
	}
}
