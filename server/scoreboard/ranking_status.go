package scoreboard

import (
	"fmt"
	"strings"
	"time"
)

// ReasonStale is why a state is degraded that was known before: neither the ranking nor the store answers.
const ReasonStale = "stale"

// BoardState is how current a board's ranking is.
type BoardState string

const (
	StateHealthy    BoardState = "HEALTHY"
	StateCatchingUp BoardState = "CATCHING_UP"         // built, but not all later changes are confirmed
	StateRebuilding BoardState = "DEGRADED_REBUILDING" // not loaded: reads are served from the store
)

// RankingStatus is the status of a board's ranking.
type RankingStatus struct {
	Board      BoardID
	State      BoardState
	Partitions int  // that the ranking is in; 0: not loaded
	Rebuilding bool // a rebuild is running, possibly beside the live board
	Suspect    bool // built on a Redis process other than the current one
	Epoch      int64
	Version    int64
	Members    int64
	Bytes      int64
	Built      time.Time
	AsOf       time.Time // every change committed before it is included; zero: unknown
}

// RankedState is a user's state in the ranking.
type RankedState struct {
	Raw       string // as stored, to detect changes; empty: none
	Revision  int64
	Key       int64
	SubKey    int64
	ReachedAt time.Time
	Hidden    bool
	Ranked    bool // in the sorted set with these keys and this time
}

// Agrees reports whether the state matches c.
func (s *RankedState) Agrees(c *Change) bool {
	if c.Revision == 0 {
		return s.Raw == ""
	}
	return s.Raw != "" && s.Revision == c.Revision && s.Key == c.Key && s.SubKey == c.SubKey &&
		s.ReachedAt.Equal(c.ReachedAt) && s.Hidden == c.Hidden && s.Ranked != c.Hidden
}

// OrphanedMember is an entry of the sorted set that belongs to no user's state.
type OrphanedMember struct {
	User   UserID
	Member string // as stored
}

// History identifies a history of the database, "cluster/timeline/database", and a
// position in it. It is empty if the database does not permit reading it.
type History struct {
	ID       string
	Position int64 // durable bytes of the write-ahead log
	Checks   int64 // how many checks have found no change; 0: not known
	// Adopted is when it was adopted in place of another history, in microseconds of
	// Unix time: 0 if it never was, UnknownAdoption where Redis does not say it.
	Adopted int64
}

// UnknownAdoption is the time of an adoption that is not known.
const UnknownAdoption = -1

// Follows reports whether h continues before. Otherwise the database is another
// one, went back in time, or adopted a history that before does not know of. The
// last stays true however far the log has come since.
func (h History) Follows(before History) bool {
	if before.ID == "" || h.ID == "" {
		return true
	}
	sameAdoption := before.Adopted == UnknownAdoption || h.Adopted == before.Adopted
	return sameAdoption && h.ID == before.ID && h.Position >= before.Position && h.Checks >= before.Checks
}

// AdoptedAfter reports whether h was adopted after the adoption that before knows of.
func (h History) AdoptedAfter(before History) bool {
	return before.Adopted != UnknownAdoption && h.Adopted > before.Adopted
}

// SameStore reports whether both belong to one database, on any timeline.
func (h History) SameStore(other History) bool {
	a, b := strings.Split(h.ID, "/"), strings.Split(other.ID, "/")
	return len(a) == 3 && len(b) == 3 && a[0] == b[0] && a[2] == b[2]
}

// String returns the id, the position and the checks.
func (h History) String() string {
	return fmt.Sprintf("%s at %d, check %d", h.ID, h.Position, h.Checks)
}
