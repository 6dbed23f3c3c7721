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
	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/loadgen/record"
	"github.com/scoreboard/scoreboard/loadgen/verify"
)

const (
	timeout     = 10 * time.Second // of a request
	maxResponse = 1 << 20
	// minWait is the shortest wait for a request's scheduled time. Requests that
	// are scheduled during it are sent together afterwards: at 10,000 per second, a
	// timer for each costs as much as signing. The delay shows as lateness.
	minWait = time.Millisecond
	// maxDenied is how many increments in a row may be rejected for their token or
	// key before the run ends.
	maxDenied = 200
)

// player sends the requests of a plan.
type player struct {
	plan     *plan.Plan
	requests plan.Schedule
	server   Server
	tokens   []client.TokenSource
	events   *plan.Events
	tracker  *verify.Tracker

	onHit    func(record.Hit)
	onAck    func(plan.Event)                  // for each acknowledged increment
	onSecond func(elapsed time.Duration) error // an error ends the run

	denied int // increments in a row
	denial string
}

// play sends requests until the end of the plan, or until ctx ends, and waits for
// those in flight. It returns how much of the plan was played.
func (p *player) play(ctx context.Context) (played time.Duration, cut bool, err error) {
	send, err := newSender(p.plan, p.events, p.server, p.tokens)
	if err != nil {
		return 0, false, err
	}
	defer send.conns.Close()
	attacker := vegeta.NewAttacker(
		// Without a time-out of its own, which costs a goroutine per request: the
		// connections have one.
		vegeta.Client(client.NewHTTP(send)), vegeta.Redirects(vegeta.NoFollow),
		vegeta.MaxBody(maxResponse), vegeta.MaxWorkers(uint64(p.plan.Connections)),
	)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	start := &startTime{at: time.Now().Add(time.Second)} // later than any estimate
	var cutAt atomic.Int64                               // when ctx ended, or 0
	defer context.AfterFunc(ctx, func() {
		cutAt.Store(int64(max(start.since(time.Now()), 1)))
		attacker.Stop()
	})()
	target := vegeta.Target{Method: http.MethodGet, URL: p.server.URL}
	results := attacker.Attack(vegeta.NewStaticTargeter(target), &pacer{p.requests, ctx, start.estimate}, 0, "")
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		select {
		case res, open := <-results:
			if !open {
				if at := time.Duration(cutAt.Load()); at > 0 && at < p.requests.Duration() {
					return at, true, err
				}
				return p.requests.Duration(), false, err
			}
			p.observe(res, start.since(res.Timestamp))
		case now := <-second.C:
			e := p.onSecond(start.since(now))
			if e == nil && p.denied >= maxDenied {
				e = fmt.Errorf(
					"the last %d increments were all rejected with %s: check token and key", p.denied, p.denial,
				)
			}
			if e != nil && err == nil {
				err = e
				cancel()
			}
		}
	}
}

// observe processes a response. sent is the time of the request since the start.
// vegeta numbers requests in the order in which it sends them, which is the
// scheduled order.
func (p *player) observe(res *vegeta.Result, sent time.Duration) {
	scheduled := p.requests.At(res.Seq)
	h := record.Hit{
		Kind: record.Read, N: 1, Scheduled: scheduled, Late: max(sent-scheduled, 0), Service: res.Latency,
		Status: int(res.Code),
	}
	failure := ""
	if res.Code == 0 || res.Error != "" && res.Code < 300 {
		failure = describe(res.Error) // a truncated response counts as none
		h.Status = 0
	}
	k, write := p.plan.Write(res.Seq)
	switch {
	case !write:
		if h.Problem = failure; failure == "" && res.Code != http.StatusOK && !isUnknownUser(res) {
			h.Problem = strings.TrimSpace(res.Error)
		}
	case p.plan.Mode == plan.Batch:
		events := p.events.Batch(k)
		h.Kind, h.N = record.Increment, len(events)
		h.Problem = p.tracker.ObserveBatch(events, h.Status, failure, res.Body)
		if e := events[0]; h.Problem == "" && e.Kind == record.Increment {
			p.onAck(e)
		}
	default:
		e := p.events.At(k)
		h.Kind = e.Kind
		h.Problem = p.tracker.Observe(e, h.Status, failure, res.Body)
		p.countDenied(e.Kind, h)
		if h.Problem == "" && e.Kind == record.Increment && p.tracker.MustBeRecorded(e.Of) {
			p.onAck(e)
		}
	}
	if failure == errCut.Error() {
		h.Problem = "" // the outcome is looked up after the load
	}
	p.onHit(h)
}

// countDenied counts increments that are rejected for their token or key. After a
// few of them, a server rejects further requests from the address with 429,
// without checking their signatures.
func (p *player) countDenied(kind record.Kind, h record.Hit) {
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

// isUnknownUser reports whether a read was for a user without a score, for which
// 404 is the correct response.
func isUnknownUser(res *vegeta.Result) bool {
	return res.Code == http.StatusNotFound && strings.Contains(string(res.Body), `"not_found"`) ||
		res.Code == http.StatusNotFound && strings.Contains(string(res.Body), `"NOT_FOUND"`) // of highscore
}

// describe shortens an error to the text that errors with the same cause share:
// without ports of connections.
func describe(text string) string {
	if i := strings.LastIndex(text, ": "); i >= 0 && !strings.Contains(text[i:], "Client.Timeout") {
		return text[i+2:]
	}
	return text
}

// pacer releases each request at its scheduled time, and none after the end of
// the schedule: what could not be sent by then is reported, not sent later.
type pacer struct {
	schedule plan.Schedule
	ctx      context.Context // ends the run early; vegeta's own stop may release further requests
	// onRequest receives the time since the start before each request.
	onRequest func(elapsed time.Duration)
}

var _ vegeta.Pacer = (*pacer)(nil)

// Pace is called once before each request.
func (p *pacer) Pace(elapsed time.Duration, sent uint64) (wait time.Duration, stop bool) {
	p.onRequest(elapsed)
	if p.ctx.Err() != nil || sent >= p.schedule.Total() || elapsed > p.schedule.Duration() {
		return 0, true
	}
	if wait = p.schedule.At(sent) - elapsed; wait <= 0 {
		return 0, false
	}
	return max(wait, minWait), false
}

// Rate is the target rate, for vegeta.
func (p *pacer) Rate(elapsed time.Duration) float64 { return p.schedule.Rate(elapsed) }

// startTime estimates when vegeta began, which it does not expose. Each call of
// the pacer is an upper bound.
type startTime struct {
	mu sync.Mutex
	at time.Time
}

func (s *startTime) estimate(elapsed time.Duration) {
	at := time.Now().Add(-elapsed)
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.Before(s.at) {
		s.at = at
	}
}

func (s *startTime) since(t time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.Sub(s.at)
}
