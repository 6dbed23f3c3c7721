package scoreboard

import (
	"slices"
	"time"
)

// WhatIf asks how a board would stand if other rules had been in force since a time.
type WhatIf struct {
	Since time.Time
	Rules WhatIfRules
	Limit int  // of Changes, from 1
	Keep  bool // the rejected events in Rejected, at most MaxWhatIfVoid
}

// WhatIfRules judge recorded events again. A field that is nil, zero or empty changes nothing.
type WhatIfRules struct {
	MinDelta, MaxDelta *int64
	Cooldown           time.Duration // between two events of a user on the board, of any action
	Mode               Mode
	Ties               Ties
	VoidUsers          []UserID
	VoidKeys           []string
	Anomalies          Anomalies // those that are not off reject
}

// The bounds of a what-if.
const (
	MaxWhatIfEvents   = 10_000_000 // rows of the ledger that are read
	MaxWhatIfUsers    = 2_000_000  // on the board
	MaxWhatIfChanges  = 1_000      // users that a result lists
	MaxWhatIfDeciding = 10         // rejected events that are listed for a user
	MaxWhatIfVoid     = 100_000    // events that can be voided at once
)

// Rejects reports whether a rule can reject an event, so that a void can follow.
func (r *WhatIfRules) Rejects() bool {
	return r.MinDelta != nil || r.MaxDelta != nil || r.Cooldown > 0 || len(r.VoidUsers) > 0 || len(r.VoidKeys) > 0 ||
		!r.Anomalies.Off()
}

// Check returns an invalid_request for rules that are empty, contradictory or out of bounds.
func (r *WhatIfRules) Check() error {
	for _, bound := range []struct {
		name  string
		value *int64
	}{{"min_delta", r.MinDelta}, {"max_delta", r.MaxDelta}} {
		if bound.value != nil && !Score(*bound.value).InRange() {
			return Invalid(bound.name, "%s must be within ±(2^53 − 1)", bound.name)
		}
	}
	switch {
	case !r.Rejects() && r.Mode == "" && r.Ties == "":
		return Invalid("rules", "rules must have at least one rule")
	case r.MinDelta != nil && r.MaxDelta != nil && *r.MinDelta > *r.MaxDelta:
		return Invalid("min_delta", "min_delta must not be above max_delta")
	case r.Cooldown < 0 || r.Cooldown > MaxRuleWindow:
		return Invalid("cooldown", "cooldown must be at most %s", MaxRuleWindow)
	case !slices.Contains([]Mode{"", ModeIncrement, ModeBest, ModeLatest}, r.Mode):
		return Invalid("mode", "mode must be increment, best or latest")
	case !slices.Contains([]Ties{"", TiesFirst, TiesLast, TiesShared}, r.Ties):
		return Invalid("ties", "ties must be first, last or shared")
	case len(r.VoidUsers) > MaxRuleNames || len(r.VoidKeys) > MaxRuleNames:
		return Invalid("void_users", "void_users and void_keys have at most %d names each", MaxRuleNames)
	}
	return nil
}

// CheckFor returns an invalid_request if the rules contradict the board.
func (r *WhatIfRules) CheckFor(b *Board) error {
	if r.Mode == b.Mode && r.Mode != "" {
		return Invalid("mode", "board %s has the mode %s already", b.ID, b.Mode)
	}
	if r.Mode == "" && !r.Rejects() {
		switch {
		case r.Ties == TiesFirst && !b.SharesRanks():
			return Invalid("ties", "equal scores rank by the first already")
		case r.Ties == TiesShared && b.SharesRanks():
			return Invalid("ties", "equal scores have the same rank already")
		}
	}
	return nil
}

// WhatIfResult is how a board would stand, compared with how it stands.
type WhatIfResult struct {
	Board BoardID
	Since time.Time
	AsOf  time.Time // of the snapshot that both standings are from
	Users int64     // on the board now

	Evaluated  int64            // submissions since then that count now
	Rejected   int64            // of these, under the rules
	RejectedBy map[string]int64 // by rule
	Losers     int64            // users with rejected events
	Up, Down   int64            // users with a better and a worse place
	Left       int64            // users without a place any more
	Changed    int64            // users with another place or score

	Changes []WhatIfChange // the best places first
	Digest  string         // SHA-256 in hex of the rejected events
	Limits  []string       // what the result cannot know
	Events  []WhatIfEvent  // the rejected ones, if they were asked for
}

// WhatIfChange is a user who would have another place or score.
type WhatIfChange struct {
	User            UserID
	Rank, NewRank   int64 // NewRank 0: none
	Score, NewScore Score
	// Subscore and NewSubscore are 0 on a board without subscores.
	Subscore, NewSubscore Score

	Rejected int64
	Deciding []WhatIfEvent // the first of the rejected events
}

// WhatIfEvent is an event that the rules reject.
type WhatIfEvent struct {
	User   UserID
	Event  [16]byte
	Text   string // the id as it was sent, of Deciding events
	Delta  int64
	At     time.Time
	Rule   string
	Detail string // of anomalies
}

// VoidSet is an exact set of events to void.
type VoidSet struct {
	Board        BoardID
	Since, Until time.Time
	Digest       string
	Events       []WhatIfEvent
}
