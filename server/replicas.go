package server

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/tlsfiles"
	"github.com/scoreboard/scoreboard/server/leaderboard"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
	"github.com/scoreboard/scoreboard/server/store/history"
)

// replicas are the replicas that this process knows. Every process that has their URLs
// watches them, so that metrics and doctor show them; one with the single role read reads
// them.
type replicas struct {
	store  *store.Replica
	redis  redis.UniversalClient
	states []replicaState

	ranking  *leaderboard.Replicated[leaderboard.Ranking]
	fallback *leaderboard.Replicated[leaderboard.Standings]
}

// replicaState is the state of a replica, by the setting that names it.
type replicaState struct {
	setting string
	*leaderboard.Replica
}

// openReplicas opens the clients of the replicas. files are those of postgres.tls_ca.
func (s *Server) openReplicas(ctx context.Context, files *tlsfiles.Client) (err error) {
	c := s.config
	watch := func(setting, backend string, replica, primary leaderboard.Copy) *leaderboard.Replica {
		state := leaderboard.NewReplica(backend, replica, primary, s.log)
		s.replicas.states = append(s.replicas.states, replicaState{setting, state})
		s.add("replica of "+backend, state)
		return state
	}
	if c.Postgres.ReplicaURL != "" {
		s.replicas.store, err = store.OpenReplica(ctx, store.Options{
			URL: c.Postgres.ReplicaURL, TLS: files, MaxConns: c.Postgres.MaxConns, LockWait: lockWait,
			Timeout: statementTimeout, Describe: c.Postgres.Describe,
		})
		if err != nil {
			return fmt.Errorf("setting postgres.replica_url: %w", err)
		}
		state := watch("postgres.replica_url", "postgres", s.replicas.store, s.store.Reads)
		s.replicas.fallback = &leaderboard.Replicated[leaderboard.Standings]{
			Source: func(check scoreboard.ProgressCheck) leaderboard.Standings { return s.replicas.store.Reads(check) },
			State:  state,
		}
	}
	if c.Redis.ReplicaURL == "" {
		return nil
	}
	o, err := s.redisOptions("redis.replica_url", c.Redis.ReplicaURL)
	if err != nil {
		return err
	}
	s.replicas.redis = o.OpenReplica()
	r := ranking.NewReplica(s.replicas.redis)
	state := watch("redis.replica_url", "redis", r, s.ranking)
	s.replicas.ranking = &leaderboard.Replicated[leaderboard.Ranking]{
		Source: func(scoreboard.ProgressCheck) leaderboard.Ranking { return r }, State: state,
	}
	return nil
}

func (r *replicas) close() error {
	if r.store != nil {
		r.store.Close()
	}
	if r.redis != nil {
		return r.redis.Close()
	}
	return nil
}

// problem describes the replicas that are not read, "" if all are.
func (r *replicas) problem() string {
	text := ""
	for _, state := range r.states {
		if problem := state.Problem(); problem != "" {
			if text != "" {
				text += "; "
			}
			text += "the replica of " + state.setting + " " + problem
		}
	}
	return text
}

// pastReads reads what is only in PostgreSQL: from its replica while that is fresh. What a
// rank follows from is read from the primary: it is compared with what reads answer now.
type pastReads struct {
	*store.Store
	replica *store.Replica
	state   *leaderboard.Replica
}

// Statement implements api.Statements. It has its time.
func (p pastReads) Statement(
	ctx context.Context, q scoreboard.StatementQuery,
) (*scoreboard.Statement, error) {
	return leaderboard.ReadReplica(ctx, p.state,
		func(ctx context.Context, check scoreboard.ProgressCheck) (*scoreboard.Statement, error) {
			return p.replica.Reads(check).Statement(ctx, q)
		},
		func(ctx context.Context) (*scoreboard.Statement, error) { return p.Reads.Statement(ctx, q) },
		func(*scoreboard.Statement) {})
}

// past reads past standings. mark is that of leaderboard.ReadReplica: what was recorded at a
// moment never changes, but who may be shown does.
func past[T any](
	ctx context.Context, p pastReads, mark func(T), read func(context.Context, *history.PastBoards) (T, error),
) (T, error) {
	return leaderboard.ReadReplica(ctx, p.state,
		func(ctx context.Context, check scoreboard.ProgressCheck) (T, error) {
			return read(ctx, p.replica.PastBoards(check))
		},
		func(ctx context.Context) (T, error) { return read(ctx, p.PastBoards) }, mark)
}

// Board implements api.PastBoards. Nothing in a board of the past hides later.
func (p pastReads) Board(
	ctx context.Context, family scoreboard.BoardID, at time.Time,
) (*scoreboard.Board, error) {
	return past(ctx, p, func(*scoreboard.Board) {},
		func(ctx context.Context, m *history.PastBoards) (*scoreboard.Board, error) {
			return m.Board(ctx, family, at)
		})
}

// Top implements api.PastBoards.
func (p pastReads) Top(
	ctx context.Context, board *scoreboard.Board, at scoreboard.PastTime, after *scoreboard.Position, limit int,
) (*scoreboard.Top, error) {
	return past(ctx, p, func(top *scoreboard.Top) { leaderboard.MarkBehind(&top.Degraded) },
		func(ctx context.Context, m *history.PastBoards) (*scoreboard.Top, error) {
			return m.Top(ctx, board, at, after, limit)
		})
}

// Place implements api.PastBoards.
func (p pastReads) Place(
	ctx context.Context, board *scoreboard.Board, at scoreboard.PastTime, user scoreboard.UserID, k int,
) (*scoreboard.Place, error) {
	return past(ctx, p, func(place *scoreboard.Place) { leaderboard.MarkBehind(&place.Degraded) },
		func(ctx context.Context, m *history.PastBoards) (*scoreboard.Place, error) {
			return m.Place(ctx, board, at, user, k)
		})
}

// History implements api.PastBoards. It has no mark.
func (p pastReads) History(
	ctx context.Context, board *scoreboard.Board, at scoreboard.PastTime, user scoreboard.UserID, times []time.Time,
) ([]scoreboard.RankPoint, error) {
	return past(ctx, p, nil, func(ctx context.Context, m *history.PastBoards) ([]scoreboard.RankPoint, error) {
		return m.History(ctx, board, at, user, times)
	})
}

// Marks implements api.PastBoards. They have no mark.
func (p pastReads) Marks(
	ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID,
) (*scoreboard.RankMarks, error) {
	return past(ctx, p, nil, func(ctx context.Context, m *history.PastBoards) (*scoreboard.RankMarks, error) {
		return m.Marks(ctx, board, user)
	})
}

// Timeline implements api.PastBoards. It has no mark.
func (p pastReads) Timeline(
	ctx context.Context, board *scoreboard.Board, at scoreboard.PastTime, times []time.Time, limit int,
) (frames []scoreboard.Frame, covered int, err error) {
	frames, err = past(ctx, p, nil, func(ctx context.Context, m *history.PastBoards) (all []scoreboard.Frame, err error) {
		all, covered, err = m.Timeline(ctx, board, at, times, limit)
		return all, err
	})
	return frames, covered, err
}

// Explain implements api.PastBoards.
func (p pastReads) Explain(
	ctx context.Context, board *scoreboard.Board, user scoreboard.UserID, limit int,
) (*scoreboard.Explanation, error) {
	return p.PastBoards.Explain(ctx, board, user, limit)
}
