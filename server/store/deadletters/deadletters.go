// Package deadletters keeps events that could not be published or applied.
package deadletters

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// DeadLetters is the dead letter table.
type DeadLetters struct{ db *pg.DB }

// New makes a DeadLetters over db.
func New(db *pg.DB) *DeadLetters { return &DeadLetters{db} }

// Bury keeps a record that cannot be carried. The same record buried again is
// the same letter.
func (d *DeadLetters) Bury(ctx context.Context, letter *scoreboard.DeadLetter) error {
	_, err := d.db.Exec(ctx, `insert into dead_letters (topic, partition, record_offset, value, reason, attempts)
values ($1, $2, $3, $4, $5, $6) on conflict do nothing`, letter.Topic, letter.Partition, letter.Offset, letter.Value, letter.Reason, letter.Attempts)
	if err != nil {
		return pg.Translate(
			fmt.Errorf("bury offset %d of partition %d of %s: %w", letter.Offset, letter.Partition, letter.Topic, err),
		)
	}
	return nil
}

const letterColumns = `id, topic, partition, record_offset, value, reason, attempts, buried_at`

func scanLetter(row pgx.CollectableRow) (l scoreboard.DeadLetter, err error) {
	err = row.Scan(&l.ID, &l.Topic, &l.Partition, &l.Offset, &l.Value, &l.Reason, &l.Attempts, &l.BuriedAt)
	l.BuriedAt = l.BuriedAt.UTC()
	return l, err
}

// DeadLetters lists at most limit letters behind an id, oldest first.
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
	return scoreboard.Errorf(scoreboard.CodeNotFound, "dead letter %d not found", id)
}

// RequeueLetter puts a letter into the outbox again and ends it, both or
// neither. Carried twice it does nothing, since revisions are compared. One
// that this build cannot read is a conflict; one from before the window in
// which repeats are known is gone.
func (d *DeadLetters) RequeueLetter(ctx context.Context, id int64, audit *scoreboard.AuditEntry) error {
	letter, err := d.DeadLetter(ctx, id)
	if err != nil {
		return err
	}
	c, beat, err := protocol.DecodeEvent(letter.Value)
	if err != nil || beat != nil {
		return &scoreboard.Error{
			Code:    scoreboard.CodeConflict,
			Message: fmt.Sprintf("dead letter %d cannot be decoded; drop it", id),
			Err:     err,
		}
	}
	if c.RecordedAt.Before(ledger.KnownSince(time.Now())) {
		return scoreboard.Errorf(
			scoreboard.CodeGone,
			"dead letter %d was recorded at %s, outside the deduplication window",
			id,
			c.RecordedAt.Format(time.RFC3339),
		)
	}
	// Any shard will do: nothing relies on the order of a user's events.
	const requeue = `with ended as (delete from dead_letters where id = $1 returning id)
insert into outbox_score_updates (shard, event_id, user_id, board_id, score, previous_score, delta, order_key, version, revision,
    reached_at, recorded_at, hidden)
select 0, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13 from ended`
	err = d.endLetter(
		ctx,
		id,
		audit,
		requeue,
		c.Event,
		c.User,
		c.Board,
		c.Score,
		c.Previous,
		c.Delta,
		c.Key,
		c.Version,
		c.Revision,
		c.ReachedAt,
		c.RecordedAt,
		c.Hidden,
	)
	if err != nil {
		return pg.Translate(fmt.Errorf("requeue dead letter %d: %w", id, err))
	}
	return nil
}

// DropLetter ends a letter for good, or is a not_found.
func (d *DeadLetters) DropLetter(ctx context.Context, id int64, audit *scoreboard.AuditEntry) error {
	if err := d.endLetter(ctx, id, audit, `delete from dead_letters where id = $1`); err != nil {
		return pg.Translate(fmt.Errorf("drop dead letter %d: %w", id, err))
	}
	return nil
}

// endLetter runs what ends one letter; a not_found where somebody else was
// quicker.
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
