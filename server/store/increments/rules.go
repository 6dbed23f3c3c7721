package increments

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// rules are the rules of boards as last read. They are used until a transaction finds that
// they have changed: it compares their version, and writes nothing if that is another one.
// So every increment counts on the boards of the rules at one moment between its arrival
// and its commit, on every node.
type rules struct {
	db    *pg.DB
	known atomic.Pointer[scoreboard.BoardRules]
	mu    sync.Mutex // while they are read
}

// of returns the rules for a batch, nil if all of its increments name their boards.
func (r *rules) of(ctx context.Context, batch []scoreboard.Increment) (*scoreboard.BoardRules, error) {
	if !slices.ContainsFunc(batch, func(in scoreboard.Increment) bool { return in.ByRules }) {
		return nil, nil //nolint:nilnil // none are needed
	}
	if known := r.known.Load(); known != nil {
		return known, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.known.Load(); known != nil {
		return known, nil
	}
	read, err := r.read(ctx)
	if err == nil {
		r.known.Store(read)
	}
	return read, err
}

// forget has the rules read again, unless they were since.
func (r *rules) forget(known *scoreboard.BoardRules) { r.known.CompareAndSwap(known, nil) }

// One statement, so that the version and the rules are of one snapshot.
const sqlRules = `select d.rules_version, b.board_id, r.actions, r.regions, r.attributes
from boards as d
left join board_rules as r on true left join boards as b on b.board_id = r.board_id and b.status = 'active'
where d.board_id = $1`

func (r *rules) read(ctx context.Context) (*scoreboard.BoardRules, error) {
	rows, err := r.db.Query(ctx, sqlRules, scoreboard.GlobalBoard)
	if err != nil {
		return nil, fmt.Errorf("read the rules of boards: %w", err)
	}
	var version int64
	var board *scoreboard.BoardID
	var rule scoreboard.BoardRule
	var boards []scoreboard.RuledBoard
	to := []any{&version, &board, &rule.Actions, &rule.Regions, &rule.Attributes}
	_, err = pgx.ForEachRow(rows, to, func() error {
		if board != nil {
			boards = append(boards, scoreboard.RuledBoard{
				Board: *board, Status: scoreboard.StatusActive, Rule: rule,
			})
		}
		rule = scoreboard.BoardRule{}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the rules of boards: %w", err)
	}
	return scoreboard.NewBoardRules(version, boards), nil
}

// errRulesChanged means that the rules of boards have changed since they were read. The
// caller runs the batch again.
var errRulesChanged = errors.New("the rules of boards have changed")
