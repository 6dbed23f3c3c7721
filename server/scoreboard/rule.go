package scoreboard

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

// Rules maps each action to its rule (specification D). The rule of AnyAction
// applies to every other named action; an event without an action has none.
type Rules map[string]Rule

// AnyAction is the name of the rule for actions without one of their own.
const AnyAction = "*"

// Rule limits how an action may be performed; a zero field imposes no limit.
type Rule struct {
	MinDelta, MaxDelta       int64         // of the delta
	MinSubscore, MaxSubscore Score         // of the subscore; both 0: any
	Cooldown                 time.Duration // between two events
	MaxTimes                 Quota         // events within a period
	// Once is the window within which the same action, delta, subscore and boards count once. 0 is none,
	// unless the increment has one.
	Once        time.Duration
	Repeats     bool     // they count always, whatever window the increment has
	ServersOnly bool     // requires the scope score:update
	Keys        []string // accepted signing keys
	Users       []UserID // whose scores it may change
	Scope       string   // of the token, checked by CheckScope
	Disabled    bool     // no event is accepted
}

// Quota is a maximum within a period: N per Per.
type Quota struct {
	N   int64
	Per time.Duration
}

// The bounds of rules limit what is read for each event.
const (
	MaxQuota      = 1000
	MaxRuleWindow = 31 * 24 * time.Hour
	MaxRuleNames  = 100 // users, or keys
)

// ParseQuota parses "10/1m".
func ParseQuota(text string) (Quota, error) {
	number, per, ok := strings.Cut(text, "/")
	n, err1 := strconv.ParseInt(number, 10, 64)
	d, err2 := time.ParseDuration(per)
	if !ok || err1 != nil || err2 != nil || n < 1 || d <= 0 || d > MaxRuleWindow {
		return Quota{}, fmt.Errorf("invalid quota %q: want a form like 10/1m, at most %s", text, MaxRuleWindow)
	}
	return Quota{n, d}, nil
}

// ParseRules parses "name:min:max;sub=MIN:MAX;cooldown=5s;max=10/1m;once=30s;by=servers;users=a+b;scope=s"
// for each action; the parts after the bounds are optional.
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
				return nil, fmt.Errorf("rule of action %s: %w", name, err)
			}
		}
		if _, twice := rules[name]; twice {
			return nil, fmt.Errorf("duplicate rule for action %s", name)
		}
		rules[name] = rule
	}
	return rules, nil
}

func parseBounds(text string) (name string, rule Rule, err error) {
	// The name may contain colons; the numbers cannot.
	rest, maxText, ok := cutLast(text)
	name, minText, ok2 := cutLast(rest)
	var err1, err2 error
	rule.MinDelta, err1 = strconv.ParseInt(minText, 10, 64)
	rule.MaxDelta, err2 = strconv.ParseInt(maxText, 10, 64)
	nameOK := name == AnyAction || name != "" && CheckAction(name) == nil
	if !ok || !ok2 || !nameOK || err1 != nil || err2 != nil || rule.MinDelta > rule.MaxDelta {
		return "", rule, fmt.Errorf("invalid action rule %q: must begin with name:min:max", text)
	}
	return name, rule, nil
}

func (r *Rule) parse(part string) (err error) {
	name, value, _ := strings.Cut(part, "=")
	switch name {
	case "sub":
		r.MinSubscore, r.MaxSubscore, err = parseSubscores(value)
	case "cooldown":
		r.Cooldown, err = parseWindow(value)
	case "once":
		if d, e := time.ParseDuration(value); e == nil && d == 0 {
			r.Repeats = true
			break
		}
		r.Once, err = parseWindow(value)
	case "max":
		if r.MaxTimes, err = ParseQuota(value); err == nil && r.MaxTimes.N > MaxQuota {
			err = fmt.Errorf("max must be at most %d", MaxQuota)
		}
	case "by":
		switch value {
		case "servers":
			r.ServersOnly = true
		case "nobody":
			r.Disabled = true
		default:
			if r.Keys = strings.Split(value, "+"); slices.Contains(r.Keys, "") || len(r.Keys) > MaxRuleNames {
				err = fmt.Errorf("invalid by %.100q: want servers, nobody or at most %d key ids", value, MaxRuleNames)
			}
		}
	case "users":
		r.Users, err = parseUsers(value)
	case "scope":
		if r.Scope = value; !isName(value, MaxActionLength) {
			err = fmt.Errorf("invalid scope %.100q: want at most %d of A-Z a-z 0-9 . _ : @ -", value, MaxActionLength)
		}
	default:
		err = fmt.Errorf("unknown part %.100q: want sub, cooldown, max, once, by, users or scope", name)
	}
	return err
}

func parseSubscores(text string) (lowest, highest Score, err error) {
	minText, maxText, ok := cutLast(text)
	low, err1 := strconv.ParseInt(minText, 10, 64)
	high, err2 := strconv.ParseInt(maxText, 10, 64)
	if !ok || err1 != nil || err2 != nil || low > high || low == 0 && high == 0 {
		return 0, 0, fmt.Errorf("invalid sub %.100q: want min:max, not both 0", text)
	}
	return Score(low), Score(high), nil
}

