package announce

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/internal/backoff"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Ranking is where notices come from.
type Ranking interface {
	Follow(ctx context.Context, do func(scoreboard.Notice), bad func(error)) error
	Top(ctx context.Context, board scoreboard.BoardID) (*scoreboard.Top, error)
	// Lead takes or renews the lease of the one announcer.
	Lead(ctx context.Context, owner string, life time.Duration) (bool, error)
	Resign(ctx context.Context, owner string) error
}

// Boards lists the boards that the ranking should hold.
type Boards interface {
	Ranked(ctx context.Context) ([]scoreboard.Board, error)
}

// Publisher is the topic. Top is set in every notice.
type Publisher interface {
	Announce(ctx context.Context, notices []scoreboard.Notice) error
}

// Options are the settings of an announcer.
type Options struct {
	Owner    string        // of the lease; unique in the cluster
	Interval time.Duration // between two notices of a board
	Lease    time.Duration // how long a dead announcer's lease lives
	Sweep    time.Duration // between two looks at every board
	Refresh  time.Duration // an idle board is announced again
}

// Announcer publishes notices.
type Announcer struct {
	o         Options
	ranking   Ranking
	boards    Boards
	publisher Publisher
	log       *slog.Logger
	announced prometheus.Counter
	failures  prometheus.Counter

	mu     sync.Mutex
	states map[scoreboard.BoardID]*state
}

// The head whose members matter, and how many moves one notice holds: a
// record must stay below what a broker takes, a megabyte.
const (
	topTen   = 10
	maxMoved = 5000
)

// New makes an announcer; Run starts it.
func New(o Options, r Ranking, b Boards, p Publisher, log *slog.Logger) *Announcer {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "scoreboard_announce_" + name, Help: help})
	}
	return &Announcer{
		o: o, ranking: r, boards: b, publisher: p, log: log, states: make(map[scoreboard.BoardID]*state),
		announced: counter("notices_total", "Notices that the topic has taken."),
		failures:  counter("failures_total", "Times that notices had to be tried again."),
	}
}

// Collectors are what the root registers.
func (a *Announcer) Collectors() []prometheus.Collector {
	return []prometheus.Collector{a.announced, a.failures}
}

// Run announces whenever it has the lease, until ctx ends.
func (a *Announcer) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		ok, err := a.ranking.Lead(ctx, a.o.Owner, a.o.Lease)
		if err != nil && ctx.Err() == nil {
			a.log.Debug("lease of the announcer not asked for", "err", err)
		}
		if ok {
			a.lead(ctx)
		}
		select {
		case <-time.After(a.o.Lease / 4):
		case <-ctx.Done():
		}
	}
	return nil
}

// lead follows the ranking and publishes until the lease is lost or ctx ends.
func (a *Announcer) lead(parent context.Context) {
	ctx, cancel := context.WithCancel(parent)
	var following sync.WaitGroup
	following.Go(func() {
		bad := func(err error) { a.log.Warn("notice not announced", "err", err) }
		if err := a.ranking.Follow(ctx, a.take, bad); err != nil {
			a.log.Warn("notices not followed", "err", err)
		}
	})
	defer func() {
		cancel()
		following.Wait()
		a.mu.Lock()
		clear(a.states) // another announcer's are newer
		a.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := a.ranking.Resign(ctx, a.o.Owner); err != nil {
			a.log.Debug("lease of the announcer left to expire", "err", err)
		}
	}()
	look := time.NewTicker(min(max(a.o.Interval/10, 10*time.Millisecond), 50*time.Millisecond))
	defer look.Stop()
	renewed, swept, attempt := time.Now(), time.Time{}, 0
	for ctx.Err() == nil {
		if now := time.Now(); now.Sub(swept) >= a.o.Sweep {
			swept = now
			a.sweep(ctx)
		}
		if err := a.flush(ctx); err != nil && ctx.Err() == nil {
			attempt++
			a.failures.Inc()
			a.log.Warn("notices wait", "attempt", attempt, "err", err)
			backoff.Wait(ctx, min(attempt, 4)) // shorter than the lease
		} else {
			attempt = 0
		}
		if now := time.Now(); now.Sub(renewed) >= a.o.Lease/4 {
			if ok, err := a.ranking.Lead(ctx, a.o.Owner, a.o.Lease); err != nil || !ok {
				return
			}
			renewed = now
		}
		select {
		case <-look.C:
		case <-ctx.Done():
		}
	}
}

// take merges a notice of the ranking into what is to be announced.
func (a *Announcer) take(n scoreboard.Notice) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.states[n.Board]
	if s == nil {
		s = &state{moved: make(map[scoreboard.UserID]scoreboard.Moved)}
		a.states[n.Board] = s
	}
	s.take(&n)
}

// sweep reads every board: what a lost notice should have said is said, and
// boards that are gone are forgotten.
func (a *Announcer) sweep(ctx context.Context) {
	boards, err := a.boards.Ranked(ctx)
	if err != nil {
		a.log.Debug("boards not swept", "err", err)
		return
	}
	ranked := make(map[scoreboard.BoardID]bool, len(boards))
	for i := range boards {
		ranked[boards[i].ID] = true
		top, err := a.ranking.Top(ctx, boards[i].ID)
		if err != nil {
			continue // cold, or Redis is away: there is nothing to say
		}
		a.take(scoreboard.Notice{Board: boards[i].ID, Top: top})
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.states, func(id scoreboard.BoardID, _ *state) bool { return !ranked[id] })
}

// flush publishes what is due.
func (a *Announcer) flush(ctx context.Context) error {
	now := time.Now()
	var notices []scoreboard.Notice
	a.mu.Lock()
	for _, id := range slices.Sorted(maps.Keys(a.states)) {
		if s := a.states[id]; s.due(now, a.o.Interval, a.o.Refresh) {
			notices = append(notices, s.notice(id))
		}
	}
	a.mu.Unlock()
	if len(notices) == 0 {
		return nil
	}
	if err := a.publisher.Announce(ctx, notices); err != nil {
		return err
	}
	a.announced.Add(float64(len(notices)))
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range notices {
		if s := a.states[notices[i].Board]; s != nil {
			s.sent(&notices[i], now)
		}
	}
	return nil
}
