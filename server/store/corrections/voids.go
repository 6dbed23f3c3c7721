package corrections

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Events of a sender that still count. A void's own rows have the source admin.
const sqlSent = `from user_score_histories as h
where recorded_at >= $1 and recorded_at < $2 and ($3 <> '' and key_id = $3 or $4 <> '' and address = $4)
    and source <> 'admin'
  and not exists (select from reversals as r where r.user_id = h.user_id and r.event_id = h.event_id
    and not r.internal)`

// PreviewVoid counts what a void would reverse.
func (c *Corrections) PreviewVoid(ctx context.Context, sender scoreboard.Sender) (*scoreboard.VoidPreview, error) {
	p := &scoreboard.VoidPreview{Boards: []scoreboard.VoidedBoard{}}
	args := []any{sender.From, sender.To, sender.KeyID, sender.Address}
	var b pgx.Batch
	b.Queue(`select count(distinct (user_id, event_id)), count(distinct user_id) `+sqlSent, args...).
		QueryRow(func(row pgx.Row) error {
			return row.Scan(&p.Events, &p.Users)
		})
	// The sum of an attacker's deltas may exceed any integer.
	b.Queue(`select v.*, b.status = 'archived' or b.status <> 'active' and b.closed_at is not null from (
    select board_id, count(*), count(distinct user_id),
        greatest(least(sum(applied), $5), -$5::numeric)::bigint `+sqlSent+` group by board_id) as v
join boards as b using (board_id) order by board_id`, append(args, int64(scoreboard.MaxScore))...).
		Query(func(rows pgx.Rows) error {
			return pg.ForEach(rows, func() error {
				var v scoreboard.VoidedBoard
				err := rows.Scan(&v.Board, &v.Events, &v.Users, &v.Applied, &v.Ended)
				p.Boards = append(p.Boards, v)
				return err
			})
		})
	b.Queue(sqlAffected, append(args, scoreboard.MaxVoidedRewards)...).Query(func(rows pgx.Rows) error {
		return addRewards(rows, &p.Rewards)
	})
	if err := c.db.SendBatch(ctx, &b).Close(); err != nil {
		return nil, pg.Translate(fmt.Errorf("preview a void: %w", err))
	}
	return p, nil
}

// The audit log records the undo of a void.
const voidColumns = `id, coalesce(key_id, ''), coalesce(address, ''), coalesce(board_id, ''), coalesce(digest, ''),
    starts, ends, reason, who, created_at, state,
    coalesce(done_at, '0001-01-01T00:00:00Z'),
    (select count(*) from void_events where void_id = voids.id and state = 'todo'),
    (select count(*) from void_events where void_id = voids.id and state in ('reversed', 'undone')),
    (select count(*) from void_events where void_id = voids.id and state = 'skipped'),
    (select count(*) from void_events where void_id = voids.id and state = 'undone'),
    (select jsonb_object_agg(note, n) from (select note, count(*) as n from void_events
        where void_id = voids.id and state = 'skipped' group by note order by n desc limit 10) as most),
    (select jsonb_object_agg(board, n) from (select board, count(*) as n
        from void_events cross join lateral string_to_table(note, ' ') as board
        where void_id = voids.id and state in ('reversed', 'undone') and attempts = 0 and note is not null
        group by board order by n desc, board limit 10) as most),
    (select count(*) from void_rewards join reward_grants using (grant_id)
        where void_id = voids.id and claimed_at is null),
    (select count(*) from void_rewards join reward_grants using (grant_id)
        where void_id = voids.id and claimed_at is not null),
    coalesce(problem, ''), attempts, next_at,
    (select count(*) from void_events where void_id = voids.id and state in ('todo', 'reversed') and attempts > 0),
    coalesce((select at from audit_log where target = 'void:' || voids.id and action = 'void.undo' order by id desc
        limit 1), '0001-01-01T00:00:00Z'),
    coalesce((select who from audit_log where target = 'void:' || voids.id and action = 'void.undo' order by id desc
        limit 1), ''),
    coalesce((select reason from audit_log where target = 'void:' || voids.id and action = 'void.undo'
        order by id desc limit 1), '')`

