package scoreboard

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Rules say of each action how it may be performed (specification D). The rule
// of AnyAction is that of every other named action; an event without an action
// has none.
type Rules map[string]Rule

// AnyAction is the name of the rule for actions without one of their own.
const AnyAction = "*"

// Rule limits how an action may be performed; a zero field imposes no limit.
type Rule struct {
	MinDelta, MaxDelta int64         // of the delta
	Cooldown           time.Duration // between two events
	MaxTimes           Quota         // events within a period
	Once               time.Duration // the same action, delta and boards count once within this window
	ServersOnly        bool          // requires the scope score:update
	Keys               []string      // accepted signing keys
	Disabled           bool          // no event is accepted
}

// Quota is a maximum within a period: N per Per.
type Quota struct {
	N   int64
	Per time.Duration
}

// The bounds of rules: what is looked at for each event is bounded by them.
const (
	MaxQuota      = 1000
	MaxRuleWindow = 31 * 24 * time.Hour
)

// ParseQuota reads "10/1m".
func ParseQuota(text string) (Quota, error) {
	number, per, ok := strings.Cut(text, "/")
	n, err1 := strconv.ParseInt(number, 10, 64)
	d, err2 := time.ParseDuration(per)
	if !ok || err1 != nil || err2 != nil || n < 1 || d <= 0 || d > MaxRuleWindow {
		return Quota{}, fmt.Errorf("so many in a time are written as 10/1m, and the time is at most %s; not %q", MaxRuleWindow, text)
	}
	return Quota{n, d}, nil
}

// ParseRules reads "name:least:most;cooldown=5s;most=10/1m;once=30s;by=servers"
// for each action; what comes after the bounds is as wanted.
func ParseRules(texts []string) (Rules, error) {
	rules := make(Rules, len(texts))
	for _, text := range texts {
		parts := strings.Split(text, ";")
		name, rule, err := parseBounds(parts[0])
		if err != nil {
			return nil, err
		}
		for _, part := range parts[1:] {
			if err := rule.parse(part); err != nil {
				return nil, fmt.Errorf("the rule of action %s: %w", name, err)
			}
		}
		if _, twice := rules[name]; twice {
			return nil, fmt.Errorf("action %s has rules twice", name)
		}
		rules[name] = rule
	}
	return rules, nil
}

func parseBounds(text string) (name string, rule Rule, err error) {
	// The name may hold colons; the numbers cannot.
	rest, most, ok := cutLast(text)
	name, least, ok2 := cutLast(rest)
	var err1, err2 error
	rule.MinDelta, err1 = strconv.ParseInt(least, 10, 64)
	rule.MaxDelta, err2 = strconv.ParseInt(most, 10, 64)
	good := name == AnyAction || name != "" && CheckAction(name) == nil
	if !ok || !ok2 || !good || err1 != nil || err2 != nil || rule.MinDelta > rule.MaxDelta {
		return "", rule, fmt.Errorf("a rule of an action begins with name:least:most, not %q", text)
	}
	return name, rule, nil
}

func (r *Rule) parse(part string) (err error) {
	name, value, _ := strings.Cut(part, "=")
	switch name {
	case "cooldown":
		r.Cooldown, err = parseWindow(value)
	case "once":
		r.Once, err = parseWindow(value)
	case "most":
		if r.MaxTimes, err = ParseQuota(value); err == nil && r.MaxTimes.N > MaxQuota {
			err = fmt.Errorf("most counts up to %d", MaxQuota)
		}
	case "by":
		switch value {
		case "servers":
			r.ServersOnly = true
		case "nobody":
			r.Disabled = true
		default:
			r.Keys = strings.Split(value, "+")
			if slices.Contains(r.Keys, "") {
				err = fmt.Errorf("by is servers, nobody or key ids, not %q", value)
			}
		}
	default:
		err = fmt.Errorf("there is no %q; there are cooldown, most, once and by", name)
	}
	return err
}

func parseWindow(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > MaxRuleWindow {
		return 0, fmt.Errorf("a time is written as 30s, and at most %s; not %q", MaxRuleWindow, text)
	}
	return d, nil
}

func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return "", "", false
	}
	return s[:i], s[i+1:], true
}

// Of returns the rule of an action, nil where it has none.
func (r Rules) Of(action string) *Rule {
	if action == "" || len(r) == 0 {
		return nil
	}
	if rule, ok := r[action]; ok {
		return &rule
	}
	if rule, ok := r[AnyAction]; ok {
		return &rule
	}
	return nil
}

// Window is how far back a rule looks; 0 where it does not.
func (r *Rule) Window() time.Duration { return max(r.Cooldown, r.MaxTimes.Per, r.Once) }

// PastAction is an earlier event of the same user and action.
type PastAction struct {
	Event [16]byte
	Hash  [16]byte // of its payload
	At    time.Time
}

// Check says whether an increment may be performed at a time, after what the
// user has done with the action in the rule's window, the newest first: a
// delta_out_of_range, a forbidden or a rule_violated if not.
func (r *Rule) Check(in *Increment, hash [16]byte, at time.Time, past []PastAction) error {
	switch {
	case in.Delta < r.MinDelta || in.Delta > r.MaxDelta:
		return &Error{
			Code: CodeDeltaOutOfRange, Field: "delta", Reason: ReasonActionRule,
			Message: fmt.Sprintf("action %s takes a delta from %d to %d", in.Action, r.MinDelta, r.MaxDelta),
		}
	case r.Disabled:
		return ruled(in, "is not to be performed")
	case r.ServersOnly && !in.Server:
		return ruled(in, "is performed by servers only")
	case r.Keys != nil && !slices.Contains(r.Keys, in.KeyID):
		return ruled(in, "is not performed with this key")
	}
	var often int64
	for i := range past {
		age := at.Sub(past[i].At)
		if age < r.Cooldown {
			return ruled(in, fmt.Sprintf("has a cooldown of %s", r.Cooldown))
		}
		if age < r.Once && past[i].Hash == hash {
			return ruled(in, fmt.Sprintf("counts once in %s", r.Once))
		}
		if age < r.MaxTimes.Per {
			often++
		}
	}
	if r.MaxTimes.N > 0 && often >= r.MaxTimes.N {
		return ruled(in, fmt.Sprintf("is performed %d times in %s at most", r.MaxTimes.N, r.MaxTimes.Per))
	}
	return nil
}

func ruled(in *Increment, why string) error {
	return &Error{Code: CodeRuleViolated, Field: "action", Message: "action " + in.Action + " " + why}
}
