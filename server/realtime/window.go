package realtime

import (
	"sync"
	"time"
)

// adaptiveWindow widens the window stepwise while the hub or its source lags,
// and narrows it again: fewer messages, each with the newest state.
type adaptiveWindow struct {
	base, max, maxLag time.Duration

	mu    sync.Mutex
	level int
	worst time.Duration // lag recorded since the last step
}

// windowStepInterval is the time between two steps.
const windowStepInterval = time.Second

// windowSteps are the widths of the window, in halves of the base.
var windowSteps = [...]time.Duration{2, 3, 4, 6, 10}

func (w *adaptiveWindow) set(base, maxWidth, maxLag time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.base, w.max, w.maxLag = base, maxWidth, maxLag
}

// recordLag records a lag: from commit to notice, or of messages not yet written.
func (w *adaptiveWindow) recordLag(lag time.Duration) {
	w.mu.Lock()
	w.worst = max(w.worst, lag)
	w.mu.Unlock()
}

// step widens the window if maxLag was exceeded since the last step, and
// narrows it if the lag stayed below half of it.
func (w *adaptiveWindow) step() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.worst > w.maxLag:
		w.level = min(w.level+1, len(windowSteps)-1)
	case w.worst < w.maxLag/2:
		w.level = max(w.level-1, 0)
	}
	w.worst = 0
}

// width returns the current width; widened is the same, or 0 at the base.
func (w *adaptiveWindow) width() (width, widened time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.level == 0 {
		return w.base, 0
	}
	width = min(w.base*windowSteps[w.level]/2, w.max)
	return width, width
}
