package freshness

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/english"
	"github.com/scoreboard/scoreboard/internal/publicnet"
	"github.com/scoreboard/scoreboard/internal/retry"
	"github.com/scoreboard/scoreboard/loadgen/record"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The monitored users. Their ids spread them over lanes and partitions.
const (
	monitorUsers = 8 // few enough for the top of any board
	stepInterval = 500 * time.Millisecond
	// StepDelta is the largest that a board allows by default, to stay at its top.
	StepDelta    = 1_000_000
	pollInterval = 20 * time.Millisecond
	// maxVisible bounds how long a commit may take to become visible after the end
	// of the load. One that is still invisible counts with that time.
	maxVisible = 10 * time.Second
	// maxConnect bounds how long the monitor waits for its watchers. One that is
	// not connected would count as slow.
	maxConnect = 5 * time.Second
)

// Where a sample was taken.
const (
	InRedis  = "redis"
	OnClient = "client"
)

// API is what a monitor writes to, reads and watches.
type API interface {
	// Step raises a user's score, so that the user stays at the top of the board.
	Step(ctx context.Context, user string) (Step, error)
	// Top returns the first rows of the board. A response that does not come from Redis is
	// an error.
	Top(ctx context.Context) ([]client.Entry, error)
	// Watch follows the board as watcher number i, until ctx ends, and returns how often it
	// reconnected.
	Watch(ctx context.Context, i int, seen func([]client.Entry)) (reconnects int)
}

// Step is the outcome of a step.
type Step struct {
	Before, After int64     // the user's score
	At            time.Time // of the commit; zero if unknown
}

// Options are the parts of a monitor.
type Options struct {
	API      API
	Redis    *ranking.Ranking   // where Redis is read; nil reads through the API
	Board    scoreboard.BoardID // there, the instance of a board with periods
	Watchers int
	Server   string // URL
	Shard    record.Shard
	// Sample receives each sample, with the time of the commit. It is called from
	// several goroutines.
	Sample func(where string, at time.Time, took time.Duration)
}

// Monitor measures freshness during a load.
type Monitor struct {
	Options
	users     []string
	sameClock bool  // the server runs on this machine
	clock     clock // otherwise

	redis   *sightings
	clients []*sightings

	mu           sync.Mutex
	expected     map[string]int64
	uncertain    map[string]bool // users with a step of unknown outcome
	disconnected int             // watchers without a message before the first step
	reconnects   int
	failures     int
	lastError    error
}

// NewMonitor returns a monitor. Run starts it.
func NewMonitor(o Options) *Monitor {
	m := &Monitor{
		Options: o, sameClock: isLoopback(o.Server), expected: map[string]int64{}, uncertain: map[string]bool{},
	}
	for i := range max(1, monitorUsers/max(1, o.Shard.Of)) { // all of them fit into ten rows
		m.users = append(m.users, userID(o.Shard, i))
	}
	m.redis = newSightings(m.users, func(at time.Time, took time.Duration) { o.Sample(InRedis, at, took) })
	for range o.Watchers {
		m.clients = append(m.clients, newSightings(m.users, func(at time.Time, took time.Duration) {
			o.Sample(OnClient, at, took)
		}))
	}
	return m
}

// UserPrefix begins the ids of the users of every monitor, and of nobody else.
const UserPrefix = "loadgen-pulse-"

// userID is the same in every run: new users would have to overtake those of all
// earlier runs to reach the top of the board.
func userID(shard record.Shard, i int) string {
	if shard.Of > 1 {
		return fmt.Sprintf(UserPrefix+"s%d-%d", shard.No, i)
	}
	return fmt.Sprintf(UserPrefix+"%d", i)
}

// isLoopback reports whether a server runs on this machine.
func isLoopback(server string) bool {
	u, err := url.Parse(server)
	return err == nil && publicnet.IsLoopback(u.Hostname())
}

// Method describes how freshness is measured.
func (m *Monitor) Method() string {
	text := "freshness is measured from recorded_at"
	if !m.sameClock {
		text += ", corrected for the offset between the server's clock and this machine's"
	}
	if m.Redis != nil {
		return text + "; Redis is read directly every 20 ms"
	}
	return text + "; Redis is read through the API every 20 ms"
}

// Expected are the scores that the monitored users must have. Users with a step
// of unknown outcome are left out.
func (m *Monitor) Expected() map[string]int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	expected := map[string]int64{}
	for user, score := range m.expected {
		if !m.uncertain[user] {
			expected[user] = score
		}
	}
	return expected
}

