package store

import (
	"context"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// catalogLife is how long a list of boards is served before it is read again:
// the bound on how late a node learns of a change.
const catalogLife = time.Second

// Catalog answers what a board is from memory. While the store is away it
// goes on answering what it knew.
type Catalog struct {
	store *Store

	mu     sync.Mutex
	read   time.Time
	boards map[scoreboard.BoardID]*scoreboard.Board
}

// NewCatalog reads the boards on first use.
func NewCatalog(s *Store) *Catalog { return &Catalog{store: s} }

// Board returns a board, which must not be changed, or a not_found.
func (c *Catalog) Board(ctx context.Context, id scoreboard.BoardID) (*scoreboard.Board, error) {
	boards, err := c.All(ctx)
	if err != nil {
		return nil, err
	}
	b := boards[id]
	if b == nil {
		return nil, scoreboard.Errorf(scoreboard.CodeNotFound, "there is no board %s", id)
	}
	return b, nil
}

// All returns every board by its id; the map must not be changed.
func (c *Catalog) All(ctx context.Context) (map[scoreboard.BoardID]*scoreboard.Board, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.read) < catalogLife {
		return c.boards, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), catalogLife)
	defer cancel()
	list, err := c.store.Boards(ctx)
	if err != nil {
		if c.boards == nil {
			return nil, err
		}
		c.read = time.Now() // not again before it is due, or an outage stalls every reader
		return c.boards, nil
	}
	boards := make(map[scoreboard.BoardID]*scoreboard.Board, len(list))
	for i := range list {
		boards[list[i].ID] = &list[i]
	}
	c.boards, c.read = boards, time.Now()
	return boards, nil
}
