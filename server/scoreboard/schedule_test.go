package scoreboard

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

func TestSchedules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		about, schedule, zone, at string
		resets                    []string
	}{
		{
			"a name", "0 18 * * fri", "UTC", "2026-11-21T12:00:00Z",
			[]string{"2026-11-27T18:00:00Z", "2026-12-04T18:00:00Z"},
		},
		{
			"exactly at a reset", "0 18 * * 5", "UTC", "2026-11-27T18:00:00Z",
			[]string{"2026-12-04T18:00:00Z"},
		},
		{
			"in a zone", "30 9 * * mon,thu", "Asia/Kathmandu", "2026-11-21T12:00:00Z",
			[]string{"2026-11-23T03:45:00Z", "2026-11-26T03:45:00Z", "2026-11-30T03:45:00Z"},
		},
		{
			"a time in the gap: the first instant after", "30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z",
			[]string{"2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"},
		},
		{
			"a time that is shown twice: the first", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z",
			[]string{"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
		},
		{
			"after the time that is shown twice", "30 3 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z",
			[]string{"2026-10-25T02:30:00Z", "2026-10-26T02:30:00Z"},
		},
		{
			"a skipped day", "0 12 * * *", "Pacific/Apia", "2011-12-29T12:00:00Z",
			[]string{"2011-12-29T22:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z"},
		},
		{
			"either day", "0 0 13 * fri", "UTC", "2026-11-08T00:00:00Z",
			[]string{
				"2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z", "2026-11-27T00:00:00Z", "2026-12-04T00:00:00Z",
				"2026-12-11T00:00:00Z", "2026-12-13T00:00:00Z",
			},
		},
		{
			"a star restricts nothing, with a step neither", "0 0 */2 * sun", "UTC", "2026-11-01T00:00:00Z",
			[]string{"2026-11-15T00:00:00Z", "2026-11-29T00:00:00Z", "2026-12-13T00:00:00Z"},
		},
		{
			"every quarter", "0 6 1 */3 *", "UTC", "2026-11-21T12:00:00Z",
			[]string{"2027-01-01T06:00:00Z", "2027-04-01T06:00:00Z"},
		},
		{
			"a leap day", "0 0 28-29 feb *", "UTC", "2027-11-21T12:00:00Z",
			[]string{"2028-02-28T00:00:00Z", "2028-02-29T00:00:00Z", "2029-02-28T00:00:00Z"},
		},
		{
			"steps and Sunday as 7", "0 0 * * 3-7/2", "UTC", "2026-11-21T12:00:00Z",
			[]string{"2026-11-22T00:00:00Z", "2026-11-25T00:00:00Z", "2026-11-27T00:00:00Z", "2026-11-29T00:00:00Z"},
		},
		{
			"a weekend", "0 0 * * SAT-SUN", "UTC", "2026-11-23T12:00:00Z",
			[]string{"2026-11-28T00:00:00Z", "2026-11-29T00:00:00Z", "2026-12-05T00:00:00Z"},
		},
		{
			"a value with a step", "0 0 10/10 * *", "UTC", "2026-11-21T12:00:00Z",
			[]string{"2026-11-30T00:00:00Z", "2026-12-10T00:00:00Z", "2026-12-20T00:00:00Z", "2026-12-30T00:00:00Z"},
		},
	} {
		b := &Board{
			ID: "b", Mode: ModeBest, Order: OrderHighest, Period: PeriodCron, Schedule: CleanSchedule(c.schedule),
			TimeZone: c.zone, WeekStart: time.Monday,
		}
		at, err := time.Parse(time.RFC3339, c.at)
		if err == nil {
			err = b.Check()
		}
		if err != nil {
			t.Errorf("%s: %v", c.about, err)
			continue
		}
		resets, err := b.Resets(at, len(c.resets))
		if err != nil {
			t.Errorf("%s: %v", c.about, err)
		}
		var got []string
		for _, at := range resets {
			got = append(got, at.Format(time.RFC3339))
		}
		if !slices.Equal(got, c.resets) {
			t.Errorf("%s: got %v, want %v", c.about, got, c.resets)
		}
	}
}

func TestScheduleNamesPeriods(t *testing.T) {
	t.Parallel()
	b := &Board{ID: "friday", Period: PeriodCron, Schedule: "0 18 * * fri", TimeZone: "Europe/Berlin"}
	span, err := b.SpanAt(time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC))
	if id := b.ID.Instance(span); err != nil || id != "friday:2026-11-27t1700z" {
		t.Errorf("got %s, %v", id, err)
	}
	if _, err := ParseBoardID(string(b.ID.Instance(span))); err != nil {
		t.Error(err)
	}
}

