package scoreboard

import "time"

// Audit is what one user's ledger on a board adds up to, beside the score that
// is kept.
type Audit struct {
	Change         // the score; Revision 0 where there is none
	Rows     int64 // of the ledger
	First    int64 // the least version of them
	Last     int64 // the greatest
	Expected int64 // the score before the first plus all that was applied
	Archived bool  // the score was reached before the ledger that is left begins
}

// RankedState is what the ranking keeps of a user, as it is.
type RankedState struct {
	Raw       string // to tell whether it has changed; empty: nothing is kept
	Revision  int64
	Key       int64
	ReachedAt time.Time
	Hidden    bool
	Ranked    bool // is in the sorted set, with this key and time
}

// Agrees reports whether the ranking keeps exactly c.
func (s *RankedState) Agrees(c *Change) bool {
	if c.Revision == 0 {
		return s.Raw == ""
	}
	return s.Raw != "" && s.Revision == c.Revision && s.Key == c.Key && s.ReachedAt.Equal(c.ReachedAt) &&
		s.Hidden == c.Hidden && s.Ranked != c.Hidden
}

// OrphanedMember is an entry of the sorted set that belongs to no user's state.
type OrphanedMember struct {
	User   UserID
	Member string // as it is
}
