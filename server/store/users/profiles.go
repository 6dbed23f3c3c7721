package users

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Profiles is the profiles table.
type Profiles struct{ db *pg.DB }

// NewProfiles returns a Profiles over db.
func NewProfiles(db *pg.DB) *Profiles { return &Profiles{db} }

// PutProfile replaces the user's profile and sets its time, under the user's lock, as
// every write that names a user: an erasure comes after it and deletes it, or before it
// and rejects it. A banned user cannot have names shown to others, so it is forbidden;
// an operator (with an audit entry) can still clear them. A frozen user cannot change what
// operators review; operators can. An erased user is gone. A
// display name that is, but for case, the id of another user whom everyone sees on a public
// board is an invalid_request: where names are shown, both would look alike. Other and hidden users'
// ids are accepted like ids of nobody, because the response would tell that they exist.
func (s *Profiles) PutProfile(ctx context.Context, p *scoreboard.Profile, audit *scoreboard.AuditEntry) error {
	const put = `insert into profiles (user_id, display_name, avatar_url) values ($1, nullif($2, ''), nullif($3, ''))
on conflict (user_id) do update set display_name = excluded.display_name, avatar_url = excluded.avatar_url,
    updated_at = clock_timestamp()
returning updated_at`
	const taken = `select exists (select from unnest($1::text[]) as t(u)
    cross join lateral (select * from scores where user_id = t.u and not hidden and not empty and version > 0
        offset 0) as s
    join boards as b on b.board_id = s.board_id and b.public
    where t.u <> $2 and not exists (select from user_privacy as p where p.user_id = t.u and p.visibility <> 'public'))`
	err := s.db.InLimitedTx(ctx, func(tx pgx.Tx) error {
		if ids := p.ShownAs(); len(ids) > 0 {
			var is bool
			if err := tx.QueryRow(ctx, taken, ids, p.User).Scan(&is); err != nil {
				return err
			}
			if is {
				return scoreboard.Invalid("display_name", "display_name must not be the id of another user")
			}
		}
		u, err := pg.LockUser(ctx, tx, p.User)
		switch {
		case err != nil:
			return err
		case u.Status == scoreboard.UserErased:
			return pg.ErasedUser(p.User)
		case u.Status == scoreboard.UserBanned && (audit == nil || !p.Empty()):
			return scoreboard.Errorf(wire.CodeForbidden, "user %s is banned", p.User)
		case u.Status == scoreboard.UserFrozen && audit == nil:
			return scoreboard.Errorf(wire.CodeForbidden, "user %s is frozen", p.User)
		}
		if err := tx.QueryRow(ctx, put, p.User, p.DisplayName, p.AvatarURL).Scan(&p.UpdatedAt); err != nil {
			return err
		}
		return pg.WriteAudit(ctx, tx, audit)
	})
	if err != nil {
		return pg.Translate(fmt.Errorf("store the profile of %s: %w", p.User, err))
	}
	p.UpdatedAt = p.UpdatedAt.UTC()
	return nil
}

const profileColumns = `p.user_id, coalesce(p.display_name, ''), coalesce(p.avatar_url, ''), p.updated_at`

func readProfiles(rows pgx.Rows, err error) ([]scoreboard.Profile, error) {
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read profiles: %w", err))
	}
	var found []scoreboard.Profile
	err = pg.ForEach(rows, func() error {
		var p scoreboard.Profile
		err := rows.Scan(&p.User, &p.DisplayName, &p.AvatarURL, &p.UpdatedAt)
		found = append(found, p)
		return err
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read profiles: %w", err))
	}
	return found, nil
}

// Profiles returns the profiles of those users that have one.
func (s *Profiles) Profiles(ctx context.Context, users []scoreboard.UserID) ([]scoreboard.Profile, error) {
	return readProfiles(s.db.Query(ctx, `select `+profileColumns+` from unnest($1::text[]) as t(u)
cross join lateral (select * from profiles where user_id = t.u offset 0) p`, users))
}

// Search returns at most limit users whose display name begins with a text, whatever its
// case, by name, after the user after ("" for the first). Names are compared as the
// database's locale folds them. Without a name any more, after is an invalid_request.
func (s *Profiles) Search(
	ctx context.Context, name string, after scoreboard.UserID, limit int,
) ([]scoreboard.FoundUser, error) {
	const find = `select p.user_id, p.display_name, coalesce(u.status, 'active') from profiles as p
    left join users as u on u.user_id = p.user_id
where p.display_name is not null
    and lower(p.display_name) collate "C" >= lower($1) and lower(p.display_name) collate "C" < lower($1) || chr(1114111)
    and (lower(p.display_name) collate "C", p.user_id) > (coalesce(lower($2), ''), $3)
order by lower(p.display_name) collate "C", p.user_id limit $4`
	var last *string
	if after != "" {
		err := s.db.QueryRow(ctx, `select display_name from profiles where user_id = $1`, after).Scan(&last)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return nil, pg.Translate(fmt.Errorf("search users by name: %w", err))
		}
		if last == nil {
			return nil, scoreboard.Invalid("after", "user %s no longer has a name; search again", after)
		}
	}
	rows, err := s.db.Query(ctx, find, name, last, after, limit)
	var found []scoreboard.FoundUser
	if err == nil {
		found, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (u scoreboard.FoundUser, err error) {
			err = row.Scan(&u.User, &u.DisplayName, &u.Status)
			return u, err
		})
	}
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("search users by name: %w", err))
	}
	return found, nil
}

// ProfilesSince returns up to limit profiles changed after a time and user, in the
// order of both.
func (s *Profiles) ProfilesSince(
	ctx context.Context,
	at time.Time,
	user scoreboard.UserID,
	limit int,
) ([]scoreboard.Profile, error) {
	return readProfiles(
		s.db.Query(ctx, `select `+profileColumns+` from profiles p where (p.updated_at, p.user_id) > ($1, $2)
order by p.updated_at, p.user_id limit $3`, at, user, limit),
	)
}

// NewestProfile returns when a profile was last changed; zero if none exists.
func (s *Profiles) NewestProfile(ctx context.Context) (at time.Time, err error) {
	err = s.db.QueryRow(ctx, `select updated_at from profiles order by updated_at desc, user_id desc limit 1`).Scan(&at)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return at, pg.Translate(fmt.Errorf("find the newest profile: %w", err))
	}
	return at, nil
}
