package server

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/server/broker"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/settings"
)

// way is a transport from the relay to the projection.
type way struct {
	name   string // of the setting transport
	topic  string // where replays and dead letters say that a record was
	events *broker.Events
	from   consumer
}

// consumer is the end of a transport. Behind is how many records it has before
// it.
type consumer interface {
	Consume(ctx context.Context, handle broker.Handler) error
	Behind(ctx context.Context) (int64, error)
}

// ways are the transports that this process can work with. The projection reads
// all of them, always: whatever was left in one, by whomever and in which
// moment of a turn he died, arrives. The relay publishes by one, and an
// operator says which. A batch goes one way; the cursor moves over what that
// way has acknowledged.
//
// A heartbeat says that everything before it has arrived. What was published by
// another way need not have: after a turn none is sent until the others are
// empty, and until then the age that readers see grows.
type ways struct {
	all    []*way
	course atomic.Pointer[course]
	log    *slog.Logger
}

// course is a way since it was taken.
type course struct {
	*way
	since time.Time
	sole  atomic.Bool // nothing is left in another way
	over  bool        // nor can come; over and told are look's own
	told  time.Time
}

// settled is how long after a turn another relay may still publish by the way
// that was left: until it hears of the turn, with a batch in its hands, and its
// lease goes to this one.
const settled = 2*settings.PollInterval + 2*produceTimeout + 3*time.Second

func newWays(all []*way, current string, log *slog.Logger) *ways {
	w := &ways{all: all, log: log}
	c := &course{way: w.of(current), over: true}
	c.sole.Store(true)
	w.course.Store(c)
	return w
}

func (w *ways) of(name string) *way {
	i := slices.IndexFunc(w.all, func(way *way) bool { return way.name == name })
	if i < 0 {
		return nil
	}
	return w.all[i]
}

// take has what follows published by a way. A process that does not know it
// goes on as before: whoever reads that way still does.
func (w *ways) take(name string) {
	to := w.of(name)
	if to == nil {
		w.log.Error("this process cannot work with the transport that was turned to", "transport", name, "stays", w.course.Load().name)
		return
	}
	w.course.Store(&course{way: to, since: time.Now()})
	w.log.Info("transport turned", "transport", name)
}

// Publish implements outbox.Publisher.
func (w *ways) Publish(ctx context.Context, changes []scoreboard.Change) (int, error) {
	return w.course.Load().events.Publish(ctx, changes)
}

// Heartbeat implements outbox.Publisher.
func (w *ways) Heartbeat(ctx context.Context, h scoreboard.Heartbeat) error {
	c := w.course.Load()
	if !c.sole.Load() {
		return nil
	}
	return c.events.Heartbeat(ctx, h)
}

// Run looks whether something is left in the ways that were left, until ctx
// ends.
func (w *ways) Run(ctx context.Context) error {
	tick := time.NewTicker(settings.PollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			w.look(ctx)
		}
	}
}

func (w *ways) look(ctx context.Context) {
	c := w.course.Load()
	if c.over {
		return
	}
	age := time.Since(c.since)
	var left []string
	for _, other := range w.all {
		if other == c.way {
			continue
		}
		n, err := other.from.Behind(ctx)
		if err != nil {
			left = append(left, fmt.Sprintf("%s (%v)", other.name, err))
		} else if n > 0 {
			left = append(left, fmt.Sprintf("%s (%d records)", other.name, n))
		}
	}
	c.sole.Store(len(left) == 0)
	switch {
	case ctx.Err() != nil:
	case len(left) > 0 && age > settled && time.Since(c.told) > time.Minute:
		c.told = time.Now()
		w.log.Warn("something may be left in another transport: what is read is older than it needs to be", "left", strings.Join(left, ", "), "elapsed", age)
	case len(left) == 0:
		c.over = age > settled
	}
}
