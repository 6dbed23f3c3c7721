package scoreboard

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // board time zones must work on every machine
)

// Period is how often a board restarts.
type Period string

const (
	PeriodNone    Period = "none" // all-time
	PeriodDaily   Period = "daily"
	PeriodWeekly  Period = "weekly"
	PeriodMonthly Period = "monthly"
	PeriodSeason  Period = "season" // named, with explicit bounds
	PeriodCron    Period = "cron"   // by a Schedule
)

// Span is one period of a board, from Start up to but excluding End.
type Span struct {
	// The instance name after the colon: 2026-11-21, 2026-w47, 2026-11, 2026-11-21t1800z, or a
	// season's.
	Name       string
	Start, End time.Time
}

// Contains reports whether t is in the span.
func (s Span) Contains(t time.Time) bool { return !t.Before(s.Start) && t.Before(s.End) }

// Instance returns the name of the instance of b for a period.
func (b BoardID) Instance(s Span) BoardID { return b + ":" + BoardID(s.Name) }

// SpanAt returns the calendar period of b that contains t. A day begins when the
// clocks of the board's zone first show its date, so with daylight saving time it
// has 23 to 25 hours; a period of a schedule begins when they first show its time. It fails
// for a board without a calendar.
func (b *Board) SpanAt(t time.Time) (Span, error) {
	zone, err := Zone(b.TimeZone)
	if err != nil {
		return Span{}, err
	}
	year, month, day := t.In(zone).Date()
	var name string
	var days int
	var months time.Month
	switch b.Period {
	case PeriodDaily:
		name = fmt.Sprintf("%04d-%02d-%02d", year, month, day)
		days = 1
	case PeriodWeekly:
		noon := time.Date(year, month, day, 12, 0, 0, 0, time.UTC) // a date, not an instant
		day -= (int(noon.Weekday()) - int(b.WeekStart) + 7) % 7
		// The fourth day determines the ISO week: by definition for weeks that
		// start on Monday, for others as the week that shares most days.
		y, w := time.Date(year, month, day+3, 12, 0, 0, 0, time.UTC).ISOWeek()
		name = fmt.Sprintf("%04d-w%02d", y, w)
		days = 7
	case PeriodMonthly:
		name = fmt.Sprintf("%04d-%02d", year, month)
		day, months = 1, 1
	case PeriodCron:
		schedule, err := ParseSchedule(b.Schedule)
		if err != nil {
			return Span{}, err
		}
		return schedule.span(t, zone)
	default:
		return Span{}, fmt.Errorf("board %s has no calendar", b.ID)
	}
	return Span{name, dayStart(year, month, day, zone), dayStart(year, month+months, day+days, zone)}, nil
}

// dayStart returns the first instant at which the clocks of a zone show a date, or
// a later date if they skip it.
func dayStart(year int, month time.Month, day int, zone *time.Location) time.Time {
	return firstShown(year, month, day, 0, 0, zone)
}

// firstShown returns the first instant at which the clocks of a zone show a time, or a
// later one if they skip it.
func firstShown(year int, month time.Month, day, hour, minute int, zone *time.Location) time.Time {
	shown := time.Date(year, month, day, hour, minute, 0, 0, time.UTC) // the local time to find
	// The offset changes at most once within a day of that time, so the result is the
	// time by the offset before the change, the change itself, or the time by the offset
	// after it.
	near := time.Date(year, month, day, hour, minute, 0, 0, zone)
	from, to := near.Add(-26*time.Hour), near.Add(26*time.Hour)
	_, before := from.Zone()
	if _, change := from.ZoneBounds(); !change.IsZero() && change.Before(to) {
		_, after := change.Zone()
		t := shown.Add(-time.Duration(before) * time.Second)
		switch {
		case t.Before(change):
			return t.UTC()
		case shown.Add(-time.Duration(after) * time.Second).Before(change):
			return change.UTC() // the clocks skip the time
		}
		before = after
	}
	return shown.Add(-time.Duration(before) * time.Second).UTC()
}

