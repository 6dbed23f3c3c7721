package scoreboard

import (
	"fmt"
	"strings"
)

// History is a line of history of the store: "cluster/timeline/database", and
// how far it has come. Empty where the store may not say.
type History struct {
	ID       string
	Position int64 // bytes of its write-ahead log that are safe
}

// Follows reports whether h is before with something added. Otherwise the
// store is another one, or has gone back.
func (h History) Follows(before History) bool {
	return before.ID == "" || h.ID == "" || h.ID == before.ID && h.Position >= before.Position
}

// SameStore reports whether both are of one database, on whatever timeline.
func (h History) SameStore(other History) bool {
	a, b := strings.Split(h.ID, "/"), strings.Split(other.ID, "/")
	return len(a) == 3 && len(b) == 3 && a[0] == b[0] && a[2] == b[2]
}

// String says which history, and how far.
func (h History) String() string { return fmt.Sprintf("%s at %d", h.ID, h.Position) }
