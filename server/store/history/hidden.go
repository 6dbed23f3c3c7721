package history

import (
	"context"
	"maps"
	"slices"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// A checkpoint tells which users were hidden when it was made: they are in a block of their own. So a read
// needs the private periods only of the users who scored since and are hidden in it or not in it, and
// of those whose visibility changed since. Operators make bans, players make private periods: of
// those, no read goes through all.
const (
	// sqlHidden returns the users hidden at every moment: those erased now, or banned now if that
	// hides, or of some users who is private now if that hides.
	sqlHidden = `select user_id from users where status in ('banned', 'erased') and (status = 'erased' or $1)
union select user_id from private_users where user_id = any($2) and until is null and $1`

	// sqlHiddenAt returns who was banned at a moment, or of some users who was private.
	sqlHiddenAt = `select user_id from (
    select distinct on (user_id) user_id, status from user_statuses where at <= $1 order by user_id, id desc) as s
where status = 'banned'
union select user_id from private_users where user_id = any($2) and since <= $1 and coalesce(until, 'infinity') > $1`

	// sqlVisibilityChanged returns the users of a board who became private after a checkpoint and
	// up to $2, or are since ($4), or came back up to $3. A period that was merged after the
	// checkpoint can begin before it; its times are compared so that no index on them serves, because
	// PostgreSQL 18 would read all periods by the one on since in a plan for all values.
	sqlVisibilityChanged = `select user_id from (
    select user_id from private_users where since > $1 and since <= $2
    union select user_id from private_users where until > $1 and until <= $3
    union select user_id from private_users where since > $1 and until is null and $4
    union select user_id from private_users
        where merged_at > $1 and coalesce(since, '-infinity') <= $1 and coalesce(until, 'infinity') > $1
    union select user_id from user_statuses where at > $1
) as p where exists (select from scores as s where s.user_id = p.user_id and s.board_id = $5)`
)

type userSet = map[scoreboard.UserID]struct{}

func (l *loader) readUsers(ctx context.Context, to userSet, sql string, args ...any) error {
	rows, err := l.tx.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	return pg.ForEach(rows, func() error {
		var user scoreboard.UserID
		err := rows.Scan(&user)
		to[user] = struct{}{}
		return err
	})
}

// readVisibilityChanged adds the users of the checkpoint who can be hidden at the moment and were
// not in it, or the other way around.
func (l *loader) readVisibilityChanged(ctx context.Context, to userSet) error {
	if l.checkpoint == 0 {
		return nil
	}
	begun, ended := l.at.At, any(l.at.At)
	if l.at.Now {
		begun, ended = l.since, "infinity"
	}
	return l.readUsers(ctx, to, sqlVisibilityChanged, l.since, begun, ended, l.at.Now || l.at.Masked, l.board.ID)
}

// readHidden reads who is hidden at the moment. Private users whom neither the checkpoint ranks nor
// the changes name are left out.
func (l *loader) readHidden(ctx context.Context) error {
	users, scored := make(userSet, len(l.recounted)), make(userSet, len(l.changes))
	for user, c := range l.changes {
		scored[user] = struct{}{}
		if !c.had {
			users[user] = struct{}{}
		}
	}
	for _, user := range l.recounted {
		users[user] = struct{}{}
	}
	if err := l.addUncertain(ctx, users, scored); err != nil {
		return err
	}
	if err := l.hide(ctx, users); err != nil {
		return err
	}
	return l.findMasked(ctx, l.hidden)
}

// addUncertain adds to users those of whom the checkpoint does not tell whether they are hidden: whose
// visibility changed, and who scored and are hidden in it.
func (l *loader) addUncertain(ctx context.Context, users, scored userSet) error {
	if err := l.readVisibilityChanged(ctx, users); err != nil {
		return err
	}
	maps.Copy(scored, users)
	if err := l.findMasked(ctx, scored); err != nil {
		return err
	}
	for user := range l.masked {
		users[user] = struct{}{}
	}
	return nil
}

// hide reads which users are banned or erased, and which of users are private, at the moment.
func (l *loader) hide(ctx context.Context, users userSet) error {
	list := slices.Collect(maps.Keys(users))
	err := l.readUsers(ctx, l.hidden, sqlHidden, l.at.Now || l.at.Masked, list)
	if err != nil || l.at.Now {
		return err
	}
	return l.readUsers(ctx, l.hidden, sqlHiddenAt, l.at.At, list)
}

// findMasked finds the standings of users among the hidden ones of the checkpoint.
func (l *loader) findMasked(ctx context.Context, users userSet) error {
	if len(l.maskedBlock) == 0 || len(users) == 0 {
		return nil
	}
	if len(l.maskedBlock) <= len(users) {
		positions, err := named(ctx, l.tx, l.maskedBlock)
		for i := range positions {
			if _, ok := users[positions[i].User]; ok {
				l.masked[positions[i].User] = positions[i]
			}
		}
		return err
	}
	names, err := l.numbers(ctx, slices.Collect(maps.Keys(users)))
	for i := range l.maskedBlock {
		if user, ok := names[l.maskedBlock[i].number]; ok {
			l.masked[user] = l.maskedBlock[i].position(user)
		}
	}
	return err
}

// readBans reads which users were banned when, up to the last time.
func (a *series) readBans(ctx context.Context) (err error) {
	a.bans, err = a.readStatuses(ctx, banned,
		`select user_id, status = 'banned', at from user_statuses where at <= $1 order by at, id`, a.at.At)
	return err
}

// sqlPeriods returns when some users became private or came back up to a time, without periods that
// ended before a checkpoint. The end is compared so that no index on it serves: a plan for all values would
// read all periods by it.
const sqlPeriods = `select user_id, true, since from private_users
where user_id = any($3) and since <= $1 and coalesce(until, 'infinity') > $2
union all select user_id, false, until from private_users
where user_id = any($3) and coalesce(until, 'infinity') <= $1 and coalesce(until, 'infinity') > $2 order by 3, 1, 2`

// readVisibility reads which users are hidden at which of the times: bans, and private periods of the users
// whom the checkpoint leaves uncertain, whose scores are computed again, and of also.
func (s *sweep) readVisibility(ctx context.Context, also []scoreboard.UserID) error {
	users, scored := make(userSet), make(userSet)
	for _, u := range also {
		users[u] = struct{}{}
	}
	for i := range s.moves {
		scored[s.moves[i].user] = struct{}{}
		if !s.moves[i].had {
			users[s.moves[i].user] = struct{}{}
		}
	}
	for u := range s.folded {
		users[u] = struct{}{}
	}
	for i := range s.bans {
		users[s.bans[i].user] = struct{}{}
	}
	if err := s.addUncertain(ctx, users, scored); err != nil {
		return err
	}
	list := slices.Collect(maps.Keys(users))
	if err := s.readUsers(ctx, s.always, sqlHidden, s.series.at.Now || s.series.at.Masked, list); err != nil {
		return err
	}
	if !s.series.at.Now {
		last := s.times[len(s.times)-1]
		periods, err := s.readStatuses(ctx, private, sqlPeriods, last, s.since, list)
		if err != nil {
			return err
		}
		s.statuses = append(slices.Clone(s.bans), periods...)
		slices.SortStableFunc(s.statuses, func(a, b statusChange) int { return a.at.Compare(b.at) })
	}
	return s.findMasked(ctx, s.always)
}

// readStatuses reads since when users are hidden for a reason, or no longer.
func (a *series) readStatuses(
	ctx context.Context, reason reasons, sql string, args ...any,
) (statuses []statusChange, err error) {
	rows, err := a.tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return statuses, pg.ForEach(rows, func() error {
		c := statusChange{reason: reason}
		err := rows.Scan(&c.user, &c.on, &c.at)
		statuses = append(statuses, c)
		return err
	})
}
