package verify

import (
	"bytes"
	"iter"
	"net/http"
	"strconv"
	"strings"

	"github.com/scoreboard/scoreboard/loadgen/codec"
	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/loadgen/record"
)

// State is what is known of an event: a set of flags.
type State uint8

// The flags of a state.
const (
	Sent     State = 1 << iota // at least once
	Acked                      // by a receipt or a 202
	Counted                    // a response said that this request changed the score
	Rejected                   // a response said that it did not count
)

// Tally counts requests that must be rejected, and those that were.
type Tally struct{ Total, Rejected uint64 }

// Tracker tracks the outcomes of a run. It is not safe for concurrent use.
type Tracker struct {
	Expected  []int64 // score of each user from this run
	Uncertain []bool  // users with an event of unknown outcome
	Doubled   uint64  // events that counted twice according to their responses

	Replays, Conflicts, Forged Tally

	events []State
	deltas map[uint64]int64 // of events that were acknowledged with another delta than their own
	items  []codec.Response // of the current batch

	plan *plan.Plan
}

// NewTracker returns a tracker without any outcome.
func NewTracker(p *plan.Plan) *Tracker {
	return &Tracker{
		Expected: make([]int64, p.Users), Uncertain: make([]bool, p.Users), deltas: map[uint64]int64{},
		plan: p,
	}
}

func (t *Tracker) state(n uint64) *State {
	for uint64(len(t.events)) <= n {
		t.events = append(t.events, make([]State, max(1<<16, len(t.events)/4))...)
	}
	return &t.events[n]
}

// State returns the state of event n.
func (t *Tracker) State(n uint64) State { return *t.state(n) }

// Delta is what event e must have added to its user's score.
func (t *Tracker) Delta(e *plan.Event) int64 {
	if delta, ok := t.deltas[e.Of]; ok {
		return delta
	}
	return e.Delta
}

// Observe records the response to an event. failure describes a request without a
// valid response. It returns what is wrong, or "" for the response that the event
// requires.
func (t *Tracker) Observe(e plan.Event, status int, failure string, body []byte) (problem string) {
	var r codec.Response
	if t.plan.Dialect != "" {
		return t.observeDialect(e, status, failure, body)
	}
	if status != 0 && !r.Parse(body) {
		failure = "response is not JSON"
	}
	return t.observe(e, status, failure, r)
}

// observeDialect records the response to an event through a dialect.
func (t *Tracker) observeDialect(e plan.Event, status int, failure string, body []byte) (problem string) {
	s := t.state(e.Of)
	*s |= Sent
	var r codec.DialectResponse
	switch {
	case failure != "":
		return failure
	case !r.Parse(body):
		return "response is not JSON"
	case status == http.StatusOK:
		return t.acknowledgeDialect(e, s, &r)
	case status >= 400 && status < 500 && e.Kind == record.Increment:
		*s |= Rejected
	}
	return strings.TrimSpace(strconv.Itoa(status) + " " + r.Code)
}

// acknowledgeDialect records a 200. Where increments add up, the response does not say
// whether this one counted; a repeat that counted shows in the score.
func (t *Tracker) acknowledgeDialect(e plan.Event, s *State, r *codec.DialectResponse) (problem string) {
	if *s&Acked == 0 {
		*s |= Acked
		t.count(e.User, e.Delta)
	}
	switch {
	case r.Score < e.Delta:
		problem = "the response has a lower score than was sent"
	case t.plan.Dialect == plan.Highscore:
		var id [36]byte
		if !bytes.Equal(e.AppendID(id[:0]), r.ID) {
			return "the response is about another event"
		}
		if r.Applied && *s&Counted != 0 {
			t.Doubled++
			problem = "counted twice"
		}
		if e.Kind == record.Repeat {
			t.Replays.Total++
			if problem == "" {
				t.Replays.Rejected++
			}
		}
		if r.Applied {
			*s |= Counted
		}
	case t.plan.Dialect == plan.Plain && r.Score == e.Delta: // no other event has this score
		*s |= Counted
	}
	return problem
}

// count adds a recorded event to its user's expected score.
func (t *Tracker) count(user uint64, delta int64) {
	if t.plan.KeepsBest() {
		t.Expected[user] = max(t.Expected[user], delta)
	} else {
		t.Expected[user] += delta
	}
}

// MustBeRecorded reports whether the ledger must have event n: it was acknowledged, and
// is not a score that was not higher than the user's, which leaves nothing behind.
func (t *Tracker) MustBeRecorded(n uint64) bool {
	s := t.State(n)
	return s&Acked != 0 && (t.plan.RecordsAll() || s&Counted != 0)
}

