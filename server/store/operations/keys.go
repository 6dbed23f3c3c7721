package operations

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

// Keys is the keys table, with the secrets.
type Keys struct{ db *pg.DB }

// NewKeys returns a Keys over db.
func NewKeys(db *pg.DB) *Keys { return &Keys{db} }

const keyColumns = `k.key_id, k.name, k.created_at, k.expires_at, k.revoked_at, k.boards, coalesce(k.user_prefix, ''),
    coalesce(k.max_delta, 0), coalesce(k.per_minute, 0), s.generation, s.retires_at`

// The newest secret of a key, and until when the previous one is valid.
const fromKeys = ` from keys k cross join lateral (
    select max(generation) as generation, max(retires_at) filter (where retires_at > clock_timestamp()) as retires_at
    from key_secrets where key_id = k.key_id) as s`

func scanKey(row pgx.Row) (k scoreboard.Key, err error) {
	var expires, revoked, retires pgtype.Timestamptz // null is the zero time
	s := &k.Scope
	err = row.Scan(&k.ID, &k.Name, &k.Created, &expires, &revoked, &s.Boards, &s.UserPrefix, &s.MaxDelta, &s.PerMinute,
		&k.Generation, &retires)
	k.Created, k.Expires = k.Created.UTC(), expires.Time.UTC()
	k.Revoked, k.Retires = revoked.Time.UTC(), retires.Time.UTC()
	return k, err
}

// noSecret takes the place of the encrypted secret of an id without a key.
var noSecret = make([]byte, 64)

// SigningKeys returns the keys of ids with their valid secrets, the newest first. Keys
// that are unknown, revoked or expired are left out. Every id costs the same probes and
// at least one row, so that the time does not tell which keys exist.
func (s *Keys) SigningKeys(ctx context.Context, ids []string) (map[string]*scoreboard.SigningKey, error) {
	rows, err := s.db.Query(ctx, `select t.id, k.key_id is not null and s.sealed is not null, coalesce(s.sealed, $2),
    coalesce(s.retires_at, 'infinity'), coalesce(k.expires_at, 'infinity'), k.boards, coalesce(k.user_prefix, ''),
    coalesce(k.max_delta, 0), coalesce(k.per_minute, 0)
from unnest($1::text[]) as t(id) left join lateral (
    select key_id, expires_at, boards, user_prefix, max_delta, per_minute
    from keys where key_id = t.id and revoked_at is null and coalesce(expires_at > clock_timestamp(), true) offset 0
) as k on true left join lateral (
    select sealed, generation, retires_at
    from key_secrets where key_id = t.id and coalesce(retires_at > clock_timestamp(), true)
    order by generation desc limit 2
) as s on true order by t.id, s.generation desc`, ids, noSecret)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read %d keys: %w", len(ids), err))
	}
	keys := make(map[string]*scoreboard.SigningKey, len(ids))
	err = pg.ForEach(rows, func() error {
		var id string
		var live bool
		k := &scoreboard.SigningKey{}
		var secret scoreboard.EncryptedSecret
		var retires, expires pgtype.Timestamptz
		err := rows.Scan(&id, &live, &secret.Encrypted, &retires, &expires, &k.Scope.Boards, &k.Scope.UserPrefix,
			&k.Scope.MaxDelta, &k.Scope.PerMinute)
		secret.Retires, k.Expires = retires.Time, expires.Time // zero where infinite
		if !live {
			return err
		}
		if keys[id] == nil {
			keys[id] = k
		}
		keys[id].Secrets = append(keys[id].Secrets, secret)
		return err
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read %d keys: %w", len(ids), err))
	}
	return keys, nil
}

