package loadgen

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// Progress is told once a second.
type Progress struct {
	Elapsed time.Duration
	Asked   uint64 // fell due so far
	Sent    uint64 // answered or failed so far
	Failed  uint64
	P95     float64 // from when due, in milliseconds
}

// What a run may hold open and how long it waits for one answer.
const (
	connections = 1024
	timeout     = 10 * time.Second
)

// Run plays a plan and reports. When ctx ends first, no further increment is
// sent, those in flight are waited for, and the report says that it was cut.
func Run(ctx context.Context, s Server, p Plan, progress func(Progress)) (*Report, error) {
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("plan the load: %w", err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = connections, connections
	transport.ForceAttemptHTTP2 = false // one connection would carry it all
	defer transport.CloseIdleConnections()
	attacker := vegeta.NewAttacker(
		vegeta.Client(&http.Client{Transport: transport, Timeout: timeout}),
		vegeta.MaxBody(4<<10), vegeta.MaxWorkers(connections),
	)
	zero := &origin{at: time.Now().Add(time.Second)} // later than any estimate will be
	var cut atomic.Int64                             // when ctx ended, 0 while it has not
	defer context.AfterFunc(ctx, func() {
		cut.Store(int64(max(zero.since(time.Now()), 1)))
		attacker.Stop()
	})()
	rec := newRecorder(&p)
	results := attacker.Attack(targets(s, newDraw(&p)), &pacer{&p, ctx, zero.estimate}, 0, "")
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		select {
		case res, open := <-results:
			if !open {
				lasted := p.Duration
				if at := time.Duration(cut.Load()); at > 0 && at < lasted {
					return rec.judge(zero.get(), at, true), nil
				}
				return rec.judge(zero.get(), lasted, false), nil
			}
			rec.add(res, zero.since(res.Timestamp))
		case now := <-second.C:
			progress(Progress{
				Elapsed: zero.since(now), Asked: p.expected(zero.since(now)), Sent: rec.samples, Failed: rec.failed,
				P95: float64(rec.fromDue.ValueAtQuantile(95)) / 1000,
			})
		}
	}
}

// origin is the moment that due times count from: when vegeta began, which it
// does not tell. Each call of the pacer bounds it from above.
type origin struct {
	mu sync.Mutex
	at time.Time
}

func (o *origin) estimate(elapsed time.Duration) {
	at := time.Now().Add(-elapsed)
	o.mu.Lock()
	defer o.mu.Unlock()
	if at.Before(o.at) {
		o.at = at
	}
}

func (o *origin) get() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.at
}

func (o *origin) since(t time.Time) time.Duration { return t.Sub(o.get()) }
