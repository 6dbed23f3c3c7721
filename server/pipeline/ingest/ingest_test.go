package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/pipeline/ingest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestMain(m *testing.M) { backends.Main(m) }

// ledger implements ingest.Recorder.
type ledger func(batch []scoreboard.Increment) ([]scoreboard.Outcome, error)

func (l ledger) Record(_ context.Context, batch []scoreboard.Increment) ([]scoreboard.Outcome, error) {
	return l(batch)
}

func recorded(batch []scoreboard.Increment) []scoreboard.Outcome {
	outcomes := make([]scoreboard.Outcome, len(batch))
	for i := range batch {
		outcomes[i].Receipts = []scoreboard.Receipt{{User: batch[i].User, Event: batch[i].Event}}
	}
	return outcomes
}

type noRanks struct{}

func (noRanks) Rank(context.Context, []*scoreboard.Receipt) {}

var lanes = ingest.Options{Lanes: 1, Batch: 100, Queue: 1000, Wait: 500 * time.Millisecond}

// run starts an Ingest and returns it with a function that stops it.
func run(o ingest.Options, l ledger) (*ingest.Ingest, func()) { return runRanked(o, l, noRanks{}) }

func runRanked(o ingest.Options, l ledger, r ingest.Ranker) (*ingest.Ingest, func()) {
	in := ingest.New(o, l, r, func() {}, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() { _ = in.Run(ctx) })
	return in, func() { cancel(); wait.Wait() }
}

func inc(user string, n int) scoreboard.Increment {
	return scoreboard.Increment{User: scoreboard.UserID(user), Event: scoreboard.EventID{Text: fmt.Sprint(n)}}
}

func TestNextBatchGathersDuringTransaction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var sizes []int
		in, stop := run(lanes, func(batch []scoreboard.Increment) ([]scoreboard.Outcome, error) {
			sizes = append(sizes, len(batch))
			time.Sleep(10 * time.Millisecond)
			return recorded(batch), nil
		})
		defer stop()
		var all sync.WaitGroup
		submit := func(n int) {
			all.Go(func() {
				if _, err := in.Submit(t.Context(), inc("alice", n)); err != nil {
					t.Error(err)
				}
			})
		}
		started := time.Now()
		submit(0)
		synctest.Wait() // it is in flight: a lone increment does not wait
		for n := range 150 {
			submit(n + 1)
		}
		all.Wait()
		if want := []int{1, 100, 50}; !slices.Equal(sizes, want) {
			t.Errorf("batches: got %v, want %v", sizes, want)
		}
		if took := time.Since(started); took != 30*time.Millisecond {
			t.Errorf("took %s, want three transactions: 30ms", took)
		}
	})
}

func TestFailingItemDoesNotFailItsBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, stop := run(lanes, func(batch []scoreboard.Increment) ([]scoreboard.Outcome, error) {
			for i := range batch {
				if batch[i].User == "bad" {
					return nil, errors.New("database error")
				}
			}
			return recorded(batch), nil
		})
		defer stop()
		batch := make([]scoreboard.Increment, 50)
		for i := range batch {
			batch[i] = inc("good", i)
		}
		batch[17] = inc("bad", 17)
		for i, o := range in.SubmitAll(t.Context(), batch) {
			if bad := i == 17; (o.Err != nil) != bad {
				t.Errorf("item %d: got %v", i, o.Err)
			}
		}
	})
}

func TestOutageDoesNotSplitTheBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		in, stop := run(lanes, func([]scoreboard.Increment) ([]scoreboard.Outcome, error) {
			attempts++
			return nil, scoreboard.Errorf(wire.CodeUnavailable, "unavailable")
		})
		defer stop()
		outcomes := in.SubmitAll(t.Context(), []scoreboard.Increment{inc("a", 1), inc("b", 2), inc("c", 3)})
		for _, o := range outcomes {
			if wire.CodeOf(o.Err) != wire.CodeUnavailable {
				t.Errorf("got %v", o.Err)
			}
		}
		if attempts > 2 { // the first item may have been a batch of its own
			t.Errorf("%d attempts, want at most 2", attempts)
		}
	})
}

