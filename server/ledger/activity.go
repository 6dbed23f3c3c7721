package ledger

import (
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// RecentActivity is the recent activity of a batch's users, as far as action
// rules or anomaly detection need it. It is empty if neither applies.
type RecentActivity struct {
	// Actions to look up: a user, an action and how far back, by index.
	ActionUsers, Actions []string
	ActionWindows        []time.Duration

	// Anomalies are what was detected, to be flagged and logged after the commit.
	Anomalies []scoreboard.Anomaly

	policy  *scoreboard.IngestPolicy // nil: no rules
	actions map[actionKey][]scoreboard.PastAction
	detect  bool // anomaly detection is on
	rows    map[scoreboard.UserID][]scoreboard.PastRow
}

type actionKey struct {
	user   scoreboard.UserID
	action string
}

func newRecentActivity(policy *scoreboard.IngestPolicy, items []scoreboard.Increment) RecentActivity {
	a := RecentActivity{policy: policy}
	if policy == nil {
		return a
	}
	a.detect = !policy.Anomalies.Off()
	if len(policy.Rules) == 0 {
		return a
	}
	for i := range items {
		in := &items[i]
		if rule := policy.Rules.For(in); rule != nil && rule.Window() > 0 {
			a.want(actionKey{in.User, in.Action}, rule.Window())
		}
	}
	return a
}

// want has a user's events of an action within a window looked up.
func (a *RecentActivity) want(k actionKey, window time.Duration) {
	if _, asked := a.actions[k]; asked {
		for i := range a.Actions { // increments of an action may have other windows
			if a.ActionUsers[i] == string(k.user) && a.Actions[i] == k.action {
				a.ActionWindows[i] = max(a.ActionWindows[i], window)
			}
		}
		return
	}
	if a.actions == nil {
		a.actions = make(map[actionKey][]scoreboard.PastAction)
	}
	a.actions[k] = nil
	a.ActionUsers, a.Actions = append(a.ActionUsers, string(k.user)), append(a.Actions, k.action)
	a.ActionWindows = append(a.ActionWindows, window)
}

// Events returns how many events of each user anomaly detection needs and the age of
// the oldest one; 0 if it is off.
func (a *RecentActivity) Events() (n int64, window time.Duration) {
	if !a.detect {
		return 0, 0
	}
	return a.policy.Anomalies.Events()
}

// AddAction adds an event that lookup i found, newest first. An event on several
// boards counts once.
func (a *RecentActivity) AddAction(i int, past scoreboard.PastAction) {
	k := actionKey{scoreboard.UserID(a.ActionUsers[i]), a.Actions[i]}
	for n := range a.actions[k] {
		if other := &a.actions[k][n]; other.Event == past.Event {
			other.Boards = append(other.Boards, past.Boards...)
			if past.Subscore != 0 { // boards without subscores have none
				other.Subscore = past.Subscore
			}
			return
		}
	}
	a.actions[k] = append(a.actions[k], past)
}

// AddRow adds a ledger row of a user, newest first.
func (a *RecentActivity) AddRow(user scoreboard.UserID, row scoreboard.PastRow) {
	if a.rows == nil {
		a.rows = make(map[scoreboard.UserID][]scoreboard.PastRow)
	}
	a.rows[user] = append(a.rows[user], row)
}

// checkRules holds a new event to the bounds of the policy and to the rule of
// its action.
func (a *RecentActivity) checkRules(in *scoreboard.Increment, at time.Time) error {
	if a.policy == nil {
		return nil
	}
	if err := a.policy.CheckDelta(in.Delta); err != nil {
		return err
	}
	rule := a.policy.Rules.For(in)
	if rule == nil {
		return nil
	}
	return rule.Check(in, at, a.actions[actionKey{in.User, in.Action}])
}

// detectAnomalies records the anomalies of an event that would change the scores
// of its boards to next. It returns a rule_violated if a rule in mode enforce
// matches.
func (b *Batch) detectAnomalies(in *scoreboard.Increment, boards []*scoreboard.Board, next []scoreboard.Pair) error {
	a := &b.Activity
	if !a.detect {
		return nil
	}
	names, applied := make([]scoreboard.BoardID, len(boards)), make([]int64, len(boards))
	for i, board := range boards {
		names[i], applied[i] = board.ID, int64(next[i].Score-b.scores[ScoreKey{in.User, board.ID}].Value)
	}
	found := a.policy.Anomalies.Detect(in, names, applied, b.users[in.User].time, a.rows[in.User])
	a.Anomalies = append(a.Anomalies, found...)
	for _, anomaly := range found {
		if anomaly.Mode == scoreboard.AnomalyEnforce {
			return &scoreboard.Error{
				Code:    wire.CodeRuleViolated,
				Message: "the event was rejected as an anomaly (" + anomaly.Rule + ")",
			}
		}
	}
	return nil
}

// add records an event for the checks of later events of the batch.
func (a *RecentActivity) add(in *scoreboard.Increment, receipts []scoreboard.Receipt) {
	k := actionKey{in.User, in.Action}
	at := receipts[0].RecordedAt
	if _, asked := a.actions[k]; asked {
		past := scoreboard.PastAction{
			Event: in.Event.UUID, Delta: in.Delta, Subscore: in.Submitted().Subscore, At: at,
		}
		for i := range receipts {
			past.Boards = append(past.Boards, receipts[i].Board)
		}
		a.actions[k] = append([]scoreboard.PastAction{past}, a.actions[k]...)
	}
	if !a.detect {
		return
	}
	rows := make([]scoreboard.PastRow, 0, len(receipts)+len(a.rows[in.User]))
	for i := range receipts {
		rows = append(rows, scoreboard.PastRow{
			Event: in.Event.UUID, Board: receipts[i].Board, Delta: in.Delta, Applied: receipts[i].Applied,
			At: at, Country: in.Country,
		})
	}
	rows = append(rows, a.rows[in.User]...)
	if a.rows == nil {
		a.rows = make(map[scoreboard.UserID][]scoreboard.PastRow)
	}
	a.rows[in.User] = rows
}

// Flags returns the anomalies to keep for review: the last one of the batch for
// each user and rule.
func (a *RecentActivity) Flags() []scoreboard.Anomaly {
	type key struct {
		user scoreboard.UserID
		rule string
	}
	if len(a.Anomalies) == 0 {
		return nil
	}
	last := make(map[key]int, len(a.Anomalies))
	for i := range a.Anomalies {
		if anomaly := &a.Anomalies[i]; anomaly.Mode != scoreboard.AnomalyLog {
			last[key{anomaly.User, anomaly.Rule}] = i
		}
	}
	flags := make([]scoreboard.Anomaly, 0, len(last))
	for _, i := range last {
		flags = append(flags, a.Anomalies[i])
	}
	return flags
}
