package ledgertx

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/scoreboard/scoreboard/server/ledger"
)

// sqlWrite writes the rows of a batch to ledger, outbox and scores in one
// statement. An array that is shorter than the others reads as nulls, so an
// unused column costs nothing.
const sqlWrite = sqlRows + sqlRowNames + sqlLedger + sqlLedgerRows + sqlOutbox +
	sqlOutboxRows + sqlState + sqlStateRows + sqlUpdate

// sqlWritePairs is sqlWrite for a batch with boards that have subscores.
const sqlWritePairs = sqlRows + `, $33::bigint[], $34::bigint[], $35::bigint[], $36::bigint[]` +
	sqlRowNames + `, subscore, previous_subscore, new_subscore, sub_key` +
	sqlLedger + `, subscore, previous_subscore, new_subscore` +
	sqlLedgerRows + `, subscore, previous_subscore, new_subscore` +
	sqlOutbox + `, subscore, sub_key` +
	sqlOutboxRows + `, new_subscore, sub_key` +
	sqlState + `, subscore, sub_key` +
	sqlStateRows + `, coalesce(new_subscore, 0), coalesce(sub_key, 0)` +
	sqlUpdate + `, subscore = excluded.subscore, sub_key = excluded.sub_key`

// The parts of sqlWrite, between which sqlWritePairs has more columns.
const (
	sqlRows = `with t as materialized (
    select * from unnest($1::text[], $2::text[], $3::uuid[], $4::text[], $5::bytea[], $6::bigint[], $7::bigint[],
        $8::bigint[], $9::bigint[], $10::bigint[], $11::timestamptz[], $12::timestamptz[], $13::text[], $14::text[],
        $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::bigint[], $21::bigint[],
        $22::timestamptz[], $23::smallint[], $24::boolean[], $25::boolean[], $26::boolean[], $27::boolean[],
        $28::text[], $29::timestamptz[], $30::bigint[], $31::text[], $32::text[]`

	sqlRowNames = `)
    as t(user_id, board_id, event_id, event_text, payload_hash, delta, applied, previous_score, new_score, version,
        recorded_at, client_timestamp, source, action, key_id, signer, address, user_agent, trace, revision, order_key,
        reached_at, shard, changed, last, hidden, empty, country, action_until, uncounted, metadata, standing`

	sqlLedger = `)
), ledger as (
    insert into user_score_histories (user_id, board_id, event_id, event_text, payload_hash, delta, applied,
        previous_score, new_score, version, recorded_at, client_timestamp, source, action, key_id, signer, address,
        user_agent, country, metadata`

	sqlLedgerRows = `)
    select user_id, board_id, event_id, event_text, payload_hash, delta, applied, previous_score, new_score, version,
        recorded_at, client_timestamp, source, action, key_id, signer, address, user_agent, country, metadata`

	sqlOutbox = `
    from t
), outbox as (
    insert into outbox_score_updates (shard, event_id, user_id, board_id, score, previous_score, delta, order_key,
        version, revision, reached_at, recorded_at, hidden, trace`

	sqlOutboxRows = `)
    select shard, event_id, user_id, board_id, new_score, previous_score, applied, order_key, version, revision,
        reached_at, recorded_at, coalesce(hidden, false), trace`

	sqlState = `
    from t where changed
)
insert into scores (user_id, board_id, score, order_key, version, revision, reached_at, recorded_at, hidden, empty,
    action_until, uncounted, metadata, metadata_version`

	sqlStateRows = `)
select user_id, board_id, new_score, order_key, version, revision, reached_at, recorded_at, coalesce(hidden, false),
    coalesce(empty, false), action_until, coalesce(uncounted, 0), standing,
    case when standing is not null then version end`

	sqlUpdate = `
from t where last
on conflict (user_id, board_id) do update set score = excluded.score, order_key = excluded.order_key,
    version = excluded.version, revision = excluded.revision, reached_at = excluded.reached_at,
    recorded_at = excluded.recorded_at, hidden = excluded.hidden, empty = excluded.empty,
    action_until = coalesce(excluded.action_until, scores.action_until),
    uncounted = scores.uncounted + excluded.uncounted, metadata = excluded.metadata,
    metadata_version = excluded.metadata_version`
)

