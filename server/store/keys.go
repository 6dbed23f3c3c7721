package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// SealedSecrets returns the secrets of a key that are live now: none for a key
// that is unknown, revoked or expired.
func (s *Store) SealedSecrets(ctx context.Context, keyID string) ([][]byte, error) {
	rows, err := s.pool.Query(ctx, `select s.sealed from keys k join key_secrets s using (key_id)
where k.key_id = $1 and k.revoked_at is null and coalesce(k.expires_at > clock_timestamp(), true)
  and coalesce(s.retires_at > clock_timestamp(), true)`, keyID)
	if err != nil {
		return nil, translate(fmt.Errorf("read key %s: %w", keyID, err))
	}
	sealed, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		return nil, translate(fmt.Errorf("read key %s: %w", keyID, err))
	}
	return sealed, nil
}

// CreateKey stores a new key with its first sealed secret; a conflict where
// the id is taken.
func (s *Store) CreateKey(ctx context.Context, id, name string, sealed []byte) (k protocol.Key, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		k, err = scanKey(tx.QueryRow(ctx, `insert into keys (key_id, name) values ($1, $2) returning `+keyColumns, id, name))
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `insert into key_secrets (key_id, generation, sealed) values ($1, 1, $2)`, id, sealed)
		return err
	})
	if state(err) == stateUnique {
		return k, scoreboard.Errorf(scoreboard.CodeConflict, "there is a key %s already", id)
	}
	if err != nil {
		return k, translate(fmt.Errorf("create key %s: %w", id, err))
	}
	return k, nil
}

const keyColumns = `key_id, name, created_at, expires_at, revoked_at`

func scanKey(row pgx.Row) (k protocol.Key, err error) {
	err = row.Scan(&k.KeyID, &k.Name, &k.CreatedAt, &k.ExpiresAt, &k.RevokedAt)
	return k, err
}

// Keys lists every key, the oldest first.
func (s *Store) Keys(ctx context.Context) ([]protocol.Key, error) {
	rows, err := s.pool.Query(ctx, `select `+keyColumns+` from keys order by created_at, key_id`)
	if err != nil {
		return nil, translate(fmt.Errorf("list keys: %w", err))
	}
	keys, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (protocol.Key, error) { return scanKey(row) })
	if err != nil {
		return nil, translate(fmt.Errorf("list keys: %w", err))
	}
	return keys, nil
}

// RevokeKey ends a key for good, or says not_found. Twice is as once.
func (s *Store) RevokeKey(ctx context.Context, id string) (protocol.Key, error) {
	k, err := scanKey(s.pool.QueryRow(ctx, `update keys set revoked_at = coalesce(revoked_at, clock_timestamp())
where key_id = $1 returning `+keyColumns, id))
	if errors.Is(err, pgx.ErrNoRows) {
		return k, scoreboard.Errorf(scoreboard.CodeNotFound, "there is no key %s", id)
	}
	if err != nil {
		return k, translate(fmt.Errorf("revoke key %s: %w", id, err))
	}
	return k, nil
}
