package ingest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/pipeline/ingest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// world is what several acceptors share: markers, a ledger and the log of a broker.
type world struct {
	rdb     *redis.Client
	markers *ingest.RedisMarkers

	mu         sync.Mutex
	log        []scoreboard.Increment
	consumed   int // records of the log that the intake has consumed
	recorded   map[scoreboard.EventID]bool
	rejections map[scoreboard.EventID]*scoreboard.Rejection
}

func newWorld(t *testing.T, url string) *world {
	t.Helper()
	rdb := backends.RedisClient(t, url)
	return &world{
		rdb: rdb, markers: ingest.NewRedisMarkers(rdb), recorded: map[scoreboard.EventID]bool{},
		rejections: map[scoreboard.EventID]*scoreboard.Rejection{},
	}
}

func (w *world) Known(_ context.Context, batch []scoreboard.Increment) ([]scoreboard.Outcome, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	outcomes := make([]scoreboard.Outcome, len(batch))
	for i := range batch {
		if w.recorded[batch[i].Event] {
			outcomes[i].Receipts = []scoreboard.Receipt{{User: batch[i].User, Event: batch[i].Event}}
		}
	}
	return outcomes, nil
}

func (w *world) Rejection(
	_ context.Context, _ scoreboard.UserID, event scoreboard.EventID,
) (*scoreboard.Rejection, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rejections[event], nil
}

// AwaitConsumed implements ingest.Backlog.
func (w *world) AwaitConsumed(ctx context.Context) error {
	w.mu.Lock()
	end := len(w.log)
	w.mu.Unlock()
	for {
		w.mu.Lock()
		done := w.consumed >= end
		w.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

// append writes records to the log, as a broker that acknowledges them does.
func (w *world) append(batch []scoreboard.Increment) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, batch...)
}

// logged counts the records in the log.
func (w *world) logged() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.log)
}

// broker implements ingest.Broker.
type broker func(ctx context.Context, batch []scoreboard.Increment) (int, error)

func (b broker) Accept(ctx context.Context, batch []scoreboard.Increment) (int, error) {
	return b(ctx, batch)
}

var errBroker = errors.New("no broker")

func (w *world) working(_ context.Context, batch []scoreboard.Increment) (int, error) {
	w.append(batch)
	return len(batch), nil
}

func broken(context.Context, []scoreboard.Increment) (int, error) { return 0, errBroker }

// acceptor runs a node's acceptor until the end of the test.
func (w *world) acceptor(t *testing.T, b broker) *ingest.Acceptor {
	t.Helper()
	return w.acceptorAt(t, b, 0)
}

// acceptorAt is acceptor with a clock that is ahead.
func (w *world) acceptorAt(t *testing.T, b broker, ahead time.Duration) *ingest.Acceptor {
	t.Helper()
	now := func() time.Time { return time.Now().Add(ahead) }
	a := ingest.NewAcceptor(lanes, w.markers, w, b, w, now, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = a.Run(ctx) })
	t.Cleanup(func() { cancel(); all.Wait() })
	return a
}

func event(t *testing.T, text string, delta int64) scoreboard.Increment {
	t.Helper()
	id, err := scoreboard.ParseEventID("alice", text)
	if err != nil {
		t.Fatal(err)
	}
	return scoreboard.Increment{User: "alice", Delta: delta, Event: id, Boards: []scoreboard.BoardID{"global"}}
}

func wantCode(t *testing.T, what string, err error, want wire.Code) {
	t.Helper()
	if got := wire.CodeOf(err); got != want {
		t.Errorf("%s: got %v, want the code %q", what, err, want)
	}
}

