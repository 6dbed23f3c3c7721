package scoreboard

import "time"

// Window is the number of ledger partitions, of a month each, in which repeats are
// recognised: the current one and those before it. 0 is DefaultWindow.
type Window int

// The bounds of a Window.
const (
	DefaultWindow Window = 2
	MaxWindow     Window = 4
)

// partitions is w within its bounds.
func (w Window) partitions() Window { return min(max(w, DefaultWindow), MaxWindow) }

// Since is the start of the window: a repeat of what was recorded later is recognised.
// It allows for a day of difference between this machine's clock and the database's.
func (w Window) Since(now time.Time) time.Time {
	y, m, _ := now.UTC().AddDate(0, 0, -1).Date()
	return time.Date(y, m-time.Month(w.partitions()-1), 1, 0, 0, 0, 0, time.UTC)
}

// Guaranteed is how long a repeat is recognised at least, whatever the day of its first
// record: the shortest months, less three days for clocks that differ. Nothing that
// counts may be valid for longer, be it an attestation or a record in a log.
func (w Window) Guaranteed() time.Duration {
	days := map[Window]int{2: 28, 3: 28 + 31, 4: 28 + 31 + 30}[w.partitions()]
	return time.Duration(days-3) * 24 * time.Hour
}

// Tombstone is how long the name of an erased user is kept: longer than anything that the
// user submitted or was given may count, be it an attestation, an increment that waits to
// be recorded or one that is read again. It would count once more for a new user of the
// same name.
func (w Window) Tombstone() time.Duration { return w.Guaranteed() + 5*24*time.Hour }

// MaxClockSkew is how far ahead of this machine's clock a time may be that another
// server has set.
const MaxClockSkew = 24 * time.Hour
