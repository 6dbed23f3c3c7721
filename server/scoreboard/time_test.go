package scoreboard

import (
	"math"
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
