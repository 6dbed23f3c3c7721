package containers

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
)

// ledger sends points of one user, one each, and knows which were accepted. A point whose
// outcome is unknown is sent again with the same id, as clients do.
type ledger struct {
	user   string
	sent   int
	open   []string // not accepted yet
	status atomic.Int64
	async  atomic.Bool
	c      *client.Client
	// accepted ends a request with respond-async: its outcome is not waited for.
	accepted context.CancelFunc
}

func newLedger(t *testing.T, s *stack, user string) *ledger {
	t.Helper()
	l := &ledger{user: user}
	l.c = s.client(t, &http.Client{Transport: l})
	return l
}

// RoundTrip notes the status of each response.
func (l *ledger) RoundTrip(r *http.Request) (*http.Response, error) {
	if l.async.Load() && r.Method == http.MethodPost {
		r = r.Clone(r.Context())
		r.Header.Set("Prefer", "respond-async")
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if r.Method == http.MethodPost {
		l.status.Store(0)
		if err == nil {
			l.status.Store(int64(resp.StatusCode))
			if resp.StatusCode == http.StatusAccepted {
				l.accepted()
			}
		}
	}
	return resp, err
}

// submit sends a point and returns the status of the response, 0 without one, and its
// receipt.
func (l *ledger) submit(ctx context.Context, event string, async bool) (status int, receipt client.Receipt) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	l.accepted = cancel
	l.async.Store(async)
	l.status.Store(0)
	receipt, _ = l.c.Submit(ctx, client.Increment{User: l.user, Delta: 1, EventID: event})
	return int(l.status.Load()), receipt
}

// point sends a new point.
func (l *ledger) point(ctx context.Context, async bool) (status int, receipt client.Receipt) {
	l.sent++
	event := fmt.Sprintf("%s-%d", l.user, l.sent)
	if status, receipt = l.submit(ctx, event, async); status/100 != 2 {
		l.open = append(l.open, event)
	}
	return status, receipt
}

// settle sends what was not accepted until it is, and requires that each point counts once.
func (l *ledger) settle(t *testing.T, within time.Duration) {
	t.Helper()
	eventually(t, within, "the points of "+l.user+" to be accepted", func() string {
		for len(l.open) > 0 {
			if status, _ := l.submit(t.Context(), l.open[0], false); status/100 != 2 {
				return fmt.Sprintf("%d open, status %d", len(l.open), status)
			}
			l.open = l.open[1:]
		}
		return ""
	})
	eventually(t, within, "the score of "+l.user, func() string {
		p, err := l.c.Score(t.Context(), l.user, client.PlaceQuery{})
		if err != nil {
			return err.Error()
		}
		if p.Score != int64(l.sent) {
			return fmt.Sprintf("got %d, want %d points", p.Score, l.sent)
		}
		return ""
	})
}

// load is players who send points until stop is called.
type load struct {
	t       *testing.T
	ledgers []*ledger
	cancel  context.CancelFunc
	work    sync.WaitGroup
	mu      sync.Mutex
	last    time.Time
	longest time.Duration // between two accepted points of all
}

func startLoad(t *testing.T, s *stack, players int) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{t: t, cancel: cancel, last: time.Now()}
	for i := range players {
		one := newLedger(t, s, fmt.Sprintf("player-%d", i))
		l.ledgers = append(l.ledgers, one)
		l.work.Go(func() {
			for ctx.Err() == nil {
				if status, _ := one.point(context.WithoutCancel(ctx), i%4 == 3); status/100 == 2 {
					l.mu.Lock()
					l.longest = max(l.longest, time.Since(l.last))
					l.last = time.Now()
					l.mu.Unlock()
				} else {
					time.Sleep(100 * time.Millisecond)
				}
				time.Sleep(50 * time.Millisecond)
			}
		})
	}
	return l
}

// stop ends the load and requires that each point counts once.
func (l *load) stop() {
	l.t.Helper()
	l.cancel()
	l.work.Wait()
	points := 0
	for _, one := range l.ledgers {
		one.settle(l.t, 30*time.Second)
		points += one.sent
	}
	l.t.Logf("%d points, each counted once; the longest time without one was %v", points,
		l.longest.Round(10*time.Millisecond))
}
