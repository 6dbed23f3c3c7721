package transport

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/internal/tracing"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// SwitchOptions are the settings of a Switch.
type SwitchOptions struct {
	CheckInterval time.Duration // between two measurements of what is left in the inactive transports
	// Overlap is how long after a switch another relay may still publish to the
	// transport that was left: until that relay reads the new setting, with a
	// batch in flight, and until its lease has moved.
	Overlap time.Duration
	Tracer  *tracing.Tracer // nil: no spans are made
}

// Switch publishes to one of several transports, the active one, and changes it
// at run time. The projection reads all of them, always, so whatever is left in
// one arrives, whichever process wrote it and whenever that process died. Each
// batch goes to one transport, and the relay's cursor moves over what that one
// has acknowledged.
//
// A heartbeat promises that everything before it has arrived. After a switch
// that is not known of what was published to the other transports. So no
// heartbeat is sent until they are empty, and until then the age that readers
// see grows.
type Switch struct {
	o          SwitchOptions
	transports []*Transport
	active     atomic.Pointer[activeTransport]
	log        *slog.Logger
}

// activeTransport is a transport from the time of the switch to it.
type activeTransport struct {
	*Transport
	events  *Events
	since   time.Time
	drained atomic.Bool // nothing is left in the others

	// Used by check alone.
	final  bool // drained, and the overlap is over
	warned time.Time
}

// NewSwitch returns a switch whose active transport is the named one of
// transports. Nothing is connected before it is used.
func NewSwitch(o SwitchOptions, transports []*Transport, active string, log *slog.Logger) *Switch {
	s := &Switch{o: o, transports: transports, log: log}
	t := s.named(active)
	a := &activeTransport{Transport: t, events: NewTracedEvents(t.Producer, o.Tracer, t.Name), final: true}
	a.drained.Store(true)
	s.active.Store(a)
	return s
}

func (s *Switch) named(name string) *Transport {
	i := slices.IndexFunc(s.transports, func(t *Transport) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return s.transports[i]
}

// SwitchTo makes another transport the active one. A process that does not
// support it keeps the present one, which is still read everywhere.
func (s *Switch) SwitchTo(name string) {
	t := s.named(name)
	if t == nil {
		s.log.Error("this process does not support the transport; it keeps the current one",
			"transport", name, "active", s.active.Load().Name)
		return
	}
	s.active.Store(&activeTransport{
		Transport: t, events: NewTracedEvents(t.Producer, s.o.Tracer, t.Name), since: time.Now(),
	})
	s.log.Info("transport switched", "transport", name)
}

// Publish implements outbox.Publisher.
func (s *Switch) Publish(ctx context.Context, changes []scoreboard.Change) (int, error) {
	return s.active.Load().events.Publish(ctx, changes)
}

// Heartbeat implements outbox.Publisher.
func (s *Switch) Heartbeat(ctx context.Context, h scoreboard.Heartbeat) error {
	a := s.active.Load()
	if !a.drained.Load() {
		return nil
	}
	if a.BeforeHeartbeat != nil {
		if err := a.BeforeHeartbeat(ctx, h); err != nil {
			return err
		}
	}
	return a.events.Heartbeat(ctx, h)
}

// Run checks until ctx ends whether the inactive transports are empty.
func (s *Switch) Run(ctx context.Context) error {
	tick := time.NewTicker(s.o.CheckInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			s.check(ctx)
		}
	}
}

func (s *Switch) check(ctx context.Context) {
	a := s.active.Load()
	if a.final {
		return
	}
	age := time.Since(a.since)
	var left []string
	for _, t := range s.transports {
		if t == a.Transport {
			continue
		}
		n, err := t.Consumer.MeasureLag(ctx)
		if err != nil {
			left = append(left, fmt.Sprintf("%s (%v)", t.Name, err))
		} else if n > 0 {
			left = append(left, fmt.Sprintf("%s (%d records)", t.Name, n))
		}
	}
	drained := len(left) == 0
	a.drained.Store(drained)
	switch {
	case ctx.Err() != nil:
	case drained && age > s.o.Overlap:
		a.final = true
		s.log.Info("transport switch complete", "transport", a.Name, "elapsed", age)
	case !drained && age > s.o.Overlap && time.Since(a.warned) > time.Minute:
		a.warned = time.Now()
		s.log.Warn("transport switch incomplete: records may be left in another transport; no heartbeats are sent",
			"transport", a.Name, "left", strings.Join(left, ", "), "elapsed", age)
	}
}