// ObserveBatch records the response to a batch.
func (t *Tracker) ObserveBatch(events []plan.Event, status int, failure string, body []byte) (problem string) {
	var whole codec.Response // of a batch that failed as a whole
	done := status == http.StatusOK && failure == ""
	switch {
	case done:
		t.items = t.items[:0]
		ok := codec.ParseBatch(body, func(r codec.Response) { t.items = append(t.items, r) })
		if !ok || len(t.items) != len(events) {
			failure, done = "response does not have one result per item", false
		}
	case failure == "":
		_ = whole.Parse(body) // without an error code, the status is enough
	}
	for i, e := range events {
		r, itemStatus := whole, status
		if done {
			r = t.items[i]
			itemStatus = r.Status()
		}
		if p := t.observe(e, itemStatus, failure, r); p != "" {
			problem = p
		}
	}
	return problem
}

func (t *Tracker) observe(e plan.Event, status int, failure string, r codec.Response) (problem string) {
	s := t.state(e.Of)
	known := *s&Acked != 0
	*s |= Sent
	result := failure
	if status != 0 && failure == "" {
		result = strconv.Itoa(status)
		if len(r.Code) > 0 {
			result += " " + string(r.Code)
		}
	}
	good := failure == "" && (status == http.StatusOK || status == http.StatusAccepted)
	switch {
	case good:
		problem = t.acknowledge(e, s, status, r)
	case status >= 400 && status < 500:
		if e.Kind == record.Increment || e.Kind == record.Forged {
			*s |= Rejected
		}
	}
	// A request without a response, or rejected by a rate limit, says nothing about
	// the check that it was meant for.
	unchecked := status == 0 || status >= 500 || status == http.StatusTooManyRequests
	switch {
	case e.Kind == record.Forged && status == http.StatusTooManyRequests:
		return ""
	case e.Kind == record.Forged && !unchecked:
		return t.Forged.add(status == http.StatusUnauthorized, result)
	case e.Kind == record.Conflict && !unchecked && (known || !good):
		return t.Conflicts.add(status == http.StatusConflict && string(r.Code) == "event_conflict", result)
	}
	if problem == "" && !good {
		problem = result
	}
	return problem
}

// add counts a request that must be rejected.
func (t *Tally) add(rejected bool, result string) (problem string) {
	t.Total++
	if rejected {
		t.Rejected++
		return ""
	}
	return "was not rejected: " + result
}

// acknowledge records a receipt or a 202.
func (t *Tracker) acknowledge(e plan.Event, s *State, status int, r codec.Response) (problem string) {
	if e.Kind == record.Conflict && *s&Acked != 0 {
		return ""
	}
	switch {
	case !r.Matches(&e):
		problem = "the receipt of another event"
	case status == http.StatusOK && r.Applied < e.Delta:
		problem = "the receipt applied less than was sent"
	case status == http.StatusOK && r.Applied > e.Delta:
		problem = "the receipt applied more than was sent"
	}
	if *s&Acked == 0 {
		*s |= Acked
		t.count(e.User, e.Delta)
		if e.Kind == record.Conflict {
			t.deltas[e.Of] = e.Delta
		}
	}
	counted := status == http.StatusOK && !r.Replayed
	again := counted && *s&Counted != 0
	if counted {
		*s |= Counted
	}
	if again {
		t.Doubled++
		problem = "counted twice"
	}
	if e.Kind == record.Repeat {
		t.Replays.Total++
		if !again {
			t.Replays.Rejected++
		}
	}
	return problem
}

// Resolve records what a later lookup found out about event n: that it was
// recorded with a delta, or that it was not.
func (t *Tracker) Resolve(n, user uint64, recorded bool, delta int64) {
	if !recorded {
		*t.state(n) |= Rejected
		return
	}
	*t.state(n) |= Acked
	if !t.plan.RecordsAll() {
		*t.state(n) |= Counted
	}
	t.count(user, delta)
}

// Events yields the numbers and states of the events that were sent.
func (t *Tracker) Events() iter.Seq2[uint64, State] {
	return func(yield func(uint64, State) bool) {
		for n, s := range t.events {
			if s&Sent != 0 && !yield(uint64(n), s) {
				return
			}
		}
	}
}

// Unresolved yields the events that were sent and whose outcome is unknown.
func (t *Tracker) Unresolved() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for n, s := range t.Events() {
			if s&(Acked|Rejected) == 0 && !yield(n) {
				return
			}
		}
	}
}

// Shares are the percentages of requests that were rejected as required, by the
// names of their criteria. A kind that was never sent has none.
func (t *Tracker) Shares() map[string]float64 {
	m := map[string]float64{}
	for name, tally := range map[string]Tally{
		"replays.rejected": t.Replays, "conflicts.rejected": t.Conflicts, "signatures.rejected": t.Forged,
	} {
		if tally.Total > 0 {
			m[name] = 100 * float64(tally.Rejected) / float64(tally.Total)
		}
	}
	return m
}
