package scoreboard

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

func TestSpans(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		about            string
		period           Period
		zone             string
		week             time.Weekday
		at               string
		name, start, end string
	}{
		{
			"day", PeriodDaily, "UTC", 1,
			"2026-11-21T23:59:59.999999Z", "2026-11-21", "2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z",
		},
		{
			"first instant of a day", PeriodDaily, "UTC", 1,
			"2026-11-21T00:00:00Z", "2026-11-21", "2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z",
		},
		{
			"next day east of Greenwich", PeriodDaily, "Asia/Tokyo", 1,
			"2026-11-21T15:00:00Z", "2026-11-22", "2026-11-21T15:00:00Z", "2026-11-22T15:00:00Z",
		},
		{
			"offset of 45 minutes", PeriodDaily, "Asia/Kathmandu", 1,
			"2026-11-21T18:14:59Z", "2026-11-21", "2026-11-20T18:15:00Z", "2026-11-21T18:15:00Z",
		},
		{
			"day of 23 hours", PeriodDaily, "Europe/Berlin", 1,
			"2026-03-29T12:00:00Z", "2026-03-29", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z",
		},
		{
			"day of 25 hours", PeriodDaily, "Europe/Berlin", 1,
			"2026-10-25T12:00:00Z", "2026-10-25", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z",
		},
		{
			"clock change of half an hour", PeriodDaily, "Australia/Lord_Howe", 1,
			"2026-04-04T20:00:00Z", "2026-04-05", "2026-04-04T13:00:00Z", "2026-04-05T13:30:00Z",
		},
		{
			"midnight occurs twice: the first", PeriodDaily, "America/Havana", 1,
			"2026-11-01T04:30:00Z", "2026-11-01", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z",
		},
		{
			"no midnight: the day begins at 01:00", PeriodDaily, "America/Havana", 1,
			"2026-03-08T05:00:00Z", "2026-03-08", "2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z",
		},
		{
			"before a skipped day", PeriodDaily, "Pacific/Apia", 1,
			"2011-12-30T09:59:59Z", "2011-12-29", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z",
		},
		{
			"after a skipped day", PeriodDaily, "Pacific/Apia", 1,
			"2011-12-30T10:00:00Z", "2011-12-31", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z",
		},
		{
			"leap day", PeriodDaily, "UTC", 1,
			"2028-02-29T12:00:00Z", "2028-02-29", "2028-02-29T00:00:00Z", "2028-03-01T00:00:00Z",
		},
		{
			"ISO week", PeriodWeekly, "UTC", time.Monday,
			"2026-11-21T12:00:00Z", "2026-w47", "2026-11-16T00:00:00Z", "2026-11-23T00:00:00Z",
		},
		{
			"Sunday of an ISO week", PeriodWeekly, "UTC", time.Monday,
			"2026-11-22T23:59:59Z", "2026-w47", "2026-11-16T00:00:00Z", "2026-11-23T00:00:00Z",
		},
		{
			"week of the next year", PeriodWeekly, "UTC", time.Monday,
			"2024-12-30T00:00:00Z", "2025-w01", "2024-12-30T00:00:00Z", "2025-01-06T00:00:00Z",
		},
		{
			"53rd week", PeriodWeekly, "UTC", time.Monday,
			"2027-01-03T12:00:00Z", "2026-w53", "2026-12-28T00:00:00Z", "2027-01-04T00:00:00Z",
		},
		{
			"week from Sunday", PeriodWeekly, "UTC", time.Sunday,
			"2026-11-22T00:00:00Z", "2026-w48", "2026-11-22T00:00:00Z", "2026-11-29T00:00:00Z",
		},
		{
			"week from Saturday", PeriodWeekly, "UTC", time.Saturday,
			"2026-11-20T12:00:00Z", "2026-w47", "2026-11-14T00:00:00Z", "2026-11-21T00:00:00Z",
		},
		{
			"week of 167 hours", PeriodWeekly, "Europe/Berlin", time.Monday,
			"2026-03-25T12:00:00Z", "2026-w13", "2026-03-22T23:00:00Z", "2026-03-29T22:00:00Z",
		},
		{
			"month", PeriodMonthly, "America/New_York", 1,
			"2026-11-21T12:00:00Z", "2026-11", "2026-11-01T04:00:00Z", "2026-12-01T05:00:00Z",
		},
		{
			"December", PeriodMonthly, "UTC", 1,
			"2026-12-31T23:59:59Z", "2026-12", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z",
		},
	} {
		b := &Board{ID: "b", Period: c.period, TimeZone: c.zone, WeekStart: c.week}
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		s, err := b.SpanAt(at)
		if err != nil {
			t.Errorf("%s: %v", c.about, err)
			continue
		}
		if got := s.Start.Format(time.RFC3339); s.Name != c.name || got != c.start ||
			s.End.Format(time.RFC3339) != c.end {
			t.Errorf(
				"%s: got %s from %s to %s, want %s from %s to %s",
				c.about, s.Name, got, s.End.Format(time.RFC3339), c.name, c.start, c.end,
			)
		}
		if !s.Contains(at) {
			t.Errorf("%s: %s is not in its span", c.about, c.at)
		}
	}
}

// In any zone, spans follow each other without a gap, every instant is in one span,
// and a day begins with the first instant of its date.
func TestSpansHaveNoGaps(t *testing.T) {
	t.Parallel()
	zones := []string{
		"UTC",
		"Europe/Berlin",
		"America/New_York",
		"America/Havana",
		"America/Sao_Paulo",
		"America/St_Johns",
		"Asia/Beirut",
		"Asia/Tehran",
		"Asia/Gaza",
		"Africa/Cairo",
		"Africa/Casablanca",
		"Australia/Lord_Howe",
		"Antarctica/Troll",
		"Pacific/Apia",
		"Pacific/Chatham",
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		name := zones[random.IntN(len(zones))]
		zone, err := Zone(name)
		if err != nil {
			t.Fatal(err)
		}
		b := &Board{
			ID: "b", TimeZone: name, WeekStart: time.Weekday(random.IntN(7)),
			Period: []Period{PeriodDaily, PeriodWeekly, PeriodMonthly}[random.IntN(3)],
		}
		at := time.Unix(1_000_000_000+random.Int64N(1_200_000_000), 0).UTC()
		s, err := b.SpanAt(at)
		if err != nil {
			t.Fatal(err)
		}
		next, err := b.SpanAt(s.End)
		if err != nil {
			t.Fatal(err)
		}
		if !s.Contains(at) || !next.Start.Equal(s.End) || next.Name <= s.Name {
			t.Fatalf("%s %s at %s: %+v, then %+v", name, b.Period, at, s, next)
		}
		day := func(t time.Time) string { return t.In(zone).Format("2006-01-02") }
		if day(s.Start.Add(-time.Second)) >= day(s.Start) {
			t.Fatalf("%s: at %s the date was already %s", name, s.Start.Add(-time.Second), day(s.Start))
		}
		if again, _ := b.SpanAt(s.End.Add(-time.Nanosecond)); again != s {
			t.Fatalf("%s %s: %+v ends as %+v", name, b.Period, s, again)
		}
	}
}

func TestZoneRejectsUnknownNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"", "Local", "local", "Mars/Olympus", "../../etc/passwd", "/etc/localtime", "Europe/Berlin\x00", "UTC+1",
		"europe/", " UTC",
	} {
		if _, err := Zone(name); wire.CodeOf(err) != wire.CodeInvalidRequest {
			t.Errorf("%q: got %v, want an invalid_request", name, err)
		}
	}
}
