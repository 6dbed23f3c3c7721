package tui

import (
	"slices"
	"time"
)

const (
	// fade is how long a changed score is highlighted.
	fade = 1600 * time.Millisecond
	// moveMark is how long a row shows the ranks that it gained or lost.
	moveMark = 3 * time.Second
	// slide is how long a row takes to its new place.
	slide = 320 * time.Millisecond
	// slideFrame is the time between two frames of a moving row.
	slideFrame = 100 * time.Millisecond
	// maxAnimated is how many scores may change in one state for rows to move and scores
	// to fade. With more, no eye can follow, and on a slow connection each frame costs.
	maxAnimated = 8
)

// still reports whether nothing is animated.
func (pane *boardPane) still() bool { return pane.o.NoMotion || pane.hectic }

// position is where the row is drawn, counted in rows: on its way to its place if it
// moved a moment ago.
func (r *row) position(place int, now time.Time) float64 {
	to, passed := float64(place), now.Sub(r.moved)
	if r.moved.IsZero() || passed >= slide || passed < 0 {
		return to
	}
	rest := 1 - float64(passed)/float64(slide)
	return to + (r.from-to)*rest*rest // fast at first
}

// inMotion returns the rows in the order in which they are drawn.
func (pane *boardPane) inMotion() []*row {
	rows := pane.board.rows
	order := make([]*row, len(rows))
	positions := make(map[*row]float64)
	now := pane.now()
	for i := range rows {
		order[i] = &rows[i]
		if !pane.still() && within(rows[i].moved, slide, now) {
			positions[order[i]] = rows[i].position(i, now)
		}
	}
	if len(positions) == 0 {
		return order
	}
	for i := range rows {
		if _, moving := positions[order[i]]; !moving {
			positions[order[i]] = float64(i)
		}
	}
	slices.SortStableFunc(order, func(a, b *row) int {
		switch pa, pb := positions[a], positions[b]; {
		case pa < pb:
			return -1
		case pa > pb:
			return 1
		}
		return 0
	})
	return order
}

// scoreInk returns how a score is drawn: highlighted after a change, then fading.
func (pane *boardPane) scoreInk(r *row) ink {
	steps := pane.theme.fading
	if !within(r.changed, fade, pane.now()) || len(steps) == 0 {
		return ink{}
	}
	if pane.still() {
		return steps[0]
	}
	return steps[min(int(pane.now().Sub(r.changed)*time.Duration(len(steps))/fade), len(steps)-1)]
}

// within reports whether less than d has passed since t.
func within(t time.Time, d time.Duration, now time.Time) bool { return !t.IsZero() && now.Sub(t) < d }

// nextChange returns when the screen changes next without a message; zero: never.
func (m *model) nextChange() time.Time {
	now := m.now()
	var next time.Time
	at := func(t time.Time) {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	if m.paused {
		return next
	}
	trends := false
	for i := range m.board.rows {
		r := &m.board.rows[i]
		if within(r.moved, moveMark, now) {
			at(r.moved.Add(moveMark))
			if !m.still() && within(r.moved, slide, now) {
				at(now.Add(slideFrame))
			}
		}
		if within(r.changed, fade, now) {
			step := fade
			if n := len(m.theme.fading); n > 0 && !m.still() {
				step = fade / time.Duration(n)
			}
			at(r.changed.Add((now.Sub(r.changed)/step + 1) * step))
		}
		trends = trends || r.trend.since(now) < trendSlots*trendSlot
	}
	if trends {
		at(now.Truncate(trendSlot).Add(trendSlot))
	}
	counted := func(since time.Time, after time.Duration) { // an age that is shown in seconds from then on
		at(since.Add(after))
		if old := now.Sub(since); old >= after {
			at(since.Add(old.Truncate(time.Second) + time.Second))
		}
	}
	if heard := m.shown.HeardAt; !heard.IsZero() {
		counted(heard, staleAfter)
	}
	if m.showHealth && m.status != nil {
		counted(m.statusAt, outdatedAfter)
	}
	if end := m.info.PeriodEnd; end != nil && m.reel == nil {
		step := countdownStep(end.Sub(now))
		at(end.Add(-(end.Sub(now) - 1).Truncate(step)))
	}
	at(m.toastUntil)
	at(m.finale.until)
	return next
}
