package mirror

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/internal/retry"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Source is the consuming end of a transport. It commits records after handle has
// returned; of a paused partition, only those before the returned offset. Consume
// returns nil when ctx ends.
type Source interface {
	Consume(
		ctx context.Context, handle func(context.Context, []scoreboard.Record) (paused map[int]int64, err error),
	) error
}

// Sink is where a feed is written. Write returns how many changes from the front are
// acknowledged, also with an error, and all of them without one.
type Sink interface {
	Write(ctx context.Context, changes []scoreboard.Change) (int, error)
}

// Feed is one output.
type Feed struct {
	Name string // in logs and metrics
	// Board is the only board of the feed, with its instances, whose consumers know of scores but not of
	// hidden users; "" is every board, with changes as they are.
	Board   scoreboard.BoardID
	Sources []Source // one for each transport, all in the feed's own group
	Sink    Sink
	// Snapshot is written at the first start; nil for none. It requires Board.
	Snapshot *Snapshot
}

// Mirror writes feeds.
type Mirror struct {
	feeds []*feed
	log   *slog.Logger
	*metrics

	mu     sync.Mutex
	cutOff string // the transport that is written and cannot be read; "" if it can
}

// feed is a Feed that is written.
type feed struct {
	Feed
	m *Mirror

	mu      sync.Mutex
	waiting map[*wait]struct{}
}

// wait is a batch that could not be written yet.
type wait struct {
	since time.Time
	err   error
}

// New returns a mirror that writes the feeds; Run starts it.
func New(feeds []Feed, log *slog.Logger) *Mirror {
	m := &Mirror{log: log}
	for i := range feeds {
		m.feeds = append(m.feeds, &feed{Feed: feeds[i], m: m, waiting: make(map[*wait]struct{})})
	}
	m.metrics = newMetrics(m)
	return m
}

// Run consumes every source of every feed until ctx ends, and starts a source again
// after it has failed.
func (m *Mirror) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for _, f := range m.feeds {
		if f.Snapshot != nil {
			running.Go(func() { f.runSnapshot(ctx) })
		}
		for _, s := range f.Sources {
			running.Go(func() {
				consume := func(ctx context.Context) error { return s.Consume(ctx, f.handle) }
				retry.Rerun(ctx, consume, func(attempt int, err error) {
					m.failures.WithLabelValues(f.Name).Inc()
					m.log.Warn("mirror interrupted", "feed", f.Name, "attempt", attempt, "err", err)
				})
			})
		}
	}
	running.Wait()
	return nil
}

// Follow tells the mirror which transport is written from now on. If it cannot be read,
// the feeds are missing changes until another one is written.
func (m *Mirror) Follow(transport string, readable bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cutOff = transport; readable {
		m.cutOff = ""
		return
	}
	m.log.Error("changes are not mirrored: this process cannot read the transport in force", "transport", transport)
}

// Problem describes what keeps feeds from being complete and current; "" if nothing
// does.
func (m *Mirror) Problem() string {
	var all []string
	m.mu.Lock()
	if m.cutOff != "" {
		all = append(all, "the transport "+m.cutOff+" cannot be read, so changes are missing from every feed")
	}
	m.mu.Unlock()
	for _, f := range m.feeds {
		if stalled, err := f.stalled(); err != nil {
			all = append(all, fmt.Sprintf("feed %s has not been written for %v: %v", f.Name,
				stalled.Round(time.Second), err))
		}
	}
	return strings.Join(all, "; ")
}

// handle writes the changes among records that belong to the feed, and retries until
// that succeeds or ctx ends. A partition with an event of a newer schema is paused there.
func (f *feed) handle(ctx context.Context, records []scoreboard.Record) (paused map[int]int64, err error) {
	paused = make(map[int]int64)
	changes := make([]scoreboard.Change, 0, len(records))
	for _, r := range records {
		if _, ok := paused[r.Partition]; ok {
			continue
		}
		change, _, err := protocol.DecodeEvent(r.Value)
		switch {
		case errors.Is(err, protocol.ErrNewerSchema):
			f.m.log.Error("partition paused: upgrade to a build that reads the newer schema",
				"feed", f.Name, "topic", r.Topic, "partition", r.Partition, "offset", r.Offset, "err", err)
			paused[r.Partition] = r.Offset
		case err != nil:
			f.m.malformed.WithLabelValues(f.Name).Inc()
			f.m.log.Error("malformed record not mirrored",
				"feed", f.Name, "topic", r.Topic, "partition", r.Partition, "offset", r.Offset, "err", err)
		case change != nil && f.adapt(change):
			changes = append(changes, *change)
		}
	}
	if err := f.write(ctx, changes); err != nil || len(changes) == 0 {
		return paused, err
	}
	f.m.lag.WithLabelValues(f.Name).Observe(time.Since(changes[len(changes)-1].RecordedAt).Seconds())
	return paused, nil
}

// adapt reports whether a change belongs to the feed, and makes of it what the feed's
// consumers know: the score of a hidden user is 0.
func (f *feed) adapt(c *scoreboard.Change) bool {
	if f.Board == "" {
		return true
	}
	if c.Hidden {
		c.Score = 0
	}
	return c.Board.Family() == f.Board && !(c.Hidden && c.User.Anonymous()) // no consumer has seen such a name
}

// write writes changes in their order until all are acknowledged or ctx ends.
func (f *feed) write(ctx context.Context, changes []scoreboard.Change) error {
	if len(changes) == 0 {
		return nil
	}
	var w *wait
	defer func() { f.end(w) }()
	for attempt := 1; ; attempt++ {
		n, err := f.Sink.Write(ctx, changes)
		f.m.published.WithLabelValues(f.Name).Add(float64(n))
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		if n > 0 {
			changes, attempt = changes[n:], 1
		}
		w = f.begin(w, err, n > 0)
		f.m.failures.WithLabelValues(f.Name).Inc()
		if attempt == 1 || attempt%20 == 0 {
			f.m.log.Warn("feed not written, retrying", "feed", f.Name, "attempt", attempt, "err", err)
		}
		retry.Wait(ctx, attempt)
	}
}

// begin marks a batch as waiting because of err, from now on if it has moved.
func (f *feed) begin(w *wait, err error, moved bool) *wait {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w == nil {
		w = &wait{since: time.Now()}
		f.waiting[w] = struct{}{}
	}
	if w.err = err; moved {
		w.since = time.Now()
	}
	return w
}

// end marks a batch as no longer waiting.
func (f *feed) end(w *wait) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.waiting, w)
}

// stalled returns for how long the feed's oldest batch has waited, and why; 0 and nil if
// none waits.
func (f *feed) stalled() (d time.Duration, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.waiting {
		if age := time.Since(w.since); err == nil || age > d {
			d, err = age, w.err
		}
	}
	return d, err
}
