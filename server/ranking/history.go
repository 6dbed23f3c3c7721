package ranking

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/ranking/piece"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// histories keeps which history of the store the boards were built from.
type histories struct {
	*piece.Conn
	advance *redis.Script
}

// History returns the history of the store that the boards were built from, or an
// empty one.
func (r *histories) History(ctx context.Context) (h scoreboard.History, err error) {
	found, err := r.Redis.HGetAll(ctx, piece.HistoryKey).Result()
	if err != nil {
		return h, piece.Translate(fmt.Errorf("read the ranking's history: %w", err))
	}
	h.ID = found["id"]
	h.Position, _ = strconv.ParseInt(found["position"], 10, 64) // 0 if missing
	h.Checks, _ = strconv.ParseInt(found["mark"], 10, 64)       // likewise
	if h.Adopted, err = strconv.ParseInt(found["adopted"], 10, 64); err != nil {
		h.Adopted = scoreboard.UnknownAdoption
	}
	return h, nil
}

// AdvanceHistory stores that now continues before, unless the stored history is no
// longer before: another process has adopted a new one. The position and the checks never
// go back.
func (r *histories) AdvanceHistory(ctx context.Context, before, now scoreboard.History) error {
	err := r.advance.Run(ctx, r.Redis, []string{piece.HistoryKey}, before.ID, before.Adopted,
		now.ID, now.Position, now.Adopted, now.Checks).Err()
	if err != nil {
		return piece.Translate(fmt.Errorf("store the ranking's history: %w", err))
	}
	return nil
}

// SetHistory stores the history that every board was rebuilt from.
func (r *histories) SetHistory(ctx context.Context, h scoreboard.History) error {
	err := r.Redis.HSet(
		ctx, piece.HistoryKey, "id", h.ID, "position", h.Position, "adopted", h.Adopted, "mark", h.Checks,
	).Err()
	if err != nil {
		return piece.Translate(fmt.Errorf("store the ranking's history: %w", err))
	}
	return nil
}

// Distrust makes every board that was built before an adoption, given in microseconds
// of Unix time, unreadable: reads return scoreboard.ErrNotLoaded until it is rebuilt.
func (r *histories) Distrust(ctx context.Context, adopted int64) error {
	_, err := r.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, bucket := range r.Keys.All() {
			p.HSet(ctx, r.Keys.Fresh(bucket), "adopted", adopted)
		}
		return nil
	})
	if err != nil {
		return piece.Translate(fmt.Errorf("mark the boards of the previous history as suspect: %w", err))
	}
	r.Forget()
	return nil
}

// Fence rejects changes that were recorded before since, from the shadow that
// token claimed and from the board that it becomes.
func (r *Ranking) Fence(ctx context.Context, board scoreboard.BoardID, token string, since time.Time) error {
	if p := r.rebuilds.Rebuilding(board, token); p != nil {
		if err := r.rebuilds.FenceLayout(ctx, p, token, since); err != nil {
			return piece.Translate(fmt.Errorf("fence the shadow of board %s: %w", board, err))
		}
		return nil
	}
	n, err := r.shadows.Fence.Run(ctx, r.conn.Redis, r.conn.Keys.Shadow(board), token, since.UnixMicro()).Int64()
	if err == nil && n == 0 {
		err = piece.ErrClaimLost
	}
	if err != nil {
		return piece.Translate(fmt.Errorf("fence the shadow of board %s: %w", board, err))
	}
	return nil
}