// Events that failed, of the voids in $1: of each the first $2, those that wait first.
const sqlFailures = `select v.id, e.user_id, e.event_id, e.state = 'skipped', coalesce(e.note, ''), e.attempts,
    case when isfinite(e.next_at) then e.next_at end
from unnest($1::bigint[]) as v(id) cross join lateral (
    select * from void_events where void_id = v.id and note is not null and (state = 'skipped' or attempts > 0)
    order by state = 'skipped', user_id, event_id limit $2) as e
order by v.id, e.state = 'skipped', e.user_id, e.event_id`

// addFailures completes voids by the events that failed.
func addFailures(ctx context.Context, q pg.Querier, voids ...*scoreboard.Void) error {
	ids, byID := make([]int64, len(voids)), make(map[int64]*scoreboard.Void, len(voids))
	for i, v := range voids {
		ids[i], byID[v.ID] = v.ID, v
	}
	rows, err := q.Query(ctx, sqlFailures, ids, scoreboard.MaxVoidFailures)
	if err != nil {
		return err
	}
	failures, err := pgx.CollectRows(rows, pg.ScanVoidFailure)
	for _, f := range failures {
		v := byID[f.Void]
		v.Failed = append(v.Failed, f)
	}
	return err
}

func scanVoid(row pgx.Row) (*scoreboard.Void, error) {
	v := &scoreboard.Void{}
	var next pgtype.Timestamptz
	err := row.Scan(
		&v.ID,
		&v.Sender.KeyID,
		&v.Sender.Address,
		&v.Board,
		&v.Digest,
		&v.Sender.From,
		&v.Sender.To,
		&v.Reason,
		&v.Actor,
		&v.Created,
		&v.State,
		&v.Done,
		&v.Todo,
		&v.Reversed,
		&v.Skipped,
		&v.Undone,
		&v.SkippedFor,
		&v.ClosedBoards,
		&v.Rewards.Revoked,
		&v.Rewards.Flagged,
		&v.Problem,
		&v.Attempts,
		&next,
		&v.Waiting,
		&v.UndoAt,
		&v.UndoBy,
		&v.UndoReason,
	)
	if next.InfinityModifier == pgtype.Finite {
		v.Next = next.Time.UTC()
	}
	for _, t := range []*time.Time{&v.Sender.From, &v.Sender.To, &v.Created, &v.Done, &v.UndoAt} {
		*t = t.UTC()
	}
	return v, err
}

// CreateVoid creates a void, which a node with the role maintenance carries out. It
// returns a not_found if there are no events to reverse.
func (c *Corrections) CreateVoid(
	ctx context.Context,
	sender scoreboard.Sender,
	audit *scoreboard.AuditEntry,
) (v *scoreboard.Void, err error) {
	err = pgx.BeginFunc(ctx, c.db, func(tx pgx.Tx) error {
		v, err = scanVoid(tx.QueryRow(ctx, `insert into voids (starts, ends, key_id, address, reason, who)
select $1, $2, nullif($3, ''), nullif($4, ''), $5, $6 where exists (select `+sqlSent+`) returning `+voidColumns,
			sender.From, sender.To, sender.KeyID, sender.Address, audit.Reason, audit.Actor))
		if errors.Is(err, pgx.ErrNoRows) {
			return scoreboard.Errorf(
				wire.CodeNotFound,
				"%s sent no events that still count in this period",
				sender.KeyID+sender.Address,
			)
		}
		if err != nil {
			return err
		}
		audit.Target = fmt.Sprintf("void:%d", v.ID)
		return pg.WriteAudit(ctx, tx, audit)
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("create a void: %w", err))
	}
	return v, nil
}

