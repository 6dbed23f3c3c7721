package server

import (
	"context"
	"time"

	"github.com/scoreboard/scoreboard/migrations"
)

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