// The first node hangs in its produce request, dies, or fails while a second one
// works: a 202 of any of them means that the log has the event.
func TestAcceptedMeansProduced(t *testing.T) {
	t.Parallel()
	backends.EachRedis(t, func(t *testing.T, url string) {
		t.Run("a node dies between marker and acknowledgement", func(t *testing.T) {
			w := newWorld(t, url)
			in := event(t, "killed", 5)
			in.Accepted = time.Now().Truncate(time.Microsecond)
			if _, err := w.markers.Begin(t.Context(), []scoreboard.Increment{in}); err != nil {
				t.Fatal(err)
			}
			if _, _, err := w.acceptor(t, broken).Status(t.Context(), in.User, in.Event); wire.CodeOf(err) !=
				wire.CodeNotFound {
				t.Errorf("an event that nobody produced: got %v, want not_found", err)
			}
			_, err := w.acceptor(t, broken).Accept(t.Context(), in)
			wantCode(t, "a retry while the broker is down", err, wire.CodeUnavailable)
			_, err = w.acceptor(t, w.working).Accept(t.Context(), in)
			wantCode(t, "a retry", err, "")
			if n := w.logged(); n != 1 {
				t.Errorf("%d records after a 202, want 1", n)
			}
		})

		t.Run("two nodes while the broker is down", func(t *testing.T) {
			w := newWorld(t, url)
			in := event(t, "two-nodes", 5)
			fail := make(chan struct{})
			began := make(chan struct{})
			a := w.acceptor(t, func(context.Context, []scoreboard.Increment) (int, error) {
				close(began)
				<-fail
				return 0, errBroker
			})
			b := w.acceptor(t, w.working)
			ctx, leave := context.WithCancel(t.Context())
			var first sync.WaitGroup
			first.Go(func() {
				_, err := a.Accept(ctx, in)
				wantCode(t, "the client that left", err, wire.CodeUnavailable)
			})
			<-began
			leave()
			first.Wait()
			_, err := b.Accept(t.Context(), in)
			wantCode(t, "the retry at the second node", err, "")
			if n := w.logged(); n != 1 {
				t.Errorf("%d records after a 202, want 1", n)
			}
			close(fail) // the first node now takes its marker away, but not the second one's
			_, err = w.acceptor(t, w.working).Accept(t.Context(), event(t, "two-nodes", 6))
			wantCode(t, "another payload", err, wire.CodeEventConflict)
			for range 50 {
				pending, _, err := b.Status(t.Context(), in.User, in.Event)
				if err != nil || !pending {
					t.Fatalf("the accepted event: pending %t, %v", pending, err)
				}
				time.Sleep(time.Millisecond)
			}
		})

		t.Run("the same event twice in one batch", func(t *testing.T) {
			w := newWorld(t, url)
			release := make(chan struct{})
			var calls sync.WaitGroup
			produced := false
			a := w.acceptor(t, func(_ context.Context, batch []scoreboard.Increment) (int, error) {
				if batch[0].Event.Text == "first" {
					<-release // so that the others gather
					return len(batch), nil
				}
				produced = true
				return 0, errBroker
			})
			accept := func(in scoreboard.Increment, want wire.Code) {
				calls.Go(func() {
					_, err := a.Accept(t.Context(), in)
					wantCode(t, in.Event.Text, err, want)
				})
				time.Sleep(20 * time.Millisecond)
			}
			accept(event(t, "first", 1), "")
			accept(event(t, "twice", 1), wire.CodeUnavailable)
			accept(event(t, "twice", 1), wire.CodeUnavailable)
			accept(event(t, "twice", 2), wire.CodeUnavailable)
			close(release)
			calls.Wait()
			if !produced {
				t.Error("the batch was not produced")
			}
		})

		t.Run("a caller that has left", func(t *testing.T) {
			w := newWorld(t, url)
			release := make(chan struct{})
			a := w.acceptor(t, func(ctx context.Context, batch []scoreboard.Increment) (int, error) {
				<-release
				return w.working(ctx, batch)
			})
			var calls sync.WaitGroup
			calls.Go(func() { _, _ = a.Accept(t.Context(), event(t, "stays", 1)) })
			time.Sleep(20 * time.Millisecond) // it is being produced
			ctx, leave := context.WithCancel(t.Context())
			calls.Go(func() { _, _ = a.Accept(ctx, event(t, "leaves", 1)) })
			time.Sleep(20 * time.Millisecond)
			leave()
			close(release)
			calls.Wait()
			_, err := a.Accept(t.Context(), event(t, "last", 1))
			wantCode(t, "a later call", err, "")
			if n := w.logged(); n != 2 {
				t.Errorf("%d records, want 2: the caller of the third waited no more", n)
			}
		})

		t.Run("a repeat of what is in the log", func(t *testing.T) {
			w := newWorld(t, url)
			a := w.acceptor(t, w.working)
			in := event(t, "repeat", 5)
			for range 3 {
				_, err := a.Accept(t.Context(), in)
				wantCode(t, "accept", err, "")
			}
			if n := w.logged(); n != 1 {
				t.Errorf("%d records of one event, want 1", n)
			}
			_, err := a.Accept(t.Context(), event(t, "repeat", 6))
			wantCode(t, "another payload", err, wire.CodeEventConflict)
		})
	})
}

