package scoreboard

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Schedule is when the periods of a board begin, as five fields of cron: minute, hour, day of
// the month, month and day of the week. Periods last a day to a year, so it has one time of day.
type Schedule struct {
	minutes, hours, days, months, weekdays uint64 // the bits of the values that match
	// either is whether a day matches by its number or by its weekday, because both are
	// restricted; otherwise by both.
	either bool
}

// maxSchedule is the maximum length of a schedule's text.
const maxSchedule = 100

// scheduleField is what one of the five fields takes.
type scheduleField struct {
	name     string
	min, max int
	names    []string // of the values from min
}

var scheduleFields = [5]scheduleField{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of the month", 1, 31, nil},
	{"month", 1, 12, []string{
		"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
	}},
	{"day of the week", 0, 7, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun"}}, // 7 is Sunday, too
}

// ParseSchedule parses five fields of cron with one space between them, as CleanSchedule
// returns them. It does not check how long the periods are.
func ParseSchedule(text string) (s Schedule, err error) {
	fields := strings.Split(text, " ")
	if len(fields) != len(scheduleFields) || len(text) > maxSchedule {
		return s, Invalid("schedule", "schedule must be five fields of cron (minute, hour, day of the month, "+
			"month, day of the week), such as 0 18 * * fri")
	}
	for i, to := range []*uint64{&s.minutes, &s.hours, &s.days, &s.months, &s.weekdays} {
		if *to, err = scheduleFields[i].parse(fields[i]); err != nil {
			return s, err
		}
	}
	s.weekdays = s.weekdays&0x7f | s.weekdays>>7 // 7 is 0
	s.either = !strings.HasPrefix(fields[2], "*") && !strings.HasPrefix(fields[4], "*")
	return s, nil
}

// CleanSchedule returns the text of a schedule in lower case and with one space between its
// fields.
func CleanSchedule(text string) string {
	return strings.ToLower(strings.Join(strings.Fields(text), " "))
}

// parse returns the values of a list of values, ranges and steps.
func (f *scheduleField) parse(text string) (values uint64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		bounds, step, stepped := strings.Cut(part, "/")
		first, last, ranged := strings.Cut(bounds, "-")
		from, to, by := f.min, f.max, 1
		if bounds != "*" {
			var ok bool
			if from, ok = f.value(first); !ok {
				return 0, f.invalid(part)
			}
			switch {
			case ranged:
				if to, ok = f.value(last); !ok {
					return 0, f.invalid(part)
				}
				if to == 0 && last == "sun" { // a week that ends on Sunday
					to = 7
				}
			case !stepped:
				to = from
			}
		}
		if stepped {
			n, err := strconv.ParseUint(step, 10, 8)
			if err != nil || n == 0 || int(n) > f.max {
				return 0, f.invalid(part)
			}
			by = int(n)
		}
		if from > to {
			return 0, f.invalid(part)
		}
		for v := from; v <= to; v += by {
			values |= 1 << v
		}
	}
	return values, nil
}

func (f *scheduleField) invalid(part string) error {
	hint := ""
	if f.names != nil {
		hint = " or " + f.names[0] + " to " + f.names[len(f.names)-1]
		if f.max == 7 {
			hint = " or a name such as mon"
		}
	}
	return Invalid("schedule",
		"schedule has the %s %.40q; it takes %d to %d%s, lists (1,2), ranges (1-5) and steps (*/2)",
		f.name, part, f.min, f.max, hint)
}

// value returns the value of a number or a name.
func (f *scheduleField) value(text string) (int, bool) {
	for i, name := range f.names {
		if text == name {
			return f.min + i, true
		}
	}
	n, err := strconv.ParseUint(text, 10, 8)
	return int(n), err == nil && len(text) <= 2 && int(n) >= f.min && int(n) <= f.max
}

const (
	maxPeriodDays = 366
	// The calendar repeats after 400 years, with its weekdays.
	calendarCycle = 146097
)

// Check returns an invalid_request if a period is shorter than a day or longer than a year by
// the calendar, whenever it begins.
func (s Schedule) Check() error {
	if bits.OnesCount64(s.minutes) != 1 || bits.OnesCount64(s.hours) != 1 {
		return Invalid("schedule", "schedule must have one minute and one hour: a period lasts at least a day")
	}
	first, last, longest, from := -1, 0, 0, 0
	for i := range calendarCycle {
		if !s.matches(scheduleDay(2000, time.January, 1+i)) {
			continue
		}
		if first < 0 {
			first = i
		} else if i-last > longest {
			longest, from = i-last, last
		}
		last = i
	}
	if first < 0 {
		return Invalid("schedule", "schedule matches no day")
	}
	if first+calendarCycle-last > longest {
		longest, from = first+calendarCycle-last, last
	}
	if longest > maxPeriodDays {
		day := scheduleDay(2000, time.January, 1+from).Format(time.DateOnly)
		return Invalid("schedule", "a period lasts at most a year; the one from %s would last %d days", day, longest)
	}
	return nil
}

// scheduleDay is a date, not an instant.
func scheduleDay(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 12, 0, 0, 0, time.UTC)
}

func (s Schedule) matches(day time.Time) bool {
	date := s.days>>day.Day()&1 != 0
	weekday := s.weekdays>>int(day.Weekday())&1 != 0
	return s.months>>int(day.Month())&1 != 0 && (date && weekday || s.either && (date || weekday))
}

// at returns when a period begins on a day that matches: when the clocks of a zone first show
// the time or a later one.
func (s Schedule) at(day time.Time, zone *time.Location) time.Time {
	return firstShown(day.Year(), day.Month(), day.Day(),
		bits.TrailingZeros64(s.hours), bits.TrailingZeros64(s.minutes), zone)
}

// span returns the period that contains t. Its name is its start in UTC.
func (s Schedule) span(t time.Time, zone *time.Location) (Span, error) {
	year, month, date := t.In(zone).Date()
	day := scheduleDay(year, month, date+1) // if the clocks have gone back over midnight
	for n := 0; !s.matches(day) || s.at(day, zone).After(t); n++ {
		if n > 2*maxPeriodDays { // Check allows no such schedule
			return Span{}, fmt.Errorf("no period of the schedule contains %s", t)
		}
		day = day.AddDate(0, 0, -1)
	}
	start := s.at(day, zone)
	// Several days can begin at the same instant, if the clocks skip a day.
	for n := 0; !s.matches(day) || !s.at(day, zone).After(t); n++ {
		if n > 2*maxPeriodDays {
			return Span{}, fmt.Errorf("the period of %s never ends", t)
		}
		day = day.AddDate(0, 0, 1)
	}
	return Span{start.Format("2006-01-02t1504z"), start, s.at(day, zone)}, nil
}

// Resets returns the next n times at which a period of b begins; none for a board without a
// calendar.
func (b *Board) Resets(now time.Time, n int) ([]time.Time, error) {
	if b.Period == PeriodNone || b.Period == PeriodSeason {
		return nil, nil
	}
	resets := make([]time.Time, 0, n)
	for range n {
		span, err := b.SpanAt(now)
		if err != nil {
			return nil, err
		}
		now = span.End
		resets = append(resets, now)
	}
	return resets, nil
}
