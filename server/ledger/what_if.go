package ledger

import (
	"slices"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The rules that can reject an event of a Trial.
const (
	ruleVoidUsers  = "void_users"
	ruleVoidKeys   = "void_keys"
	ruleMinDelta   = "min_delta"
	ruleMaxDelta   = "max_delta"
	ruleCooldown   = "cooldown"
	ruleScoreRange = "score_range"
	ruleAnomaly    = "anomaly."
)

// Trial judges the rows of one user after another under other rules. It counts like a Fold:
// reversed events never, adjustments and imports always.
type Trial struct {
	rules    *scoreboard.WhatIfRules
	board    scoreboard.Board // with the mode of the rules
	since    time.Time
	events   int // that anomalies need
	window   time.Duration
	diverges bool // the mode differs from the board's

	user     scoreboard.UserID
	voided   bool
	to       Standing
	diverged bool      // the score can differ from what was recorded
	last     time.Time // of the last event that counts
	buffer   []scoreboard.PastRow
	start    int // of the past in buffer, newest first
	end      int
}

// TrialRow is a row of the ledger as a Trial reads it.
type TrialRow struct {
	FoldRow
	Board   scoreboard.BoardID
	Applied int64
	Key     string
	Country string
}

// NewTrial returns a Trial of what a board has recorded since a time.
func NewTrial(board *scoreboard.Board, w *scoreboard.WhatIf) *Trial {
	t := &Trial{rules: &w.Rules, board: *board, since: w.Since}
	if w.Rules.Mode != "" && w.Rules.Mode != board.Mode {
		t.board.Mode, t.diverges = w.Rules.Mode, true
	}
	if !w.Rules.Anomalies.Off() {
		n, window := w.Rules.Anomalies.Events()
		t.events, t.window = int(n), window
		t.buffer = make([]scoreboard.PastRow, 4*t.events)
	}
	return t
}

// Context returns how long before its beginning the trial needs rows, and whether it needs
// those of other boards.
func (t *Trial) Context() (before time.Duration, boards bool) {
	a := &t.rules.Anomalies
	on := func(m scoreboard.AnomalyMode) bool { return m != "" && m != scoreboard.AnomalyOff }
	return max(t.rules.Cooldown, t.window), on(a.Frequency) || on(a.Travel)
}

// Begin starts with the rows of a user, who had a standing before the trial begins.
func (t *Trial) Begin(user scoreboard.UserID, had Standing) {
	t.user, t.to, t.last, t.diverged = user, had, time.Time{}, false
	t.voided = slices.Contains(t.rules.VoidUsers, user)
	t.start, t.end = len(t.buffer), len(t.buffer)
}

// Standing is what the rows so far lead to.
func (t *Trial) Standing() Standing { return t.to }

// Diverged reports whether the standing can differ from the recorded one.
func (t *Trial) Diverged() bool { return t.diverged }

// Add adds the next row, in the order of time and version. evaluated reports whether it is a
// submission since the beginning of the trial that counts now; rule is what rejects it, "" for
// none.
func (t *Trial) Add(r *TrialRow) (evaluated bool, rule, detail string) {
	if r.Reversed || !r.submitted() && r.Action != ActionAdjust {
		return false, "", ""
	}
	if r.Board != t.board.ID || r.At.Before(t.since) {
		if !r.Admin {
			t.remember(r, r.Applied)
		}
		return false, "", ""
	}
	t.diverged = t.diverged || t.diverges
	next := r.after(&t.board, &t.to)
	if !r.Admin {
		if rule, detail = t.judge(r, next); rule != "" {
			t.diverged = true
			return true, rule, detail
		}
		t.remember(r, int64(next.Score-t.to.Score))
	}
	next = scoreboard.Pair{Score: exact(next.Score), Subscore: exact(next.Subscore)} // adjustments are not rejected
	if !t.to.Exists || next != t.to.Pair {
		t.to.ReachedAt = r.At.UTC()
	}
	t.to.Pair, t.to.Exists = next, true
	return !r.Admin, "", ""
}

// exact returns the nearest score that every store has.
func exact(s scoreboard.Score) scoreboard.Score {
	return min(max(s, -scoreboard.MaxScore), scoreboard.MaxScore)
}

// judge returns what rejects a submission that would change the score to next.
func (t *Trial) judge(r *TrialRow, next scoreboard.Pair) (rule, detail string) {
	switch {
	case t.voided:
		return ruleVoidUsers, ""
	case slices.Contains(t.rules.VoidKeys, r.Key):
		return ruleVoidKeys, ""
	case t.rules.MinDelta != nil && r.Delta < *t.rules.MinDelta:
		return ruleMinDelta, ""
	case t.rules.MaxDelta != nil && r.Delta > *t.rules.MaxDelta:
		return ruleMaxDelta, ""
	case !t.last.IsZero() && r.At.Sub(t.last) < t.rules.Cooldown:
		return ruleCooldown, ""
	case t.diverged && t.board.CheckPair(next) != nil:
		return ruleScoreRange, ""
	case t.events == 0:
		return "", ""
	}
	for t.start < t.end && r.At.Sub(t.buffer[t.end-1].At) >= t.window {
		t.end--
	}
	in := scoreboard.Increment{
		User: t.user, Delta: r.Delta, Event: scoreboard.EventID{UUID: r.Event}, Country: r.Country,
	}
	moves := []int64{int64(next.Score - t.to.Score)}
	found := t.rules.Anomalies.Detect(&in, []scoreboard.BoardID{t.board.ID}, moves, r.At, t.buffer[t.start:t.end])
	if len(found) == 0 {
		return "", ""
	}
	return ruleAnomaly + found[0].Rule, found[0].Detail
}

// remember keeps a submission that counts for the judgement of later ones.
func (t *Trial) remember(r *TrialRow, applied int64) {
	if r.Board == t.board.ID {
		t.last = r.At
	}
	if t.events == 0 {
		return
	}
	if t.start == 0 {
		kept := copy(t.buffer[len(t.buffer)-(t.end-t.start):], t.buffer[t.start:t.end])
		t.start, t.end = len(t.buffer)-kept, len(t.buffer)
	}
	t.start--
	t.buffer[t.start] = scoreboard.PastRow{
		Event: r.Event, Board: r.Board, Delta: r.Delta, Applied: applied, At: r.At, Country: strings.Clone(r.Country),
	}
	t.end = min(t.end, t.start+t.events)
}
