package announce

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/internal/retry"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Ranking is where notices come from.
type Ranking interface {
	Follow(ctx context.Context, do func(scoreboard.Notice), bad func(error)) error
	Top(ctx context.Context, board *scoreboard.Board) (*scoreboard.Top, error)
	// Lead takes or renews the lease of the one announcer.
	Lead(ctx context.Context, owner string, ttl time.Duration) (bool, error)
	Resign(ctx context.Context, owner string) error
}

// Boards lists the boards that the ranking should hold.
type Boards interface {
	Ranked(ctx context.Context) ([]scoreboard.Board, error)
}

// Publisher writes to the topic. Every notice has its Top set.
type Publisher interface {
	Announce(ctx context.Context, notices []scoreboard.Notice) error
}

// Options are the settings of an announcer.
type Options struct {
	Owner           string        // of the lease; unique in the cluster
	Interval        time.Duration // minimum between two notices of a board
	LeaseDuration   time.Duration // how long a dead announcer keeps the lease
	SweepInterval   time.Duration // between two reads of every board
	RefreshInterval time.Duration // maximum between two notices of an idle board
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
	// waiting are the boards that may have to be announced: all but those that have been, unless
	// something has happened to them since.
	waiting map[scoreboard.BoardID]bool
}

const (
	topTen   = 10   // entries whose members are announced at once
	maxMoved = 5000 // moves in one notice, which keeps it below a broker's limit of 1 MiB
)

// New returns an announcer; Run starts it.
func New(o Options, r Ranking, b Boards, p Publisher, log *slog.Logger) *Announcer {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "scoreboard_announce_" + name, Help: help})
	}
	return &Announcer{
		o: o, ranking: r, boards: b, publisher: p, log: log,
		states: make(map[scoreboard.BoardID]*state), waiting: make(map[scoreboard.BoardID]bool),
		announced: counter("notices_total", "Notices published to the topic."),
		failures:  counter("failures_total", "Failed attempts to publish notices."),
	}
}

// Collectors returns the metrics, for registration.
func (a *Announcer) Collectors() []prometheus.Collector {
	return []prometheus.Collector{a.announced, a.failures}
}

// Run announces while it has the lease, until ctx ends.
func (a *Announcer) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		ok, err := a.ranking.Lead(ctx, a.o.Owner, a.o.LeaseDuration)
		if err != nil && ctx.Err() == nil {
			a.log.Debug("announcer lease not claimed", "err", err)
		}
		if ok {
			a.lead(ctx)
		}
		select {
		case <-time.After(a.o.LeaseDuration / 4):
		case <-ctx.Done():
		}
	}
	return nil
}

// lead follows the ranking and publishes until the lease is lost or ctx ends.
func (a *Announcer) lead(parent context.Context) {
	ctx, cancel := context.WithCancel(parent)
	var follower sync.WaitGroup
	follower.Go(func() {
		bad := func(err error) { a.log.Warn("notice skipped: cannot be decoded", "err", err) }
		if err := a.ranking.Follow(ctx, a.merge, bad); err != nil {
			a.log.Warn("ranking notices not received", "err", err)
		}
	})
	defer func() {
		cancel()
		follower.Wait()
		a.mu.Lock()
		clear(a.states) // out of date once another announcer leads
		clear(a.waiting)
		a.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := a.ranking.Resign(ctx, a.o.Owner); err != nil {
			a.log.Debug("announcer lease left to expire", "err", err)
		}
	}()
	tick := time.NewTicker(min(max(a.o.Interval/10, 10*time.Millisecond), 50*time.Millisecond))
	defer tick.Stop()
	renewed, swept, attempt := time.Now(), time.Time{}, 0
	for ctx.Err() == nil {
		if now := time.Now(); now.Sub(swept) >= a.o.SweepInterval {
			swept = now
			a.sweep(ctx)
		}
		if err := a.flush(ctx); err != nil && ctx.Err() == nil {
			attempt++
			a.failures.Inc()
			a.log.Warn("notices not published, retrying", "attempt", attempt, "err", err)
			retry.Wait(ctx, min(attempt, 4)) // less than the lease lasts
		} else {
			attempt = 0
		}
		if now := time.Now(); now.Sub(renewed) >= a.o.LeaseDuration/4 {
			if ok, err := a.ranking.Lead(ctx, a.o.Owner, a.o.LeaseDuration); err != nil || !ok {
				return
			}
			renewed = now
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// merge adds a notice of the ranking to the state of its board.
func (a *Announcer) merge(n scoreboard.Notice) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state(n.Board).merge(&n)
}

// state returns the state of a board, to which something has happened. The lock is held.
func (a *Announcer) state(board scoreboard.BoardID) *state {
	a.waiting[board] = true
	s := a.states[board]
	if s == nil {
		s = &state{moved: make(map[scoreboard.UserID]move)}
		a.states[board] = s
	}
	return s
}

// sweep reads every board, to announce changes whose notice was lost, and drops
// the states of boards that no longer exist.
func (a *Announcer) sweep(ctx context.Context) {
	boards, err := a.boards.Ranked(ctx)
	if err != nil {
		a.log.Debug("boards not listed", "err", err)
		return
	}
	ranked := make(map[scoreboard.BoardID]bool, len(boards))
	for i := range boards {
		ranked[boards[i].ID] = true
		top, err := a.ranking.Top(ctx, &boards[i])
		if err != nil {
			continue // not loaded, or Redis is unavailable
		}
		a.mu.Lock()
		a.state(boards[i].ID).read(top)
		a.mu.Unlock()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.states, func(id scoreboard.BoardID, _ *state) bool { return !ranked[id] })
}

// flush publishes the notices that are due.
func (a *Announcer) flush(ctx context.Context) error {
	now := time.Now()
	var notices []scoreboard.Notice
	a.mu.Lock()
	for _, id := range slices.Sorted(maps.Keys(a.waiting)) {
		switch s := a.states[id]; {
		case s != nil && s.due(now, a.o.Interval, a.o.RefreshInterval):
			notices = append(notices, s.notice(id))
		case s == nil || !s.changed():
			delete(a.waiting, id)
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
			s.markAnnounced(&notices[i], now)
		}
	}
	return nil
}