// Zone returns the time zone of an IANA name, such as Europe/Berlin.
func Zone(name string) (*time.Location, error) {
	if name == "" || name == "Local" { // for time.LoadLocation these are UTC and the local zone
		return nil, Invalid("time_zone", "time_zone must be an IANA name, such as Europe/Berlin")
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, Invalid("time_zone", "unknown time zone %.64q", name)
	}
	return zone, nil
}

// ParsePeriod parses the name of a period; "" is none.
func ParsePeriod(s string) (Period, error) {
	switch p := Period(s); p {
	case "":
		return PeriodNone, nil
	case PeriodNone, PeriodDaily, PeriodWeekly, PeriodMonthly, PeriodSeason, PeriodCron:
		return p, nil
	}
	return "", Invalid("period", "period must be none, daily, weekly, monthly, season or cron")
}

// ParseWeekday parses the English name of a day; "" is Monday.
func ParseWeekday(s string) (time.Weekday, error) {
	if s == "" {
		return time.Monday, nil
	}
	for d := time.Sunday; d <= time.Saturday; d++ {
		if strings.EqualFold(d.String(), s) {
			return d, nil
		}
	}
	return 0, Invalid("week_start",
		"week_start must be monday, tuesday, wednesday, thursday, friday, saturday or sunday")
}

// EndedPeriod is a period that has ended.
type EndedPeriod struct {
	Board Board
	Users int64   // in its final standings, once sealed
	Top   []Entry // the first ten, once sealed
}

// EventID is the event id of the announcement that the period has closed. It is
// the same for every repetition.
func (e *EndedPeriod) EventID() EventID {
	text := "season.closed:" + string(e.Board.ID)
	return EventID{UUID: nameUUID("", text), Text: text}
}

// StandingsVersion is the format of the hash of standings that are sealed now: SHA-256 over
// the leaves of the rows in the order of their ranks, each in hex and ended by a newline.
const StandingsVersion = 2

// SubscoreStandingsVersion is that of boards with subscores: leaves have the subscore after the score.
const SubscoreStandingsVersion = 3

// SealVersion returns the format of the hash of the standings of b, once they are sealed.
func (b *Board) SealVersion() int {
	if b.HasSubscores() {
		return SubscoreStandingsVersion
	}
	return StandingsVersion
}

// FinalStanding is a row of final standings.
type FinalStanding struct {
	Entry
	// Ordinal is the rank in the order of the board, of which each row has another one, where Rank
	// may be shared.
	Ordinal   int64
	Key       int64
	SubKey    int64
	ReachedAt time.Time
	// Salt is a part of what Leaf hashes, 128 random bits in hex. All else but the user is
	// public, so without a salt anyone could try ids until the leaf matches. "" if the user is
	// erased.
	Salt string
	Leaf string // in hex
	// Metadata is that of the score, in exports only: no hash covers it.
	Metadata Metadata
}

// NewSalt returns a random salt of 128 bits in hex.
func NewSalt() string {
	var salt [16]byte
	_, _ = rand.Read(salt[:]) // it never fails
	return hex.EncodeToString(salt[:])
}

// HashLeaf returns what Leaf must be: SHA-256 in hex over rank, user, score, the time it was
// reached in Unix microseconds, and the salt, separated by tabs and ended by a newline. On a board
// with subscores, the subscore follows the score.
func (s *FinalStanding) HashLeaf(b *Board) string {
	leaf := fmt.Appendf(nil, "%d\t%s\t%d\t", s.Rank, s.ID(), s.Score)
	if b.HasSubscores() {
		leaf = fmt.Appendf(leaf, "%d\t", s.Subscore)
	}
	sum := sha256.Sum256(fmt.Appendf(leaf, "%d\t%s\n", s.ReachedAt.UnixMicro(), s.Salt))
	return hex.EncodeToString(sum[:])
}

// DuePeriod is a period that has ended with final standings, from which something is still to be done.
type DuePeriod struct {
	Board BoardID       // the instance
	Since time.Duration // since its end
}
