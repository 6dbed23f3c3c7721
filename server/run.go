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

// Time limits of a shutdown and of its steps. After drain.delay a process ends within
// stopGrace and closeGrace, whatever hangs.
const (
	stopGrace      = 20 * time.Second
	requestGrace   = 10 * time.Second
	drainGrace     = 3 * time.Second // beyond the planned duration of the drain
	componentGrace = 5 * time.Second
	closeGrace     = 5 * time.Second // of the clients of the backends
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
	if err := s.preparations.start(ctx); err != nil {
		return abort(err)
	}
	s.loadHidden(ctx)
	var started []running
	for _, c := range s.components {
		started = append(started, start(c, failed))
	}
	s.awaitRankings(ctx)
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
	if err == nil {
		err = answerOn(s.config.DrainDelay, failed)
	}
	s.stop(front, started)
	return errors.Join(err, ops.Close())
}

// answerOn answers requests for drain.delay more, or until something fails: load balancers
// send them until they have seen that /readyz answers 503.
func answerOn(delay time.Duration, failed <-chan error) error {
	select {
	case <-time.After(delay):
		return nil
	case err := <-failed:
		return err
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

// rankingsTimeout bounds awaitRankings. Large boards take longer, and a Redis that does not answer
// must not prevent the start.
const rankingsTimeout = time.Second

// awaitRankings waits for the first check of a process that rebuilds boards, so that the first
// receipts on a new database have ranks.
func (s *Server) awaitRankings(ctx context.Context) {
	if s.rebuilder == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, rankingsTimeout)
	defer cancel()
	select {
	case <-s.rebuilder.Checked():
	case <-ctx.Done():
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
	end, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	ctx, cancel := context.WithTimeout(end, requestGrace)
	defer cancel()
	var drained sync.WaitGroup
	if s.hub != nil {
		drained.Go(func() {
			ctx, cancel := context.WithTimeout(end, s.hub.DrainTime()+drainGrace)
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
			continue
		default:
		}
		select {
		case <-r.done:
		case <-end.Done():
			s.log.Warn("no time left for component to stop", "component", r.name)
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
func (b *backends) checkSchema(ctx context.Context) (problem, nextStep string, err error) {
	number, err := b.store.SchemaVersion(ctx)
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
