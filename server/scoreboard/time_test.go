package scoreboard

import "testing"

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
	} {
		if _, err := ParseTime(text); (err == nil) != want {
			t.Errorf("%s: got error %v, want accepted: %t", text, err, want)
		}
	}
}
