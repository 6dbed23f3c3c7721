package loadgen

import (
	"encoding/hex"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/scoreboard/scoreboard/loadgen/pace"
	"github.com/scoreboard/scoreboard/loadgen/record"
)

// event is what is played under a number: an increment, or something about one
// that was played before.
type event struct {
	kind  record.Kind
	of    uint64 // the number of the increment that it is, or that it is about
	user  uint64
	delta int64
	id    uuid.UUID
}

// draw gives events by their number, always the same for a number.
type draw struct {
	plan  *Plan
	due   pace.Pace // of events
	began time.Time // the event ids sort by time, which the server's indexes like
	dice  sync.Pool
}

// dice are thrown for one number at a time.
type dice struct {
	pcg  *rand.PCG
	r    *rand.Rand
	zipf *rand.Zipf
}

func newDraw(p *Plan, began time.Time) *draw {
	d := &draw{plan: p, due: p.Pace, began: began}
	d.dice.New = func() any {
		pcg := rand.NewPCG(0, 0)
		t := &dice{pcg: pcg, r: rand.New(pcg)}
		if p.Skew > 1 {
			t.zipf = rand.NewZipf(t.r, p.Skew, 1, uint64(p.Users-1))
		}
		return t
	}
	return d
}

// How far back lies what a repeat or a conflict is about. A conflict waits
// until its increment is certainly answered, or it might be counted first.
const (
	repeatWithin  = 2 * time.Second
	conflictAfter = 5 * time.Second
	tries         = 20 // to find an increment there
	atOnce        = 4  // numbers that are under way together at any rate worth the name
)

// event returns the event of a number.
func (d *draw) event(n uint64) event {
	t := d.dice.Get().(*dice)
	defer d.dice.Put(t)
	kind, near := d.throw(t, n)
	if kind != record.Repeat && kind != record.Conflict {
		return d.increment(t, n, kind)
	}
	of, found := d.before(t, n, kind, near)
	if !found {
		return d.increment(t, n, record.Increment)
	}
	e := d.increment(t, of, kind)
	if kind == record.Conflict {
		e.delta++
	}
	return e
}

// throw seeds the dice with a number and says what kind falls to it, and of a
// repeat whether it goes out beside what it repeats.
func (d *draw) throw(t *dice, n uint64) (kind record.Kind, near bool) {
	t.pcg.Seed(mix(d.plan.Seed), mix(n))
	p := d.plan
	x := t.r.Float64()
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

// mix spreads numbers that lie side by side over all (splitmix64), for the first
// throws after seeds that are alike are alike.
func mix(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// before finds an increment that came before n.
func (d *draw) before(t *dice, n uint64, kind record.Kind, near bool) (of uint64, found bool) {
	at := d.due.Due(n)
	last, first := n, d.due.Expected(at-repeatWithin)
	if near {
		first = n - min(n, atOnce)
	}
	if kind == record.Conflict {
		last, first = d.due.Expected(at-conflictAfter), d.due.Expected(at-conflictAfter-repeatWithin)
	}
	if first >= last {
		return 0, false
	}
	of = first + t.r.Uint64N(last-first)
	for range tries {
		if kind, _ := d.throw(t, of); kind == record.Increment {
			return of, true
		}
		if of == first {
			break
		}
		of--
	}
	return 0, false
}

// increment is the increment of a number, for an event of some kind.
func (d *draw) increment(t *dice, n uint64, kind record.Kind) event {
	d.throw(t, n)
	e := event{kind: kind, of: n}
	if t.zipf != nil {
		e.user = t.zipf.Uint64()
	} else {
		e.user = t.r.Uint64N(uint64(d.plan.Users))
	}
	e.delta = 1 + t.r.Int64N(100)
	ms := uint64(d.began.Add(d.due.Due(n)).UnixMilli())
	for i := range 6 {
		e.id[i] = byte(ms >> (40 - 8*i))
	}
	a, b := t.r.Uint64(), t.r.Uint64()
	for i := range 8 {
		e.id[6+i] = byte(a >> (8 * i))
	}
	e.id[14], e.id[15] = byte(b), byte(b>>8)
	e.id[6], e.id[8] = e.id[6]&0x0f|0x70, e.id[8]&0x3f|0x80 // version 7
	return e
}

// appendUUID writes an id in its canonical form.
func appendUUID(b []byte, id uuid.UUID) []byte {
	for i, part := range [...][2]int{{0, 4}, {4, 6}, {6, 8}, {8, 10}, {10, 16}} {
		if i > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, id[part[0]:part[1]])
	}
	return b
}

// name is the id of a user.
func (p *Plan) name(user uint64) string { return string(p.appendName(nil, user)) }

func (p *Plan) appendName(b []byte, user uint64) []byte {
	b = append(append(b, p.Prefix...), "user-"...)
	for least := uint64(1_000_000); user < least && least > 1; least /= 10 {
		b = append(b, '0') // seven digits, so that names sort
	}
	return strconv.AppendUint(b, user, 10)
}

// board is the one that a user plays on, "" for the default.
func (p *Plan) board(user uint64) string {
	if len(p.Boards) == 0 {
		return ""
	}
	return p.Boards[user%uint64(len(p.Boards))]
}

// batch are the events of write k.
func (p *Plan) batch(d *draw, k uint64) []event {
	events := make([]event, p.perWrite())
	for i := range events {
		events[i] = d.event(k*uint64(len(events)) + uint64(i))
	}
	return events
}
