package verify

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/loadgen/record"
)

func TestObserve(t *testing.T) {
	t.Parallel()
	const (
		inc, rep, con = record.Increment, record.Repeat, record.Conflict
		id            = "01890000-0000-7000-8000-000000000001"
		counted       = `{"processed_event_id":"` + id + `","applied":5,"replayed":false}`
		replayed      = `{"processed_event_id":"` + id + `","applied":5,"replayed":true}`
		other         = `{"processed_event_id":"` + id + `","applied":6,"replayed":false}`
		pending       = `{"processed_event_id":"` + id + `","status":"pending"}`
	)
	type step struct {
		kind    record.Kind
		status  int
		body    string
		problem string
	}
	first := step{inc, 200, counted, ""}
	for name, c := range map[string]struct {
		steps              []step
		replays, conflicts Tally
		doubled            uint64
		score              int64
		unresolved         int
	}{
		"rejected conflict": {
			[]step{first, {con, 409, `{"error_code":"event_conflict"}`, ""}},
			Tally{},
			Tally{1, 1},
			0, 5, 0,
		},
		"conflict rejected with another code": {
			[]step{first, {con, 409, `{"error_code":"duplicate"}`, "was not rejected: 409 duplicate"}},
			Tally{},
			Tally{1, 0},
			0, 5, 0,
		},
		"counted conflict": {
			[]step{first, {con, 200, other, "was not rejected: 200"}},
			Tally{},
			Tally{1, 0},
			0, 5, 0,
		},
		"conflict without a response": {[]step{first, {con, 0, "", "broke"}}, Tally{}, Tally{}, 0, 5, 0},
		"conflict with a 503":         {[]step{first, {con, 503, `{}`, "503"}}, Tally{}, Tally{}, 0, 5, 0},
		"rate limited conflict": {
			[]step{first, {con, 429, `{"error_code":"rate_limited"}`, "429 rate_limited"}},
			Tally{},
			Tally{},
			0, 5, 0,
		},
		"conflict with an event that did not arrive": {
			[]step{{inc, 0, "", "broke"}, {con, 200, other, ""}},
			Tally{},
			Tally{},
			0, 6, 0,
		},
		"replayed repeat": {[]step{first, {rep, 200, replayed, ""}}, Tally{1, 1}, Tally{}, 0, 5, 0},
		"counted repeat":  {[]step{first, {rep, 200, counted, "counted twice"}}, Tally{1, 0}, Tally{}, 1, 5, 0},
		"repeat arrives first": {
			[]step{{rep, 200, counted, ""}, {inc, 200, replayed, ""}},
			Tally{1, 1},
			Tally{},
			0, 5, 0,
		},
		"repeat arrives first, both count": {
			[]step{{rep, 200, counted, ""}, {inc, 200, counted, "counted twice"}},
			Tally{1, 1},
			Tally{},
			1, 5, 0,
		},
		"both accepted for later": {
			[]step{{inc, 202, pending, ""}, {rep, 202, pending, ""}},
			Tally{1, 1},
			Tally{},
			0, 5, 0,
		},
		"another event": {
			[]step{{inc, 200, `{"processed_event_id":"x","applied":5}`, "the receipt of another event"}},
			Tally{},
			Tally{},
			0, 5, 0,
		},
		"less applied": {
			[]step{{
				inc, 200, `{"processed_event_id":"` + id + `","applied":4}`, "the receipt applied less than was sent",
			}},
			Tally{},
			Tally{},
			0, 5, 0,
		},
		"more applied": {
			[]step{{inc, 200, other, "the receipt applied more than was sent"}},
			Tally{},
			Tally{},
			0, 5, 0,
		},
		"invalid response": {[]step{{inc, 200, `<html>`, "response is not JSON"}}, Tally{}, Tally{}, 0, 0, 1},
		"internal error":   {[]step{{inc, 500, `{}`, "500"}}, Tally{}, Tally{}, 0, 0, 1},
		"rejected": {
			[]step{{inc, 422, `{"error_code":"rule_violated"}`, "422 rule_violated"}},
			Tally{},
			Tally{},
			0, 0, 0,
		},
	} {
		tracker := NewTracker(&plan.Plan{Users: 1})
		for i, s := range c.steps {
			e := plan.Event{Kind: s.kind, Delta: 5, ID: uuid.MustParse(id)}
			if s.kind == con {
				e.Delta++
			}
			failure := ""
			if s.status == 0 {
				failure = "broke"
			}
			if got := tracker.Observe(e, s.status, failure, []byte(s.body)); got != s.problem {
				t.Errorf("%s: response %d: got %q, want %q", name, i, got, s.problem)
			}
		}
		if tracker.Replays != c.replays || tracker.Conflicts != c.conflicts || tracker.Doubled != c.doubled ||
			tracker.Expected[0] != c.score {
			t.Errorf("%s: got replays %v, conflicts %v, %d doubled, score %d",
				name, tracker.Replays, tracker.Conflicts, tracker.Doubled, tracker.Expected[0])
		}
		if unresolved := slices.Collect(tracker.Unresolved()); len(unresolved) != c.unresolved {
			t.Errorf("%s: got the unresolved events %v, want %d", name, unresolved, c.unresolved)
		}
	}
}

func TestSharesOfRejectedRequests(t *testing.T) {
	t.Parallel()
	tracker := &Tracker{Replays: Tally{4, 3}, Forged: Tally{2, 2}}
	want := map[string]float64{"replays.rejected": 75, "signatures.rejected": 100}
	if got := tracker.Shares(); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A request that a rate limit rejected says nothing about the signature check.
func TestRateLimitIsNotASignatureCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status  int
		problem bool
		want    Tally
	}{
		"unauthorized": {401, false, Tally{1, 1}},
		"rate limited": {429, false, Tally{}},
		"accepted":     {200, true, Tally{1, 0}},
		"bad request":  {400, true, Tally{1, 0}},
		"unavailable":  {503, true, Tally{}},
	} {
		tracker := NewTracker(&plan.Plan{Users: 1})
		problem := tracker.Observe(plan.Event{Kind: record.Forged}, c.status, "", []byte("{}"))
		if (problem != "") != c.problem || tracker.Forged != c.want {
			t.Errorf("%s: got %q, %+v", name, problem, tracker.Forged)
		}
	}
}