func TestWrongSchedules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ schedule, message string }{
		{"", "five fields"},
		{"@daily", "five fields"},
		{"0 0 * *", "five fields"},
		{"0 0 * * * *", "five fields"},
		{"0 0 * * " + strings.Repeat("1,", 60) + "1", "five fields"},
		{"60 0 * * *", `minute "60"`},
		{"-1 0 * * *", `minute "-1"`},
		{"0 24 * * *", `hour "24"`},
		{"0 0 0 * *", `day of the month "0"`},
		{"0 0 32 * *", `day of the month "32"`},
		{"0 0 * 13 *", `month "13"`},
		{"0 0 * may-jan *", `month "may-jan"`},
		{"0 0 * * 8", `day of the week "8"`},
		{"0 0 * * monday", `day of the week "monday"`},
		{"0 0 * * 1,", `day of the week ""`},
		{"0 0 * * 1-", `day of the week "1-"`},
		{"0 0 * * */0", `day of the week "*/0"`},
		{"0 0 * * */", `day of the week "*/"`},
		{"0 0 * * */8", `day of the week "*/8"`},
		{"0 0 *-5 * *", `day of the month "*-5"`},
		{"0 0 ? * *", `day of the month "?"`},
		{"0 0 l * *", `day of the month "l"`},
		{"0 0 001 * *", `day of the month "001"`},
		{"* 0 * * *", "one minute and one hour"},
		{"0,30 0 * * *", "one minute and one hour"},
		{"0 */12 * * *", "one minute and one hour"},
		{"0 0 31 2 *", "matches no day"},
		{"0 0 30-31 feb *", "matches no day"},
		{"0 0 29 2 *", "would last 2921 days"}, // around 2100
		{"0 0 */28 feb mon", "the one from"},
	} {
		b := &Board{
			ID: "b", Mode: ModeBest, Order: OrderHighest, Period: PeriodCron, Schedule: c.schedule, TimeZone: "UTC",
			WeekStart: time.Monday,
		}
		err := b.Check()
		if wire.CodeOf(err) != wire.CodeInvalidRequest || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%q: got %v, want an invalid_request with %q", c.schedule, err, c.message)
		}
	}
	b := &Board{
		ID: "b", Mode: ModeBest, Order: OrderHighest, Period: PeriodDaily, Schedule: "0 0 * * *", TimeZone: "UTC",
		WeekStart: time.Monday,
	}
	if err := b.Check(); wire.CodeOf(err) != wire.CodeInvalidRequest {
		t.Errorf("a schedule of a daily board: got %v", err)
	}
}

// naiveField is the values of a field, by trying each.
func naiveField(text string, low, high int) map[int]bool {
	names := strings.Fields("sun mon tue wed thu fri sat")
	if high == 12 {
		names = strings.Fields("- jan feb mar apr may jun jul aug sep oct nov dec")
	}
	number := func(s string) int {
		if i := slices.Index(names, s); i >= 0 && high < 13 {
			return i
		}
		n, _ := strconv.Atoi(s)
		return n
	}
	out := map[int]bool{}
	for v := low; v <= high; v++ {
		for part := range strings.SplitSeq(text, ",") {
			step, from, to := 1, low, high
			part, by, stepped := strings.Cut(part, "/")
			if stepped {
				step = number(by)
			}
			if part != "*" {
				a, b, ranged := strings.Cut(part, "-")
				if from = number(a); ranged {
					to = number(b)
				} else if !stepped {
					to = from
				}
			}
			if v >= from && v <= to && (v-from)%step == 0 {
				out[v] = true
			}
		}
	}
	return out
}

// naiveResets walks over every minute. The clocks first show a time, or a later one, when what
// they show exceeds all that they showed before; each minute that is exceeded then is one that
// a period can begin at.
func naiveResets(schedule string, zone *time.Location, from, to time.Time) (resets []time.Time) {
	f := strings.Fields(schedule)
	minutes, hours := naiveField(f[0], 0, 59), naiveField(f[1], 0, 23)
	days, months, weekdays := naiveField(f[2], 1, 31), naiveField(f[3], 1, 12), naiveField(f[4], 0, 7)
	if weekdays[7] {
		weekdays[0] = true
	}
	matches := func(w time.Time) bool {
		day, weekday := days[w.Day()], weekdays[int(w.Weekday())]
		both := day && weekday
		if f[2][0] != '*' && f[4][0] != '*' {
			both = day || weekday
		}
		return minutes[w.Minute()] && hours[w.Hour()] && months[int(w.Month())] && both
	}
	shown := func(at time.Time) time.Time { // as if it were UTC
		_, offset := at.In(zone).Zone()
		return at.Add(time.Duration(offset) * time.Second)
	}
	latest := shown(from.Add(-time.Minute))
	for at := from; at.Before(to); at = at.Add(time.Minute) {
		for now := shown(at); latest.Before(now); {
			if latest = latest.Add(time.Minute); matches(latest) {
				if len(resets) == 0 || !resets[len(resets)-1].Equal(at) {
					resets = append(resets, at)
				}
			}
		}
	}
	return resets
}

