package scoreboard

import (
	"fmt"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

// BoardID names a board: [a-z0-9][a-z0-9_.-]{0,47}, or an instance of a
// periodic board after a colon, such as daily:2026-11-21.
type BoardID string

// GlobalBoard is the default board of a request.
const GlobalBoard BoardID = wire.GlobalBoard

// MaxBoardNameLength is the longest board name, without an instance suffix.
const MaxBoardNameLength = 48

// MaxBoards is the maximum number of boards per event.
const MaxBoards = 10

// ParseBoardID checks a board name or instance name.
func ParseBoardID(s string) (BoardID, error) {
	family, instance, isInstance := strings.Cut(s, ":")
	if !isBoardName(family) || isInstance && !isBoardName(instance) {
		return "", Invalid("board", "board must match [a-z0-9][a-z0-9_.-]{0,47}")
	}
	return BoardID(s), nil
}

// Family returns the name of the periodic board of an instance, or b itself.
func (b BoardID) Family() BoardID {
	family, _, _ := strings.Cut(string(b), ":")
	return BoardID(family)
}

// IsInstance reports whether b names one period of a board.
func (b BoardID) IsInstance() bool { return strings.Contains(string(b), ":") }

func isBoardName(s string) bool {
	if s == "" || len(s) > MaxBoardNameLength {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		case i > 0 && (c == '_' || c == '.' || c == '-'):
		default:
			return false
		}
	}
	return true
}

// MaxPartitions is the maximum number of partitions of a board's ranking.
const MaxPartitions = 64

// Mode is the effect of a submitted delta on a score.
type Mode string

const (
	ModeIncrement Mode = "increment" // adds the delta
	ModeBest      Mode = "best"      // the delta is a score, kept if better
	ModeLatest    Mode = "latest"    // the delta is a score, kept
)

// Order is the sort direction of a board.
type Order string

const (
	OrderHighest Order = "highest"
	OrderLowest  Order = "lowest"
)

// Status is whether a board accepts writes.
type Status string

const (
	StatusActive   Status = "active"
	StatusFrozen   Status = "frozen"   // writes are rejected with board_closed, reads work
	StatusArchived Status = "archived" // not in the ranking, readable from the store
)

// ParseStatus parses the name of a status.
func ParseStatus(s string) (Status, error) {
	switch p := Status(s); p {
	case StatusActive, StatusFrozen, StatusArchived:
		return p, nil
	}
	return "", Invalid("status", "status must be active, frozen or archived")
}

// Board is one ranking and its rules.
type Board struct {
	ID       BoardID
	Family   BoardID // the periodic board of an instance; otherwise ID
	Mode     Mode
	Order    Order
	Status   Status
	MinDelta int64
	MaxDelta int64
	MinScore Score
	MaxScore Score
	// Subscore is which subscore ranks first among equal scores; "": submissions have none.
	Subscore Order
	// MinSubscore and MaxSubscore bound that of a submission.
	MinSubscore, MaxSubscore Score
	// Attempts is how many events of a user are recorded in a period; 0: no limit.
	Attempts int64
	// Join says whether users must join a period before they submit to it.
	Join JoinRule
	// Metadata is to whom the metadata of standings is shown.
	Metadata MetadataOf
	// Ties is TiesShared where equal scores have the same rank, else "".
	Ties Ties
	// BoundsVersion counts the changes of these bounds, from 1; an instance has that of its
	// board.
	BoundsVersion int64
	Public        bool
	Labels
	// Partitions is over how many keys the ranking spreads the users: 0 and 1 are one.
	Partitions int
	Created    time.Time

	Period    Period
	TimeZone  string       // periods end at its midnight, or by the schedule in it
	WeekStart time.Weekday // of weekly boards
	Schedule  string       // when periods begin, for ParseSchedule; only with PeriodCron
	// Of an instance, zero otherwise.
	PeriodStart, PeriodEnd time.Time
	Closed                 time.Time // of the last write
	StandingsVersion       int       // the format of the hash of its final standings; 0: not sealed
	StandingsHash          string    // that hash in hex

	Require Requirements
	Team    *TeamRule // of a board of teams, whose scores are computed; nil: it takes increments
	// Tiers are the named bands of the standings, the best first; nil: none.
	Tiers  Tiers
	League *League // of a periodic board; nil: it is none
	// Appearance is how pages show the board; nil: by its name.
	Appearance *Appearance
	// RulesVersion counts the changes of all boards' rules, on the default board.
	RulesVersion int64
}