// CreateVoidOf creates a void of exactly these events, which a node with the role maintenance
// carries out. If a void that runs has the same events, it returns a conflict.
func (c *Corrections) CreateVoidOf(
	ctx context.Context, set *scoreboard.VoidSet, audit *scoreboard.AuditEntry,
) (v *scoreboard.Void, err error) {
	err = pgx.BeginFunc(ctx, c.db, func(tx pgx.Tx) error {
		var id int64
		err := tx.QueryRow(ctx, `insert into voids (starts, ends, board_id, digest, reason, who, state)
values ($1, $2, $3, $4, $5, $6, 'reversing') on conflict (digest) where digest is not null and state = 'reversing'
do nothing returning id`,
			set.Since, set.Until, set.Board, set.Digest, audit.Reason, audit.Actor).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return scoreboard.Errorf(wire.CodeConflict, "a void of these events is running")
		}
		if err != nil {
			return err
		}
		_, err = tx.CopyFrom(ctx, pgx.Identifier{"void_events"}, []string{"void_id", "user_id", "event_id"},
			pgx.CopyFromSlice(len(set.Events), func(i int) ([]any, error) {
				e := &set.Events[i]
				return []any{id, string(e.User), e.Event}, nil
			}))
		if err != nil {
			return err
		}
		if v, err = scanVoid(tx.QueryRow(ctx, `select `+voidColumns+` from voids where id = $1`, id)); err != nil {
			return err
		}
		audit.Target = fmt.Sprintf("void:%d", id)
		return pg.WriteAudit(ctx, tx, audit)
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("create a void of a what-if: %w", err))
	}
	return v, nil
}

// Void returns one void, or a not_found.
func (c *Corrections) Void(ctx context.Context, id int64) (*scoreboard.Void, error) {
	v, err := scanVoid(c.db.QueryRow(ctx, `select `+voidColumns+` from voids where id = $1`, id))
	if err == nil {
		err = addFailures(ctx, c.db, v)
	}
	if err != nil {
		return nil, voidError(id, err)
	}
	return v, nil
}

func voidError(id int64, err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return scoreboard.Errorf(wire.CodeNotFound, "void %d not found", id)
	}
	return pg.Translate(fmt.Errorf("read void %d: %w", id, err))
}

// Voids lists at most limit voids, newest first.
func (c *Corrections) Voids(ctx context.Context, limit int) ([]scoreboard.Void, error) {
	rows, err := c.db.Query(ctx, `select `+voidColumns+` from voids order by id desc limit $1`, limit)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list voids: %w", err))
	}
	voids, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (scoreboard.Void, error) {
		v, err := scanVoid(row)
		return *v, err
	})
	if err == nil {
		all := make([]*scoreboard.Void, len(voids))
		for i := range voids {
			all[i] = &voids[i]
		}
		err = addFailures(ctx, c.db, all...)
	}
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list voids: %w", err))
	}
	return voids, nil
}

// UndoVoid restores everything that a void reversed. After scoreboard.UndoTime it
// returns gone. A second undo changes nothing.
func (c *Corrections) UndoVoid(
	ctx context.Context,
	id int64,
	audit *scoreboard.AuditEntry,
) (v *scoreboard.Void, err error) {
	err = pgx.BeginFunc(ctx, c.db, func(tx pgx.Tx) error {
		var state scoreboard.VoidState
		var late bool
		err := tx.QueryRow(ctx, `select state, coalesce(done_at + $2::interval < clock_timestamp(), false) from voids
where id = $1 for update`,
			id, scoreboard.UndoTime).
			Scan(&state, &late)
		switch {
		case err != nil:
			return voidError(id, err)
		case state == scoreboard.VoidListing || state == scoreboard.VoidReversing:
			return scoreboard.Errorf(wire.CodeConflict, "void %d is still running; undo it when it is done", id)
		case state == scoreboard.VoidDone && late:
			return scoreboard.Errorf(
				wire.CodeGone,
				"void %d finished more than %d days ago and can no longer be undone",
				id,
				int(scoreboard.UndoTime.Hours()/24),
			)
		case state == scoreboard.VoidDone:
			if _, err := tx.Exec(ctx, `update voids set state = 'undoing', attempts = 0, problem = null,
    next_at = '-infinity' where id = $1`, id); err != nil {
				return err
			}
			if err := pg.WriteAudit(ctx, tx, audit); err != nil {
				return err
			}
		}
		v, err = scanVoid(tx.QueryRow(ctx, `select `+voidColumns+` from voids where id = $1`, id))
		return err
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("undo void %d: %w", id, err))
	}
	return v, nil
}
