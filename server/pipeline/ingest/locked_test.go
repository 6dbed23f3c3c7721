package ingest_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// lockedLedger waits 100 ms for a locked user, as the store does, and then
// records the others.
type lockedLedger struct {
	mu       sync.Mutex
	users    map[scoreboard.UserID]time.Time // when their locks end
	recorded []scoreboard.EventID            // of locked users, in order
	attempts int
	failing  scoreboard.UserID // a batch with this user and others fails as a whole
}

func (l *lockedLedger) Record(batch []scoreboard.Increment) ([]scoreboard.Outcome, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attempts++
	outcomes := recorded(batch)
	waited := false
	for i, in := range batch {
		until, listed := l.users[in.User]
		if in.User == l.failing && len(batch) > 1 {
			return nil, errors.New("database error")
		}
		if time.Now().Before(until) {
			outcomes[i].Err = &scoreboard.Error{Code: wire.CodeUnavailable, Err: scoreboard.ErrUserLocked}
			outcomes[i].Receipts = nil
			waited = true
		} else if listed {
			l.recorded = append(l.recorded, in.Event)
		}
	}
	l.mu.Unlock()
	if time.Sleep(time.Millisecond); waited {
		time.Sleep(100 * time.Millisecond)
	}
	l.mu.Lock()
	return outcomes, nil
}

func TestLockedUserDoesNotBlockTheLane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &lockedLedger{users: map[scoreboard.UserID]time.Time{"alice": time.Now().Add(time.Second)}}
		in, stop := run(lanes, l.Record)
		defer stop()
		var all sync.WaitGroup
		for n := range 20 {
			all.Go(func() { // every 100 ms: some arrive while the lock is held, some after
				time.Sleep(time.Duration(n) * 100 * time.Millisecond)
				if _, err := in.Submit(t.Context(), inc("alice", n)); err != nil {
					t.Errorf("alice %d: %v", n, err)
				}
			})
		}
		var slow []time.Duration
		time.Sleep(time.Microsecond)
		for n := range 1000 {
			started := time.Now()
			if _, err := in.Submit(t.Context(), inc("bob", n)); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(started); took > 10*time.Millisecond {
				slow = append(slow, took)
			}
		}
		all.Wait()
		if len(slow) > 1 || len(slow) == 1 && slow[0] > 110*time.Millisecond {
			t.Errorf("bob waited %v, want at most one wait, for the lock", slow)
		}
		for n, event := range l.recorded {
			if event != inc("alice", n).Event {
				t.Fatalf("alice: recorded %v, want the order of arrival", l.recorded)
			}
		}
		if len(l.recorded) != 20 {
			t.Errorf("%d of alice's 20 increments were recorded", len(l.recorded))
		}
	})
}

func TestLockedUserTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &lockedLedger{users: map[scoreboard.UserID]time.Time{"alice": time.Now().Add(time.Hour)}}
		in, stop := run(lanes, l.Record)
		started := time.Now()
		outcomes := in.SubmitAll(t.Context(), []scoreboard.Increment{inc("alice", 0), inc("bob", 0), inc("alice", 1)})
		if took := time.Since(started); took > 3*time.Second {
			t.Errorf("took %s, want about 2 s", took)
		}
		for _, i := range []int{0, 2} {
			if code := wire.CodeOf(outcomes[i].Err); code != wire.CodeUnavailable {
				t.Errorf("item %d: got %+v, want unavailable", i, outcomes[i])
			}
		}
		if outcomes[1].Err != nil || l.attempts > 30 {
			t.Errorf("bob: %v; %d attempts, want at most 30", outcomes[1].Err, l.attempts)
		}
		// One user may fill a quarter of a batch.
		many := make([]scoreboard.Increment, 100)
		for n := range many {
			many[n] = inc("alice", n)
		}
		overloaded := 0
		for _, o := range in.SubmitAll(t.Context(), many) {
			if wire.CodeOf(o.Err) == wire.CodeOverloaded {
				overloaded++
			}
		}
		if overloaded < 70 || overloaded > 75 {
			t.Errorf("%d of 100 were overloaded, want about 74", overloaded)
		}
		// The shutdown answers without waiting for the lock.
		var last sync.WaitGroup
		last.Go(func() {
			if _, err := in.Submit(t.Context(), inc("alice", 7)); wire.CodeOf(err) != wire.CodeUnavailable {
				t.Errorf("at the shutdown: got %v, want unavailable", err)
			}
		})
		synctest.Wait()
		started = time.Now()
		stop()
		last.Wait()
		if took := time.Since(started); took > 3*time.Second {
			t.Errorf("the shutdown took %s", took)
		}
	})
}

// The batch splits, and alice's lock is released between the halves.
func TestSplitKeepsOrderOfLockedUser(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &lockedLedger{
			users:   map[scoreboard.UserID]time.Time{"alice": time.Now().Add(50 * time.Millisecond)},
			failing: "bad",
		}
		in, stop := run(lanes, l.Record)
		defer stop()
		batch := []scoreboard.Increment{inc("alice", 0), inc("alice", 1), inc("bad", 0), inc("alice", 2)}
		for i, o := range in.SubmitAll(t.Context(), batch) {
			if o.Err != nil {
				t.Errorf("item %d: %v", i, o.Err)
			}
		}
		want := []scoreboard.EventID{batch[0].Event, batch[1].Event, batch[3].Event}
		if !slices.Equal(l.recorded, want) {
			t.Errorf("alice: recorded %v, want %v", l.recorded, want)
		}
	})
}
