package mirror

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/retry"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Standings reads every user's state on a board, in chunks, from one snapshot.
type Standings interface {
	Standings(
		ctx context.Context, board scoreboard.BoardID, size int, do func([]scoreboard.Change) error,
	) (asOf time.Time, err error)
}

// Written remembers that a feed has its snapshot.
type Written interface {
	Done(ctx context.Context) (bool, error)
	Set(ctx context.Context) error
}

// Snapshot is how a feed gets the scores from before its first start, which no transport
// has any more. A consumer that keeps the greatest version of each user takes from it only
// what it lacks, so the snapshot may be written beside newer changes, and twice.
type Snapshot struct {
	Standings Standings
	Written   Written
}

const (
	snapshotChunk = 1000
	// snapshotPatience is how long the backend may take to accept a chunk. Until then the
	// transaction that reads the scores stays open.
	snapshotPatience = 30 * time.Second
)

// runSnapshot writes the snapshot unless it was written before, and retries until that
// succeeds or ctx ends.
func (f *feed) runSnapshot(ctx context.Context) {
	for attempt := 1; ; attempt++ {
		err := f.snapshot(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		f.m.failures.WithLabelValues(f.Name).Inc()
		f.m.log.Warn("snapshot not written, retrying", "feed", f.Name, "attempt", attempt, "err", err)
		retry.Wait(ctx, attempt)
	}
}

func (f *feed) snapshot(ctx context.Context) error {
	s := f.Snapshot
	if done, err := s.Written.Done(ctx); err != nil || done {
		return err
	}
	users := 0
	_, err := s.Standings.Standings(ctx, f.Board, snapshotChunk, func(states []scoreboard.Change) error {
		changes := make([]scoreboard.Change, 0, len(states))
		for i := range states {
			if states[i].Version > 0 && f.adapt(&states[i]) { // 0: what an erased user leaves for a time
				changes = append(changes, states[i])
			}
		}
		ctx, cancel := context.WithTimeout(ctx, snapshotPatience)
		defer cancel()
		users += len(changes)
		return f.write(ctx, changes)
	})
	if err != nil {
		return fmt.Errorf("write the scores of board %s: %w", f.Board, err)
	}
	if err := s.Written.Set(ctx); err != nil {
		return err
	}
	f.m.log.Info("snapshot written", "feed", f.Name, "board", f.Board, "users", users)
	return nil
}

// RedisWritten is a Written in Redis. If Redis loses it, the snapshot is written again.
type RedisWritten struct {
	rdb redis.UniversalClient
	key string
}

// NewRedisWritten remembers the snapshot of an output, such as a topic.
func NewRedisWritten(rdb redis.UniversalClient, output string) *RedisWritten {
	return &RedisWritten{rdb, "sb:mirror:snapshot:" + output}
}

// Done implements Written.
func (m *RedisWritten) Done(ctx context.Context) (bool, error) {
	n, err := m.rdb.Exists(ctx, m.key).Result()
	if err != nil {
		return false, fmt.Errorf("read whether there was a snapshot: %w", err)
	}
	return n > 0, nil
}

// Set implements Written.
func (m *RedisWritten) Set(ctx context.Context) error {
	if err := m.rdb.Set(ctx, m.key, time.Now().UTC().Format(time.RFC3339), 0).Err(); err != nil {
		return fmt.Errorf("remember the snapshot: %w", err)
	}
	return nil
}
