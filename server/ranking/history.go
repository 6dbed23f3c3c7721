package ranking

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// History returns the history of the store that the boards were built from, or an
// empty one.
func (r *Ranking) History(ctx context.Context) (h scoreboard.History, err error) {
	found, err := r.rdb.HGetAll(ctx, historyKey).Result()
	if err != nil {
		return h, fmt.Errorf("read the ranking's history: %w", err)
	}
	h.ID = found["id"]
	h.Position, _ = strconv.ParseInt(found["position"], 10, 64) // 0 if missing
	return h, nil
}

// SetHistory stores it.
func (r *Ranking) SetHistory(ctx context.Context, h scoreboard.History) error {
	if err := r.rdb.HSet(ctx, historyKey, "id", h.ID, "position", h.Position).Err(); err != nil {
		return fmt.Errorf("store the ranking's history: %w", err)
	}
	return nil
}

// Fence rejects changes that were recorded before since, from the shadow that
// token marked and from the board that it becomes.
func (r *Ranking) Fence(ctx context.Context, board scoreboard.BoardID, token string, since time.Time) error {
	n, err := r.fence.Run(ctx, r.rdb, shadowKeys(board), token, since.UnixMicro()).Int64()
	if err == nil && n == 0 {
		err = errMarkLost
	}
	if err != nil {
		return fmt.Errorf("fence the shadow of board %s: %w", board, err)
	}
	return nil
}