const (
	sqlJoin = `select league_join($1, $2, $3)`

	sqlUseTokens = `insert into used_action_tokens (user_id, action_id, event_id)
select * from unnest($1::text[], $2::uuid[], $3::uuid[])`

	sqlDeleteUsers = `delete from users where user_id = any($1)`

	// One open flag for each user and rule.
	sqlFlag = `insert into flags (rule, mode, user_id, board_id, event_id, event_text, delta, detail)
select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::uuid[], $6::text[], $7::bigint[], $8::text[])
    as t(rule, mode, user_id, board_id, event_id, event_text, delta, detail) order by user_id, rule
on conflict (user_id, rule) where state = 'open' do update set times = flags.times + 1, last_at = clock_timestamp(),
    mode = excluded.mode, board_id = excluded.board_id, event_id = excluded.event_id, event_text = excluded.event_text,
    delta = excluded.delta, detail = excluded.detail`
)

// write writes the decided rows and commits, in one round trip.
func write(ctx context.Context, conn *pgxpool.Conn, b *ledger.Batch) error {
	var q pgx.Batch
	if b.Rows.Len() > 0 {
		sql, columns := sqlWrite, arguments(&b.Rows)
		if r := &b.Rows; r.HasSubscores() {
			sql = sqlWritePairs
			columns = append(columns, r.Subscores, r.PreviousSubscores, r.NewSubscores, r.SubKeys)
		}
		q.Queue(sql, columns...)
	}
	if len(b.Joins.Users) > 0 {
		q.Queue(sqlJoin, b.Joins.Users, b.Joins.Boards, b.Joins.Fills)
	}
	if len(b.Tokens.Used) > 0 {
		q.Queue(sqlUseTokens, b.Tokens.UsedBy, b.Tokens.Used, b.Tokens.UsedFor)
	}
	if unused := b.UnusedUsers(); len(unused) > 0 {
		q.Queue(sqlDeleteUsers, unused)
	}
	queueFlags(&q, b)
	q.Queue("commit")
	if err := conn.SendBatch(ctx, &q).Close(); err != nil {
		return fmt.Errorf("write and commit: %w", err)
	}
	return nil
}

// arguments are the parameters of sqlWrite.
func arguments(r *ledger.Rows) []any {
	return []any{
		r.Users, r.Boards, r.Events, r.EventTexts, r.Hashes, r.Deltas, r.Applied,
		r.Previous, r.Scores, r.Versions, r.RecordedAt, r.ClientTimes, r.Sources, r.Actions,
		r.Keys, r.Signers, r.Addresses, r.Agents, r.Traces, r.Revisions, r.OrderKeys,
		r.ReachedAt, r.Shards, r.Changed, r.Last, r.Hidden, r.Empty, r.Countries, r.ActionUntil, r.Uncounted,
		r.Metadata, r.StandingMetadata,
	}
}

func queueFlags(q *pgx.Batch, b *ledger.Batch) {
	flags := b.Activity.Flags()
	if len(flags) == 0 {
		return
	}
	var rules, modes, users, boards, texts, details []string
	var events [][16]byte
	var deltas []int64
	for i := range flags {
		a := &flags[i]
		rules, modes = append(rules, a.Rule), append(modes, string(a.Mode))
		users, boards = append(users, string(a.User)), append(boards, string(a.Board))
		events, texts = append(events, a.Event.UUID), append(texts, a.Event.Text)
		deltas, details = append(deltas, a.Delta), append(details, a.Detail)
	}
	q.Queue(sqlFlag, rules, modes, users, boards, events, texts, deltas, details)
}