func parseUsers(text string) ([]UserID, error) {
	names := strings.Split(text, "+")
	if len(names) > MaxRuleNames {
		return nil, fmt.Errorf("users must name at most %d users", MaxRuleNames)
	}
	users := make([]UserID, len(names))
	for i, name := range names {
		user, err := ParseUserID(name)
		if err != nil {
			return nil, fmt.Errorf("invalid user %.100q in users", name)
		}
		users[i] = user
	}
	return users, nil
}

func parseWindow(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > MaxRuleWindow {
		return 0, fmt.Errorf("invalid duration %q: want a form like 30s, at most %s", text, MaxRuleWindow)
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

// Of returns the rule of an action, or nil.
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

// For returns the rule of an increment's action, with its window, or nil.
func (r Rules) For(in *Increment) *Rule {
	rule := r.Of(in.Action)
	if rule != nil && rule.Once == 0 && !rule.Repeats {
		rule.Once = in.Once
	}
	return rule
}

// Window returns how far back the rule reads; 0: not at all.
func (r *Rule) Window() time.Duration { return max(r.Cooldown, r.MaxTimes.Per, r.Once) }

// PastAction is an earlier event of the same user and action.
type PastAction struct {
	Event    [16]byte
	Delta    int64
	Subscore Score     // 0 without one
	Boards   []BoardID // in any order; instances of periodic boards
	At       time.Time
}

// repeats reports whether an increment has the delta, the subscore and the boards of an earlier event. Their
// order does not matter, unlike for a repeat of the event itself. Boards that rules add do not
// matter either: clients could choose them by attributes, or by naming the default board alone,
// on which no rule adds any, and in a dialect by a signature.
func (p *PastAction) repeats(in *Increment) bool {
	if in.Submitted() != (Pair{Score(p.Delta), p.Subscore}) {
		return false
	}
	if len(in.Boards) == 1 && (in.Boards[0] == GlobalBoard || in.ByRules || in.Once > 0) {
		return slices.ContainsFunc(p.Boards, func(b BoardID) bool { return b.Family() == in.Boards[0] })
	}
	if len(in.Boards) != len(p.Boards) {
		return false
	}
	for _, board := range p.Boards {
		family, _, _ := strings.Cut(string(board), ":")
		if !slices.Contains(in.Boards, BoardID(family)) {
			return false
		}
	}
	return true
}

// Check returns a delta_out_of_range or a rule_violated if an increment may not be
// performed at a time, given the user's earlier events of the action within the
// window, newest first.
func (r *Rule) Check(in *Increment, at time.Time, past []PastAction) error {
	switch {
	case in.Delta < r.MinDelta || in.Delta > r.MaxDelta:
		return &Error{
			Code: wire.CodeDeltaOutOfRange, Field: "delta", Reason: wire.ReasonActionRule,
			Message: fmt.Sprintf("action %s takes a delta from %d to %d", in.Action, r.MinDelta, r.MaxDelta),
		}
	case (r.MinSubscore != 0 || r.MaxSubscore != 0) && (in.Submitted().Subscore < r.MinSubscore ||
		in.Submitted().Subscore > r.MaxSubscore):
		return &Error{
			Code: wire.CodeDeltaOutOfRange, Field: "subscore", Reason: wire.ReasonActionRule,
			Message: fmt.Sprintf("action %s takes a subscore from %d to %d", in.Action, r.MinSubscore, r.MaxSubscore),
		}
	case r.Disabled:
		return violation(in, "is disabled")
	case r.ServersOnly && !in.Server:
		return notAllowed(in, "may be performed by servers only")
	case r.Keys != nil && !slices.Contains(r.Keys, in.KeyID):
		return notAllowed(in, "may not be performed with this key")
	case r.Users != nil && !slices.Contains(r.Users, in.User):
		return notAllowed(in, "may not be performed by this user")
	}
	var count int64
	for i := range past {
		age := at.Sub(past[i].At)
		if age < r.Cooldown {
			return violation(in, fmt.Sprintf("has a cooldown of %s", r.Cooldown))
		}
		if age < r.Once && past[i].repeats(in) {
			return violation(in, fmt.Sprintf("counts once per %s", r.Once))
		}
		if age < r.MaxTimes.Per {
			count++
		}
	}
	if r.MaxTimes.N > 0 && count >= r.MaxTimes.N {
		return violation(in, fmt.Sprintf("may be performed at most %d times per %s", r.MaxTimes.N, r.MaxTimes.Per))
	}
	return nil
}

// CheckScope returns a rule_violated if the token of an increment lacks the rule's scope,
// else nil. Unlike the rest it is checked when the request comes, because only then the
// token is known.
func (r *Rule) CheckScope(in *Increment, scopes []string) *Error {
	if r == nil || r.Scope == "" || slices.Contains(scopes, r.Scope) {
		return nil
	}
	return notAllowed(in, "requires the scope "+r.Scope)
}

func violation(in *Increment, why string) *Error {
	return &Error{Code: wire.CodeRuleViolated, Field: "action", Message: "action " + in.Action + " " + why}
}

// notAllowed is a violation by a caller who may not perform the action at all.
func notAllowed(in *Increment, why string) *Error {
	e := violation(in, why)
	e.Reason = wire.ReasonActionBy
	return e
}
