package scoreboard

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // the zones of boards must be there on every machine
)

// Period says how often a board begins anew.
type Period string

const (
	PeriodNone    Period = "none" // all-time
	PeriodDaily   Period = "daily"
	PeriodWeekly  Period = "weekly"
	PeriodMonthly Period = "monthly"
	PeriodSeason  Period = "season" // named, from when to when somebody says
)

// Span is one period of a board: from Start, to before End.
type Span struct {
	Name       string // behind the colon of the instance: 2026-11-21, 2026-w47, 2026-11, or a season's
	Start, End time.Time
}

// Contains says whether t lies in the span.
func (s Span) Contains(t time.Time) bool { return !t.Before(s.Start) && t.Before(s.End) }

// Instance names the period of a board that s is.
func (b BoardID) Instance(s Span) BoardID { return b + ":" + BoardID(s.Name) }

// SpanAt returns the period of b's calendar that t lies in. Days begin when the
// clocks of the board's zone first show the date: they have 23 to 25 hours
// where those are changed. A board without a calendar has none.
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
		noon := time.Date(year, month, day, 12, 0, 0, 0, time.UTC) // a date, no instant
		day -= (int(noon.Weekday()) - int(b.WeekStart) + 7) % 7
		// The fourth day says which ISO week this is: of a week from Monday to
		// Sunday by definition, of another the one that it shares most days with.
		y, w := time.Date(year, month, day+3, 12, 0, 0, 0, time.UTC).ISOWeek()
		name = fmt.Sprintf("%04d-w%02d", y, w)
		days = 7
	case PeriodMonthly:
		name = fmt.Sprintf("%04d-%02d", year, month)
		day, months = 1, 1
	default:
		return Span{}, fmt.Errorf("board %s has no calendar", b.ID)
	}
	return Span{name, dayStart(year, month, day, zone), dayStart(year, month+months, day+days, zone)}, nil
}

// dayStart is the first instant at which the clocks of a zone show a date, or
// a later one where they skip it.
func dayStart(year int, month time.Month, day int, zone *time.Location) time.Time {
	midnight := time.Date(year, month, day, 0, 0, 0, 0, time.UTC) // what the clocks are to show
	// Within a day of an instant near midnight the clocks are changed once at
	// most, so it is the first of these that fits: midnight by the offset that
	// holds before the change, or the change itself.
	near := time.Date(year, month, day, 0, 0, 0, 0, zone)
	from, to := near.Add(-26*time.Hour), near.Add(26*time.Hour)
	_, before := from.Zone()
	if _, change := from.ZoneBounds(); !change.IsZero() && change.Before(to) {
		_, after := change.Zone()
		t := midnight.Add(-time.Duration(before) * time.Second)
		switch {
		case t.Before(change):
			return t.UTC()
		case midnight.Add(-time.Duration(after) * time.Second).Before(change):
			return change.UTC() // they jump over midnight
		}
		before = after
	}
	return midnight.Add(-time.Duration(before) * time.Second).UTC()
}

// Zone returns the time zone of an IANA name, such as Europe/Berlin.
func Zone(name string) (*time.Location, error) {
	if name == "" || name == "Local" { // to Go these are UTC and this machine's
		return nil, Invalid("time_zone", "time_zone must be an IANA name, such as Europe/Berlin")
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, Invalid("time_zone", "there is no time zone %.64q", name)
	}
	return zone, nil
}

// ParsePeriod takes the name of a period; "" is none.
func ParsePeriod(s string) (Period, error) {
	switch p := Period(s); p {
	case "":
		return PeriodNone, nil
	case PeriodNone, PeriodDaily, PeriodWeekly, PeriodMonthly, PeriodSeason:
		return p, nil
	}
	return "", Invalid("period", "period must be none, daily, weekly, monthly or season")
}

// ParseWeekday takes a day's English name; "" is Monday.
func ParseWeekday(s string) (time.Weekday, error) {
	if s == "" {
		return time.Monday, nil
	}
	for d := time.Sunday; d <= time.Saturday; d++ {
		if strings.EqualFold(d.String(), s) {
			return d, nil
		}
	}
	return 0, Invalid("week_start", "week_start must be the name of a day, such as monday")
}
