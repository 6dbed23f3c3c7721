package tui

import (
	"time"
)

// feed holds recent events.
type feed struct{ events []event }

type event struct {
	at   time.Time
	text string
}

// maxEvents exceeds what a screen shows.
const maxEvents = 64

func (f *feed) add(at time.Time, text string) {
	if len(f.events) == maxEvents {
		f.events = append(f.events[:0], f.events[1:]...)
	}
	f.events = append(f.events, event{at, text})
}

// lines returns the newest events, newest first.
func (f *feed) lines(st *style, room, width int) []string {
	var lines []string
	for i := len(f.events) - 1; i >= 0 && len(lines) < room; i-- {
		e := f.events[i]
		text := e.text
		if st.ascii && !isASCII(text) {
			text = toASCII(text)
		}
		lines = append(lines, st.dim.Render(e.at.Format(time.TimeOnly))+" "+fit(text, max(width-9, 1), st.more))
	}
	return lines
}
