package pg

import (
	"testing"
	"time"
)

func TestAsOfIsNeverAheadOfEitherClock(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 20, 0, 0, 123456789, time.UTC)
	for _, database := range []time.Duration{-10 * time.Minute, 0, 10 * time.Minute} {
		got := AsOf(now.Add(database), now)
		if got.After(now) || got.After(now.Add(database)) || now.Add(min(database, 0)).Sub(got) > time.Microsecond {
			t.Errorf("the database's clock is off by %s: got %s", database, got.Sub(now))
		}
	}
}