// IsFamily reports whether b is a periodic board, whose instances hold the scores.
func (b *Board) IsFamily() bool { return b.Period != PeriodNone && b.ID == b.Family }

// Ended reports whether the board accepts no writes and never will: its period is over and
// its standings are final, or it is archived. A frozen board has not ended.
func (b *Board) Ended() bool {
	return b.Status == StatusArchived || b.Status != StatusActive && !b.Closed.IsZero()
}

// Span returns the period of an instance.
func (b *Board) Span() Span {
	_, name, _ := strings.Cut(string(b.ID), ":")
	return Span{name, b.PeriodStart, b.PeriodEnd}
}

// BoardFilter selects boards that match all fields that are set.
type BoardFilter struct {
	Family BoardID
	Period Period
	Region string
	// Platform is that of the board, Tag one of its tags.
	Platform, Tag string
	Status        Status
	Public        bool    // only public ones
	After         BoardID // in the order of names
	Limit         int
}

// Key returns the sort key of a score: the smaller key is the better standing.
// Both stores rank by it.
func (o Order) Key(s Score) int64 {
	if o == OrderLowest {
		return int64(s)
	}
	return -int64(s)
}

// Score is the inverse of Key.
func (o Order) Score(key int64) Score {
	if o == OrderLowest {
		return Score(key)
	}
	return Score(-key)
}

// Check validates a board before its creation, and normalises its appearance. It returns an invalid_request.
func (b *Board) Check() error {
	if id, err := ParseBoardID(string(b.ID)); err != nil || id.IsInstance() {
		return Invalid("board",
			"board must match [a-z0-9][a-z0-9_.-]{0,47}; a board's instances are created automatically")
	}
	switch b.Mode {
	case ModeIncrement, ModeBest, ModeLatest:
	default:
		return Invalid("mode", "mode must be increment, best or latest")
	}
	if b.Order != OrderHighest && b.Order != OrderLowest {
		return Invalid("order", "order must be highest or lowest")
	}
	if err := b.Labels.Check(); err != nil {
		return err
	}
	if b.Partitions != 0 {
		if err := CheckPartitions(b.Partitions); err != nil {
			return err
		}
	}
	if _, err := Zone(b.TimeZone); err != nil {
		return err
	}
	if b.WeekStart != time.Monday && b.Period != PeriodWeekly {
		return Invalid("week_start", "week_start is for weekly boards")
	}
	if err := b.checkSchedule(); err != nil {
		return err
	}
	if err := b.checkJoin(); err != nil {
		return err
	}
	if err := b.Tiers.Check(); err != nil {
		return err
	}
	if b.League != nil {
		if err := b.League.Check(); err != nil {
			return err
		}
		if b.Period == PeriodNone {
			return Invalid("league", "a league needs a period, at the end of which players move")
		}
	}
	if b.Appearance != nil {
		if err := b.Appearance.Normalize(); err != nil {
			return err
		}
	}
	if b.Team != nil {
		if err := b.Team.Check(); err != nil {
			return err
		}
		if b.Period != PeriodNone {
			return Invalid("period", "a board of teams has no periods")
		}
		if b.HasSubscores() {
			return Invalid("subscore", "a board of teams has no subscores")
		}
	}
	return b.checkBounds()
}

func (b *Board) checkSchedule() error {
	if b.Period != PeriodCron {
		if b.Schedule != "" {
			return Invalid("schedule", "schedule is for period=cron")
		}
		return nil
	}
	schedule, err := ParseSchedule(b.Schedule)
	if err != nil {
		return err
	}
	return schedule.Check()
}

