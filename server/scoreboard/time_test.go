package scoreboard

import (
	"math"
	"strings"
	"testing"
	"time"
)

// Other texts name times that no JSON encoder can write in UTC.
func TestParseTimeStaysInTheCalendar(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"2026-11-22T21:00:00Z":      true,
		"0001-01-01T00:00:00Z":      true,
		"9999-12-31T23:59:59Z":      true,
		"0000-01-01T00:00:00+23:59": false,
		"0000-12-31T23:59:59Z":      false,
		"0001-01-01T00:00:00+00:01": false,
		"9999-12-31T23:59:59-23:59": false,
		"9999-12-31T23:59:59-14:00": false,
	} {
		if _, err := ParseTime(text); (err == nil) != want {
			t.Errorf("%s: got error %v, want accepted: %t", text, err, want)
		}
	}
}

// Only the forms of RFC 3339 are times, and they come out in UTC.
func TestParseTimeIsRFC3339(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 2, 15, 57, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-11-22T02:15:57Z": at, "2026-11-22t02:15:57z": at, "2026-11-22T02:15:57.5Z": at.Add(time.Second / 2),
		"2026-11-22T07:45:57+05:30": at, "2026-11-21T02:16:57-23:59": at, "2026-11-22T02:15:57-00:00": at,
		"2026-11-22T02:15:57.1234567891Z": at.Add(123456789),
		"2026-11-22T2:15:57Z":             {}, "2026-11-22T02:15:57,5Z": {}, "2026-11-22T02:15:57+24:00": {},
		"2026-11-22T02:15:57+05:60": {}, "2026-11-22 02:15:57Z": {}, "2026-11-22T02:15:57": {},
		"2026-11-22T02:15:57.Z": {}, "2026-11-22T02:15Z": {}, "2026-11-22": {}, "2026-02-29T00:00:00Z": {},
		"2026-11-22T24:00:00Z": {}, "2026-11-22T02:15:60Z": {}, "2026-11-22T02:15:57+0530": {}, "": {}, "now": {},
		"2026-11-22T02:15:57+5:30": {}, " 2026-11-22T02:15:57Z": {}, "2026-11-22T02:15:57Z ": {},
		"+2026-11-22T02:15:57Z": {}, "2026-11-22T02:15:57." + strings.Repeat("0", 60) + "Z": {},
	} {
		got, err := ParseTime(text)
		if (err != nil) != want.IsZero() || !got.Equal(want) || got.Location() != time.UTC {
			t.Errorf("%.40q: got %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestWritableTime(t *testing.T) {
	t.Parallel()
	west := time.FixedZone("", -14*3600)
	for _, at := range []struct{ got, want time.Time }{
		{time.Date(2026, 11, 22, 10, 0, 0, 0, west), time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)},
		{time.Time{}, time.Time{}},
		{time.Date(9999, 12, 31, 23, 0, 0, 0, west), lastTime},
		{time.UnixMicro(math.MaxInt64), lastTime},
		{time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC), firstTime},
		{time.UnixMicro(math.MinInt64), firstTime},
	} {
		if got := WritableTime(at.got); !got.Equal(at.want) || !IsWritable(got) {
			t.Errorf("%s: got %s, want %s", at.got, got, at.want)
		}
	}
}
