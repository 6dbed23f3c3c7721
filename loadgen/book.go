package loadgen

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/scoreboard/scoreboard/loadgen/record"
)

// What is known of an event.
const (
	sent    = 1 << iota // at least once
	acked               // a receipt, or a 202
	claimed             // an answer said that it was this request that counted
	refused             // an answer said that it did not count
)

// tally is how many of what had to be refused were.
type tally struct{ of, rejected uint64 }

// book keeps what became of each event. It is for one goroutine.
type book struct {
	plan     *Plan
	events   []uint8 // by number
	expected []int64 // the score that each user must have, of this run
	touched  []bool  // users whose score cannot be known: an outcome is not
	doubled  uint64  // events that two answers said to have counted
	replays  tally
	conflict tally
	forged   tally
	odd      map[uint64]int64 // acked with another delta than drawn, by number
	items    []answer         // of the batch at hand
}

func newBook(p *Plan) *book {
	return &book{plan: p, expected: make([]int64, p.Users), touched: make([]bool, p.Users), odd: map[uint64]int64{}}
}

func (b *book) state(n uint64) *uint8 {
	for uint64(len(b.events)) <= n {
		b.events = append(b.events, make([]uint8, max(1<<16, len(b.events)/4))...)
	}
	return &b.events[n]
}

// take enters the answer to an event, and says what is wrong with it: nothing
// where it is the one that had to come.
func (b *book) take(e event, status int, failure string, body []byte) (problem string) {
	var a answer
	if status != 0 && !a.read(body) {
		failure = "an answer that is no JSON"
	}
	return b.enter(e, status, failure, a)
}

func (b *book) enter(e event, status int, failure string, a answer) (problem string) {
	s := b.state(e.of)
	known := *s&acked != 0
	*s |= sent
	said := failure
	if status != 0 && failure == "" {
		said = strconv.Itoa(status)
		if len(a.code) > 0 {
			said += " " + string(a.code)
		}
	}
	good := failure == "" && (status == http.StatusOK || status == http.StatusAccepted)
	switch {
	case good:
		problem = b.ack(e, s, status, a)
	case status >= 400 && status < 500:
		if e.kind == record.Increment || e.kind == record.Forged {
			*s |= refused
		}
	}
	switch e.kind {
	case record.Forged:
		if status == http.StatusTooManyRequests {
			return "" // refused as it had to be, but not for its signature
		}
		if status == 0 || status >= 500 {
			break // there is no answer to judge
		}
		return b.judge(&b.forged, status == http.StatusUnauthorized, said)
	case record.Conflict:
		if !known && good || status == 0 || status == http.StatusTooManyRequests || status >= 500 {
			break // its increment was not counted before, or nobody looked at it
		}
		return b.judge(&b.conflict, status == http.StatusConflict && string(a.code) == "event_conflict", said)
	}
	if problem == "" && !good {
		problem = said
	}
	return problem
}

// judge counts what had to be refused.
func (b *book) judge(t *tally, rejected bool, said string) string {
	t.of++
	if rejected {
		t.rejected++
		return ""
	}
	return "was not refused: " + said
}

// ack enters a receipt, or a 202.
func (b *book) ack(e event, s *uint8, status int, a answer) (problem string) {
	if e.kind == record.Conflict && *s&acked != 0 {
		return ""
	}
	switch {
	case !e.is(a.id):
		problem = "the receipt of another event"
	case status == http.StatusOK && a.applied != e.delta:
		problem = fmt.Sprintf("a receipt that applied %s", compared(a.applied, e.delta))
	}
	if *s&acked == 0 {
		*s |= acked
		b.expected[e.user] += e.delta
		if e.kind == record.Conflict {
			b.odd[e.of] = e.delta
		}
	}
	counted := status == http.StatusOK && !a.replayed
	again := counted && *s&claimed != 0
	if counted {
		*s |= claimed
	}
	if again {
		b.doubled++
		problem = "counted twice"
	}
	if e.kind == record.Repeat {
		b.replays.of++
		if !again {
			b.replays.rejected++
		}
	}
	return problem
}

func compared(got, want int64) string {
	if got < want {
		return "less"
	}
	return "more"
}

// takeBatch enters the answer to a batch.
func (b *book) takeBatch(events []event, status int, failure string, body []byte) (problem string) {
	var whole answer // of a refusal
	done := status == http.StatusOK && failure == ""
	switch {
	case done:
		b.items = b.items[:0]
		if !readBatch(body, func(a answer) { b.items = append(b.items, a) }) || len(b.items) != len(events) {
			failure, done = "an answer without a result for each", false
		}
	case failure == "":
		_ = whole.read(body) // the status says enough where it has no code
	}
	for i, e := range events {
		a, itemStatus := whole, status
		if done {
			a = b.items[i]
			itemStatus = a.status()
		}
		if p := b.enter(e, itemStatus, failure, a); p != "" {
			problem = p
		}
	}
	return problem
}

// unknown are the events that were sent and whose outcome no answer told.
func (b *book) unknown(yield func(n uint64) bool) {
	for n, s := range b.events {
		if s&sent != 0 && s&(acked|refused) == 0 && !yield(uint64(n)) {
			return
		}
	}
}

// tallies are the shares of what had to be refused; none where nothing was sent.
func (b *book) tallies() map[string]float64 {
	m := map[string]float64{}
	for name, t := range map[string]tally{"replays.rejected": b.replays, "conflicts.rejected": b.conflict, "signatures.rejected": b.forged} {
		if t.of > 0 {
			m[name] = 100 * float64(t.rejected) / float64(t.of)
		}
	}
	return m
}