// The periods of random schedules begin when a search by the minute says, in zones whose clocks
// change, and follow each other without a gap.
func TestSchedulesAgainstSearch(t *testing.T) {
	t.Parallel()
	zones := []string{
		"UTC", "Europe/Berlin", "America/New_York", "America/Havana", "America/St_Johns", "Asia/Beirut",
		"Asia/Gaza", "Africa/Cairo", "Africa/Casablanca", "Australia/Lord_Howe", "Antarctica/Troll",
		"Pacific/Apia", "Pacific/Chatham", "America/Sao_Paulo", "Asia/Tehran", "Atlantic/Azores",
	}
	random := rand.New(rand.NewPCG(3, 4))
	pick := func(texts ...string) string { return texts[random.IntN(len(texts))] }
	number := func(low, high int) string { return strconv.Itoa(low + random.IntN(high-low+1)) }
	compared := 0
	for n := range 300 {
		name := zones[random.IntN(len(zones))]
		zone, err := Zone(name)
		if err != nil {
			t.Fatal(err)
		}
		schedule := fmt.Sprintf("%s %s %s %s %s", pick("0", "15", "30", "45", "59", number(0, 59)),
			pick("0", "1", "2", "3", "23", number(0, 23)),
			pick("*", "*", "*/2", number(1, 28), number(1, 9)+"-"+number(10, 28)+"/3", number(1, 31)+","+number(1, 31)),
			pick("*", "*", "*", "*/2", "1/3", "mar,oct", "jan-jun", "3-11/2"),
			pick("*", "*", number(0, 7), "mon", "mon-fri", "tue,sat", "1-7/3", "*/3"))
		b := &Board{
			ID: "b", Mode: ModeBest, Order: OrderHighest, Period: PeriodCron, Schedule: schedule, TimeZone: name,
			WeekStart: time.Monday,
		}
		if b.Check() != nil {
			continue
		}
		// The weeks around a change of the clocks, if there is one within two years.
		at := time.Unix(1_300_000_000+random.Int64N(700_000_000), 0).UTC().Truncate(time.Minute)
		if _, change := at.In(zone).ZoneBounds(); !change.IsZero() && change.Before(at.AddDate(2, 0, 0)) {
			at = change.UTC().Add(-time.Duration(1+random.IntN(72)) * time.Hour)
		}
		length := 15 * 24 * time.Hour
		if n%50 == 0 {
			length = 800 * 24 * time.Hour
		}
		// Its first days show the latest time that the clocks have shown.
		want := naiveResets(schedule, zone, at.Add(-48*time.Hour), at.Add(length))
		for len(want) > 0 && !want[0].After(at) {
			want = want[1:]
		}
		got, err := b.Resets(at, len(want)+1)
		if err != nil {
			t.Fatal(err)
		}
		compared += len(want)
		if !slices.EqualFunc(got[:len(want)], want, time.Time.Equal) || got[len(want)].Before(at.Add(length)) {
			t.Fatalf("%q in %s after %s:\ngot  %v\nwant %v", schedule, name, at, got, want)
		}
		before := at
		for i, reset := range got {
			span, err := b.SpanAt(before)
			if err != nil || !span.End.Equal(reset) || i > 0 && !span.Start.Equal(before) ||
				span.Name != span.Start.Format("2006-01-02t1504z") {
				t.Fatalf("%q in %s: got %+v, %v, want the end %s", schedule, name, span, err, reset)
			}
			if again, _ := b.SpanAt(reset.Add(-time.Nanosecond)); again != span {
				t.Fatalf("%q in %s: %+v ends as %+v", schedule, name, span, again)
			}
			before = reset
		}
	}
	if compared < 1000 {
		t.Errorf("compared %d resets, want 1000", compared)
	}
}

func BenchmarkCheckSchedule(b *testing.B) {
	s, err := ParseSchedule("0 18 * * fri")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := s.Check(); err != nil {
			b.Fatal(err)
		}
	}
}
