package partitions

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/ranking/piece"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Layouts learns and remembers how boards are laid out.
type Layouts struct {
	*piece.Conn
	Counts sync.Map // by board: the number of partitions, if several
}

// Known returns the layout of a board that was found to be in partitions.
func (r *Layouts) Known(board scoreboard.BoardID) (piece.Layout, bool) {
	count, ok := r.Counts.Load(board)
	if !ok {
		return piece.Layout{}, false
	}
	return piece.Layout{Board: board, Count: count.(int)}, true
}

// Learn reads how a board is laid out; false for a board in one piece, or that is not
// loaded.
func (r *Layouts) Learn(ctx context.Context, board scoreboard.BoardID) (piece.Layout, bool, error) {
	text, err := r.Redis.Get(ctx, r.Keys.Live(board)[0]).Result()
	if errors.Is(err, redis.Nil) || piece.IsDivided(err) { // here: the facts of a board in one piece
		r.Counts.Delete(board)
		return piece.Layout{}, false, nil
	}
	if err != nil {
		return piece.Layout{}, false, piece.Translate(fmt.Errorf("read the layout of board %s: %w", board, err))
	}
	count, err := strconv.Atoi(text)
	if err != nil || count < 2 || count > scoreboard.MaxPartitions {
		err = fmt.Errorf("read the layout of board %s: %w: %.40q", board, piece.ErrNoLayout, text)
		return piece.Layout{}, false, err
	}
	r.Counts.Store(board, count)
	return piece.Layout{Board: board, Count: count}, true, nil
}

// ErrMoving is why a call gives up where a board is laid out otherwise with every attempt.
var ErrMoving = errors.New("the layout of a board keeps changing")

// HasMoved reports whether a board is no longer in count partitions: its changes then belong
// elsewhere.
func (r *Layouts) HasMoved(ctx context.Context, board scoreboard.BoardID, count int) (bool, error) {
	l, divided, err := r.Learn(ctx, board)
	if !divided {
		l.Count = 1
	}
	return count == 1 || l.Count != count, err // one in one piece is asked about only where it was not
}

// Pieces returns the names that hold the users of a board: the board's own, or those of its
// partitions.
func (r *Layouts) Pieces(ctx context.Context, board scoreboard.BoardID) ([]scoreboard.BoardID, error) {
	l, divided := r.Known(board)
	if !divided {
		var err error
		if l, divided, err = r.Learn(ctx, board); err != nil {
			return nil, err
		}
	}
	if divided {
		return l.Parts(), nil
	}
	return []scoreboard.BoardID{board}, nil
}
