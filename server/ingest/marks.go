package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// markTTL bounds how long an event is reported as pending: a record that takes
// longer counts as lost.
const markTTL = 15 * time.Minute

// RedisMarks implements Marks: a key for each user and event holds the hash of
// the payload.
type RedisMarks struct{ rdb redis.UniversalClient }

// NewRedisMarks uses rdb, which the caller closes.
func NewRedisMarks(rdb redis.UniversalClient) *RedisMarks { return &RedisMarks{rdb} }

func markKey(user scoreboard.UserID, event scoreboard.EventID) string {
	return "sb:pending:{" + string(user) + "}:" + scoreboard.FormatUUID(event.UUID)
}

// Pending implements Marks, in one round trip.
func (m *RedisMarks) Pending(ctx context.Context, batch []scoreboard.Increment) ([]*[16]byte, error) {
	before := make([]*redis.StatusCmd, len(batch))
	_, err := m.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range batch {
			hash := batch[i].PayloadHash()
			// SET … NX GET keeps an existing value and returns it.
			key := markKey(batch[i].User, batch[i].Event)
			before[i] = p.SetArgs(ctx, key, hash[:], redis.SetArgs{Mode: "NX", Get: true, TTL: markTTL})
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("mark %d events as pending: %w", len(batch), err)
	}
	marks := make([]*[16]byte, len(batch))
	for i, b := range before {
		if v, err := b.Result(); err == nil && len(v) == 16 {
			marks[i] = (*[16]byte)([]byte(v))
		}
	}
	return marks, nil
}

// IsPending implements Marks.
func (m *RedisMarks) IsPending(ctx context.Context, user scoreboard.UserID, event scoreboard.EventID) (bool, error) {
	n, err := m.rdb.Exists(ctx, markKey(user, event)).Result()
	if err != nil {
		return false, fmt.Errorf("read the mark of event %s: %w", event.Text, err)
	}
	return n == 1, nil
}

// Clear implements Marks.
func (m *RedisMarks) Clear(ctx context.Context, batch []scoreboard.Increment) error {
	_, err := m.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range batch {
			p.Del(ctx, markKey(batch[i].User, batch[i].Event))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("clear %d marks: %w", len(batch), err)
	}
	return nil
}
