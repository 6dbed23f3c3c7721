package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Outbox partitions are created this far ahead, and kept this long after their
// end: a row's recorded_at may be a little earlier than its commit.
const (
	outboxSpan  = time.Hour
	outboxAhead = 3
	outboxGrace = 5 * time.Minute

	ledgerAhead = 2 // months
)

// ddlWait bounds how long a change of partitions blocks writers.
const ddlWait = 200 * time.Millisecond

const (
	// A partition cannot be created once the default partition has rows of its
	// span, so partitions are created ahead and never for the past.
	sqlOutboxSpans = `select span, span + step from (
    select step, date_bin(step, clock_timestamp(), 'epoch') + step * n as span
    from generate_series(0, $2::int) as n, (select ` + outboxStep + ` as step) as s) as t
where to_regclass('outbox_score_updates_' || to_char(span at time zone 'UTC', 'YYYYMMDDHH24MI')) is null
  and not exists (select from outbox_score_updates_default where recorded_at >= span and recorded_at < span + step)`

	// outboxStep is the span of a partition: $1, unless the database's owner has set a shorter one for
	// a test (alter database … set scoreboard.outbox_span).
	outboxStep = `coalesce(nullif(current_setting('scoreboard.outbox_span', true), '')::interval, $1::interval)`

	sqlLedgerSpans = `select span at time zone 'UTC', (span + interval '1 month') at time zone 'UTC' from (
    select date_trunc('month', clock_timestamp() at time zone 'UTC') + make_interval(months => n) as span
    from generate_series(0, $1::int) as n) as t
where to_regclass('user_score_histories_' || to_char(span, 'YYYYMMDD')) is null`

	// A month for each user whose time is ahead, up to a bound.
	sqlLedgerSpansAhead = `select span at time zone 'UTC', (span + interval '1 month') at time zone 'UTC' from (
    select distinct date_trunc('month', last_recorded_at at time zone 'UTC') as span from users
    where user_id = any($1) and last_recorded_at > clock_timestamp() and isfinite(last_recorded_at)) as t
where to_regclass('user_score_histories_' || to_char(span, 'YYYYMMDD')) is null
order by 1 limit $2`
)

const sqlMakeLedgerPartition = `select create_ledger_partition($1, $2)`

// maxSpansAhead bounds the partitions that one batch creates.
const maxSpansAhead = 4

// MakePartitions creates the partitions of outbox and ledger that will soon be
// needed, and returns how many it created.
func (o *Outbox) MakePartitions(ctx context.Context) (made int, err error) {
	for _, kind := range []struct {
		spans, create string
		args          []any
	}{
		{sqlOutboxSpans, `select create_outbox_partition($1, $2)`, []any{outboxSpan, outboxAhead}},
		{sqlLedgerSpans, sqlMakeLedgerPartition, []any{ledgerAhead}},
	} {
		n, err := o.makePartitions(ctx, kind.create, kind.spans, kind.args...)
		if made += n; err != nil {
			return made, err
		}
	}
	return made, nil
}

// MakeLedgerPartitions creates the ledger's partitions for those of the users whose
// time is ahead of the database's clock: it has gone back since they were recorded,
// and their time does not.
func (o *Outbox) MakeLedgerPartitions(ctx context.Context, users []scoreboard.UserID) error {
	_, err := o.makePartitions(ctx, sqlMakeLedgerPartition, sqlLedgerSpansAhead, users, maxSpansAhead)
	return err
}

// makePartitions runs create for every span that a query returns.
func (o *Outbox) makePartitions(ctx context.Context, create, query string, args ...any) (made int, err error) {
	rows, err := o.db.Query(ctx, query, args...)
	if err != nil {
		return 0, pg.Translate(fmt.Errorf("list partitions to create: %w", err))
	}
	var spans [][2]time.Time
	var from, to time.Time
	if _, err := pgx.ForEachRow(rows, []any{&from, &to}, func() error {
		spans = append(spans, [2]time.Time{from, to})
		return nil
	}); err != nil {
		return 0, pg.Translate(fmt.Errorf("list partitions to create: %w", err))
	}
	for _, span := range spans {
		err := o.db.InSchemaTx(ctx, ddlWait, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, create, span[0], span[1])
			return err
		})
		switch {
		case pg.CreatedMeanwhile(err): // by another node
		case pg.PartitionMissing(err): // rows of its time have reached the default partition since
		case err != nil:
			return made, pg.Translate(
				fmt.Errorf("create the partition of %s: %w", span[0].UTC().Format(time.RFC3339), err),
			)
		default:
			made++
		}
	}
	return made, nil
}

// DropPartitions drops the outbox partitions that are fully published, and returns
// how many. Partitions that a relay must still read stay.
func (o *Outbox) DropPartitions(ctx context.Context) (dropped int, err error) {
	leaves, err := o.outboxPartitions(ctx)
	if err != nil {
		return 0, err
	}
	const old = `select case when $3 = 'outbox_score_updates_default'
    then coalesce((select recorded_at < clock_timestamp() - $2::interval from outbox_score_updates_default
        order by recorded_at desc limit 1), false)
    else to_timestamp(right($3, 12), 'YYYYMMDDHH24MI')::timestamp at time zone 'UTC' + ` + outboxStep + `
        < clock_timestamp() - $2::interval end`
	for _, leaf := range leaves {
		var isOld, gone bool
		if err := o.db.QueryRow(ctx, old, outboxSpan, outboxGrace, leaf).Scan(&isOld); err != nil {
			return dropped, pg.Translate(fmt.Errorf("read the age of partition %s: %w", leaf, err))
		}
		if !isOld {
			continue
		}
		err := o.db.InSchemaTx(ctx, ddlWait, func(tx pgx.Tx) error {
			return tx.QueryRow(ctx, `select drop_outbox_partition($1)`, leaf).Scan(&gone)
		})
		switch {
		case pg.DroppedMeanwhile(err): // by another node, whose turn has just ended
		case err != nil:
			return dropped, pg.Translate(fmt.Errorf("drop partition %s: %w", leaf, err))
		case gone:
			dropped++
		}
	}
	return dropped, nil
}

// outboxPartitions lists the outbox's partitions by name, which is also by time.
func (o *Outbox) outboxPartitions(ctx context.Context) ([]string, error) {
	rows, err := o.db.Query(ctx, `select inhrelid::regclass::text from pg_inherits
where inhparent = 'outbox_score_updates'::regclass order by 1`)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list the outbox's partitions: %w", err))
	}
	leaves, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list the outbox's partitions: %w", err))
	}
	return leaves, nil
}
