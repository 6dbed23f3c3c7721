package ranking

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/ranking/partitions"
	"github.com/scoreboard/scoreboard/server/ranking/piece"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Unhealthy returns the boards that Redis does not hold, or of which a key is broken, and those that cannot be trusted:
// they were built on another server than the one that holds them now, and a restart or
// a failover may have lost the latest changes; or the store has adopted another history
// since. In a cluster an error may concern some boards only, which are then in neither
// list: unknown counts them.
func (r *Ranking) Unhealthy(
	ctx context.Context, boards []scoreboard.Board,
) (missing, suspect []scoreboard.Board, unknown int, err error) {
	trusted, err := r.conn.Trust(ctx, r.conn.Keys.Of(boards))
	found, basesErr := r.whole.Bases(ctx, boards)
	if err == nil {
		err = basesErr
	}
	for i, b := range boards {
		if _, divided := piece.LayoutOf(&b); divided || piece.IsDivided(found[i].Err) {
			condition, oneErr := r.partitions.ConditionOf(ctx, &b, trusted)
			if oneErr != nil && err == nil && condition != partitions.ConditionBroken {
				err = oneErr
			}
			switch condition {
			case partitions.ConditionHealthy:
			case partitions.ConditionBroken:
				missing = append(missing, b)
				if oneErr == nil {
					again, _ := r.whole.Bases(ctx, boards[i:i+1])
					oneErr = again[0].Err
				}
				if piece.IsBroken(oneErr) {
					r.report(ctx, b.ID, oneErr)
				}
			case partitions.ConditionMissing:
				missing = append(missing, b)
			case partitions.ConditionSuspect:
				suspect = append(suspect, b)
			case partitions.ConditionUnknown:
				unknown++
			}
			continue
		}
		holder := trusted[r.conn.Keys.Bucket(b.ID)]
		switch {
		case found[i].Err == nil && found[i].Basis == nil:
			missing = append(missing, b)
		case piece.IsBroken(found[i].Err):
			missing = append(missing, b)
			r.report(ctx, b.ID, found[i].Err)
		case holder == nil || found[i].Err != nil:
			unknown++
		case holder.Doubts(found[i].Basis):
			suspect = append(suspect, b)
		}
	}
	return missing, suspect, unknown, err
}

// Loaded returns the boards that Redis holds, or holds partitions of.
func (r *Ranking) Loaded(ctx context.Context, boards []scoreboard.Board) ([]scoreboard.Board, error) {
	var loaded []scoreboard.Board
	for some := range slices.Chunk(boards, piece.BoardsPerTrip) {
		answers := make([]*redis.IntCmd, len(some))
		_, err := r.conn.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i := range some {
				id := some[i].ID
				answers[i] = p.Exists(ctx, r.conn.Keys.Live(id)[0], r.conn.Keys.Top(id), r.conn.Keys.Layouts(id))
			}
			return nil
		})
		if err != nil {
			return nil, piece.Translate(fmt.Errorf("check %d boards: %w", len(some), err))
		}
		for i := range some {
			isLoaded := answers[i].Val() > 0
			if l, divided := piece.LayoutOf(&some[i]); divided && !isLoaded {
				if isLoaded, err = r.partitions.IsLoaded(ctx, l); err != nil {
					return nil, err
				}
			}
			if isLoaded {
				loaded = append(loaded, some[i])
			}
		}
	}
	return loaded, nil
}

// Status reports the state of a board. It is expensive: Redis measures the size
// of the keys.
func (r *Ranking) Status(ctx context.Context, board scoreboard.BoardID) (*scoreboard.RankingStatus, error) {
	l, divided, err := r.layouts.Learn(ctx, board)
	switch {
	case err != nil:
		return nil, err
	case divided:
		return r.partitions.Status(ctx, l)
	}
	return r.whole.Status(ctx, piece.Layout{Board: board, Count: 1})
}
