package realtime

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// ranking is a synthetic board of a hundred users. Every change moves the user at
// rank 10 to rank 1.
type ranking struct {
	reads atomic.Int64
	mu    sync.Mutex
	top   scoreboard.Top
}

const board = scoreboard.GlobalBoard

func newRanking() *ranking {
	r := &ranking{
		top: scoreboard.Top{Board: board, Epoch: 1, Version: 1, UpdatedAt: time.Now(), Total: scoreboard.TopSize},
	}
	r.top.Reached = slices.Repeat([]time.Time{r.top.UpdatedAt}, scoreboard.TopSize)
	for i := range scoreboard.TopSize {
		r.top.Entries = append(r.top.Entries, scoreboard.Entry{
			Rank:  int64(i + 1),
			User:  scoreboard.UserID(fmt.Sprintf("player-%08d", i)),
			Score: scoreboard.Score(1_000_000 - i),
		})
	}
	return r
}

// change changes the board and returns the notice.
func (r *ranking) change() scoreboard.Notice {
	r.mu.Lock()
	defer r.mu.Unlock()
	rows := slices.Clone(r.top.Entries)
	moved := rows[9]
	moved.Score = rows[0].Score + 1
	copy(rows[1:10], rows[:9])
	rows[0] = moved
	for i := range rows[:10] {
		rows[i].Rank = int64(i + 1)
	}
	r.top.Entries = rows
	r.top.Version++
	r.top.UpdatedAt = time.Now()
	reached := slices.Clone(r.top.Reached)
	copy(reached[1:10], reached[:9])
	reached[0] = r.top.UpdatedAt
	r.top.Reached = reached
	top := r.top
	top.Reached = nil // as in the ranking's notices
	return scoreboard.Notice{
		Board: board, Top: &top,
		Moved: []scoreboard.Moved{{
			User: moved.User, Score: moved.Score, Revision: top.Version, Version: top.Version, ReachedAt: top.UpdatedAt,
		}},
	}
}

func (r *ranking) ReadTop(_ context.Context, id scoreboard.BoardID) (*scoreboard.Top, error) {
	if id != board {
		return nil, scoreboard.Errorf(wire.CodeNotFound, "no such board")
	}
	r.reads.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	top := r.top
	return &top, nil
}

func (r *ranking) ReadPlaces(
	_ context.Context, board scoreboard.BoardID, _ []scoreboard.UserID,
) (*scoreboard.List, error) {
	return &scoreboard.List{Board: board}, nil
}