// A look-up never says that an accepted event is unknown, even without markers.
func TestStatusOfAcceptedEventWithoutMarkers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, backends.Redis(t))
	a := w.acceptor(t, w.working)
	in := event(t, "e", 5)
	if _, err := a.Accept(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if pending, _, err := a.Status(t.Context(), in.User, in.Event); err != nil || !pending {
		t.Errorf("with its marker: pending %t, %v", pending, err)
	}
	w.rdb.FlushAll(t.Context())
	_, _, err := a.Status(t.Context(), in.User, in.Event)
	wantCode(t, "its marker is lost, and the intake is behind", err, wire.CodeUnavailable)
	consumed := time.AfterFunc(100*time.Millisecond, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.consumed = len(w.log)
		w.rejections[in.Event] = &scoreboard.Rejection{
			Reason: scoreboard.Errorf(wire.CodeBoardClosed, "closed"), Accepted: w.log[0].Accepted,
		}
	})
	defer consumed.Stop()
	_, rejected, err := a.Status(t.Context(), in.User, in.Event)
	if err != nil || rejected == nil || rejected.Code != wire.CodeBoardClosed {
		t.Errorf("the intake catches up: got %v, %v, want its outcome", rejected, err)
	}
	_, _, err = a.Status(t.Context(), in.User, event(t, "unknown", 1).Event)
	wantCode(t, "an event that was never accepted", err, wire.CodeNotFound)
}

// A rejected event that is accepted again is pending again. The intake's news of the
// first attempt do not remove the marker of the second.
func TestLaterAttemptIsPending(t *testing.T) {
	t.Parallel()
	backends.EachRedis(t, func(t *testing.T, url string) {
		w := newWorld(t, url)
		a := w.acceptor(t, w.working)
		in := event(t, "again", 5)
		status := func(when string, want string) {
			t.Helper()
			pending, rejected, err := a.Status(t.Context(), in.User, in.Event)
			if got := map[bool]string{true: "pending"}[pending]; rejected != nil {
				t.Errorf("%s: rejected (%v), want %s", when, rejected, want)
			} else if err != nil || got != want {
				t.Errorf("%s: got %q, %v, want %s", when, got, err, want)
			}
		}
		if _, err := a.Accept(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		first := w.log[0]
		reject := func() {
			w.mu.Lock()
			w.rejections[in.Event] = &scoreboard.Rejection{
				Reason: scoreboard.Errorf(wire.CodeBoardClosed, "closed"), Accepted: first.Accepted,
			}
			w.mu.Unlock()
		}
		reject()
		if _, rejected, err := a.Status(t.Context(), in.User, in.Event); err != nil || rejected == nil {
			t.Errorf("rejected, its marker not cleared: got %v, %v, want rejected", rejected, err)
		}
		if err := w.markers.Rejected(t.Context(), []scoreboard.Increment{first}); err != nil {
			t.Fatal(err)
		}
		if _, rejected, err := a.Status(t.Context(), in.User, in.Event); err != nil || rejected == nil {
			t.Errorf("rejected: got %v, %v", rejected, err)
		}
		time.Sleep(time.Millisecond)
		if _, err := a.Accept(t.Context(), in); err != nil || w.logged() != 2 {
			t.Fatalf("accepted again: %v, %d records", err, w.logged())
		}
		status("accepted again", "pending")
		if err := w.markers.Rejected(t.Context(), []scoreboard.Increment{first}); err != nil {
			t.Fatal(err)
		}
		status("the first attempt is delivered again", "pending")
	})
}

// A later attempt whose time is earlier, because the clock has gone back, is rejected for
// good although the first, which was never published, has left its marker.
func TestRejectedAfterTheClockWentBack(t *testing.T) {
	t.Parallel()
	backends.EachRedis(t, func(t *testing.T, url string) {
		w := newWorld(t, url)
		killed := event(t, "again", 5)
		killed.Accepted = time.Now().Add(10 * time.Minute).UTC().Truncate(time.Microsecond)
		if _, err := w.markers.Begin(t.Context(), []scoreboard.Increment{killed}); err != nil {
			t.Fatal(err)
		}
		a, in := w.acceptor(t, w.working), event(t, "again", 5)
		if _, err := a.Accept(t.Context(), in); err != nil || w.logged() != 1 {
			t.Fatalf("accepted: %v, %d records", err, w.logged())
		}
		pending, rejected, err := a.Status(t.Context(), in.User, in.Event)
		if !pending || rejected != nil || err != nil {
			t.Errorf("before the intake: pending %t, rejected %v, %v", pending, rejected, err)
		}
		w.mu.Lock()
		second := w.log[0]
		w.rejections[in.Event] = &scoreboard.Rejection{
			Reason: scoreboard.Errorf(wire.CodeBoardClosed, "closed"), Accepted: second.Accepted,
		}
		w.mu.Unlock()
		if err := w.markers.Rejected(t.Context(), []scoreboard.Increment{second}); err != nil {
			t.Fatal(err)
		}
		pending, rejected, err = a.Status(t.Context(), in.User, in.Event)
		if pending || rejected == nil || err != nil {
			t.Errorf("after the intake: pending %t, rejected %v, %v", pending, rejected, err)
		}
	})
}

// The period of an accepted increment is decided by the database's clock, not by the
// node's.
func TestAcceptedTimeIsTheDatabases(t *testing.T) {
	t.Parallel()
	const slow = 90 * time.Second // this node's clock is behind
	clock := ingest.NewClock(func(context.Context) (time.Time, error) {
		return time.Now().Add(slow), nil
	}, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { _ = clock.Run(ctx) })
	defer all.Wait()
	defer cancel()
	for clock.Now().Before(time.Now().Add(slow / 2)) {
		time.Sleep(time.Millisecond)
	}
	w := newWorld(t, backends.Redis(t))
	a := ingest.NewAcceptor(lanes, w.markers, w, broker(w.working), w, clock.Now, slog.New(slog.DiscardHandler))
	all.Go(func() { _ = a.Run(ctx) })
	if _, err := a.Accept(t.Context(), event(t, "e", 5)); err != nil {
		t.Fatal(err)
	}
	want := time.Now().Add(slow)
	if got := w.log[0].Accepted; got.Sub(want).Abs() > time.Second {
		t.Errorf("accepted at %s, want the database's time, %s", got, want)
	}
}

// An outage fails every batch, and is one line in the log.
func TestOutageOfTheQueueIsOneWarning(t *testing.T) {
	t.Parallel()
	w := newWorld(t, backends.Redis(t))
	var log bytes.Buffer
	a := ingest.NewAcceptor(lanes, w.markers, w, broker(broken), w, time.Now, slog.New(slog.NewTextHandler(&log, nil)))
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = a.Run(ctx) })
	for i := range 20 {
		if _, err := a.Accept(t.Context(), event(t, fmt.Sprint("e", i), 1)); err == nil {
			t.Error("an increment was accepted without a queue")
		}
	}
	cancel()
	all.Wait()
	if n := strings.Count(log.String(), "increments not accepted"); n != 1 {
		t.Errorf("got %d warnings, want 1: %s", n, &log)
	}
}

