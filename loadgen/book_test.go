package loadgen

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/scoreboard/scoreboard/loadgen/record"
)

// An event is entered by what its answers say, and judged by what it was.
func TestAnswersAreEnteredAndJudged(t *testing.T) {
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
		steps             []step
		replays, conflict tally
		doubled           uint64
		score             int64
		unknown           int
	}{
		"a conflict is refused":               {[]step{first, {con, 409, `{"error_code":"event_conflict"}`, ""}}, tally{}, tally{1, 1}, 0, 5, 0},
		"a conflict is refused for the wrong": {[]step{first, {con, 409, `{"error_code":"duplicate"}`, "was not refused: 409 duplicate"}}, tally{}, tally{1, 0}, 0, 5, 0},
		"a conflict is counted":               {[]step{first, {con, 200, other, "was not refused: 200"}}, tally{}, tally{1, 0}, 0, 5, 0},
		"a conflict is not answered":          {[]step{first, {con, 0, "", "broke"}}, tally{}, tally{}, 0, 5, 0},
		"a conflict breaks":                   {[]step{first, {con, 503, `{}`, "503"}}, tally{}, tally{}, 0, 5, 0},
		"a conflict is turned away":           {[]step{first, {con, 429, `{"error_code":"rate_limited"}`, "429 rate_limited"}}, tally{}, tally{}, 0, 5, 0},
		"a conflict with what never came":     {[]step{{inc, 0, "", "broke"}, {con, 200, other, ""}}, tally{}, tally{}, 0, 6, 0},
		"a repeat is replayed":                {[]step{first, {rep, 200, replayed, ""}}, tally{1, 1}, tally{}, 0, 5, 0},
		"a repeat is counted":                 {[]step{first, {rep, 200, counted, "counted twice"}}, tally{1, 0}, tally{}, 1, 5, 0},
		"a repeat comes first":                {[]step{{rep, 200, counted, ""}, {inc, 200, replayed, ""}}, tally{1, 1}, tally{}, 0, 5, 0},
		"a repeat comes first and both count": {[]step{{rep, 200, counted, ""}, {inc, 200, counted, "counted twice"}}, tally{1, 1}, tally{}, 1, 5, 0},
		"both are for later":                  {[]step{{inc, 202, pending, ""}, {rep, 202, pending, ""}}, tally{1, 1}, tally{}, 0, 5, 0},
		"another event":                       {[]step{{inc, 200, `{"processed_event_id":"x","applied":5}`, "the receipt of another event"}}, tally{}, tally{}, 0, 5, 0},
		"less":                                {[]step{{inc, 200, `{"processed_event_id":"` + id + `","applied":4}`, "a receipt that applied less"}}, tally{}, tally{}, 0, 5, 0},
		"more":                                {[]step{{inc, 200, other, "a receipt that applied more"}}, tally{}, tally{}, 0, 5, 0},
		"no answer":                           {[]step{{inc, 200, `<html>`, "an answer that is no JSON"}}, tally{}, tally{}, 0, 0, 1},
		"broken":                              {[]step{{inc, 500, `{}`, "500"}}, tally{}, tally{}, 0, 0, 1},
		"refused":                             {[]step{{inc, 422, `{"error_code":"rule_violated"}`, "422 rule_violated"}}, tally{}, tally{}, 0, 0, 0},
	} {
		b := newBook(&Plan{Users: 1})
		for i, s := range c.steps {
			e := event{kind: s.kind, delta: 5, id: uuid.MustParse(id)}
			if s.kind == con {
				e.delta++
			}
			failure := ""
			if s.status == 0 {
				failure = "broke"
			}
			if got := b.take(e, s.status, failure, []byte(s.body)); got != s.problem {
				t.Errorf("%s: answer %d: got %q, want %q", name, i, got, s.problem)
			}
		}
		if b.replays != c.replays || b.conflict != c.conflict || b.doubled != c.doubled || b.expected[0] != c.score {
			t.Errorf("%s: got replays %v, conflicts %v, %d doubled, the score %d", name, b.replays, b.conflict, b.doubled, b.expected[0])
		}
		if unknown := slices.Collect(b.unknown); len(unknown) != c.unknown {
			t.Errorf("%s: the outcomes of %v are unknown", name, unknown)
		}
	}
}

// What was not sent has no share.
func TestSharesOfWhatHadToBeRefused(t *testing.T) {
	t.Parallel()
	b := &book{replays: tally{4, 3}, forged: tally{2, 2}}
	want := map[string]float64{"replays.rejected": 75, "signatures.rejected": 100}
	if got := b.tallies(); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