func TestFullLaneIsOverloaded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		o := lanes
		o.Queue = 10
		in, stop := run(o, func(batch []scoreboard.Increment) ([]scoreboard.Outcome, error) {
			<-free
			return recorded(batch), nil
		})
		defer stop()
		var all sync.WaitGroup
		var mu sync.Mutex
		codes := map[wire.Code]int{}
		for n := range 30 {
			all.Go(func() {
				_, err := in.Submit(t.Context(), inc("alice", n))
				mu.Lock()
				codes[wire.CodeOf(err)]++
				mu.Unlock()
			})
			synctest.Wait()
		}
		close(free)
		all.Wait()
		if codes[""] != 11 || codes[wire.CodeOverloaded] != 19 {
			t.Errorf("got %v, want 1 in flight, 10 waiting and 19 overloaded", codes)
		}
	})
}

func TestLongWaitIsOverloaded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := lanes
		o.Batch = 1
		in, stop := run(o, func(batch []scoreboard.Increment) ([]scoreboard.Outcome, error) {
			time.Sleep(100 * time.Millisecond)
			return recorded(batch), nil
		})
		defer stop()
		for n := range 40 { // so that the lane knows the duration of a commit
			if _, err := in.Submit(t.Context(), inc("alice", n)); err != nil {
				t.Fatal(err)
			}
		}
		var all sync.WaitGroup
		overloaded := 0
		var mu sync.Mutex
		for n := range 20 {
			all.Go(func() {
				_, err := in.Submit(t.Context(), inc("alice", 100+n))
				var e *scoreboard.Error
				if errors.As(err, &e) && e.Code == wire.CodeOverloaded && e.RetryAfter >= time.Second {
					mu.Lock()
					overloaded++
					mu.Unlock()
				} else if err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		all.Wait()
		if overloaded < 12 || overloaded > 15 {
			t.Errorf("%d of 20 overloaded, want those beyond a wait of about 500 ms: 13", overloaded)
		}
	})
}

func TestCanceledCallIsNotRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		var users []scoreboard.UserID
		in, stop := run(lanes, func(batch []scoreboard.Increment) ([]scoreboard.Outcome, error) {
			<-free
			for i := range batch {
				users = append(users, batch[i].User)
			}
			return recorded(batch), nil
		})
		defer stop()
		var all sync.WaitGroup
		submit := func(ctx context.Context, user string) {
			all.Go(func() { _, _ = in.Submit(ctx, inc(user, 1)) })
			synctest.Wait()
		}
		submit(t.Context(), "first")
		canceled, cancel := context.WithCancel(t.Context())
		submit(canceled, "canceled")
		submit(t.Context(), "last")
		cancel()
		synctest.Wait()
		close(free)
		all.Wait()
		if want := []scoreboard.UserID{"first", "last"}; !slices.Equal(users, want) {
			t.Errorf("recorded %v, want %v", users, want)
		}
	})
}

func TestShutdownAnswersEveryCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, stop := run(lanes, func(batch []scoreboard.Increment) ([]scoreboard.Outcome, error) {
			time.Sleep(time.Millisecond)
			return recorded(batch), nil
		})
		var all sync.WaitGroup
		for n := range 500 {
			all.Go(func() {
				_, err := in.Submit(t.Context(), inc("alice", n))
				if err != nil && wire.CodeOf(err) != wire.CodeUnavailable {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		stop()
		all.Wait()
	})
}

// The cost of a batch beside its transaction.
func BenchmarkSubmitAll(b *testing.B) {
	o := lanes
	o.Lanes, o.Batch, o.Queue = 4, 500, 5000
	in, stop := run(o, func(batch []scoreboard.Increment) ([]scoreboard.Outcome, error) {
		return make([]scoreboard.Outcome, len(batch)), nil
	})
	defer stop()
	batch := make([]scoreboard.Increment, 500)
	for i := range batch {
		batch[i] = inc(fmt.Sprint("user-", i%100), i)
	}
	b.ReportAllocs()
	for b.Loop() {
		in.SubmitAll(b.Context(), batch)
	}
}
