package plan

import (
	"encoding/hex"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/scoreboard/scoreboard/loadgen/record"
)

// Event is what is sent under an event number: an increment, or a repeat of or a
// conflict with an earlier one.
type Event struct {
	Kind  record.Kind
	Of    uint64 // the number of this increment, or of the one that it repeats or conflicts with
	User  uint64
	Delta int64 // the score itself where the best one is kept
	ID    uuid.UUID
}

// Events computes the event of a number. The same number always gives the same
// event. It is safe for concurrent use.
type Events struct {
	plan  *Plan
	start time.Time // the ids are version 7, sorted by the scheduled time, which suits the server's indexes
	rngs  sync.Pool
}

// rng is a random number generator that is seeded with one event number at a time.
type rng struct {
	pcg  *rand.PCG
	r    *rand.Rand
	zipf *rand.Zipf
}

// NewEvents returns the events of a run of p that starts at start.
func NewEvents(p *Plan, start time.Time) *Events {
	e := &Events{plan: p, start: start}
	e.rngs.New = func() any {
		pcg := rand.NewPCG(0, 0)
		g := &rng{pcg: pcg, r: rand.New(pcg)}
		if p.Skew > 1 {
			g.zipf = rand.NewZipf(g.r, p.Skew, 1, uint64(p.Users-1))
		}
		return g
	}
	return e
}

// Which earlier increment a repeat or a conflict refers to.
const (
	repeatWithin = 2 * time.Second
	// A conflict waits until its increment has certainly been answered. Otherwise
	// the conflict itself could be the one that counts.
	conflictAfter = 5 * time.Second
	maxTries      = 20 // to find an increment in that range
	// parallelWithin is how many numbers back a parallel repeat may refer: those
	// are in flight at the same time at any relevant rate.
	parallelWithin = 4
)

// At returns event n.
func (e *Events) At(n uint64) Event {
	g := e.rngs.Get().(*rng)
	defer e.rngs.Put(g)
	kind, parallel := e.drawKind(g, n)
	if kind != record.Repeat && kind != record.Conflict {
		return e.increment(g, n, kind)
	}
	of, found := e.earlier(g, n, kind, parallel)
	if !found {
		return e.increment(g, n, record.Increment)
	}
	event := e.increment(g, of, kind)
	if kind == record.Conflict {
		event.Delta++
	}
	return event
}

// Batch returns the events of write k.
func (e *Events) Batch(k uint64) []Event {
	events := make([]Event, e.plan.perWrite())
	for i := range events {
		events[i] = e.At(k*uint64(len(events)) + uint64(i))
	}
	return events
}

// drawKind seeds g with a number and draws its kind, and whether a repeat is sent
// in parallel with what it repeats.
func (e *Events) drawKind(g *rng, n uint64) (kind record.Kind, parallel bool) {
	g.pcg.Seed(mix(e.plan.Seed), mix(n))
	p := e.plan
	x := g.r.Float64()
	switch {
	case x < p.Forged:
		return record.Forged, false
	case x < p.Forged+p.Conflicts:
		return record.Conflict, false
	case x < p.Forged+p.Conflicts+p.Repeats:
		return record.Repeat, false
	case x < p.Forged+p.Conflicts+p.Repeats+p.Parallel:
		return record.Repeat, true
	}
	return record.Increment, false
}

// mix spreads consecutive numbers over the whole range (splitmix64): similar seeds
// would give similar first draws.
func mix(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// earlier finds an increment scheduled before n.
func (e *Events) earlier(g *rng, n uint64, kind record.Kind, parallel bool) (of uint64, found bool) {
	schedule := e.plan.Schedule
	at := schedule.At(n)
	last, first := n, schedule.Count(at-repeatWithin)
	if parallel {
		first = n - min(n, parallelWithin)
	}
	if kind == record.Conflict {
		last, first = schedule.Count(at-conflictAfter), schedule.Count(at-conflictAfter-repeatWithin)
	}
	if first >= last {
		return 0, false
	}
	of = first + g.r.Uint64N(last-first)
	for range maxTries {
		if kind, _ := e.drawKind(g, of); kind == record.Increment {
			return of, true
		}
		if of == first {
			break
		}
		of--
	}
	return 0, false
}

// increment returns the increment of a number, as an event of the given kind.
func (e *Events) increment(g *rng, n uint64, kind record.Kind) Event {
	e.drawKind(g, n)
	event := Event{Kind: kind, Of: n}
	if g.zipf != nil {
		event.User = g.zipf.Uint64()
	} else {
		event.User = g.r.Uint64N(uint64(e.plan.Users))
	}
	event.Delta = 1 + g.r.Int64N(100)
	if e.plan.KeepsBest() {
		event.Delta += best(n)
	}
	id := &event.ID
	ms := uint64(e.start.Add(e.plan.Schedule.At(n)).UnixMilli())
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	a, b := g.r.Uint64(), g.r.Uint64()
	for i := range 8 {
		id[6+i] = byte(a >> (8 * i))
	}
	id[14], id[15] = byte(b), byte(b>>8)
	id[6], id[8] = id[6]&0x0f|0x70, id[8]&0x3f|0x80 // version 7
	return event
}

// notHigherEvery is which share of the scores are lower than the others.
const notHigherEvery = 8

// best is the range of 100 scores of event n where the best one is kept. No two events
// share one. Scores rise with the events, so that most are higher than their users'
// earlier ones, but for one in eight.
func best(n uint64) int64 {
	const above = 1 << 32 // more than a run has events
	if n%notHigherEvery != notHigherEvery-1 {
		n += above
	}
	return int64(n) * 100
}

// AppendID appends the event id in its canonical form.
func (e *Event) AppendID(b []byte) []byte {
	for i, part := range [...][2]int{{0, 4}, {4, 6}, {6, 8}, {8, 10}, {10, 16}} {
		if i > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, e.ID[part[0]:part[1]])
	}
	return b
}
