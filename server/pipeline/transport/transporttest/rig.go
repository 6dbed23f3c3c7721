// Package transporttest tests that a transport keeps the promises of package
// transport, and holds the helpers of the transports' own tests.
package transporttest

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/pipeline/transport"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Publisher is what the relay publishes to.
type Publisher interface {
	Publish(ctx context.Context, changes []scoreboard.Change) (int, error)
	Heartbeat(ctx context.Context, h scoreboard.Heartbeat) error
}

// Rig is a transport under test.
type Rig struct {
	Publisher
	Consumer func() transport.Consumer // a new member of one group
}

// New returns the rig of a producer and its consumers.
func New(p transport.Producer, consumer func() transport.Consumer) Rig {
	return Rig{transport.NewEvents(p), consumer}
}

// Quiet discards the log.
var Quiet = slog.New(slog.DiscardHandler)

// ErrTemporary is a handler's error.
var ErrTemporary = errors.New("temporary")

// Events makes n changes of as many users, named u0, u1, … and starting at from.
func Events(from, n int) []scoreboard.Change {
	var changes []scoreboard.Change
	for i := from; i < from+n; i++ {
		at := time.UnixMicro(1_800_000_000_000_000 + int64(i)).UTC()
		changes = append(changes, scoreboard.Change{
			Type: scoreboard.ChangeScore, Event: [16]byte{byte(i), byte(i >> 8)},
			Board: "global", User: scoreboard.UserID("u" + strconv.Itoa(i)),
			Score: 5, Key: -5, Version: 1, Revision: 1, ReachedAt: at, RecordedAt: at,
		})
	}
	return changes
}

// Publish publishes all changes at once.
func Publish(t testing.TB, p Publisher, changes []scoreboard.Change) {
	t.Helper()
	if n, err := p.Publish(t.Context(), changes); err != nil || n != len(changes) {
		t.Fatalf("published %d of %d: %v", n, len(changes), err)
	}
}

// Received collects delivered records.
type Received struct {
	mu    sync.Mutex
	users map[string]int
	beats map[int]scoreboard.Heartbeat // by partition
}

// NewReceived returns an empty collection.
func NewReceived() *Received {
	return &Received{users: map[string]int{}, beats: map[int]scoreboard.Heartbeat{}}
}

// Handle is a transport.Handler.
func (r *Received) Handle(_ context.Context, records []scoreboard.Record) (map[int]int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, record := range records {
		change, beat, err := protocol.DecodeEvent(record.Value)
		switch {
		case err != nil:
			return nil, err
		case beat != nil:
			r.beats[record.Partition] = *beat
		default:
			r.users[string(change.User)]++
		}
	}
	return nil, nil
}

// Users counts the users whose changes were delivered.
func (r *Received) Users() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.users)
}

// of counts the changes of one user.
func (r *Received) of(user string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.users[user]
}

// Consume runs a consumer until stop or the end of the test, and starts it again
// after an error, as the projection does.
func Consume(t testing.TB, c transport.Consumer, handle transport.Handler) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := c.Consume(ctx, handle); err != nil {
				select {
				case <-time.After(100 * time.Millisecond):
				case <-ctx.Done():
				}
			}
		}
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(stop)
	return stop
}

// Until waits up to a minute for a condition.
func Until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after 60 s: not %s", what)
		}
	}
}
