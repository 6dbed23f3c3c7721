package history

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Explain returns what a user's rank follows from at the last moment that is settled, with the
// latest events, at most limit. A user without a rank is a not_found.
func (m *PastBoards) Explain(
	ctx context.Context, board *scoreboard.Board, user scoreboard.UserID, limit int,
) (e *scoreboard.Explanation, err error) {
	settled, err := m.settled(ctx, m.db, []string{string(board.Family), pg.StatusLock})
	if err != nil {
		return nil, pg.Translate(err)
	}
	at := scoreboard.PastTime{At: settled.Add(-time.Microsecond)}
	err = m.read(ctx, board, at, func(ctx context.Context, v *view) error {
		p, place, err := v.place(ctx, board, at.At, user)
		if err != nil {
			return err
		}
		e = &scoreboard.Explanation{Place: place}
		for _, step := range []func() error{
			func() error { return v.explainNeighbours(ctx, p, e) },
			func() error { return v.explainTie(ctx, p, e) },
			func() error { return v.countHidden(ctx, p, e) },
			func() error { return v.explainScore(ctx, at.At, e) },
			func() error { return v.latestEvents(ctx, at.At, limit, e) },
		} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// explainNeighbours sets the users directly ahead and behind.
func (v *view) explainNeighbours(ctx context.Context, p *scoreboard.Position, e *scoreboard.Explanation) error {
	around, above, err := v.around(ctx, p, 1)
	if err != nil {
		return err
	}
	ordinal, err := v.ordinal(ctx, p, e.Place.Rank)
	if err != nil {
		return err
	}
	rows, err := v.entries(ctx, around, ordinal-int64(above))
	neighbour := func(i int) *scoreboard.Neighbour {
		if i < 0 || i >= len(around) {
			return nil
		}
		return &scoreboard.Neighbour{Entry: rows[i], ReachedAt: around[i].ReachedAt}
	}
	e.Above, e.Below = neighbour(above-1), neighbour(above+1)
	return err
}

// explainTie counts the users with the same score and subscore.
func (v *view) explainTie(ctx context.Context, p *scoreboard.Position, e *scoreboard.Explanation) error {
	begin := keysOf(p).position(time.Time{}, "")
	end := begin
	end.SubKey++ // on a board without subscores all have the same
	first, err := v.rank(ctx, &begin)
	if err != nil {
		return err
	}
	behind, err := v.rank(ctx, &end)
	if err != nil {
		return err
	}
	own, err := v.ordinal(ctx, p, e.Place.Rank)
	if err != nil {
		return err
	}
	e.Tied, e.Ahead = behind-first, own-first
	next, err := v.following(ctx, &begin, 1)
	if len(next) > 0 {
		e.First = next[0]
	}
	return err
}

// countHidden counts the banned users ahead. Erased and private ones leave no trace.
func (v *view) countHidden(ctx context.Context, p *scoreboard.Position, e *scoreboard.Explanation) error {
	var ahead []scoreboard.UserID
	ranked := v.board.RankedAt(*p)
	for u, q := range v.out {
		if q.Compare(&ranked) < 0 {
			ahead = append(ahead, u)
		}
	}
	return v.tx.QueryRow(ctx, `select count(*) from users as u where user_id = any($1) and status = 'banned'
    and not exists (select from private_users as p where p.user_id = u.user_id and p.until is null)`,
		ahead).Scan(&e.HiddenAhead)
}

// The collation is that of the index for statements. A user's versions on a board count from 1:
// what is before the first row is archived.
const sqlSources = `with mine as materialized (
    select version, applied, new_score, source, coalesce(action, '') as action from user_score_histories
    where user_id collate "POSIX" = $1 and board_id = $2 and recorded_at <= $3
)
select count(*), coalesce(sum(applied) filter (where source <> 'admin'), 0),
    coalesce(sum(applied) filter (where source = 'admin' and action = 'adjust'), 0),
    coalesce(sum(applied) filter (where source = 'admin' and starts_with(action, 'reversal:')), 0),
    coalesce(sum(applied) filter (where source = 'admin' and starts_with(action, 'undo:')), 0),
    coalesce(sum(applied) filter (where source = 'admin' and action = 'import'), 0),
    coalesce((select case when version > 1 then new_score - applied else 0 end from mine order by version limit 1), 0)
from mine`

func (v *view) explainScore(ctx context.Context, at time.Time, e *scoreboard.Explanation) error {
	s := &e.Sources
	err := v.tx.QueryRow(ctx, sqlSources, e.Place.User, e.Place.Board, at).Scan(&e.Events, &s.Submitted, &s.Adjusted,
		&s.Reversed, &s.Reinstated, &s.Imported, &s.Archived)
	if err == nil && e.Events == 0 {
		s.Archived = e.Place.Score
	}
	return err
}

func (v *view) latestEvents(ctx context.Context, at time.Time, limit int, e *scoreboard.Explanation) error {
	rows, err := v.tx.Query(ctx, `select `+pg.LedgerColumns+` from user_score_histories as h
where user_id collate "POSIX" = $1 and board_id = $2 and recorded_at <= $3
order by recorded_at desc, version desc limit $4`, e.Place.User, e.Place.Board, at, limit+1)
	if err != nil {
		return err
	}
	if e.Latest, err = pgx.CollectRows(rows, pg.ScanLedger); err != nil {
		return err
	}
	if e.More = len(e.Latest) > limit; e.More {
		e.Latest = e.Latest[:limit]
	}
	return nil
}
