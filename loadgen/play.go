package loadgen

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/loadgen/pace"
	"github.com/scoreboard/scoreboard/loadgen/record"
)

const (
	timeout   = 10 * time.Second // for one answer
	maxAnswer = 1 << 20
	// grain is how finely requests are released. One that is not due yet is
	// waited for so long at least, and those that fall due meanwhile go with it:
	// at 10,000 a second a timer for each costs as much as signing. It shows as
	// lateness.
	grain = time.Millisecond
)

// player plays a plan.
type player struct {
	plan   *Plan
	due    pace.Pace // of requests
	server Server
	tokens []client.TokenSource

	hit   func(record.Hit)                  // told of each answer
	acked func(e event)                     // told of each increment that was acknowledged
	every func(elapsed time.Duration) error // told once a second; an error ends the run

	denied int // increments in a row
	denial string
}

// play sends what is due until the end, or until ctx ends: then no more is
// sent, and those in flight are waited for. It returns how much of the plan was
// played.
func (p *player) play(ctx context.Context, d *draw, b *book) (lasted time.Duration, cut bool, err error) {
	send, err := newSender(p.plan, d, p.server, p.tokens)
	if err != nil {
		return 0, false, err
	}
	defer send.conns.Close()
	attacker := vegeta.NewAttacker(
		// Without a time limit of its own, which costs a goroutine each: the
		// connections have one.
		vegeta.Client(&http.Client{Transport: send}),
		vegeta.MaxBody(maxAnswer), vegeta.MaxWorkers(uint64(p.plan.Connections)),
	)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	zero := &origin{at: time.Now().Add(time.Second)} // later than any estimate will be
	var cutAt atomic.Int64                           // when ctx ended, 0 while it has not
	defer context.AfterFunc(ctx, func() {
		cutAt.Store(int64(max(zero.since(time.Now()), 1)))
		attacker.Stop()
	})()
	target := vegeta.Target{Method: http.MethodGet, URL: p.server.URL}
	results := attacker.Attack(vegeta.NewStaticTargeter(target), &pacer{p.due, ctx, zero.estimate}, 0, "")
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		select {
		case res, open := <-results:
			if !open {
				if at := time.Duration(cutAt.Load()); at > 0 && at < p.due.Duration() {
					return at, true, err
				}
				return p.due.Duration(), false, err
			}
			p.take(d, b, res, zero.since(res.Timestamp))
		case now := <-second.C:
			e := p.every(zero.since(now))
			if e == nil && p.denied >= mostDenied {
				e = fmt.Errorf("the last %d increments were all refused, %s: check token and key", p.denied, p.denial)
			}
			if e != nil && err == nil {
				err = e
				cancel()
			}
		}
	}
}

// take enters one answer. sent is when it was sent, from the beginning of the
// run; vegeta numbers its requests in the order in which it sends them, which
// is that in which they were due.
func (p *player) take(d *draw, b *book, res *vegeta.Result, sent time.Duration) {
	due := p.due.Due(res.Seq)
	h := record.Hit{Kind: record.Read, N: 1, Due: due, Late: max(sent-due, 0), Service: res.Latency, Status: int(res.Code)}
	failure := ""
	if res.Code == 0 || res.Error != "" && res.Code < 300 {
		failure = describe(res.Error) // an answer that broke off is none
		h.Status = 0
	}
	k, write := p.plan.write(res.Seq)
	switch {
	case !write:
		if h.Problem = failure; failure == "" && res.Code != http.StatusOK && !unseen(res) {
			h.Problem = strings.TrimSpace(res.Error)
		}
	case p.plan.Mode == Batch:
		events := p.plan.batch(d, k)
		h.Kind, h.N = record.Increment, len(events)
		h.Problem = b.takeBatch(events, h.Status, failure, res.Body)
		if e := events[0]; h.Problem == "" && e.kind == record.Increment {
			p.acked(e)
		}
	default:
		e := d.event(k)
		h.Kind = e.kind
		h.Problem = b.take(e, h.Status, failure, res.Body)
		p.denials(e.kind, h)
		if h.Problem == "" && e.kind == record.Increment {
			p.acked(e)
		}
	}
	if failure == errCut.Error() {
		h.Problem = "" // its outcome is looked up afterwards
	}
	p.hit(h)
}

// mostDenied is how many increments in a row may be refused for their token or
// key before nothing else is to be expected.
const mostDenied = 200

// denials counts those. A server that has refused a few of them refuses the rest
// of the address without a look at their signatures.
func (p *player) denials(kind record.Kind, h record.Hit) {
	switch {
	case kind != record.Increment:
	case h.Status == http.StatusUnauthorized || h.Status == http.StatusForbidden:
		p.denied++
		p.denial = h.Problem
	case h.Status == http.StatusTooManyRequests && p.denied > 0:
		p.denied++
	default:
		p.denied = 0
	}
}

// unseen says that a read asked for a user that has no score yet, which is the
// right answer.
func unseen(res *vegeta.Result) bool {
	return res.Code == http.StatusNotFound && strings.Contains(string(res.Body), `"not_found"`)
}

// describe shortens what broke to words that are the same for the same cause:
// the ports of connections are not.
func describe(text string) string {
	if i := strings.LastIndex(text, ": "); i >= 0 && !strings.Contains(text[i:], "Client.Timeout") {
		return text[i+2:]
	}
	return text
}

// pacer releases each request when it is due, and none after the end: what
// could not be sent by then is reported, not made up for.
type pacer struct {
	due pace.Pace
	ctx context.Context // ends the run early; vegeta's own way may let hits through
	// tick is told the time since the beginning before each request.
	tick func(elapsed time.Duration)
}

var _ vegeta.Pacer = (*pacer)(nil)

// Pace is called once before each request.
func (p *pacer) Pace(elapsed time.Duration, sent uint64) (wait time.Duration, stop bool) {
	p.tick(elapsed)
	if p.ctx.Err() != nil || sent >= p.due.Total() || elapsed > p.due.Duration() {
		return 0, true
	}
	if wait = p.due.Due(sent) - elapsed; wait <= 0 {
		return 0, false
	}
	return max(wait, grain), false
}

// Rate is what vegeta reports as the rate asked for.
func (p *pacer) Rate(elapsed time.Duration) float64 { return p.due.Rate(elapsed) }

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

func (o *origin) since(t time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return t.Sub(o.at)
}
