package operations

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

const (
	// As the relays': no plan that reads a whole partition.
	sqlTierPlan = `select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
    set_config('jit', 'off', true)`

	// Without a pass for so long, which is less than the outbox keeps, it begins with what is new.
	sqlTierState = `select cluster is null or cluster <> c and '' not in (cluster, c)
        or cursor_xid > pg_snapshot_xmax(s) or passed_at < clock_timestamp() - interval '4 minutes',
    cursor_xid, pg_snapshot_xmin(s)
from tier_state, standings_cluster() as c, pg_current_snapshot() as s`

	// What users' own events have changed: those of operators are in the ledger with the source
	// admin. Transactions below $2 have ended.
	sqlTierMoves = `with shards as (
    select shard from relay_shards union select generate_series(0, coalesce((select max(shard)
        from outbox_score_updates), 0))
)
select o.xid, o.board_id, o.user_id, o.revision, o.version > 1 and o.previous_score is not null,
    case b.sort_order when 'highest' then -o.previous_score else o.previous_score end,
    o.order_key, o.reached_at, o.recorded_at, coalesce(o.sub_key, 0),
    coalesce(case b.subscore when 'highest' then -h.previous_subscore else h.previous_subscore end, 0)
from shards cross join lateral (
    select * from outbox_score_updates as u where u.shard = shards.shard and u.xid >= $1::xid8 and u.xid < $2::xid8
        and u.board_id = any($3) and not u.hidden offset 0) as o
join boards as b on b.board_id = o.board_id
cross join lateral (select previous_subscore from user_score_histories as h
    where h.user_id = o.user_id and h.event_id = o.event_id
        and h.board_id = o.board_id and (h.source = 'admin') = false and h.recorded_at = o.recorded_at limit 1) as h
order by o.xid, o.id limit $4`

	// When the scores were reached that were changed at these times.
	sqlReachedBefore = `select t.n, h.recorded_at
from unnest($1::text[], $2::text[], $3::timestamptz[]) with ordinality as t(u, b, at, n)
cross join lateral (select recorded_at from user_score_histories as h
    where h.user_id collate "POSIX" = t.u and h.board_id = t.b and h.recorded_at < t.at
        and (h.applied <> 0 or h.version = 1 or h.new_subscore is distinct from h.previous_subscore)
    order by h.user_id collate "POSIX", h.recorded_at desc limit 1) as h`

	// Only if no other process has moved the cursor since it was read.
	sqlMoveTierCursor = `update tier_state set cluster = standings_cluster(), cursor_xid = $2,
    passed_at = clock_timestamp()
where cursor_xid = $1`
)

// maxTierMoves bounds the changes that one pass reads.
const maxTierMoves = 500

// tierChange is a change of a user's score by an own event.
type tierChange struct {
	xid uint64
	had bool
	key *int64 // before, as subKey

	subKey int64
	scoreboard.TierMove
}

// TierMoves returns how users' own events have moved them on boards, which are instances, since
// the last SaveTierMoves: the first position and the last of each user. After a pause of minutes it
// begins with what is new.
func (s *Webhooks) TierMoves(ctx context.Context, boards []scoreboard.BoardID) (m scoreboard.TierMoves, err error) {
	err = pgx.BeginTxFunc(ctx, s.db, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlTierPlan); err != nil {
			return err
		}
		var stale bool
		if err := tx.QueryRow(ctx, sqlTierState).Scan(&stale, &m.From, &m.To); err != nil || stale {
			return err
		}
		rows, err := tx.Query(ctx, sqlTierMoves, m.From, m.To, boards, maxTierMoves+1)
		if err != nil {
			return err
		}
		changes, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c tierChange, err error) {
			err = row.Scan(&c.xid, &c.Board, &c.User, &c.Revision, &c.had, &c.key, &c.After.Key, &c.After.ReachedAt,
				&c.Recorded, &c.After.SubKey, &c.subKey)
			c.After.User, c.After.ReachedAt, c.Recorded = c.User, c.After.ReachedAt.UTC(), c.Recorded.UTC()
			return c, err
		})
		if err != nil {
			return err
		}
		if len(changes) > maxTierMoves { // the last transaction may be incomplete
			last := changes[maxTierMoves].xid
			if whole := slices.IndexFunc(changes, func(c tierChange) bool { return c.xid == last }); whole > 0 {
				changes, m.To = changes[:whole], last
			}
		}
		m.Moves, err = joinMoves(ctx, tx, changes)
		return err
	})
	if err != nil {
		return m, pg.Translate(fmt.Errorf("read the moves of users between tiers: %w", err))
	}
	return m, nil
}

// joinMoves returns one move for each user and board.
func joinMoves(ctx context.Context, tx pgx.Tx, changes []tierChange) ([]scoreboard.TierMove, error) {
	slices.SortStableFunc(changes, func(a, b tierChange) int {
		return cmp.Or(cmp.Compare(a.Board, b.Board), cmp.Compare(a.User, b.User), cmp.Compare(a.Revision, b.Revision))
	})
	var moves []scoreboard.TierMove
	var of []int // index in moves of each that had a score
	var users, boards []string
	var times []time.Time
	for i := range changes {
		c := &changes[i]
		if last := len(moves) - 1; last >= 0 && moves[last].Board == c.Board && moves[last].User == c.User {
			moves[last].After, moves[last].Revision, moves[last].Recorded = c.After, c.Revision, c.Recorded
			continue
		}
		if c.had {
			c.Before = &scoreboard.Position{Key: *c.key, SubKey: c.subKey, User: c.User}
			of, users, boards = append(of, len(moves)), append(users, string(c.User)), append(boards, string(c.Board))
			times = append(times, c.Recorded)
		}
		moves = append(moves, c.TierMove)
	}
	if len(of) == 0 {
		return moves, nil
	}
	rows, err := tx.Query(ctx, sqlReachedBefore, users, boards, times)
	if err != nil {
		return nil, err
	}
	var n int
	var at time.Time
	_, err = pgx.ForEachRow(rows, []any{&n, &at}, func() error {
		moves[of[n-1]].Before.ReachedAt = at.UTC()
		return nil
	})
	return moves, err
}

// SaveTierMoves queues the messages about moves, except of users who have left the boards meanwhile, and has the next
// pass begin behind them, in one transaction. It does nothing if another process was faster.
func (s *Webhooks) SaveTierMoves(
	ctx context.Context, m *scoreboard.TierMoves, messages []scoreboard.WebhookUserMessage,
) error {
	users := make([]scoreboard.UserID, len(messages))
	for i := range messages {
		users[i] = messages[i].User
	}
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		locked, err := lockNames(ctx, tx, users)
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, sqlMoveTierCursor, m.From, m.To)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		for i := range messages {
			w := &messages[i]
			if locked[w.User] != shown {
				continue
			}
			err := queue(ctx, tx, locked, scoreboard.WebhookTierUpdated, []message{{w.ID, w.Payload}}, w.Webhooks)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return pg.Translate(fmt.Errorf("queue %d messages about tiers: %w", len(messages), err))
	}
	return nil
}
