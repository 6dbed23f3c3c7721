package verify

import (
	"testing"

	"github.com/google/uuid"

	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/loadgen/record"
)

// Where the best score is kept, the expected score is the highest that was acknowledged;
// elsewhere it is the sum. A repeat must not count.
func TestObserveDialects(t *testing.T) {
	t.Parallel()
	const id = "01890000-0000-7000-8000-000000000001"
	type step struct {
		n, delta int64
		kind     record.Kind
		status   int
		body     string
		problem  string
	}
	data := func(fields string) string { return `{"success":true,"data":{` + fields + `}}` }
	for name, tt := range map[string]struct {
		dialect       string
		steps         []step
		score         int64
		doubled       uint64
		replays       Tally
		first, second bool // must be recorded
	}{
		"best": {plan.Plain, []step{
			{0, 9, record.Increment, 200, `{"score":9}`, ""},
			{1, 7, record.Increment, 200, `{"score":9}`, ""},
		}, 9, 0, Tally{}, true, false},
		"a lower score than was sent": {plan.Plain, []step{
			{0, 9, record.Increment, 200, `{"score":8}`, "the response has a lower score than was sent"},
		}, 9, 0, Tally{}, false, false},
		"rejected": {plan.Plain, []step{
			{0, 9, record.Increment, 429, `{"error_code":"rate_limited"}`, "429 rate_limited"},
		}, 0, 0, Tally{}, false, false},
		"sum": {plan.Delta, []step{
			{0, 9, record.Increment, 200, `{"newScore":9}`, ""},
			{1, 7, record.Increment, 200, `{"newScore":16}`, ""},
			{1, 7, record.Repeat, 200, `{"newScore":16}`, ""},
		}, 16, 0, Tally{}, true, true},
		"repeat": {plan.Highscore, []step{
			{0, 9, record.Increment, 200, data(`"score":9,"update_applied":true,"last_action_id":"` + id + `"`), ""},
			{0, 9, record.Repeat, 200, data(`"score":9,"update_applied":false,"last_action_id":"` + id + `"`), ""},
			{1, 7, record.Increment, 200, data(`"score":9,"update_applied":false,"last_action_id":"` + id + `"`), ""},
		}, 9, 0, Tally{1, 1}, true, true},
		"repeat that counts": {plan.Highscore, []step{
			{0, 9, record.Increment, 200, data(`"score":9,"update_applied":true,"last_action_id":"` + id + `"`), ""},
			{
				0, 9, record.Repeat, 200, data(`"score":9,"update_applied":true,"last_action_id":"` + id + `"`),
				"counted twice",
			},
		}, 9, 1, Tally{1, 0}, true, false},
		"another action": {plan.Highscore, []step{
			{
				0, 9, record.Increment, 200, data(`"score":9,"update_applied":true,"last_action_id":"x"`),
				"the response is about another event",
			},
		}, 9, 0, Tally{}, true, false},
		"error": {plan.Highscore, []step{
			{
				0, 9, record.Increment, 409, `{"success":false,"error":{"code":"DUPLICATE_ACTION"}}`,
				"409 DUPLICATE_ACTION",
			},
		}, 0, 0, Tally{}, false, false},
		"invalid": {
			plan.Module,
			[]step{{0, 9, record.Increment, 200, `{"newScore":9}x`, "response is not JSON"}},
			0, 0,
			Tally{},
			false, false,
		},
	} {
		tracker := NewTracker(&plan.Plan{Users: 1, Dialect: tt.dialect})
		for i, s := range tt.steps {
			e := plan.Event{Kind: s.kind, Of: uint64(s.n), Delta: s.delta, ID: uuid.MustParse(id)}
			if got := tracker.Observe(e, s.status, "", []byte(s.body)); got != s.problem {
				t.Errorf("%s: response %d: got %q, want %q", name, i, got, s.problem)
			}
		}
		if tracker.Expected[0] != tt.score || tracker.Doubled != tt.doubled || tracker.Replays != tt.replays ||
			tracker.MustBeRecorded(0) != tt.first || tracker.MustBeRecorded(1) != tt.second {
			t.Errorf("%s: got the score %d, %d doubled, %v, recorded %v and %v", name, tracker.Expected[0],
				tracker.Doubled, tracker.Replays, tracker.MustBeRecorded(0), tracker.MustBeRecorded(1))
		}
	}
}
