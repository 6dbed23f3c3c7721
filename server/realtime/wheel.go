package realtime

import (
	"sync"
	"time"
)

// wheel is a timer wheel for all connections. Setting and stopping is O(1); its
// precision is wheelTick.
type wheel struct {
	mu    sync.Mutex
	start time.Time
	ticks int64 // slots up to here are empty
	slots [wheelSlots]*timer
}

// A timer beyond the horizon of 102 s fires at the horizon; the connection then
// checks what is due.
const (
	wheelTick  = 50 * time.Millisecond
	wheelSlots = 2048
)

// timer is an entry of the wheel, embedded in a connection.
type timer struct {
	conn       *Conn
	prev, next *timer
	slot       int32
	set        bool
}

func newWheel(start time.Time) *wheel { return &wheel{start: start} }

// set sets or resets t.
func (w *wheel) set(t *timer, when time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unlink(t)
	tick := int64((when.Sub(w.start) + wheelTick - 1) / wheelTick)
	tick = min(max(tick, w.ticks+1), w.ticks+wheelSlots-1)
	t.slot = int32(tick % wheelSlots)
	t.set = true
	t.next = w.slots[t.slot]
	if t.next != nil {
		t.next.prev = t
	}
	w.slots[t.slot] = t
}

func (w *wheel) stop(t *timer) {
	w.mu.Lock()
	w.unlink(t)
	w.mu.Unlock()
}

// advance removes the timers that are due and appends them to buf.
func (w *wheel) advance(now time.Time, buf []*timer) []*timer {
	w.mu.Lock()
	defer w.mu.Unlock()
	until := int64(now.Sub(w.start) / wheelTick)
	// After a long pause of the process, one round is enough.
	w.ticks = max(w.ticks, until-wheelSlots)
	for ; w.ticks < until; w.ticks++ {
		slot := int((w.ticks + 1) % wheelSlots)
		for t := w.slots[slot]; t != nil; t = w.slots[slot] {
			w.unlink(t)
			buf = append(buf, t)
		}
	}
	return buf
}

func (w *wheel) unlink(t *timer) {
	if !t.set {
		return
	}
	if t.prev != nil {
		t.prev.next = t.next
	} else {
		w.slots[t.slot] = t.next
	}
	if t.next != nil {
		t.next.prev = t.prev
	}
	t.prev, t.next, t.set = nil, nil, false
}
