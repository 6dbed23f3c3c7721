package realtime

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestWheelFiresInTime(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	w := newWheel(begin)
	random := rand.New(rand.NewPCG(1, 2))
	timers := make([]timer, 500)
	due := make(map[*timer]time.Duration)
	now := time.Duration(0)
	for range 4000 {
		tm := &timers[random.IntN(len(timers))]
		switch random.IntN(3) {
		case 0:
			w.stop(tm)
			delete(due, tm)
		default:
			after := now + time.Duration(random.Int64N(int64(90*time.Second)))
			w.set(tm, begin.Add(after))
			due[tm] = after
		}
		now += time.Duration(random.Int64N(int64(200 * time.Millisecond)))
		for _, fired := range w.advance(begin.Add(now), nil) {
			at, ok := due[fired]
			if !ok || at > now || now-at > 200*time.Millisecond+2*wheelTick {
				t.Fatalf("fired at %s, want %s (set: %t)", now, at, ok)
			}
			delete(due, fired)
		}
	}
	for _, fired := range w.advance(begin.Add(now+time.Hour), nil) {
		delete(due, fired)
	}
	if len(due) != 0 {
		t.Errorf("%d timers never fired", len(due))
	}
}

func TestWheelAfterAPause(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	w := newWheel(begin)
	var a, far timer
	w.set(&a, begin.Add(time.Second))
	w.set(&far, begin.Add(24*time.Hour)) // beyond the horizon
	if n := len(w.advance(begin.Add(time.Hour), nil)); n != 2 {
		t.Errorf("fired: got %d, want both", n)
	}
	w.set(&a, begin) // in the past
	if n := len(w.advance(begin.Add(time.Hour+wheelTick), nil)); n != 1 {
		t.Errorf("fired: got %d, want 1", n)
	}
}

func TestWindowWidensAndNarrows(t *testing.T) {
	t.Parallel()
	a := adaptiveWindow{base: 200 * time.Millisecond, max: time.Second, maxLag: time.Second}
	var got []time.Duration
	for i := range 14 {
		if i < 6 {
			a.recordLag(2 * time.Second)
		} else if i == 6 {
			a.recordLag(700 * time.Millisecond) // between the thresholds
		}
		a.step()
		w, widened := a.width()
		if (widened == 0) != (w == a.base) {
			t.Errorf("window %s is reported as widened to %s", w, widened)
		}
		got = append(got, w/time.Millisecond)
	}
	want := []time.Duration{300, 400, 600, 1000, 1000, 1000, 1000, 600, 400, 300, 200, 200, 200, 200}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("windows: got %d, want %d", got, want)
		}
	}
}
