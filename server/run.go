package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/http/dialect"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/kafka"
)

// runner is a component that works in the background. Run returns when ctx has
// ended and everything that it started has returned.
type runner interface {
	Run(ctx context.Context) error
}

type component struct {
	name string
	runner
}

// running is a component that was started.
type running struct {
	name string
	stop context.CancelFunc
	done chan struct{}
}

// Time limits of the steps of a shutdown.
const (
	requestGrace   = 10 * time.Second
	drainGrace     = 3 * time.Second // beyond the planned duration of the drain
	componentGrace = 5 * time.Second
)

// Run serves the API and the operations port until ctx ends or a component
// fails. Both listeners are closed when it returns.
func (s *Server) Run(ctx context.Context, apiListener, opsListener net.Listener) error {
	defer s.Close()
	failed := make(chan error, len(s.components)+2)
	ops, front := s.opsServer(), s.apiServer()
	serve(ops, opsListener, failed)
	if s.certificates != nil {
		apiListener = s.certificates.Listen(apiListener)
	}
	serveAPI := sync.OnceFunc(func() { serve(front, apiListener, failed) })
	abort := func(err error) error {
		err = errors.Join(err, ops.Close(), front.Close())
		_ = apiListener.Close() // closed already if front serves it
		return err
	}
	if err := s.awaitSchema(ctx, serveAPI, failed); err != nil || ctx.Err() != nil {
		return abort(err)
	}
	s.settings.Start(ctx)
	if err := s.createTopics(ctx); err != nil {
		return abort(err)
	}
	s.createQueue(ctx)
	if s.config.Has(config.RoleAPI) {
		if err := dialect.EnsureBoards(ctx, &s.config.Dialects, s.boards()); err != nil {
			return abort(err)
		}
		if err := s.ensureDefaultKey(ctx); err != nil {
			return abort(err)
		}
	}
	s.loadHidden(ctx)
	var started []running
	for _, c := range s.components {
		started = append(started, start(c, failed))
	}
	s.api.Resume()
	serveAPI()
	s.ready.SetServing(true)
	s.log.Info("serving", "addr", apiListener.Addr().String(), "ops", opsListener.Addr().String(), "roles",
		s.config.Roles)

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

// topicsTimeout is how long a start waits for a broker that is starting, too.
const topicsTimeout = 30 * time.Second

// createTopics creates the topics that this process uses, and warns about
// existing ones with other settings.
func (s *Server) createTopics(ctx context.Context) error {
	if s.kafka == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, topicsTimeout)
	defer cancel()
	optional := s.settings.SwitchedFromKafka(ctx)
	for {
		others, err := s.kafka.Ensure(ctx, s.topics()...)
		for _, other := range others {
			s.log.Warn("topic differs from its settings", "found", other)
		}
		if err == nil || errors.Is(err, kafka.ErrTooFewPartitions) {
			return err
		}
		if optional {
			s.log.Error("topics not checked: Kafka does not answer, and operators have switched to another transport",
				"err", err)
			return nil // they were created before the switch
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(250 * time.Millisecond):
			s.log.Warn("topics not created yet", "err", err)
		}
	}
}

// hiddenTimeout bounds loadHidden.
const hiddenTimeout = 10 * time.Second

// loadHidden reads whom to hide before the first request. Until a database that does not
// answer has answered, everyone is hidden.
func (s *Server) loadHidden(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, hiddenTimeout)
	defer cancel()
	if err := s.hidden.Load(ctx); err != nil {
		s.log.Warn("everyone is shown under a pseudonym until it can be read whom to hide", "err", err)
	}
}

// queueTimeout bounds createQueue.
const queueTimeout = 2 * time.Second

// createQueue creates the streams of accepted increments, if this process reads them, so
// that the first request can be answered with 202. A Redis that does not answer must not
// prevent the start: the intake creates them later.
func (s *Server) createQueue(ctx context.Context) {
	if s.queue == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, queueTimeout)
	defer cancel()
	if err := s.queue.CreateGroups(ctx); err != nil {
		s.log.Warn("the streams of accepted increments are created later", "err", err)
	}
}

