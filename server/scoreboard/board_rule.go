package scoreboard

import (
	"cmp"
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/scoreboard/scoreboard/client/wire"
)

// The bounds of rules and attributes: each increment that names no board is compared with
// every rule.
const (
	MaxBoardRules     = 100 // boards with a rule
	MaxRuleValues     = 20  // actions, regions, or values of an attribute
	MaxAttributes     = 8   // of an increment, or of a rule
	MaxAttributeValue = 64  // bytes
)

// AttributeRegion is the attribute that the regions of rules are about.
const AttributeRegion = "region"

// Attribute describes an increment for the rules of boards.
type Attribute struct{ Name, Value string }

// Attributes are sorted by name, with one value each.
type Attributes []Attribute

// ParseAttributes checks names and values. It returns an invalid_request.
func ParseAttributes(values map[string]string) (Attributes, error) {
	if len(values) > MaxAttributes {
		return nil, Invalid("attributes", "an increment has at most %d attributes", MaxAttributes)
	}
	var out Attributes
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if err := checkAttribute(name, values[name]); err != nil {
			return nil, err
		}
		out = append(out, Attribute{name, values[name]})
	}
	return out, nil
}

func checkAttribute(name, value string) error {
	if !isBoardName(name) {
		return Invalid("attributes", "the name of an attribute must match [a-z0-9][a-z0-9_.-]{0,47}")
	}
	if !isName(value, MaxAttributeValue) {
		return Invalid("attributes",
			"the value of attribute %s must be 1 to %d characters of A-Z a-z 0-9 . _ : @ -", name, MaxAttributeValue)
	}
	return nil
}

// Get returns the value of an attribute, "" for none.
func (a Attributes) Get(name string) string {
	for i := range a {
		if a[i].Name == name {
			return a[i].Value
		}
	}
	return ""
}

// Map returns the values by name, nil for none.
func (a Attributes) Map() map[string]string {
	if len(a) == 0 {
		return nil
	}
	out := make(map[string]string, len(a))
	for i := range a {
		out[a[i].Name] = a[i].Value
	}
	return out
}

// attributesMark begins the attributes in a hash; no length of a board is so large.
const attributesMark = 1<<32 - 1

// appendHashed appends the attributes to what is hashed; nothing without attributes.
func (a Attributes) appendHashed(b []byte) []byte {
	if len(a) == 0 {
		return b
	}
	b = binary.BigEndian.AppendUint32(b, attributesMark)
	for i := range a {
		b = appendString(appendString(b, a[i].Name), a[i].Value)
	}
	return b
}

// BoardRule says which increments that name no board count on a board. All parts that are
// given must match; a rule without parts matches every such increment.
type BoardRule struct {
	Actions    []string
	Regions    []string            // of the attribute region
	Attributes map[string][]string // accepted values of other attributes
}

// Check validates a rule. It returns an invalid_request.
func (r *BoardRule) Check() error {
	if err := checkValues("actions", r.Actions, CheckClientAction); err != nil {
		return err
	}
	region := func(value string) error { return checkAttribute(AttributeRegion, value) }
	if err := checkValues("regions", r.Regions, region); err != nil {
		return err
	}
	if len(r.Attributes) > MaxAttributes {
		return Invalid("attributes", "a rule has at most %d attributes", MaxAttributes)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
		if name == AttributeRegion {
			return Invalid("attributes", "the attribute region belongs in regions")
		}
		if len(r.Attributes[name]) == 0 {
			return Invalid("attributes", "attribute %.48q of the rule has no values", name)
		}
		value := func(value string) error { return checkAttribute(name, value) }
		if err := checkValues("attributes", r.Attributes[name], value); err != nil {
			return err
		}
	}
	return nil
}

func checkValues(field string, values []string, check func(string) error) error {
	if len(values) > MaxRuleValues {
		return Invalid(field, "a rule lists at most %d values of each part", MaxRuleValues)
	}
	for i, value := range values {
		if value == "" {
			return Invalid(field, "%s must not contain an empty value", field)
		}
		var e *Error
		if errors.As(check(value), &e) {
			return Invalid(field, "%s", e.Message)
		}
		if slices.Contains(values[:i], value) {
			return Invalid(field, "duplicate value %s", value)
		}
	}
	return nil
}

// CheckRuled returns why a board cannot have a rule; mode is that of the default board.
func (b *Board) CheckRuled(mode Mode) error {
	switch {
	case b.ID == GlobalBoard:
		return Invalid("board", "board %s is the default board; increments that name no board always count on it", b.ID)
	case b.ID.IsInstance():
		return Invalid("board", "an instance has the rule of its board; change board %s instead", b.ID.Family())
	case b.Status == StatusArchived:
		return Errorf(wire.CodeConflict, "board %s is archived", b.ID)
	case b.Team != nil:
		return Errorf(wire.CodeConflict, "board %s ranks teams and accepts no increments", b.ID)
	case b.Mode != mode:
		return Errorf(wire.CodeConflict, "board %s has mode %s; a board with a rule must have mode %s, like board %s",
			b.ID, b.Mode, mode, GlobalBoard)
	case b.Require.ActionToken || b.Require.Attestation:
		return Errorf(wire.CodeConflict,
			"board %s has requirements, which increments that do not name it cannot meet", b.ID)
	}
	return nil
}

// matches reports whether an increment that names no board counts on the rule's board.
func (r *BoardRule) matches(in *Increment) bool {
	if len(r.Actions) > 0 && !slices.Contains(r.Actions, in.Action) {
		return false
	}
	if len(r.Regions) > 0 && !slices.Contains(r.Regions, in.Attributes.Get(AttributeRegion)) {
		return false
	}
	for name, values := range r.Attributes {
		if !slices.Contains(values, in.Attributes.Get(name)) {
			return false
		}
	}
	return true
}

// RuledBoard is a board with a rule.
type RuledBoard struct {
	Board  BoardID
	Status Status
	Rule   BoardRule
}

// BoardRules are the rules of the boards that accept writes, as of a version: that of the
// default board.
type BoardRules struct {
	Version int64
	Boards  []RuledBoard
}

// NewBoardRules returns the rules of a version, in the order of boards.
func NewBoardRules(version int64, boards []RuledBoard) *BoardRules {
	slices.SortFunc(boards, func(a, b RuledBoard) int { return cmp.Compare(a.Board, b.Board) })
	return &BoardRules{version, boards}
}

// Match returns a batch with the boards that rules add to each increment. It returns the
// batch itself where no rules are.
func (r *BoardRules) Match(batch []Increment) []Increment {
	if len(r.Boards) == 0 {
		return batch
	}
	matched := slices.Clone(batch)
	for i := range matched {
		if in := &matched[i]; in.ByRules {
			r.match(in)
		}
	}
	return matched
}

// match sets the boards that rules add to an increment. If they are too many, it is
// rejected, unless it is a repeat.
func (r *BoardRules) match(in *Increment) {
	in.Matched = nil
	for i := range r.Boards {
		board := &r.Boards[i]
		allowed := len(in.RuleBoards) == 0 || slices.Contains(in.RuleBoards, board.Board)
		if allowed && !slices.Contains(in.Boards, board.Board) && board.Rule.matches(in) {
			in.Matched = append(in.Matched, board.Board)
		}
	}
	if n := len(in.Boards) + len(in.Matched); n > MaxBoards {
		if in.Objection == nil {
			in.Objection = Errorf(wire.CodeRuleViolated,
				"the rules of %d boards match; an increment counts on at most %d boards", n-len(in.Boards), MaxBoards)
		}
		in.Matched = nil
	}
}
