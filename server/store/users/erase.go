package users

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Privacy is the personal data of users.
type Privacy struct {
	db     *pg.DB
	shards int // of the outbox
}

// NewPrivacy returns a Privacy over db. shards is the number of outbox shards.
func NewPrivacy(db *pg.DB, shards int) *Privacy { return &Privacy{db, shards} }

// erasedRows is the number of ledger rows that one transaction moves.
const erasedRows = 2000

// BeginErasure deletes everything about a user except the ledger, which EraseStep
// moves to the anonymous name that it returns. From then on the user is hidden and
// cannot write. A second call returns the same name.
func (p *Privacy) BeginErasure(
	ctx context.Context,
	user scoreboard.UserID,
	audit *scoreboard.AuditEntry,
) (anonymous scoreboard.UserID, err error) {
	anonymous = scoreboard.AnonymousUser(rand.Text())
	err = p.db.InLimitedTx(ctx, func(tx pgx.Tx) error {
		if err := pg.LockStatuses(ctx, tx); err != nil {
			return err
		}
		u, err := pg.LockKnownUser(ctx, tx, user)
		if err != nil {
			return err
		}
		var before *scoreboard.UserID
		err = tx.QueryRow(ctx, `select erased_as from users where user_id = $1`, user).Scan(&before)
		switch {
		case err != nil:
			return err
		case before != nil:
			anonymous = *before
			return nil
		case u.Status == scoreboard.UserErased:
			return scoreboard.Errorf(wire.CodeConflict, "user %s is the anonymous name of an erased user", user)
		}
		audit.Target = scoreboard.AuditUser(anonymous)
		if err := p.forget(ctx, tx, user, anonymous, u.Time); err != nil {
			return err
		}
		return pg.WriteAudit(ctx, tx, audit)
	})
	if err != nil {
		return "", pg.Translate(fmt.Errorf("erase %s: %w", user, err))
	}
	return anonymous, nil
}

// forget runs the short steps of an erasure. Dead letters contain the user's name
// as JSON, which does not escape any character of these names.
func (p *Privacy) forget(ctx context.Context, tx pgx.Tx, user, anonymous scoreboard.UserID, at time.Time) error {
	for _, step := range []struct {
		sql  string
		args []any
	}{
		{`update users set status = 'erased', erased_as = $2, erased_at = clock_timestamp()
where user_id = $1`, []any{user, anonymous}},
		{`insert into users (user_id, status) values ($1, 'erased')`, []any{anonymous}},
		// The place in final standings stays under the anonymous name, and so does the hash of
		// the original row, the leaf. A trigger deletes the row's salt.
		{`update board_standings set user_id = $2 where user_id = $1 and board_id in (select board_id from boards
where closed_at is not null)`, []any{user, anonymous}},
		{`update checkpoint_users set user_id = $2 where user_id = $1`, []any{user, anonymous}},
		{`update corrected_standings set user_id = $2 where user_id = $1`, []any{user, anonymous}},
		{`delete from user_statuses where user_id = $1`, []any{user}},
		{`delete from rank_marks where user_id = $1`, []any{user}},
		{`update scores set metadata = null, metadata_version = null
where user_id = $1 and metadata is not null`, []any{user}},
		{`delete from private_users where user_id = $1`, []any{user}},
		{`delete from external_ids where user_id = $1`, []any{user}},
		{`delete from rejected_events where user_id = $1`, []any{user}},
		{`delete from used_action_tokens where user_id = $1`, []any{user}}, // the erased name cannot use them again
		{`delete from import_scores where user_id = $1`, []any{user}},
		{`delete from flags where user_id = $1`, []any{user}},
		{`delete from reward_grants where user_id = $1`, []any{user}},
		{`delete from league_outcomes where user_id = $1`, []any{user}},
		{`delete from league_divisions where user_id = $1`, []any{user}},
		// The place is free, unless the cohort has been full.
		{`with gone as (
    delete from league_members where user_id = $1 returning cohort_id
), open as (
    select cohort_id from league_cohorts where cohort_id in (select cohort_id from gone) and not is_full
    order by cohort_id for update
)
update league_cohorts as c set places = c.places - 1 from open where c.cohort_id = open.cohort_id`, []any{user}},
		{`select from board_player_counts where board_id in (select board_id from board_players where user_id = $1)
order by board_id for update`, []any{user}},
		{`with gone as (delete from board_players where user_id = $1 returning board_id)
update board_player_counts as c set players = c.players - 1 from gone where c.board_id = gone.board_id`, []any{user}},
		{`delete from friends where user_id = $1 or friend_user_id = $1`, []any{user}},
		{`select from teams where (board_id, team) in (select board_id, team from team_members where user_id = $1)
order by board_id, team for update`, []any{user}},
		{`with gone as (delete from team_members where user_id = $1 returning *), counts as (
    select board_id, team, count(*) filter (where left_at is null) as members from gone group by board_id, team
), changes as (
    insert into team_changes (board_id, team) select board_id, team from counts
)
update teams as t set members = t.members - counts.members from counts
where t.board_id = counts.board_id and t.team = counts.team`, []any{user}},
		{`update profiles set display_name = null, avatar_url = null, updated_at = clock_timestamp()
where user_id = $1`, []any{user}},
		{`delete from dead_letters
where position(convert_to('"user_id":"' || $1 || '"', 'UTF8') in value) > 0`, []any{user}},
		// What is sent from now on has the anonymous name.
		{`update webhook_deliveries
set payload = replace(payload, '"user_id":"' || $1 || '"', '"user_id":"' || $2 || '"')
where position('"user_id":"' || $1 || '"' in payload) > 0`, []any{user, anonymous}},
		{`update webhook_tops set users = array_replace(users, $1, $2) where $1 = any (users)`, []any{user, anonymous}},
		{
			`delete from jobs where target = 'user:' || $1 or position('"user_id":"' || $1 || '"' in line) > 0`,
			[]any{user},
		},
		{`select erase_audit_target($1, $2)`, []any{user, anonymous}},
	} {
		if _, err := tx.Exec(ctx, step.sql, step.args...); err != nil {
			return err
		}
	}
	_, err := pg.HideScores(ctx, tx, user, p.shards, at)
	return err
}

