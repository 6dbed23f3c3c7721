package scoreboard

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

// Requirements are what a board requires in addition to a signature,
// and the limits of actions started for it.
type Requirements struct {
	ActionToken   bool
	Attestation   bool
	MinActionTime time.Duration // between an action's start and its increment
	ActionTTL     time.Duration // until an action token expires; 0 is DefaultActionTTL
}

// The bounds of Requirements.
const (
	DefaultActionTTL = time.Hour
	MinActionTTL     = time.Second
	MaxActionTTL     = 7 * 24 * time.Hour
)

// Action is a started action. Its token authorizes one submission.
type Action struct {
	ID       [16]byte
	User     UserID
	Event    string    // id of the event that the token was made for; "" for any
	Boards   []BoardID // as they will be submitted
	Action   string
	Issued   time.Time
	Expires  time.Time
	MinTime  time.Duration // not before Issued + MinTime
	MinDelta int64
	MaxDelta int64
}

// Covers returns a forbidden if the token is not for this increment.
func (a *Action) Covers(in *Increment) error {
	if a.User != in.User || !slices.Equal(a.Boards, in.Boards) || a.Action != in.Action ||
		a.Event != "" && a.Event != in.Event.Text {
		return Errorf(wire.CodeForbidden, "the action token is for another user, board, action or event")
	}
	return nil
}

// ActionTime is when the action of an increment took place, by the servers' clocks.
type ActionTime struct {
	Started, Ended time.Time
	Min            time.Duration // how long it lasts at least; 0: any
}

// Until returns the earliest end of an action that did not begin before a time, zero
// for any, or a rule_violated if it has ended before. Actions of a user on a board
// count one after the other: of several that were started at once, the second can
// end after twice the minimum.
func (a *ActionTime) Until(previous time.Time, board BoardID) (time.Time, error) {
	if a.Min <= 0 {
		return previous, nil
	}
	began := a.Started
	if previous.After(began) {
		began = previous
	}
	until := began.Add(a.Min)
	if until.After(a.Ended) {
		return previous, &Error{
			Code: wire.CodeRuleViolated, Field: "action_token",
			Message: fmt.Sprintf("after the user's other actions on board %s, this one has its minimum duration at %s",
				board, until.UTC().Format(time.RFC3339)),
		}
	}
	return until, nil
}

// Objection returns why an increment received at a time is rejected, or nil.
func (a *Action) Objection(in *Increment, at time.Time) *Error {
	switch {
	case at.After(a.Expires), a.Expires.Sub(a.Issued) > MaxActionTTL: // its use is forgotten after that
		return &Error{Code: wire.CodeRuleViolated, Field: "action_token", Message: "the action token has expired"}
	case at.Before(a.Issued.Add(a.MinTime)):
		return &Error{
			Code: wire.CodeRuleViolated, Field: "action_token",
			Message: "the action has not reached its minimum duration",
		}
	case in.Delta < a.MinDelta || in.Delta > a.MaxDelta:
		return &Error{
			Code: wire.CodeDeltaOutOfRange, Field: "delta", Reason: wire.ReasonActionBounds,
			Message: fmt.Sprintf("delta is outside the bounds of the action, %d to %d", a.MinDelta, a.MaxDelta),
		}
	}
	return nil
}

// Attestation is a statement of an authoritative server about an increment.
type Attestation struct {
	User      UserID
	Delta     int64
	Event     string
	Boards    []BoardID
	Action    string
	IfPeriod  BoardID
	Metadata  Metadata
	Subscore  *Score
	Issued    time.Time // zero: not given
	NotBefore time.Time // zero: not given
	Expires   time.Time // zero: not given
}

// Timeless reports whether the attestation does not say how long it is valid.
func (a *Attestation) Timeless() bool { return a.Issued.IsZero() && a.Expires.IsZero() }

// Covers returns a forbidden if the attestation is about another increment.
func (a *Attestation) Covers(in *Increment) error {
	if a.User != in.User || a.Delta != in.Delta || a.Event != in.Event.Text || !slices.Equal(a.Boards, in.Boards) ||
		a.Action != in.Action || a.IfPeriod != in.IfPeriod ||
		a.Metadata != in.Metadata || !equalScores(a.Subscore, in.Subscore) {
		return &Error{
			Code: wire.CodeForbidden, Field: "attestation", Message: "the attestation is about another increment",
		}
	}
	return nil
}

// equalScores reports whether both are absent or the same.
func equalScores(a, b *Score) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// Objection returns why the attestation is rejected, or nil. It is valid from its issue
// to its expiry, and no longer than repeats of its event are recognised: it would count
// again after that. So it must have one of the two times.
func (a *Attestation) Objection(at time.Time, window Window) *Error {
	maxAge := window.Guaranteed()
	end := a.Expires
	if last := a.Issued.Add(maxAge); !a.Issued.IsZero() && (end.IsZero() || last.Before(end)) {
		end = last
	}
	message := ""
	switch {
	case end.IsZero():
		message = "the attestation has neither exp nor iat"
	case a.Issued.After(at.Add(attestationLeeway)):
		message = "the attestation was issued in the future"
	case a.NotBefore.After(at.Add(attestationLeeway)):
		message = "the attestation is not valid yet"
	case at.After(end):
		message = "the attestation has expired"
	case end.After(at.Add(maxAge + attestationLeeway)):
		message = fmt.Sprintf("the attestation is valid for too long: at most %d days", int(maxAge.Hours()/24))
	default:
		return nil
	}
	return &Error{Code: wire.CodeRuleViolated, Field: "attestation", Message: message}
}

// attestationLeeway is how much the clock of an attesting server may be ahead.
const attestationLeeway = time.Minute

// Check returns a rule_violated if an increment lacks what is required, or its
// action was started with limits that the board has tightened since. In a repeat they
// are not checked.
func (r *Requirements) Check(in *Increment) error {
	took := in.ActionTime.Ended.Sub(in.ActionTime.Started)
	switch {
	case in.ActionID != [16]byte{} && took > cmp.Or(r.ActionTTL, DefaultActionTTL):
		return &Error{Code: wire.CodeRuleViolated, Field: "action_token", Message: "the action token has expired"}
	case in.ActionID != [16]byte{} && took < r.MinActionTime:
		return &Error{
			Code: wire.CodeRuleViolated, Field: "action_token",
			Message: "the action has not reached its minimum duration",
		}
	case r.ActionToken && in.ActionID == [16]byte{}:
		return &Error{
			Code: wire.CodeRuleViolated, Field: "action_token", Message: "this board requires an action token",
		}
	case r.Attestation && !in.Attested:
		return &Error{Code: wire.CodeRuleViolated, Field: "attestation", Message: "this board requires an attestation"}
	}
	return nil
}
