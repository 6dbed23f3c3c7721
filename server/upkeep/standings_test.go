package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// freeUntil is a lease that somebody holds until a time.
type freeUntil struct{ free time.Time }

func (l freeUntil) TakeLease(_ context.Context, name, owner string, _ time.Duration) (bool, error) {
	return name == "standings" && owner == "me" && !time.Now().Before(l.free), nil
}

func (freeUntil) ReleaseLease(context.Context, string, string) error { return nil }

// table has changes, ten of which an update applies.
type table struct {
	changes int64
	updates atomic.Int64
}

var errOnce = errors.New("once")

func (t *table) Update(context.Context) (changes int64, more bool, err error) {
	if t.updates.Add(1) == 2 {
		return 0, false, errOnce
	}
	n := min(t.changes, 10)
	t.changes -= n
	return n, t.changes > 0, nil
}

func (t *table) Age(context.Context) (time.Duration, error) {
	return time.Duration(t.changes) * time.Second, nil
}

// Whoever holds the lease updates until nothing is left, also after an error; every
// process reports the age.
func TestUpdater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tab := &table{changes: 35}
		l := freeUntil{free: time.Now().Add(2500 * time.Millisecond)}
		u := NewStandings(tab, NewRunner("me", l, slog.New(slog.DiscardHandler)))
		ctx, cancel := context.WithTimeout(t.Context(), 4500*time.Millisecond)
		defer cancel()
		time.AfterFunc(2200*time.Millisecond, func() {
			if age := value(t, u); age != 35 || tab.updates.Load() != 0 {
				t.Errorf("without the lease: age %v after %d updates, want 35 after 0", age, tab.updates.Load())
			}
		})
		if err := u.Run(ctx); err != nil {
			t.Error(err)
		}
		// Two updates after 3 s, of which the second fails, and three after 4 s.
		if age := value(t, u); age != 0 || tab.updates.Load() != 5 {
			t.Errorf("age %v after %d updates, want 0 after 5", age, tab.updates.Load())
		}
	})
}

func value(t *testing.T, u *Standings) float64 {
	t.Helper()
	found := make(chan prometheus.Metric, 1)
	u.age.Collect(found)
	var m dto.Metric
	if err := (<-found).Write(&m); err != nil {
		t.Error(err)
	}
	return m.GetGauge().GetValue()
}