// Rows move oldest first, so that at every moment the remaining rows add up from
// the score before them, and the moved ones from 0.
const (
	sqlMoveRows = `select event, score, version, recorded, moved from erase_ledger_rows($1, $3, $2, $4)`

	sqlAnonymousScore = `with kept as (
    insert into scores (user_id, board_id, score, order_key, version, revision, reached_at, recorded_at, hidden,
        subscore, sub_key)
    select $1, board_id, $3::bigint, case sort_order when 'lowest' then $3::bigint else -$3::bigint end, $4, 1, $5,
        $5, true, coalesce(h.new_subscore, 0),
        case subscore when 'lowest' then 1 when 'highest' then -1 else 0 end * coalesce(h.new_subscore, 0)
    from boards left join lateral (select new_subscore from user_score_histories
        where user_id = $1 and event_id = $7 and board_id = $2 and version = $4 limit 1) as h on true
    where board_id = $2
    on conflict (user_id, board_id) do update set score = excluded.score, order_key = excluded.order_key,
        version = excluded.version, revision = scores.revision + 1, reached_at = excluded.reached_at,
        recorded_at = excluded.recorded_at, subscore = excluded.subscore, sub_key = excluded.sub_key
    returning *)
insert into outbox_score_updates (shard, event_id, user_id, board_id, score, previous_score, delta, order_key, version,
    revision, reached_at, recorded_at, hidden, subscore, sub_key)
select $6, $7, user_id, board_id, score, score, 0, order_key, version, revision, reached_at, clock_timestamp(), true,
    ` + pg.SubscoreOf + ` from kept`

	// The projection needs a version of at least 1.
	sqlTombstone = `with kept as (
    update scores set score = 0, order_key = 0, subscore = 0, sub_key = 0, version = 0, revision = revision + 1,
        hidden = true, empty = false
    where user_id = $1 and board_id = $2 returning *)
insert into outbox_score_updates (shard, event_id, user_id, board_id, score, previous_score, delta, order_key, version,
    revision, reached_at, recorded_at, hidden)
select $3, gen_random_uuid(), user_id, board_id, 0, 0, 0, 0, 1, revision, reached_at, clock_timestamp(), true from kept`
)

// EraseStep moves some rows of an erased user's ledger to the anonymous name and
// returns how many; 0 when all are moved.
func (p *Privacy) EraseStep(ctx context.Context, user, anonymous scoreboard.UserID) (rows int64, err error) {
	err = p.db.InLimitedTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(
			ctx,
			`select from users where user_id = any($1) order by user_id for no key update`,
			[]string{string(user), string(anonymous)},
		); err != nil {
			return err
		}
		rows, err = p.eraseSome(ctx, tx, user, anonymous)
		return err
	})
	if err != nil {
		return 0, pg.Translate(fmt.Errorf("erase the ledger of %s: %w", anonymous, err))
	}
	return rows, nil
}