func (s *Server) topics() []kafka.Topic {
	c := s.config
	all := []kafka.Topic{
		{
			Name: c.Kafka.Topic, Partitions: c.Kafka.Partitions, Retention: c.Kafka.Retention, Cleanup: c.Kafka.Cleanup,
			Replicas: c.Kafka.Replicas,
		},
		{Name: c.Kafka.DeadTopic, Partitions: 1, Retention: c.Kafka.DeadRetention, Replicas: c.Kafka.Replicas},
		{
			Name: c.Kafka.NoticesTopic, Partitions: c.Kafka.NoticesPartitions, Retention: c.Kafka.NoticesRetention,
			Cleanup: c.Kafka.NoticesCleanup, Replicas: c.Kafka.Replicas,
		},
		{
			Name: c.Kafka.IncrementsTopic, Partitions: c.Kafka.IncrementsPartitions,
			Retention: c.Kafka.IncrementsRetention, Replicas: c.Kafka.Replicas,
		},
		{Name: c.Kafka.SeasonsTopic, Partitions: 1, Retention: c.Kafka.SeasonsRetention, Replicas: c.Kafka.Replicas},
		{
			Name: c.Kafka.IncrementsDeadTopic, Partitions: 1, Retention: c.Kafka.DeadRetention,
			Replicas: c.Kafka.Replicas,
		},
	}
	for _, feed := range c.MirrorFeeds() {
		if feed != config.FeedDelta {
			all = append(all, kafka.Topic{
				Name: c.Mirror.Name(feed), Partitions: c.Mirror.Partitions, Retention: c.Mirror.Retention,
				Replicas: c.Kafka.Replicas,
			})
		}
	}
	return all
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

// start runs a component under a context of its own: they are stopped one by one.
func start(c component, failed chan<- error) running {
	ctx, stop := context.WithCancel(context.Background())
	r := running{c.name, stop, make(chan struct{})}
	go func() {
		defer close(r.done)
		if err := c.Run(ctx); err != nil {
			failed <- fmt.Errorf("run %s: %w", c.name, err)
		}
	}()
	return r
}

// stop ends the intake first and what processes its results last: requests,
// streams, then the components in the reverse order of their start.
func (s *Server) stop(front *http.Server, started []running) {
	ctx, cancel := context.WithTimeout(context.Background(), requestGrace)
	defer cancel()
	var drained sync.WaitGroup
	if s.hub != nil {
		drained.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), s.hub.DrainTime()+drainGrace)
			defer cancel()
			if err := s.hub.Drain(ctx); err != nil {
				s.log.Warn("connections closed before they were drained", "err", err)
			}
		})
	}
	if err := front.Shutdown(ctx); err != nil {
		s.log.Warn("requests aborted", "err", err)
		_ = front.Close()
	}
	drained.Wait()
	for i := len(started) - 1; i >= 0; i-- {
		r := started[i]
		r.stop()
		select {
		case <-r.done:
		case <-time.After(componentGrace):
			s.log.Warn("component did not stop in time", "component", r.name)
		}
	}
}

// Bounds of the wait for a schema.
const (
	schemaPoll    = time.Second
	schemaTimeout = 2 * time.Second // of one query
)

// checkSchema implements health.Schema.
func (s *Server) checkSchema(ctx context.Context) (problem, nextStep string, err error) {
	number, err := s.store.SchemaVersion(ctx)
	if err != nil {
		return "", "", err
	}
	problem, nextStep = migrations.Problem(number)
	return problem, nextStep, nil
}

// awaitSchema waits until the database has a schema that this version supports, or
// ctx ends. If it must wait, it suspends the API with the reason and calls serveAPI;
// the caller resumes the API. It does not wait for a database that does not answer, because reads are
// served without it. An error is one from failed.
func (s *Server) awaitSchema(ctx context.Context, serveAPI func(), failed <-chan error) error {
	waitingFor := ""
	for {
		query, cancel := context.WithTimeout(ctx, schemaTimeout)
		problem, next, err := s.checkSchema(query)
		cancel()
		switch {
		case err == nil && problem == "" || err != nil && waitingFor == "":
			return nil
		case err == nil && problem != waitingFor:
			waitingFor = problem
			s.log.Error("not ready: " + problem + ": " + next)
			s.api.Suspend(problem + ": " + next)
			serveAPI()
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case <-time.After(schemaPoll):
		}
	}
}