// CreateKey stores a new key with its first encrypted secret; a conflict if the id is
// taken. A key with ttl 0 does not expire.
func (s *Keys) CreateKey(
	ctx context.Context,
	id, name string,
	encrypted []byte,
	scope *scoreboard.KeyScope,
	ttl time.Duration,
	audit *scoreboard.AuditEntry,
) (k scoreboard.Key, err error) {
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		var expires *float64 // seconds
		if ttl > 0 {
			seconds := ttl.Seconds()
			expires = &seconds
		}
		_, err := tx.Exec(ctx, `insert into keys (key_id, name, boards, user_prefix, max_delta, per_minute, expires_at)
values ($1, $2, $3, nullif($4, ''), nullif($5::bigint, 0), nullif($6::integer, 0),
    clock_timestamp() + make_interval(secs => $7))`,
			id, name, scope.Boards, scope.UserPrefix, scope.MaxDelta, scope.PerMinute, expires)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(
			ctx,
			`insert into key_secrets (key_id, generation, sealed) values ($1, 1, $2)`,
			id,
			encrypted,
		); err != nil {
			return err
		}
		if err := pg.WriteAudit(ctx, tx, audit); err != nil {
			return err
		}
		k, err = scanKey(tx.QueryRow(ctx, `select `+keyColumns+fromKeys+` where k.key_id = $1`, id))
		return err
	})
	if pg.Code(err) == pg.UniqueViolation {
		return k, scoreboard.Errorf(wire.CodeConflict, "key %s already exists", id)
	}
	if err != nil {
		return k, pg.Translate(fmt.Errorf("create key %s: %w", id, err))
	}
	return k, nil
}

// RotateKey gives a key another secret. The previous one stays valid for overlap,
// any older one expires now, so at most two are valid. It returns a conflict for a
// key that is revoked or expired, and not_found for an unknown one.
func (s *Keys) RotateKey(
	ctx context.Context,
	id string,
	encrypted []byte,
	overlap time.Duration,
	audit *scoreboard.AuditEntry,
) (k scoreboard.Key, err error) {
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		var live bool
		err := tx.QueryRow(ctx, `select revoked_at is null and coalesce(expires_at > clock_timestamp(), true)
from keys where key_id = $1 for update`, id).Scan(&live)
		if errors.Is(err, pgx.ErrNoRows) {
			return scoreboard.Errorf(wire.CodeNotFound, "key %s not found", id)
		}
		if err != nil {
			return err
		}
		if !live {
			return scoreboard.Errorf(wire.CodeConflict, "key %s is revoked or expired; create another key", id)
		}
		_, err = tx.Exec(ctx, `update key_secrets set retires_at = case
    when generation = (select max(generation) from key_secrets where key_id = $1)
        then clock_timestamp() + make_interval(secs => $2)
    else least(retires_at, clock_timestamp()) end
where key_id = $1`, id, overlap.Seconds())
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `insert into key_secrets (key_id, generation, sealed)
select $1, max(generation) + 1, $2 from key_secrets where key_id = $1`, id, encrypted)
		if err != nil {
			return err
		}
		if err := pg.WriteAudit(ctx, tx, audit); err != nil {
			return err
		}
		k, err = scanKey(tx.QueryRow(ctx, `select `+keyColumns+fromKeys+` where k.key_id = $1`, id))
		return err
	})
	if err != nil {
		return k, pg.Translate(fmt.Errorf("rotate key %s: %w", id, err))
	}
	return k, nil
}

// Keys lists every key, oldest first.
func (s *Keys) Keys(ctx context.Context) ([]scoreboard.Key, error) {
	rows, err := s.db.Query(ctx, `select `+keyColumns+fromKeys+` order by k.created_at, k.key_id`)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list keys: %w", err))
	}
	keys, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (scoreboard.Key, error) { return scanKey(row) })
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list keys: %w", err))
	}
	return keys, nil
}

// RevokeKey revokes a key permanently, or returns not_found. A second call changes
// nothing and writes no audit entry.
func (s *Keys) RevokeKey(ctx context.Context, id string, audit *scoreboard.AuditEntry) (k scoreboard.Key, err error) {
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		done, err := tx.Exec(
			ctx,
			`update keys set revoked_at = clock_timestamp() where key_id = $1 and revoked_at is null`,
			id,
		)
		if err != nil {
			return err
		}
		if k, err = scanKey(
			tx.QueryRow(ctx, `select `+keyColumns+fromKeys+` where k.key_id = $1`, id),
		); err != nil ||
			done.RowsAffected() == 0 {
			return err
		}
		return pg.WriteAudit(ctx, tx, audit)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return k, scoreboard.Errorf(wire.CodeNotFound, "key %s not found", id)
	}
	if err != nil {
		return k, pg.Translate(fmt.Errorf("revoke key %s: %w", id, err))
	}
	return k, nil
}
