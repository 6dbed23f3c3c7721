package operations

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

const (
	sqlUnsentRuns = `select r.board_id, r.moves_sent, b.league_decided_at is not null
from league_runs as r join boards as b using (board_id) where r.sent_at is null order by r.started_at limit $1`

	// The chunks of a period take turns, so that ids rise in the order of commits.
	sqlUnsentMoves = `select o.outcome_id, o.user_id, coalesce(o.rank, 0), o.players, o.from_division, o.to_division,
    o.decided_at, u.status in ('banned', 'erased') or u.private
from (select * from league_outcomes where board_id = $1 and outcome_id > $2 and step <> 0 and revision = 1
    order by outcome_id limit $3) as o join users as u on u.user_id = o.user_id
order by o.outcome_id`

	// Only if no other process has moved the cursor since it was read.
	sqlSentMoves = `update league_runs set moves_sent = $3, sent_at = case when $4 then clock_timestamp() end
where board_id = $1 and moves_sent = $2 and sent_at is null`
)

// LeagueMoves returns, for at most runs periods of leagues, the next moves of players of which webhooks were
// not told, at most limit of each, without those of players who are banned or private now.
func (s *Webhooks) LeagueMoves(ctx context.Context, runs, limit int) (all []scoreboard.LeagueMoves, err error) {
	err = pgx.BeginTxFunc(ctx, s.db, pg.Snapshot, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sqlUnsentRuns, runs)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (m scoreboard.LeagueMoves, err error) {
			err = row.Scan(&m.Board, &m.From, &m.Decided)
			return m, err
		})
		if err != nil {
			return err
		}
		for i := range all {
			if err := readMoves(ctx, tx, &all[i], limit); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read the moves of players between divisions: %w", err))
	}
	return all, nil
}

func readMoves(ctx context.Context, tx pgx.Tx, m *scoreboard.LeagueMoves, limit int) error {
	rows, err := tx.Query(ctx, sqlUnsentMoves, m.Board, m.From, limit)
	if err != nil {
		return err
	}
	read, away := 0, false
	m.To = m.From
	var o scoreboard.LeagueOutcome
	to := []any{&o.ID, &o.User, &o.Rank, &o.Players, &o.From, &o.To, &o.Decided, &away}
	_, err = pgx.ForEachRow(rows, to, func() error {
		o.Board, o.Decided = m.Board, o.Decided.UTC()
		read, m.To = read+1, o.ID
		if !away {
			m.Moves = append(m.Moves, o)
		}
		return nil
	})
	m.Last = m.Decided && read < limit
	return err
}

// SaveLeagueMoves queues a message about moves, if there is a payload, and has the next one begin behind
// them, in one transaction. It does nothing if another process was faster.
func (s *Webhooks) SaveLeagueMoves(
	ctx context.Context, m *scoreboard.LeagueMoves, id, payload string, webhooks []string,
) error {
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		users := make([]scoreboard.UserID, len(m.Moves))
		for i := range m.Moves {
			users[i] = m.Moves[i].User
		}
		locked, err := lockNames(ctx, tx, users)
		if err != nil || locked.erased() || locked.absent() {
			return err // the next look has others
		}
		tag, err := tx.Exec(ctx, sqlSentMoves, m.Board, m.From, m.To, m.Last)
		if err != nil || tag.RowsAffected() == 0 || payload == "" {
			return err
		}
		return queue(ctx, tx, locked, scoreboard.WebhookLeagueMoved, []message{{id, payload}}, webhooks)
	})
	if err != nil {
		return pg.Translate(fmt.Errorf("queue a message about a league: %w", err))
	}
	return nil
}
