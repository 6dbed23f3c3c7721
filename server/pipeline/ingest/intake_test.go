package ingest_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/pipeline/ingest"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// delivery is a source that delivers one batch, a dead letter box and a store of
// rejections.
type delivery struct {
	records []scoreboard.Record
	decided map[string]bool          // events that are rejected already
	broken  error                    // of the store of rejections
	ages    map[string]time.Duration // of events, since they were accepted; 0 by default
	ahead   time.Duration            // the database's clock

	mu       sync.Mutex
	done     chan struct{}
	letters  []int64       // offsets
	paused   map[int]int64 // as the intake returned it
	rejected map[string]wire.Code
}

func (d *delivery) Consume(
	ctx context.Context, handle func(context.Context, []scoreboard.Record) (map[int]int64, error),
) error {
	paused, err := handle(ctx, d.records)
	if err != nil {
		return err
	}
	d.paused = paused
	close(d.done)
	<-ctx.Done()
	return nil
}

// clock is the database's, which the intake has not measured yet.
func (d *delivery) clock() *ingest.Clock {
	return ingest.NewClock(func(context.Context) (time.Time, error) {
		return time.Now().Add(d.ahead), nil
	}, slog.New(slog.DiscardHandler))
}

func (d *delivery) Add(_ context.Context, letter *scoreboard.DeadLetter) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.letters = append(d.letters, letter.Offset)
	return nil
}

func (d *delivery) Reject(_ context.Context, rejected []scoreboard.Increment, reasons []*scoreboard.Error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken != nil {
		return d.broken
	}
	for i := range rejected {
		d.rejected[rejected[i].Event.Text] = reasons[i].Code
	}
	return nil
}

func (d *delivery) Rejected(_ context.Context, batch []scoreboard.Increment) ([]bool, error) {
	decided := make([]bool, len(batch))
	for i := range batch {
		decided[i] = d.decided[batch[i].Event.Text]
	}
	return decided, nil
}

// noMarkers implements ingest.Markers.
type noMarkers struct{ ingest.Markers }

func (noMarkers) Recorded(context.Context, []scoreboard.Increment) error { return nil }
func (noMarkers) Rejected(context.Context, []scoreboard.Increment) error { return nil }

// deliver hands records of events to an intake over l and waits for the commit.
func deliver(t *testing.T, l ledger, d *delivery, events ...string) {
	t.Helper()
	for i, text := range events {
		in := event(t, text, 1)
		in.Accepted = time.Now().Add(-d.ages[text])
		d.records = append(d.records, scoreboard.Record{Offset: int64(i), Value: protocol.EncodeAccepted(&in)})
	}
	d.done, d.rejected = make(chan struct{}), map[string]wire.Code{}
	in, stop := run(lanes, l)
	defer stop()
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	k := ingest.NewIntake(
		[]ingest.Source{d}, in, []ingest.DeadLetters{d}, d, noMarkers{}, scoreboard.DefaultWindow, d.clock(),
		slog.New(slog.DiscardHandler),
	)
	all.Go(func() { _ = k.Run(ctx) })
	select {
	case <-d.done:
	case <-time.After(time.Minute):
		t.Error("after a minute the batch is not committed")
	}
}

// An increment that fails although the database answers does not hold its partition:
// it goes to the dead letters after a while, and has an outcome.
func TestIntakeAbandonsWhatCannotBeRecorded(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]error{"": nil, ", nor rejected": errors.New("database error")} {
		t.Run("not recorded"+name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var done []string
				d := &delivery{broken: broken}
				deliver(t, func(batch []scoreboard.Increment) ([]scoreboard.Outcome, error) {
					for i := range batch {
						if batch[i].Event.Text == "bad" {
							return nil, errors.New("database error")
						}
					}
					for i := range batch {
						done = append(done, batch[i].Event.Text)
					}
					return recorded(batch), nil
				}, d, "e1", "bad", "e2")
				if slices.Sort(done); !slices.Equal(done, []string{"e1", "e2"}) {
					t.Errorf("recorded %v, want the others", done)
				}
				if !slices.Equal(d.letters, []int64{1}) {
					t.Errorf("dead letters %v, want the record at offset 1", d.letters)
				}
				if code := d.rejected["bad"]; broken == nil && code != wire.CodeInternal {
					t.Errorf("rejected as %q, want internal", code)
				}
			})
		})
	}
}