// CheckPartitions validates the number of partitions of a board's ranking.
func CheckPartitions(n int) error {
	if n < 1 || n > MaxPartitions {
		return Invalid("partitions", "partitions must be 1 to %d", MaxPartitions)
	}
	return nil
}

// BoundsChange is a change of a board's bounds. What is nil stays as it is.
type BoundsChange struct {
	MinDelta, MaxDelta, MinScore, MaxScore, MinSubscore, MaxSubscore, Attempts *int64
}

// Apply changes the bounds of a board. It returns an invalid_request if they are not valid,
// and reports whether they differ from those before.
func (c *BoundsChange) Apply(b *Board) (changed bool, err error) {
	if b.Team != nil {
		return false, Invalid("min_delta", "a board of teams takes no increments, so it has no bounds")
	}
	for to, value := range map[*int64]*int64{
		&b.MinDelta: c.MinDelta, &b.MaxDelta: c.MaxDelta,
		(*int64)(&b.MinScore): c.MinScore, (*int64)(&b.MaxScore): c.MaxScore, &b.Attempts: c.Attempts,
		(*int64)(&b.MinSubscore): c.MinSubscore, (*int64)(&b.MaxSubscore): c.MaxSubscore,
	} {
		if value != nil && *value != *to {
			*to, changed = *value, true
		}
	}
	return changed, b.checkBounds()
}

func (b *Board) checkBounds() error {
	if err := CheckAttempts(b.Attempts); err != nil {
		return err
	}
	if !b.HasSubscores() && (b.MinSubscore != 0 || b.MaxSubscore != 0) {
		return Invalid("min_subscore", "the board has no subscores")
	}
	for _, bounds := range []struct {
		name     string
		min, max int64
	}{
		{"delta", b.MinDelta, b.MaxDelta},
		{"score", int64(b.MinScore), int64(b.MaxScore)},
		{"subscore", int64(b.MinSubscore), int64(b.MaxSubscore)},
	} {
		if !Score(bounds.min).InRange() || !Score(bounds.max).InRange() {
			return Invalid("max_"+bounds.name, "bounds must be within ±(2^53 − 1)")
		}
		if bounds.min > bounds.max {
			return Invalid("min_"+bounds.name, "min_%s must not be above max_%s", bounds.name, bounds.name)
		}
	}
	if b.Mode == ModeIncrement && b.MinDelta == 0 && b.MaxDelta == 0 {
		return Invalid("max_delta", "min_delta and max_delta must not both be 0 on an increment board")
	}
	return nil
}

// CheckDelta validates a delta submitted to b with a subscore, nil for none: 0 is an
// invalid_request on increment boards, unless a subscore is added; a delta or a subscore outside
// the bounds is a delta_out_of_range, and any on a board of teams a rule_violated.
func (b *Board) CheckDelta(delta int64, subscore *Score) error {
	if err := b.CheckUsers(); err != nil {
		return err
	}
	if delta == 0 && b.Mode == ModeIncrement && (!b.HasSubscores() || subscore == nil || *subscore == 0) {
		return Invalid("delta", "delta must not be 0")
	}
	if delta < b.MinDelta || delta > b.MaxDelta {
		return &Error{
			Code: wire.CodeDeltaOutOfRange, Field: "delta", Reason: wire.ReasonBoardBounds,
			Message: fmt.Sprintf("delta is outside the bounds of the board, %d to %d", b.MinDelta, b.MaxDelta),
		}
	}
	if subscore == nil {
		return b.CheckSubscore(0)
	}
	return b.CheckSubscore(*subscore)
}

// CheckUsers returns a rule_violated for a board of teams, whose scores nobody submits.
func (b *Board) CheckUsers() error {
	if b.Team == nil {
		return nil
	}
	return Errorf(wire.CodeRuleViolated, "board %s ranks teams; submit to board %s, from which its scores are computed",
		b.ID, b.Team.Source)
}