// Notes describe what went wrong.
func (m *Monitor) Notes() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var notes []string
	if m.disconnected > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d watchers received no message within %v",
			m.disconnected, m.Watchers, maxConnect))
	}
	if m.reconnects > 0 {
		notes = append(
			notes,
			fmt.Sprintf("watchers reconnected (%s); increments during those gaps count as seen late",
				english.Count(m.reconnects, "time")),
		)
	}
	if m.failures > 0 {
		notes = append(notes, fmt.Sprintf("%s of the freshness monitor failed; the last error: %v",
			english.Count(m.failures, "increment"), m.lastError))
	}
	return notes
}

// Run measures until ctx ends, and then waits for pending commits to become
// visible.
func (m *Monitor) Run(ctx context.Context) {
	observing, stop := context.WithCancel(context.WithoutCancel(ctx))
	var observers, steppers sync.WaitGroup
	ready := make(chan struct{}, m.Watchers)
	for i := range m.Watchers {
		after := time.Duration(i) * 20 * time.Millisecond // joins are limited
		observers.Go(func() { m.watch(observing, i, after, ready) })
	}
	m.disconnected = m.awaitWatchers(ctx, ready)
	observers.Go(func() { m.poll(observing) })
	for i, user := range m.users {
		steppers.Go(func() { m.step(ctx, user, time.Duration(i)*stepInterval/monitorUsers) })
	}
	steppers.Wait()
	for deadline := time.Now().Add(maxVisible); m.pending() > 0 && time.Now().Before(deadline); {
		time.Sleep(pollInterval)
	}
	stop()
	observers.Wait()
	now := time.Now()
	m.redis.close(now)
	for _, s := range m.clients {
		s.close(now)
	}
}

func (m *Monitor) pending() int {
	n := m.redis.waiting()
	for _, s := range m.clients {
		n += s.waiting()
	}
	return n
}

// step increments one user's score at intervals until ctx ends.
func (m *Monitor) step(ctx context.Context, user string, after time.Duration) {
	if !retry.Sleep(ctx, after) {
		return
	}
	tick := time.NewTicker(stepInterval)
	defer tick.Stop()
	for {
		sent := time.Now()
		// Without ctx: the last step is awaited, so that its outcome is known.
		step, err := m.API.Step(context.WithoutCancel(ctx), user)
		m.stepped(user, step, err)
		if err == nil {
			at := sent // makes freshness longer, never shorter
			if !step.At.IsZero() {
				at = step.At
				if !m.sameClock {
					at = m.clock.local(sent, at)
				}
			}
			m.redis.committed(user, step.After, at)
			for _, s := range m.clients {
				s.committed(user, step.After, at)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (m *Monitor) stepped(user string, step Step, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.failures++
		m.uncertain[user] = true
		m.lastError = err
		return
	}
	if score, stepped := m.expected[user]; stepped && score != step.Before {
		m.failures++
		m.uncertain[user] = true
		m.lastError = fmt.Errorf(
			"%s had the score %d instead of %d: another run uses this server, or it counts incorrectly",
			user, step.Before, score,
		)
	}
	m.expected[user] = step.After
}

// awaitWatchers waits for the first message of each watcher, and returns how many
// are missing.
func (m *Monitor) awaitWatchers(ctx context.Context, ready <-chan struct{}) int {
	deadline := time.NewTimer(maxConnect)
	defer deadline.Stop()
	for missing := m.Watchers; missing > 0; missing-- {
		select {
		case <-ready:
		case <-ctx.Done():
			return missing
		case <-deadline.C:
			return missing
		}
	}
	return 0
}

// watch follows the board as a client. Its first message makes it ready.
func (m *Monitor) watch(ctx context.Context, i int, after time.Duration, ready chan<- struct{}) {
	if !retry.Sleep(ctx, after) {
		return
	}
	first := true
	reconnects := m.API.Watch(ctx, i, func(rows []client.Entry) {
		m.clients[i].observe(rows, time.Now())
		if first {
			ready <- struct{}{}
			first = false
		}
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reconnects += reconnects
}

// top reads the top of the board from Redis, directly or through the API.
func (m *Monitor) top(ctx context.Context) ([]client.Entry, error) {
	if m.Redis == nil {
		return m.API.Top(ctx)
	}
	top, err := m.Redis.Top(ctx, &scoreboard.Board{ID: m.Board})
	if err != nil {
		return nil, err
	}
	entries := make([]client.Entry, len(top.Entries))
	for i, e := range top.Entries {
		entries[i] = client.Entry{UserID: string(e.User), Score: int64(e.Score)}
	}
	return entries, nil
}

func (m *Monitor) poll(ctx context.Context) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if entries, err := m.top(ctx); err == nil {
			m.redis.observe(entries, time.Now())
		}
	}
}
