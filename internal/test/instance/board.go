package instance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
)

// awaitTimeout is how long the server may take to reach a state.
const awaitTimeout = 30 * time.Second

// Set brings users of the board "global" to their scores with increments, and
// returns when the ranking shows them. Of equal scores the first ranks best.
func (s *Server) Set(entries ...client.Entry) {
	s.t.Helper()
	ctx := context.Background()
	for _, e := range entries {
		had, err := s.score(ctx, e.UserID)
		if err != nil {
			s.t.Fatal(err)
		}
		if e.Score == had {
			continue
		}
		if _, err := s.admin.Submit(ctx, client.Increment{User: e.UserID, Delta: e.Score - had}); err != nil {
			s.t.Fatal(err)
		}
	}
	s.Shows(entries...)
}

// score is the score that the ledger has, 0 for a user without one.
func (s *Server) score(ctx context.Context, user string) (int64, error) {
	last, err := s.admin.Statement(ctx, user, client.StatementQuery{Board: "global", Limit: 1})
	if wire.CodeOf(err) == wire.CodeNotFound || err == nil && len(last.Entries) == 0 {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return last.Entries[0].NewScore, nil
}

// Shows waits until the top 100 of the ranking have the users with their scores:
// rankings lag behind writes.
func (s *Server) Shows(entries ...client.Entry) {
	s.t.Helper()
	s.await(func(top client.Top) error {
		if top.Degraded {
			return errors.New("degraded: " + top.DegradedReason)
		}
		scores := map[string]int64{}
		for _, e := range top.Entries {
			scores[e.UserID] = e.Score
		}
		for _, e := range entries {
			if got, ranked := scores[e.UserID]; !ranked || got != e.Score {
				return fmt.Errorf("%s has %d, want %d", e.UserID, got, e.Score)
			}
		}
		return nil
	})
}

// Settle waits until the ranking includes everything recorded before.
func (s *Server) Settle() {
	s.t.Helper()
	now := time.Now()
	s.await(func(top client.Top) error {
		if top.AsOf.Before(now) {
			return fmt.Errorf("as of %s, want %s", top.AsOf, now)
		}
		return nil
	})
}

// Rebuild rebuilds the ranking, which starts a new epoch.
func (s *Server) Rebuild() {
	s.t.Helper()
	_, err := s.admin.Rebuild(context.Background(), client.JobRequest{Board: "global"}, func(client.JobLine) {})
	if err != nil {
		s.t.Fatal(err)
	}
}

// StopRedis degrades reads until StartRedis.
func (s *Server) StopRedis() {
	s.t.Helper()
	s.redis.Stop()
	s.await(func(top client.Top) error {
		if !top.Degraded {
			return errors.New("not degraded")
		}
		return nil
	})
}

// StartRedis starts Redis again, and returns when the ranking is healthy.
func (s *Server) StartRedis() {
	s.t.Helper()
	s.redis.Start()
	s.Shows()
}

func (s *Server) await(is func(client.Top) error) {
	s.t.Helper()
	for deadline := time.Now().Add(awaitTimeout); ; time.Sleep(5 * time.Millisecond) {
		top, err := s.admin.Top(context.Background(), client.TopQuery{Limit: 100})
		if err == nil {
			err = is(top)
		}
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("timed out waiting for the ranking: %v", err)
		}
	}
}
