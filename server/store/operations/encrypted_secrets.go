package operations

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Reencrypt returns a secret of an id encrypted with the first master key; nil if it already is.
type Reencrypt = func(id string, sealed []byte) ([]byte, error)

// EncryptedSecrets are the secrets of signing keys and webhooks, which master keys encrypt.
type EncryptedSecrets struct{ db *pg.DB }

// NewEncryptedSecrets returns EncryptedSecrets over db.
func NewEncryptedSecrets(db *pg.DB) *EncryptedSecrets { return &EncryptedSecrets{db} }

// reencryptBatch is how many secrets are in memory at once, and reencryptWait how long each batch waits for
// transactions that change its keys.
const (
	reencryptBatch = 500
	reencryptWait  = 2 * time.Second
)

// secretTables have the secrets that are valid, or may be again: not those of revoked keys.
var secretTables = []struct{ list, lock, update string }{
	{
		`select s.key_id, s.generation, s.sealed from key_secrets as s join keys as k using (key_id)
where k.revoked_at is null and coalesce(k.expires_at > clock_timestamp(), true)
    and coalesce(s.retires_at > clock_timestamp(), true) and (s.key_id, s.generation) > ($1, $2)
order by s.key_id, s.generation limit $3`,
		` for update of s`,
		`update key_secrets as s set sealed = t.sealed
from unnest($1::text[], $2::integer[], $3::bytea[]) as t(id, generation, sealed)
where s.key_id = t.id and s.generation = t.generation`,
	},
	{
		`select s.webhook_id, s.generation, s.sealed from webhook_secrets as s
where coalesce(s.retires_at > clock_timestamp(), true) and (s.webhook_id, s.generation) > ($1, $2)
order by s.webhook_id, s.generation limit $3`,
		` for update of s`,
		`update webhook_secrets as s set sealed = t.sealed
from unnest($1::text[], $2::integer[], $3::bytea[]) as t(id, generation, sealed)
where s.webhook_id = t.id and s.generation = t.generation`,
	},
}

// Check reports what ReencryptAll would do, and changes nothing.
func (s *EncryptedSecrets) Check(ctx context.Context, reencrypt Reencrypt) (r scoreboard.Reencryption, err error) {
	for _, table := range secretTables {
		if err := eachEncrypted(ctx, s.db, table.list, reencrypt, &r, nil); err != nil {
			return r, pg.Translate(fmt.Errorf("read the encrypted secrets: %w", err))
		}
	}
	return r, nil
}

// ReencryptAll encrypts every valid secret with the first master key, in one transaction with an
// audit entry, which is not written if nothing changes. Secrets that cannot be decrypted stay as
// they are.
func (s *EncryptedSecrets) ReencryptAll(
	ctx context.Context, reencrypt Reencrypt, why *scoreboard.AuditEntry,
) (r scoreboard.Reencryption, err error) {
	err = s.db.TxWithLockTimeout(ctx, reencryptWait, func(tx pgx.Tx) error {
		for _, table := range secretTables {
			change := func(ids []string, generations []int32, sealed [][]byte) error {
				_, err := tx.Exec(ctx, table.update, ids, generations, sealed)
				return err
			}
			if err := eachEncrypted(ctx, tx, table.list+table.lock, reencrypt, &r, change); err != nil {
				return err
			}
		}
		if r.Changed == 0 {
			return nil
		}
		detail, err := json.Marshal(map[string]int{"secrets": r.Changed, "unreadable": len(r.Unreadable)})
		if err != nil {
			return err
		}
		entry := *why
		entry.Detail = detail
		return pg.WriteAudit(ctx, tx, &entry)
	})
	if err != nil {
		return scoreboard.Reencryption{}, pg.Translate(fmt.Errorf("encrypt the secrets again: %w", err))
	}
	return r, nil
}

// eachEncrypted encrypts again the secrets of a list in batches, counts them in r, and passes those that
// differ to change, unless that is nil.
func eachEncrypted(
	ctx context.Context, from pg.Querier, list string, reencrypt Reencrypt, r *scoreboard.Reencryption,
	change func(ids []string, generations []int32, sealed [][]byte) error,
) error {
	var id string
	var generation int32
	for {
		rows, err := from.Query(ctx, list, id, generation, reencryptBatch)
		if err != nil {
			return err
		}
		var ids []string
		var generations []int32
		var changed [][]byte
		var sealed []byte
		read := 0
		_, err = pgx.ForEachRow(rows, []any{&id, &generation, &sealed}, func() error {
			read++
			again, err := reencrypt(id, sealed)
			switch {
			case err != nil:
				n := len(r.Unreadable)
				if n < scoreboard.MaxUnreadableSecrets && (n == 0 || r.Unreadable[n-1] != id) {
					r.Unreadable = append(r.Unreadable, id)
				}
			case again == nil:
				r.Unchanged++
			default:
				r.Changed++
				ids, generations, changed = append(ids, id), append(generations, generation), append(changed, again)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if change != nil && len(ids) > 0 {
			if err := change(ids, generations, changed); err != nil {
				return err
			}
		}
		if read < reencryptBatch {
			return nil
		}
	}
}
