package realtime

import (
	"sync"
	"time"
)

// pace widens the window stepwise while the hub or what feeds it is behind, and
// narrows it again: fewer frames, each as new as before.
type pace struct {
	base, most, limit time.Duration

	mu    sync.Mutex
	level int
	worst time.Duration // lag noted since the last step
}

// paceEvery is the time of a step. paceSteps are the windows' widths, in
// halves of the base.
const paceEvery = time.Second

var paceSteps = [...]time.Duration{2, 3, 4, 6, 10}

func (p *pace) set(base, most, limit time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.base, p.most, p.limit = base, most, limit
}

// note takes in a lag: commit to notice, or a window's frames not all written.
func (p *pace) note(lag time.Duration) {
	p.mu.Lock()
	p.worst = max(p.worst, lag)
	p.mu.Unlock()
}

// step goes one up when the limit was passed since the last step, and one down
// when the lag stayed below half of it.
func (p *pace) step() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.worst > p.limit:
		p.level = min(p.level+1, len(paceSteps)-1)
	case p.worst < p.limit/2:
		p.level = max(p.level-1, 0)
	}
	p.worst = 0
}

// window is the width now; widened is the same, or 0 at the base.
func (p *pace) window() (window, widened time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.level == 0 {
		return p.base, 0
	}
	w := min(p.base*paceSteps[p.level]/2, p.most)
	return w, w
}
