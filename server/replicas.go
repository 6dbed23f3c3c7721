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
	"github.com/scoreboard/scoreboard/server/store/moments"
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
		reads := s.replicas.store.Reads
		state := watch("postgres.replica_url", "postgres", reads, s.store.Reads)
		s.replicas.fallback = &leaderboard.Replicated[leaderboard.Standings]{Source: reads, State: state}
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
	s.replicas.ranking = &leaderboard.Replicated[leaderboard.Ranking]{Source: r, State: state}
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

// Statement implements api.Statements.
func (p pastReads) Statement(
	ctx context.Context, q scoreboard.StatementQuery,
) (*scoreboard.Statement, error) {
	return leaderboard.ReadReplica(ctx, p.state, func(ctx context.Context) (*scoreboard.Statement, error) {
		return p.replica.Reads.Statement(ctx, q)
	}, func(ctx context.Context) (*scoreboard.Statement, error) { return p.Reads.Statement(ctx, q) })
}

// Board implements api.Moments.
func (p pastReads) Board(
	ctx context.Context, family scoreboard.BoardID, at time.Time,
) (*scoreboard.Board, error) {
	return leaderboard.ReadReplica(ctx, p.state, func(ctx context.Context) (*scoreboard.Board, error) {
		return p.replica.Moments.Board(ctx, family, at)
	}, func(ctx context.Context) (*scoreboard.Board, error) { return p.Moments.Board(ctx, family, at) })
}

// Top implements api.Moments.
func (p pastReads) Top(
	ctx context.Context, board *scoreboard.Board, at scoreboard.Moment, after *scoreboard.Position, limit int,
) (*scoreboard.Top, error) {
	return leaderboard.ReadReplica(ctx, p.state, func(ctx context.Context) (*scoreboard.Top, error) {
		return p.replica.Moments.Top(ctx, board, at, after, limit)
	}, func(ctx context.Context) (*scoreboard.Top, error) { return p.Moments.Top(ctx, board, at, after, limit) })
}

// Place implements api.Moments.
func (p pastReads) Place(
	ctx context.Context, board *scoreboard.Board, at scoreboard.Moment, user scoreboard.UserID, k int,
) (*scoreboard.Place, error) {
	return leaderboard.ReadReplica(ctx, p.state, func(ctx context.Context) (*scoreboard.Place, error) {
		return p.replica.Moments.Place(ctx, board, at, user, k)
	}, func(ctx context.Context) (*scoreboard.Place, error) { return p.Moments.Place(ctx, board, at, user, k) })
}

// History implements api.Moments.
func (p pastReads) History(
	ctx context.Context, board *scoreboard.Board, at scoreboard.Moment, user scoreboard.UserID, times []time.Time,
) ([]scoreboard.RankPoint, error) {
	return leaderboard.ReadReplica(ctx, p.state, func(ctx context.Context) ([]scoreboard.RankPoint, error) {
		return p.replica.Moments.History(ctx, board, at, user, times)
	}, func(ctx context.Context) ([]scoreboard.RankPoint, error) {
		return p.Moments.History(ctx, board, at, user, times)
	})
}

// Marks implements api.Moments.
func (p pastReads) Marks(
	ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID,
) (*scoreboard.RankMarks, error) {
	return leaderboard.ReadReplica(ctx, p.state, func(ctx context.Context) (*scoreboard.RankMarks, error) {
		return p.replica.Moments.Marks(ctx, board, user)
	}, func(ctx context.Context) (*scoreboard.RankMarks, error) { return p.Moments.Marks(ctx, board, user) })
}

// Film implements api.Moments.
func (p pastReads) Film(
	ctx context.Context, board *scoreboard.Board, at scoreboard.Moment, times []time.Time, limit int,
) (frames []scoreboard.Frame, covered int, err error) {
	read := func(m *moments.Moments) func(context.Context) ([]scoreboard.Frame, error) {
		return func(ctx context.Context) (all []scoreboard.Frame, err error) {
			all, covered, err = m.Film(ctx, board, at, times, limit)
			return all, err
		}
	}
	frames, err = leaderboard.ReadReplica(ctx, p.state, read(p.replica.Moments), read(p.Moments))
	return frames, covered, err
}

// Explain implements api.Moments.
func (p pastReads) Explain(
	ctx context.Context, board *scoreboard.Board, user scoreboard.UserID, limit int,
) (*scoreboard.Explanation, error) {
	return p.Moments.Explain(ctx, board, user, limit)
}
