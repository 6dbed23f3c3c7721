package ranking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/ranking/partitions"
	"github.com/scoreboard/scoreboard/server/ranking/piece"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Lost returns the boards that Redis does not hold, and those that cannot be trusted:
// they were built on another server than the one that holds them now, and a restart or
// a failover may have lost the latest changes; or the store has adopted another history
// since. In a cluster an error may concern some boards only, which are then in neither
// list: unknown counts them.
func (r *Ranking) Lost(
	ctx context.Context, boards []scoreboard.Board,
) (missing, suspect []scoreboard.Board, unknown int, err error) {
	trusted, err := r.conn.Trust(ctx, r.conn.Keys.Of(boards))
	found, basesErr := r.bases(ctx, boards)
	if err == nil {
		err = basesErr
	}
	for i, b := range boards {
		if _, divided := piece.LayoutOf(&b); divided || piece.IsDivided(found[i].err) {
			condition, oneErr := r.partitions.ConditionOf(ctx, &b, trusted)
			if oneErr != nil && err == nil {
				err = oneErr
			}
			switch condition {
			case partitions.ConditionHealthy:
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
		case holder == nil || found[i].err != nil:
			unknown++
		case found[i].Basis == nil:
			missing = append(missing, b)
		case found[i].Server != holder.Server || found[i].Since < holder.Adopted:
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
				answers[i] = p.Exists(ctx, r.conn.Keys.Live(id)[0], r.conn.Keys.Head(id), r.conn.Keys.Layouts(id))
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

// Drop removes a board from Redis, and aborts its rebuild if one is running.
func (r *Ranking) Drop(ctx context.Context, board *scoreboard.Board) error {
	if err := r.drop(ctx, board); err != nil {
		return piece.Translate(fmt.Errorf("drop board %s: %w", board.ID, err))
	}
	return nil
}

// drop removes the partitions before what says that there are any, so that an interrupted
// call is repeated.
func (r *Ranking) drop(ctx context.Context, board *scoreboard.Board) error {
	now, divided, err := r.layouts.Learn(ctx, board.ID)
	if err != nil {
		return err
	}
	recorded, err := r.rebuilds.Recorded(ctx, board.ID)
	if err != nil {
		return err
	}
	layouts := maps.Clone(recorded)
	if want, wantsParts := piece.LayoutOf(board); wantsParts {
		layouts[want] = ""
	}
	if divided {
		layouts[now] = ""
	}
	if err := r.conn.Redis.Unlink(ctx, r.conn.Keys.Shadow(board.ID)...).Err(); err != nil {
		return err
	}
	for l := range layouts {
		if err := r.rebuilds.UnlinkParts(ctx, l); err != nil {
			return err
		}
	}
	r.layouts.Counts.Delete(board.ID)
	live := append(r.conn.Keys.Live(board.ID), r.conn.Keys.Head(board.ID))
	if err := r.conn.Redis.Unlink(ctx, live...).Err(); err != nil {
		return err
	}
	for l, token := range recorded {
		keys := []string{r.conn.Keys.Layouts(l.Board)}
		if err := r.rebuilds.ForgetLayout.Run(ctx, r.conn.Redis, keys, l.Count, token).Err(); err != nil {
			return err
		}
	}
	return nil
}

// foundBasis is the basis of a board; nil for a board that Redis does not hold.
type foundBasis struct {
	*piece.Basis
	err error // the board could not be read
}

// bases returns the server and the history that each board was built on, and the first
// error.
func (r *Ranking) bases(ctx context.Context, boards []scoreboard.Board) (found []foundBasis, err error) {
	found = make([]foundBasis, 0, len(boards))
	for some := range slices.Chunk(boards, piece.BoardsPerTrip) {
		answers := make([]*redis.SliceCmd, len(some))
		_, _ = r.conn.Redis.Pipelined(ctx, func(p redis.Pipeliner) error { // each answer has its own error
			for i := range some {
				answers[i] = p.HMGet(ctx, r.conn.Keys.Live(some[i].ID)[0], "server", "since")
			}
			return nil
		})
		for _, answer := range answers {
			if answer.Err() != nil && !piece.IsDivided(answer.Err()) && err == nil {
				err = piece.Translate(fmt.Errorf("check %d boards: %w", len(some), answer.Err()))
			}
			found = append(found, basisOf(answer))
		}
	}
	return found, err
}

func basisOf(answer *redis.SliceCmd) foundBasis {
	if answer.Err() != nil || len(answer.Val()) < 2 {
		return foundBasis{err: cmp.Or(answer.Err(), errNoAnswer)}
	}
	server, loaded := answer.Val()[0].(string)
	if !loaded {
		return foundBasis{}
	}
	b := &piece.Basis{Server: server}
	if since, ok := answer.Val()[1].(string); ok {
		b.Since, _ = strconv.ParseInt(since, 10, 64) // 0 if malformed: rebuilt if it matters
	}
	return foundBasis{Basis: b}
}

var errNoAnswer = errors.New("no answer from Redis")

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