func (p *Privacy) eraseSome(ctx context.Context, tx pgx.Tx, user, anonymous scoreboard.UserID) (rows int64, err error) {
	var board scoreboard.BoardID
	err = tx.QueryRow(ctx, `select board_id from scores where user_id = $1 and version > 0 limit 1`, user).Scan(&board)
	if errors.Is(err, pgx.ErrNoRows) {
		_, err := tx.Exec(ctx, `update void_events set user_id = $2 where user_id = $1`, user, anonymous)
		return 0, err
	}
	if err != nil {
		return 0, err
	}
	var event [16]byte
	var score, version int64
	var at time.Time
	err = tx.QueryRow(ctx, sqlMoveRows, user, board, anonymous, erasedRows).Scan(&event, &score, &version, &at, &rows)
	switch {
	case errors.Is(err, pgx.ErrNoRows): // all of them are archived
	case err != nil:
		return 0, err
	default:
		if _, err := tx.Exec(
			ctx,
			sqlAnonymousScore,
			anonymous,
			board,
			score,
			version,
			at,
			ledger.Shard(anonymous, p.shards),
			event,
		); err != nil {
			return 0, err
		}
	}
	if rows < erasedRows {
		_, err = tx.Exec(ctx, sqlTombstone, user, board, ledger.Shard(user, p.shards))
	}
	return max(rows, 1), err
}

// unfinished is whether an erased user has rows that EraseStep has not moved yet.
const unfinished = `(exists (select from scores where user_id = users.user_id and version > 0)
    or exists (select from voids as v cross join lateral (
        select from void_events where void_id = v.id and user_id = users.user_id limit 1) as e))`

// UnfinishedErasures lists at most limit users that were erased before a time, longest ago
// first, and whose rows are not all moved to the anonymous name.
func (p *Privacy) UnfinishedErasures(
	ctx context.Context, before time.Time, limit int,
) ([]scoreboard.ErasedUser, error) {
	return p.erasedUsers(ctx, unfinished, before, limit)
}

// FinishedErasures lists at most limit users that were erased before a time, longest ago
// first, and of whom only the name is left.
func (p *Privacy) FinishedErasures(
	ctx context.Context, before time.Time, limit int,
) ([]scoreboard.ErasedUser, error) {
	return p.erasedUsers(ctx, "not "+unfinished, before, limit)
}

func (p *Privacy) erasedUsers(
	ctx context.Context, which string, before time.Time, limit int,
) ([]scoreboard.ErasedUser, error) {
	rows, err := p.db.Query(ctx, `select user_id, erased_as from users
where erased_as is not null and erased_at < $1 and `+which+` order by erased_at limit $2`, before, limit)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list erased users: %w", err))
	}
	erased, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e scoreboard.ErasedUser, err error) {
		err = row.Scan(&e.User, &e.Anonymous)
		return e, err
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list erased users: %w", err))
	}
	return erased, nil
}

// Tombstones returns the boards on which a user has a tombstone, with its
// revision.
func (p *Privacy) Tombstones(ctx context.Context, user scoreboard.UserID) (map[scoreboard.BoardID]int64, error) {
	rows, err := p.db.Query(ctx, `select board_id, revision from scores where user_id = $1 and version = 0`, user)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list tombstones: %w", err))
	}
	boards := make(map[scoreboard.BoardID]int64)
	var board scoreboard.BoardID
	var revision int64
	if _, err := pgx.ForEachRow(rows, []any{&board, &revision}, func() error {
		boards[board] = revision
		return nil
	}); err != nil {
		return nil, pg.Translate(fmt.Errorf("list tombstones: %w", err))
	}
	return boards, nil
}

// DeleteErasedName deletes the name of an erased user with its tombstones.
func (p *Privacy) DeleteErasedName(ctx context.Context, user scoreboard.UserID) error {
	err := pgx.BeginFunc(ctx, p.db, func(tx pgx.Tx) error {
		for _, sql := range []string{
			`delete from scores where user_id = $1 and version = 0`, `delete from profiles where user_id = $1`,
			`delete from user_privacy where user_id = $1`, `delete from external_ids where user_id = $1`,
			`delete from users where user_id = $1 and erased_as is not null and not exists (select from scores
where user_id = $1)`,
		} {
			if _, err := tx.Exec(ctx, sql, user); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return pg.Translate(fmt.Errorf("delete an erased name: %w", err))
	}
	return nil
}

// DeleteOldAddresses deletes addresses and agents from ledger rows older than keep,
// at most an hour of rows per call, and reports whether there is more to do. The
// progress is stored in the database, so that any node can continue.
func (p *Privacy) DeleteOldAddresses(ctx context.Context, keep time.Duration) (more bool, err error) {
	var left *bool // null: there was nothing to do
	err = p.db.QueryRow(ctx, `select forget_addresses($1)`, keep).Scan(&left)
	if err != nil {
		return false, pg.Translate(fmt.Errorf("delete addresses: %w", err))
	}
	return left != nil && *left, nil
}