// The queue has lost an event, as a Redis that failed over does, and the marker is still there.
// The event is not pending for longer than a moment, and a repeat publishes it again.
func TestLostEventIsNotPending(t *testing.T) {
	t.Parallel()
	backends.EachRedis(t, func(t *testing.T, url string) {
		w := newWorld(t, url)
		in := event(t, "lost", 5)
		accept := func(a *ingest.Acceptor, want int) {
			t.Helper()
			if _, err := a.Accept(t.Context(), in); err != nil || w.logged() != want {
				t.Errorf("%v, %d records, want %d", err, w.logged(), want)
			}
		}
		wantPending := func(what string, a *ingest.Acceptor, want bool) {
			t.Helper()
			pending, rejected, err := a.Status(t.Context(), in.User, in.Event)
			unknown := wire.CodeOf(err) == wire.CodeNotFound
			if pending != want || unknown == want || rejected != nil {
				t.Errorf("%s: pending %t, rejected %v, %v, want pending %t", what, pending, rejected, err, want)
			}
		}
		now, later := w.acceptor(t, w.working), w.acceptorAt(t, w.working, 11*time.Second)
		accept(now, 1)
		accept(now, 1)
		wantPending("while the queue holds it", later, true)
		w.mu.Lock()
		w.consumed = len(w.log) // and not recorded
		w.mu.Unlock()
		wantPending("a moment after it was accepted", now, true)
		wantPending("later", later, false)
		accept(later, 2)
		wantPending("after it was published again", later, true)
		accept(later, 2)
	})
}

// slowLedger is a ledger that answers no look-up in time.
type slowLedger struct{ *world }

func (slowLedger) Known(ctx context.Context, _ []scoreboard.Increment) ([]scoreboard.Outcome, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A repeat of a recorded event is accepted once more while the ledger does not answer in time, such as
// right after an operator has requeued it. The ledger then recognises the record.
func TestRepeatWhileTheLedgerIsSlow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, backends.Redis(t))
	in := event(t, "requeued", 5)
	w.mu.Lock()
	w.recorded[in.Event] = true
	w.mu.Unlock()
	run := func(k ingest.Known) *ingest.Acceptor {
		a := ingest.NewAcceptor(lanes, w.markers, k, broker(w.working), w, time.Now, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(context.Background())
		var all sync.WaitGroup
		all.Go(func() { _ = a.Run(ctx) })
		t.Cleanup(func() { cancel(); all.Wait() })
		return a
	}
	receipts, err := run(slowLedger{w}).Accept(t.Context(), in)
	if receipts != nil || err != nil || w.logged() != 1 {
		t.Errorf("slow: %v, %v, %d records; want it pending, in the queue once", receipts, err, w.logged())
	}
	receipts, err = run(w).Accept(t.Context(), in)
	if len(receipts) != 1 || err != nil || w.logged() != 1 {
		t.Errorf("fast: %v, %v, %d records; want its receipt", receipts, err, w.logged())
	}
}
