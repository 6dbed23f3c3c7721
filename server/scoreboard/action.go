package scoreboard

import (
	"fmt"
	"strconv"
	"strings"
)

// ActionBounds say which deltas an action may have. An action without bounds
// is held to those of its boards alone.
type ActionBounds map[string]struct{ Least, Most int64 }

// ParseActionBounds reads "name:least:most" for each action.
func ParseActionBounds(texts []string) (ActionBounds, error) {
	bounds := make(ActionBounds, len(texts))
	for _, text := range texts {
		// The name may hold colons; the numbers cannot.
		rest, most, ok := cutLast(text)
		name, least, ok2 := cutLast(rest)
		low, err1 := strconv.ParseInt(least, 10, 64)
		high, err2 := strconv.ParseInt(most, 10, 64)
		if !ok || !ok2 || name == "" || CheckAction(name) != nil || err1 != nil || err2 != nil || low > high {
			return nil, fmt.Errorf("bounds of an action must be name:least:most, not %q", text)
		}
		if _, twice := bounds[name]; twice {
			return nil, fmt.Errorf("action %s has bounds twice", name)
		}
		bounds[name] = struct{ Least, Most int64 }{low, high}
	}
	return bounds, nil
}

func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return "", "", false
	}
	return s[:i], s[i+1:], true
}

// Check says whether an action may have a delta: a delta_out_of_range if not.
func (b ActionBounds) Check(action string, delta int64) error {
	bounds, ok := b[action]
	if ok && (delta < bounds.Least || delta > bounds.Most) {
		return &Error{
			Code: CodeDeltaOutOfRange, Field: "delta",
			Message: fmt.Sprintf("action %s takes a delta from %d to %d", action, bounds.Least, bounds.Most),
		}
	}
	return nil
}
