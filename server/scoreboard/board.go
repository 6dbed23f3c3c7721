package scoreboard

import (
	"strings"
	"time"
)

// BoardID names a board: [a-z0-9][a-z0-9_.-]{0,47}, or an instance of a
// periodic board after a colon, such as daily:2026-11-21.
type BoardID string

// GlobalBoard is the board that a request without one means.
const GlobalBoard BoardID = "global"

// MaxBoardNameLength is the longest board name, without an instance suffix.
const MaxBoardNameLength = 48

// MaxBoards is the most boards that one event may feed.
const MaxBoards = 10

// ParseBoardID checks a board name or instance name.
func ParseBoardID(s string) (BoardID, error) {
	family, instance, isInstance := strings.Cut(s, ":")
	if !isBoardName(family) || isInstance && !isBoardName(instance) {
		return "", Invalid("board", "board must be [a-z0-9][a-z0-9_.-]{0,47}")
	}
	return BoardID(s), nil
}

// IsInstance reports whether the name is that of one period of a board.
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

// Mode says what a submitted delta does to a score.
type Mode string

const (
	ModeIncrement Mode = "increment" // adds the delta
	ModeBest      Mode = "best"      // the delta is a score, kept if better
	ModeLatest    Mode = "latest"    // the delta is a score, kept
)

// Order says which end of a board is first.
type Order string

const (
	OrderHighest Order = "highest"
	OrderLowest  Order = "lowest"
)

// Status says whether a board takes writes.
type Status string

const (
	StatusActive   Status = "active"
	StatusFrozen   Status = "frozen"   // writes are board_closed, reads stay
	StatusArchived Status = "archived" // out of the ranking, readable from the store
)

// Board is one ranking and its rules.
type Board struct {
	ID       BoardID
	Family   BoardID // what an instance is an instance of; ID itself otherwise
	Mode     Mode
	Order    Order
	Status   Status
	MinDelta int64
	MaxDelta int64
	MinScore Score
	MaxScore Score
	Public   bool
	Region   string // a label, such as eu; empty: everywhere
	Created  time.Time

	Period    Period
	TimeZone  string       // whose midnight ends a period
	WeekStart time.Weekday // of weekly boards
	// Of an instance, zero otherwise.
	PeriodStart, PeriodEnd time.Time
	Closed                 time.Time // when its standings became final
}

// IsFamily reports whether b itself holds no scores, but its instances do.
func (b *Board) IsFamily() bool { return b.Period != PeriodNone && b.ID == b.Family }

// Span is the period of an instance.
func (b *Board) Span() Span {
	_, name, _ := strings.Cut(string(b.ID), ":")
	return Span{name, b.PeriodStart, b.PeriodEnd}
}

// Key is the score in the direction of the board: the smaller key is the
// better standing. Both stores rank by it.
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

// CheckDelta says whether an increment's delta may be submitted to b. On
// increment boards 0 is an invalid_request; outside the bounds it is a
// delta_out_of_range.
func (b *Board) CheckDelta(delta int64) error {
	if delta == 0 && b.Mode == ModeIncrement {
		return Invalid("delta", "delta must not be 0")
	}
	if delta < b.MinDelta || delta > b.MaxDelta {
		return &Error{
			Code: CodeDeltaOutOfRange, Field: "delta",
			Message: "delta is outside the bounds of the board",
		}
	}
	return nil
}

// Next returns the score after delta, given whether the user had one. Beyond
// the board's bounds it is a score_out_of_range.
func (b *Board) Next(previous Score, had bool, delta int64) (Score, error) {
	next := Score(delta)
	switch b.Mode {
	case ModeIncrement:
		next = previous + Score(delta) // both within ±2^53, no overflow
	case ModeBest:
		if had && b.Order.Key(next) >= b.Order.Key(previous) {
			next = previous
		}
	case ModeLatest:
	}
	if next < b.MinScore || next > b.MaxScore || !next.InRange() {
		return 0, &Error{
			Code: CodeScoreOutOfRange, Field: "delta",
			Message: "the score would leave the bounds of the board",
		}
	}
	return next, nil
}
