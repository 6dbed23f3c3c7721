package loadgen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/loadgen/record"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The pulse: users who rise to the head of the board and step up twice a second
// each, spread over lanes and partitions by their names. What others see of
// them, and when, is the freshness.
const (
	pulseUsers = 8 // they fit into any head of a board
	pulseEvery = 500 * time.Millisecond
	pulseDelta = 1_000_000 // the largest of a board's default bounds, to stay at its head
	pollEvery  = 20 * time.Millisecond
	seenWithin = 10 * time.Second // after the end; what is not seen then never was
	// A watcher that has not connected yet would count as one that sees late.
	readyWithin = 5 * time.Second
)

// pulse measures freshness beside a load.
type pulse struct {
	client   *client.Client
	direct   *ranking.Ranking // where it is read from; nil through the API
	users    []string
	watchers []*client.Client // a user each
	local    bool             // one clock tells the server's time and ours
	skew     skew             // where it does not
	sample   func(where string, at time.Time, took time.Duration)

	redis   *sights
	clients []*sights

	mu       sync.Mutex
	expected map[string]int64
	unsure   map[string]bool // users with a step whose outcome is not known
	blind    int             // watchers that saw nothing before the first step
	lost     int             // times that a watcher's connection ended and another had to be made
	failures int
	last     error
}

func newPulse(c *client.Client, watchers []*client.Client, server string, shard record.Shard, sample func(where string, at time.Time, took time.Duration)) *pulse {
	p := &pulse{client: c, watchers: watchers, local: loopback(server), sample: sample, expected: map[string]int64{}, unsure: map[string]bool{}}
	for i := range pulseUsers {
		p.users = append(p.users, pulseName(shard, i))
	}
	p.redis = newSights(p.users, func(at time.Time, took time.Duration) { sample("redis", at, took) })
	for range watchers {
		p.clients = append(p.clients, newSights(p.users, func(at time.Time, took time.Duration) { sample("client", at, took) }))
	}
	return p
}

// pulseName is the same in every run: the pulse of a new run would have to climb
// over those of all before it to be seen at the head of a board.
func pulseName(shard record.Shard, i int) string {
	if shard.Of > 1 {
		return fmt.Sprintf("loadgen-pulse-s%d-%d", shard.No, i)
	}
	return fmt.Sprintf("loadgen-pulse-%d", i)
}

// loopback says whether a server runs on this machine.
func loopback(server string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// clock says what freshness is measured from, and where it is seen.
func (p *pulse) clock() string {
	seen := "; Redis is read through the API every 20 ms"
	if p.direct != nil {
		seen = "; Redis is read directly every 20 ms"
	}
	return p.origin() + seen
}

func (p *pulse) origin() string {
	if p.local {
		return "freshness runs from recorded_at: the server is on this machine and has its clock"
	}
	return "freshness runs from recorded_at, made this machine's time by the quickest of the last increments: the server has another clock"
}

// run watches, polls and steps until ctx ends, and then waits for what was
// committed to be seen.
func (p *pulse) run(ctx context.Context) {
	seeing, stop := context.WithCancel(context.WithoutCancel(ctx))
	var observers, steppers sync.WaitGroup
	ready := make(chan struct{}, len(p.watchers))
	for i, c := range p.watchers {
		observers.Go(func() { p.watch(seeing, c, i%2 == 1, p.clients[i], time.Duration(i)*20*time.Millisecond, ready) })
	}
	p.blind = p.await(ctx, ready)
	observers.Go(func() { p.poll(seeing) })
	for i, user := range p.users {
		steppers.Go(func() { p.step(ctx, user, time.Duration(i)*pulseEvery/pulseUsers) })
	}
	steppers.Wait()
	for deadline := time.Now().Add(seenWithin); p.waiting() > 0 && time.Now().Before(deadline); {
		time.Sleep(pollEvery)
	}
	stop()
	observers.Wait()
	now := time.Now()
	p.redis.close(now)
	for _, s := range p.clients {
		s.close(now)
	}
}

func (p *pulse) waiting() int {
	n := p.redis.waiting()
	for _, s := range p.clients {
		n += s.waiting()
	}
	return n
}

// step moves one user until ctx ends.
func (p *pulse) step(ctx context.Context, user string, after time.Duration) {
	if !pause(ctx, after) {
		return
	}
	tick := time.NewTicker(pulseEvery)
	defer tick.Stop()
	for {
		sent := time.Now()
		// Not with ctx: the step in flight at the end is waited for, so that its
		// outcome is known.
		receipt, err := p.client.Submit(context.WithoutCancel(ctx), client.Increment{User: user, Delta: pulseDelta})
		p.note(user, receipt, err)
		if err == nil {
			at := receipt.RecordedAt
			if !p.local {
				at = p.skew.ours(sent, at)
			}
			p.redis.committed(user, receipt.NewScore, at)
			for _, s := range p.clients {
				s.committed(user, receipt.NewScore, at)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (p *pulse) note(user string, receipt client.Receipt, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.failures++
		p.unsure[user] = true
		p.last = err
		return
	}
	before := receipt.NewScore - receipt.Applied
	if score, stepped := p.expected[user]; stepped && score != before {
		p.failures++
		p.unsure[user] = true
		p.last = fmt.Errorf("%s stood at %d after %d: another run is at work on this server, or it counts wrongly", user, before, score)
	}
	p.expected[user] = receipt.NewScore
}

// await waits for the watchers' first frames and returns how many did not come.
func (p *pulse) await(ctx context.Context, ready <-chan struct{}) int {
	late := time.NewTimer(readyWithin)
	defer late.Stop()
	for left := len(p.watchers); left > 0; left-- {
		select {
		case <-ready:
		case <-ctx.Done():
			return left
		case <-late.C:
			return left
		}
	}
	return 0
}

// watch follows the board as a client does. Its first frame makes it ready.
func (p *pulse) watch(ctx context.Context, c *client.Client, stream bool, s *sights, after time.Duration, ready chan<- struct{}) {
	if !pause(ctx, after) { // not all in one moment: joins are limited
		return
	}
	first, reconnects := true, 0
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.lost += reconnects
	}()
	for state := range c.Watch(ctx, "", client.WatchOptions{Limit: 100, EventStream: stream}) {
		reconnects = state.Reconnects
		if state.Connection != client.WebSocket && state.Connection != client.SSE {
			continue
		}
		s.observe(state.Entries, time.Now())
		if first {
			ready <- struct{}{}
			first = false
		}
	}
}

// head reads the head of the board that Redis holds, from itself or through the
// API. A degraded answer is not from there.
func (p *pulse) head(ctx context.Context) ([]client.Entry, error) {
	if p.direct == nil {
		top, err := p.client.Top(ctx, client.TopQuery{Limit: 100})
		if err == nil && top.Degraded {
			err = errors.New(top.DegradedReason)
		}
		return top.Entries, err
	}
	top, err := p.direct.Top(ctx, scoreboard.GlobalBoard)
	if err != nil {
		return nil, err
	}
	entries := make([]client.Entry, len(top.Entries))
	for i, e := range top.Entries {
		entries[i] = client.Entry{UserID: string(e.User), Score: int64(e.Score)}
	}
	return entries, nil
}

// poll reads again and again.
func (p *pulse) poll(ctx context.Context) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if entries, err := p.head(ctx); err == nil {
			p.redis.observe(entries, time.Now())
		}
	}
}

// toSample makes a sample of what began at a moment.
func toSample(where string, began, at time.Time, took time.Duration) record.Sample {
	return record.Sample{Where: where, At: max(at.Sub(began), 0), Took: took}
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
