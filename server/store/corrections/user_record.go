package corrections

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// recordScores is how many scores of a user the record contains.
const recordScores = 100

// The audit log has the operator, time and reason of the status.
const sqlUserRecord = `select u.status, u.created_at, coalesce(a.at, '0001-01-01T00:00:00Z'), coalesce(a.who, ''),
coalesce(a.reason, ''),
    (select count(*) from flags where user_id = u.user_id and state = 'open'),
    coalesce((select external_id from external_ids where user_id = u.user_id), '')
from users as u left join lateral (
    select at, who, reason from audit_log
    where target = 'user:' || u.user_id and action = case u.status when 'banned' then 'user.ban' when 'frozen'
        then 'user.freeze' end
    order by id desc limit 1) as a on true
where u.user_id = $1`

// A void's events are deleted after a while, so there are few voids to look at.
const sqlVoidFailures = `select v.id, e.user_id, e.event_id, e.state = 'skipped', e.note, e.attempts,
    case when isfinite(e.next_at) then e.next_at end
from voids as v cross join lateral (
    select * from void_events where void_id = v.id and user_id = $1 and note is not null
        and (state = 'skipped' or attempts > 0) offset 0) as e
order by v.id desc, e.event_id limit $2`

// UserRecord returns a user's record for operators, or a not_found.
func (m *Moderation) UserRecord(ctx context.Context, user scoreboard.UserID) (*scoreboard.UserRecord, error) {
	r := &scoreboard.UserRecord{User: user}
	var b pgx.Batch
	b.Queue(sqlUserRecord, user).QueryRow(func(row pgx.Row) error {
		return row.Scan(&r.Status, &r.Created, &r.Since, &r.By, &r.Reason, &r.OpenFlags, &r.External)
	})
	b.Queue(`select `+pg.StateColumns+` from scores where user_id = $1 and version > 0
order by recorded_at desc, board_id limit $2`, user, recordScores).
		Query(func(rows pgx.Rows) (err error) {
			r.Scores, err = pgx.CollectRows(rows, pg.ScanState)
			return err
		})
	b.Queue(sqlVoidFailures, user, scoreboard.MaxVoidFailures).Query(func(rows pgx.Rows) (err error) {
		r.VoidFailures, err = pgx.CollectRows(rows, pg.ScanVoidFailure)
		return err
	})
	err := m.db.SendBatch(ctx, &b).Close()
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, pg.NoUser(user)
	}
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read user %s: %w", user, err))
	}
	for _, t := range []*time.Time{&r.Created, &r.Since} {
		*t = t.UTC()
	}
	for i := range r.Scores {
		r.Scores[i].ReachedAt = r.Scores[i].ReachedAt.UTC()
	}
	return r, nil
}
