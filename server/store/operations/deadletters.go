package operations

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// DeadLetters is the dead letter table.
type DeadLetters struct {
	db     *pg.DB
	window scoreboard.Window
}

// NewDeadLetters returns a DeadLetters over db. Changes from before the window are not requeued.
func NewDeadLetters(db *pg.DB, window scoreboard.Window) *DeadLetters {
	return &DeadLetters{db, window}
}

// maxReason bounds the stored reason, in bytes.
const maxReason = 2000

// Add stores a record that cannot be processed as a dead letter. Storing the same
// record again changes nothing. It accepts any record, also one without a value, such as
// a tombstone in Kafka: a letter that cannot be stored would stop its partition.
func (d *DeadLetters) Add(ctx context.Context, letter *scoreboard.DeadLetter) error {
	value := letter.Value
	if value == nil {
		value = []byte{} // nil would be null
	}
	reason := scoreboard.Escape(letter.Reason) // it may quote the record; PostgreSQL rejects NUL
	reason = strings.ToValidUTF8(reason[:min(len(reason), maxReason)], "")
	_, err := d.db.Exec(ctx, `insert into dead_letters (topic, partition, record_offset, value, reason, attempts)
values ($1, $2, $3, $4, $5, $6) on conflict do nothing`,
		letter.Topic, letter.Partition, letter.Offset, value, reason, letter.Attempts)
	if err != nil {
		return pg.Translate(fmt.Errorf("store a dead letter for %s, partition %d, offset %d: %w",
			letter.Topic, letter.Partition, letter.Offset, err))
	}
	return nil
}

const letterColumns = `id, topic, partition, record_offset, value, reason, attempts, buried_at`

func scanLetter(row pgx.CollectableRow) (l scoreboard.DeadLetter, err error) {
	err = row.Scan(&l.ID, &l.Topic, &l.Partition, &l.Offset, &l.Value, &l.Reason, &l.Attempts, &l.StoredAt)
	l.StoredAt = l.StoredAt.UTC()
	return l, err
}

// DeadLetters lists at most limit letters after an id, oldest first.
func (d *DeadLetters) DeadLetters(ctx context.Context, after int64, limit int) ([]scoreboard.DeadLetter, error) {
	rows, err := d.db.Query(
		ctx,
		`select `+letterColumns+` from dead_letters where id > $1 order by id limit $2`,
		after,
		limit,
	)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list dead letters: %w", err))
	}
	letters, err := pgx.CollectRows(rows, scanLetter)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list dead letters: %w", err))
	}
	return letters, nil
}

// DeadLetter returns one letter, or a not_found.
func (d *DeadLetters) DeadLetter(ctx context.Context, id int64) (*scoreboard.DeadLetter, error) {
	rows, err := d.db.Query(ctx, `select `+letterColumns+` from dead_letters where id = $1`, id)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read dead letter %d: %w", id, err))
	}
	letter, err := pgx.CollectExactlyOneRow(rows, scanLetter)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, noLetter(id)
	}
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read dead letter %d: %w", id, err))
	}
	return &letter, nil
}

func noLetter(id int64) error {
	return scoreboard.Errorf(wire.CodeNotFound, "dead letter %d not found", id)
}

// RequeueLetter puts the change in a letter back into the outbox and deletes the
// letter, atomically. Publishing it twice does no harm, since revisions are compared.
// A change from before the deduplication window is gone; a letter that was requeued
// or dropped concurrently is not_found.
func (d *DeadLetters) RequeueLetter(
	ctx context.Context, id int64, c *scoreboard.Change, audit *scoreboard.AuditEntry,
) error {
	if c.RecordedAt.Before(d.window.Since(time.Now())) {
		return scoreboard.Errorf(
			wire.CodeGone,
			"dead letter %d was recorded at %s, too long ago for repeats of it to be recognised",
			id,
			c.RecordedAt.Format(time.RFC3339),
		)
	}
	// Any shard works: nothing relies on the order of a user's events.
	const requeue = `with ended as (delete from dead_letters where id = $1 returning id)
insert into outbox_score_updates (shard, event_id, user_id, board_id, score, previous_score, delta, order_key,
    version, revision,
    reached_at, recorded_at, hidden, subscore, sub_key)
select 0, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, nullif($14, 0), nullif($15, 0) from ended`
	err := d.endLetter(ctx, id, audit, requeue, c.Event, c.User, c.Board, c.Score, c.Previous, c.Delta, c.Key,
		c.Version, c.Revision, c.ReachedAt, c.RecordedAt, c.Hidden,
		c.Subscore, c.SubKey)
	if err != nil {
		return pg.Translate(fmt.Errorf("requeue dead letter %d: %w", id, err))
	}
	return nil
}

// DropLetter deletes a letter, or returns a not_found.
func (d *DeadLetters) DropLetter(ctx context.Context, id int64, audit *scoreboard.AuditEntry) error {
	if err := d.endLetter(ctx, id, audit, `delete from dead_letters where id = $1`); err != nil {
		return pg.Translate(fmt.Errorf("drop dead letter %d: %w", id, err))
	}
	return nil
}

// endLetter runs the statement that deletes one letter; a not_found if another
// process was faster.
func (d *DeadLetters) endLetter(
	ctx context.Context,
	id int64,
	audit *scoreboard.AuditEntry,
	sql string,
	args ...any,
) error {
	return pgx.BeginFunc(ctx, d.db, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sql, append([]any{id}, args...)...)
		if err == nil && tag.RowsAffected() == 0 {
			err = noLetter(id)
		}
		if err != nil {
			return err
		}
		return pg.WriteAudit(ctx, tx, audit)
	})
}