// A record that is read again from an old log, when repeats of it are no longer
// recognised, is not recorded. Nor is one from the future, which would be valid for longer
// than its record. If the database's clock is days ahead, that is no future.
func TestIntakeRefusesOldRecords(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const day = 24 * time.Hour
		window := scoreboard.DefaultWindow.Guaranteed()
		var done []string
		d := &delivery{ages: map[string]time.Duration{
			"three-months": 90 * day, "too-old": window + time.Minute, "old": window - time.Minute,
			"ahead": -time.Hour, "future": -25 * time.Hour, "far-future": -365 * day,
		}}
		deliver(t, func(batch []scoreboard.Increment) ([]scoreboard.Outcome, error) {
			for i := range batch {
				done = append(done, batch[i].Event.Text)
			}
			return recorded(batch), nil
		}, d, "three-months", "too-old", "old", "now", "ahead", "future", "far-future")
		if slices.Sort(done); !slices.Equal(done, []string{"ahead", "now", "old"}) {
			t.Errorf("recorded %v, want ahead, now and old", done)
		}
		if !slices.Equal(d.letters, []int64{0, 1, 5, 6}) {
			t.Errorf("dead letters %v, want the others", d.letters)
		}
		done = nil
		d = &delivery{ahead: 2 * day, ages: map[string]time.Duration{"ahead": -2 * day, "future": -4 * day}}
		deliver(t, func(batch []scoreboard.Increment) ([]scoreboard.Outcome, error) {
			for i := range batch {
				done = append(done, batch[i].Event.Text)
			}
			return recorded(batch), nil
		}, d, "ahead", "now", "future")
		if slices.Sort(done); !slices.Equal(done, []string{"ahead", "now"}) {
			t.Errorf("with the database's clock two days ahead, recorded %v, want ahead and now", done)
		}
	})
}

// An outage ends: nothing is abandoned meanwhile.
func TestIntakeWaitsForTheEndOfAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &delivery{}
		end := time.Now().Add(45 * time.Second)
		deliver(t, func(batch []scoreboard.Increment) ([]scoreboard.Outcome, error) {
			if time.Now().Before(end) {
				return nil, scoreboard.Errorf(wire.CodeUnavailable, "unavailable")
			}
			return recorded(batch), nil
		}, d, "e1", "e2")
		if len(d.letters) > 0 || len(d.rejected) > 0 {
			t.Errorf("dead letters %v, rejected %v, want none", d.letters, d.rejected)
		}
	})
}

// A rejected record that is delivered again keeps its outcome.
func TestIntakeKeepsRejections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var done []string
		d := &delivery{decided: map[string]bool{"rejected": true}}
		deliver(t, func(batch []scoreboard.Increment) ([]scoreboard.Outcome, error) {
			for i := range batch {
				done = append(done, batch[i].Event.Text)
			}
			return recorded(batch), nil
		}, d, "rejected", "e2")
		if !slices.Equal(done, []string{"e2"}) {
			t.Errorf("recorded %v, want e2 alone", done)
		}
	})
}

// A record of a newer build waits for that build, and stops its own partition only. One
// that cannot be decoded, such as a tombstone, stops none.
func TestIntakePausesAtNewerSchema(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var done []string
		d := &delivery{}
		at := func(partition int, offset int64, value []byte) {
			d.records = append(d.records, scoreboard.Record{Partition: partition, Offset: offset, Value: value})
		}
		increment := func(text string) []byte {
			in := event(t, text, 1)
			in.Accepted = time.Now()
			return protocol.EncodeAccepted(&in)
		}
		at(1, 20, nil)
		at(1, 21, increment("before"))
		at(1, 22, bytes.Replace(increment("newer"), []byte(`"schema":1`), []byte(`"schema":2`), 1))
		at(1, 23, increment("behind"))
		at(2, 30, []byte{})
		at(2, 31, increment("other"))
		deliver(t, func(batch []scoreboard.Increment) ([]scoreboard.Outcome, error) {
			for i := range batch {
				done = append(done, batch[i].Event.Text)
			}
			return recorded(batch), nil
		}, d)
		if slices.Sort(done); !slices.Equal(done, []string{"before", "other"}) {
			t.Errorf("recorded %v, want what is not behind the pause", done)
		}
		if len(d.paused) != 1 || d.paused[1] != 22 {
			t.Errorf("paused %v, want partition 1 from offset 22", d.paused)
		}
		if !slices.Equal(d.letters, []int64{20, 30}) {
			t.Errorf("dead letters %v, want 20 and 30", d.letters)
		}
	})
}
