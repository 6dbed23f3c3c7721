package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/server/transport/kafka"
)

// runner is a station at work: it returns when ctx has ended and all that it
// started has.
type runner interface {
	Run(ctx context.Context) error
}

type station struct {
	name string
	runner
}

// running is a station that was started.
type running struct {
	name string
	stop context.CancelFunc
	done chan struct{}
}

// How long each step of the stop may take.
const (
	requestGrace = 10 * time.Second
	drainGrace   = 3 * time.Second // beyond what the pace of the drain takes
	stationGrace = 5 * time.Second
)

// Run serves api and ops until ctx ends, or until a station fails for good.
// Both listeners are closed when it returns.
func (s *Server) Run(ctx context.Context, apiListener, opsListener net.Listener) error {
	defer s.Close()
	failed := make(chan error, len(s.stations)+2)
	ops := s.opsServer()
	serve(ops, opsListener, failed)
	if err := s.prepare(ctx); err != nil {
		return errors.Join(err, ops.Close(), apiListener.Close())
	}
	var started []running
	for _, st := range s.stations {
		started = append(started, start(st, failed))
	}
	front := s.apiServer()
	serve(front, apiListener, failed)
	s.ready.SetServing(true)
	s.log.Info("serving", "addr", apiListener.Addr().String(), "ops", opsListener.Addr().String(), "roles", s.config.Roles)

	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	s.log.Info("stopping")
	s.ready.SetServing(false)
	s.stop(front, started)
	return errors.Join(err, ops.Close())
}

// prepareTime is how long a start waits for a broker that is coming up, too.
const prepareTime = 30 * time.Second

// prepare makes the topics that this process uses.
func (s *Server) prepare(ctx context.Context) error {
	if s.kafka == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, prepareTime)
	defer cancel()
	turned := s.settings.SwitchedFromKafka(ctx)
	for {
		others, err := s.kafka.Ensure(ctx, s.topics()...)
		for _, other := range others {
			s.log.Warn("a topic is set otherwise than the knobs say", "found", other)
		}
		if err == nil || errors.Is(err, kafka.ErrTooFewPartitions) {
			return err
		}
		if turned {
			s.log.Error("topics not looked at: Kafka does not answer, and the transport was turned away from it", "err", err)
			return nil // they were made before that
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(250 * time.Millisecond):
			s.log.Warn("topics not made yet", "err", err)
		}
	}
}

func (s *Server) topics() []kafka.Topic {
	c := s.config
	return []kafka.Topic{
		{Name: c.Kafka.Topic, Partitions: c.Kafka.Partitions, Retention: c.Kafka.Retention, Cleanup: c.Kafka.Cleanup, Replicas: c.Kafka.Replicas},
		{Name: c.Kafka.DeadTopic, Partitions: 1, Retention: c.Kafka.DeadRetention, Replicas: c.Kafka.Replicas},
		{Name: c.Kafka.NoticesTopic, Partitions: c.Kafka.NoticesPartitions, Retention: c.Kafka.NoticesRetention, Cleanup: c.Kafka.NoticesCleanup, Replicas: c.Kafka.Replicas},
		{Name: c.Kafka.IncrementsTopic, Partitions: c.Kafka.IncrementsPartitions, Retention: c.Kafka.IncrementsRetention, Replicas: c.Kafka.Replicas},
		{Name: c.Kafka.SeasonsTopic, Partitions: 1, Retention: c.Kafka.SeasonsRetention, Replicas: c.Kafka.Replicas},
		{Name: c.Kafka.IncrementsDeadTopic, Partitions: 1, Retention: c.Kafka.DeadRetention, Replicas: c.Kafka.Replicas},
	}
}

func serve(h *http.Server, l net.Listener, failed chan<- error) {
	go func() {
		serve := h.Serve
		if h.TLSConfig != nil {
			serve = func(l net.Listener) error { return h.ServeTLS(l, "", "") }
		}
		if err := serve(l); !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("serve %s: %w", l.Addr(), err)
		}
	}()
}

// start runs a station under a context of its own: they end one by one.
func start(st station, failed chan<- error) running {
	ctx, stop := context.WithCancel(context.Background())
	r := running{st.name, stop, make(chan struct{})}
	go func() {
		defer close(r.done)
		if err := st.Run(ctx); err != nil {
			failed <- fmt.Errorf("station %s: %w", st.name, err)
		}
	}()
	return r
}

// stop ends intake first and what carries its results last: requests, streams,
// then the stations in the order against their start.
func (s *Server) stop(front *http.Server, started []running) {
	ctx, cancel := context.WithTimeout(context.Background(), requestGrace)
	defer cancel()
	var drained sync.WaitGroup
	if s.hub != nil {
		drained.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), s.hub.DrainTime()+drainGrace)
			defer cancel()
			if err := s.hub.Drain(ctx); err != nil {
				s.log.Warn("streams cut off", "err", err)
			}
		})
	}
	if err := front.Shutdown(ctx); err != nil {
		s.log.Warn("requests cut off", "err", err)
		_ = front.Close()
	}
	drained.Wait()
	for i := len(started) - 1; i >= 0; i-- {
		r := started[i]
		r.stop()
		select {
		case <-r.done:
		case <-time.After(stationGrace):
			s.log.Warn("station did not end in time", "station", r.name)
		}
	}
}
