package boards

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

const (
	// One change at a time decides which rules are in force: of rules, of the status of
	// boards, and of their requirements.
	sqlLockRules = `select pg_advisory_xact_lock(hashtextextended('board rules', 0))`

	// Nodes compare the version in the transactions of increments. It is a time, so that a
	// database that lost a change in a failover never gets the number of that change again.
	sqlRulesChanged = `update boards set rules_version = greatest(rules_version + 1,
    (extract(epoch from clock_timestamp()) * 1000000)::bigint) where board_id = $1`

	sqlSetRule = `insert into board_rules (board_id, actions, regions, attributes) values ($1, $2, $3, $4)
on conflict (board_id) do update set actions = excluded.actions, regions = excluded.regions,
    attributes = excluded.attributes, set_at = clock_timestamp()`
)

// Rules lists the boards that have a rule, by name.
func (s *Boards) Rules(ctx context.Context) ([]scoreboard.RuledBoard, error) {
	rows, err := s.db.Query(ctx, `select board_id, b.status, r.actions, r.regions, r.attributes
from board_rules as r join boards as b using (board_id) order by board_id`)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list the rules of boards: %w", err))
	}
	rules, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r scoreboard.RuledBoard, err error) {
		err = row.Scan(&r.Board, &r.Status, &r.Rule.Actions, &r.Rule.Regions, &r.Rule.Attributes)
		return r, err
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list the rules of boards: %w", err))
	}
	return rules, nil
}

// SetRule sets the rule of a board. Every increment whose transaction begins afterwards
// follows it, on all nodes. It returns a conflict if the board cannot have one.
func (s *Boards) SetRule(
	ctx context.Context, id scoreboard.BoardID, rule *scoreboard.BoardRule, audit *scoreboard.AuditEntry,
) (set scoreboard.RuledBoard, err error) {
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLockRules); err != nil {
			return err
		}
		board, err := checkRuled(ctx, tx, id)
		if err != nil {
			return err
		}
		attributes := rule.Attributes
		if attributes == nil {
			attributes = map[string][]string{}
		}
		_, err = tx.Exec(ctx, sqlSetRule, id, append([]string{}, rule.Actions...), append([]string{}, rule.Regions...),
			attributes)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlRulesChanged, scoreboard.GlobalBoard); err != nil {
			return err
		}
		set = scoreboard.RuledBoard{Board: id, Status: board.Status, Rule: *rule}
		return pg.WriteAudit(ctx, tx, audit)
	})
	if err != nil {
		return set, pg.Translate(fmt.Errorf("set the rule of board %s: %w", id, err))
	}
	return set, nil
}

// checkRuled returns the board of a new rule, or why it cannot have one.
func checkRuled(ctx context.Context, tx pgx.Tx, id scoreboard.BoardID) (*scoreboard.Board, error) {
	board, err := pg.FindBoard(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	standard, err := pg.FindBoard(ctx, tx, scoreboard.GlobalBoard)
	if err != nil {
		return nil, err
	}
	if err := board.CheckRuled(standard.Mode); err != nil {
		return nil, err
	}
	var others int
	err = tx.QueryRow(ctx, `select count(*) from board_rules where board_id <> $1`, id).Scan(&others)
	if err == nil && others >= scoreboard.MaxBoardRules {
		err = scoreboard.Errorf(wire.CodeConflict, "%d boards have a rule, the maximum", others)
	}
	return board, err
}

// ClearRule removes the rule of a board, if it has one, and returns the board.
func (s *Boards) ClearRule(
	ctx context.Context, id scoreboard.BoardID, audit *scoreboard.AuditEntry,
) (board *scoreboard.Board, err error) {
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLockRules); err != nil {
			return err
		}
		if board, err = pg.FindBoard(ctx, tx, id); err != nil {
			return err
		}
		done, err := tx.Exec(ctx, `delete from board_rules where board_id = $1`, id)
		if err != nil || done.RowsAffected() == 0 {
			return err
		}
		if _, err := tx.Exec(ctx, sqlRulesChanged, scoreboard.GlobalBoard); err != nil {
			return err
		}
		return pg.WriteAudit(ctx, tx, audit)
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("clear the rule of board %s: %w", id, err))
	}
	return board, nil
}

// hasRule reports whether a board has a rule; the caller has locked the rules.
func hasRule(ctx context.Context, tx pgx.Tx, id scoreboard.BoardID) (has bool, err error) {
	err = tx.QueryRow(ctx, `select exists (select from board_rules where board_id = $1)`, id).Scan(&has)
	return has, err
}
