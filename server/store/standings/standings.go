// Package standings keeps the table standings, in which ranks are counted while the
// ranking in Redis cannot answer: a copy of the scores with an index in ranking order,
// updated from the outbox after the commit.
//
// Promise: standings has everything that was committed before its as_of. A standing is a
// committed state of a score, and is never replaced by an older one.
//
// Assumption: every change of a score has a row in the outbox with a higher revision, and
// no row appears below the oldest running transaction.
//
// On failure: standings stay behind. After a pass that was interrupted, the next one
// starts from the same cursors. Two passes at once do no harm: the one that ends second
// changes nothing.
package standings

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Standings is the table standings.
type Standings struct {
	db       *pg.DB
	pageRows int // rows of the outbox in one pass, over all shards
	// Standings or scores that one transaction writes: the relays publish nothing that
	// commits after a running transaction began.
	chunkRows int
}

// New returns the Standings in db.
func New(db *pg.DB) *Standings { return &Standings{db: db, pageRows: 20_000, chunkRows: 1000} }

const (
	// As the relays': the time before the snapshot, and no plan that reads or sorts a
	// whole partition.
	sqlPlan = `select clock_timestamp(), set_config('enable_seqscan', 'off', true),
    set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true)`

	sqlState = `select standings_stale(), fill_user is not null, generation, pending_at,
    coalesce(pending_xid, '0'), pg_snapshot_xmin(s), pg_snapshot_xmax(s)
from standings_state, pg_current_snapshot() as s`

	// The next rows of every shard, of each standing the last. Each has the cursor of
	// its shard behind the whole page, and the page's rows.
	sqlPage = `with shards as (
    select t.s as shard, coalesce(c.cursor_xid, '0') as xid, coalesce(c.cursor_id, 0) as id
    from generate_series(0, coalesce((select max(shard) from outbox_score_updates), -1)) as t(s)
    left join standings_cursors as c on c.shard = t.s
), page as materialized (
    select o.* from shards cross join lateral (
        select shard, xid, id, board_id, user_id, order_key, reached_at, recorded_at, revision, hidden
        from outbox_score_updates as u
        where u.shard = shards.shard and (u.xid, u.id) > (shards.xid, shards.id)
            and u.xid < pg_snapshot_xmin(pg_current_snapshot())
        order by u.xid, u.id limit greatest($1 / (select count(*) from shards), 1)) as o
), ends as (
    select distinct on (shard) shard, xid, id from page order by shard, xid desc, id desc
), counts as (
    select shard, count(*) as rows from page group by shard
), last as (
    select distinct on (board_id, user_id) * from page order by board_id, user_id, revision desc
)
select board_id, user_id, order_key, reached_at, recorded_at, last.revision, hidden,
    shard, ends.xid, ends.id, rows, rows >= greatest($1 / (select count(*) from shards), 1)
from last join ends using (shard) join counts using (shard) order by board_id, user_id`

	sqlPut = `insert into standings as s (board_id, user_id, order_key, reached_at, recorded_at, revision, hidden)
select t.* from unnest($2::text[], $3::text[], $4::bigint[], $5::timestamptz[], $6::timestamptz[], $7::bigint[],
    $8::boolean[]) as t, mine
on conflict (board_id, user_id) do update set order_key = excluded.order_key, reached_at = excluded.reached_at,
    recorded_at = excluded.recorded_at, revision = excluded.revision, hidden = excluded.hidden
where s.revision < excluded.revision`

	sqlPutSome = `with mine as (select from standings_state where generation = $1)
` + sqlPut

	// The last ones, with the cursors.
	sqlPutLast = `with mine as (
    update standings_state set generation = generation + 1, passed_at = clock_timestamp(),
        as_of = coalesce($9, as_of), pending_at = $10, pending_xid = $11
    where generation = $1 returning true
), moved as (
    insert into standings_cursors (shard, cursor_xid, cursor_id)
    select t.* from unnest($12::smallint[], $13::xid8[], $14::bigint[]) as t, mine
    on conflict (shard) do update set cursor_xid = excluded.cursor_xid, cursor_id = excluded.cursor_id
), put as (
    ` + sqlPut + `
)
select exists (select from mine)`
)

// state is the state of the standings when a page was read.
type state struct {
	at            time.Time // before everything else
	stale         bool      // must be filled again
	filling       bool
	generation    int64
	pendingAt     *time.Time
	pendingXID    uint64
	settled, next uint64 // as of scoreboard.OutboxPage
}

// page is the changes of standings that a pass makes, in the order of their keys.
type page struct {
	boards, users     []string
	keys, revisions   []int64
	reached, recorded []time.Time
	hidden            []bool
	shards            []int16
	xids              []uint64
	ids               []int64
	rows              int64  // of the outbox
	read              uint64 // everything of transactions below is read
	full              bool   // there may be more
}

// Update brings standings closer to the scores: it applies the next changes of the outbox,
// or continues to fill standings that are not. It returns how many changes it read, and
// whether there is more to do at once.
func (s *Standings) Update(ctx context.Context) (changes int64, more bool, err error) {
	st, err := s.state(ctx)
	if err != nil {
		return 0, false, pg.Translate(fmt.Errorf("read the state of the standings: %w", err))
	}
	if st.stale {
		if _, err := s.db.Exec(ctx, `select reset_standings()`); err != nil {
			return 0, false, pg.Translate(fmt.Errorf("reset the standings: %w", err))
		}
		return 0, true, nil
	}
	if st.filling {
		if _, err := s.db.Exec(ctx, `select fill_standings($1)`, s.chunkRows); err != nil {
			return 0, false, pg.Translate(fmt.Errorf("fill the standings: %w", err))
		}
		return 0, true, nil
	}
	p, err := s.read(ctx, st.settled)
	if err != nil {
		return 0, false, pg.Translate(fmt.Errorf("read changes of standings: %w", err))
	}
	mine, err := s.apply(ctx, &st, &p)
	if err != nil {
		return 0, false, pg.Translate(fmt.Errorf("update %d standings: %w", len(p.users), err))
	}
	return p.rows, p.full && mine, nil
}

func (s *Standings) state(ctx context.Context) (st state, err error) {
	var b pgx.Batch
	b.Queue("begin read only")
	b.Queue(sqlPlan).QueryRow(func(row pgx.Row) error { return row.Scan(&st.at, nil, nil, nil) })
	b.Queue(sqlState).QueryRow(func(row pgx.Row) error {
		return row.Scan(&st.stale, &st.filling, &st.generation, &st.pendingAt, &st.pendingXID, &st.settled, &st.next)
	})
	b.Queue("commit")
	err = s.db.SendBatch(ctx, &b).Close()
	return st, err
}

// read reads the next page, in which everything of transactions below settled is, unless
// it is full. It has no transaction id: the relays publish nothing above that of a running
// transaction.
func (s *Standings) read(ctx context.Context, settled uint64) (p page, err error) {
	p.read = settled
	ends := make(map[int16]bool)
	var b pgx.Batch
	b.Queue("begin read only")
	b.Queue(sqlPlan)
	b.Queue(sqlPage, s.pageRows).Query(func(rows pgx.Rows) error {
		return pg.ForEach(rows, func() error { return p.add(rows, ends) })
	})
	b.Queue("commit")
	err = s.db.SendBatch(ctx, &b).Close()
	return p, err
}

// add scans a row of sqlPage. ends has the shards that were seen.
func (p *page) add(rows pgx.Rows, ends map[int16]bool) error {
	var board, user string
	var key, revision, id, n int64
	var reached, recorded time.Time
	var hidden, full bool
	var shard int16
	var xid uint64
	err := rows.Scan(&board, &user, &key, &reached, &recorded, &revision, &hidden, &shard, &xid, &id, &n, &full)
	if err != nil {
		return err
	}
	p.boards, p.users = append(p.boards, board), append(p.users, user)
	p.keys, p.revisions = append(p.keys, key), append(p.revisions, revision)
	p.reached, p.recorded = append(p.reached, reached), append(p.recorded, recorded)
	p.hidden = append(p.hidden, hidden)
	if ends[shard] {
		return nil
	}
	ends[shard] = true
	p.shards, p.xids, p.ids = append(p.shards, shard), append(p.xids, xid), append(p.ids, id)
	p.rows += n
	if full {
		p.full, p.read = true, min(p.read, xid)
	}
	return nil
}

// asOf returns the time up to which standings are complete after p, nil if it is not
// known, and the next such time with the transaction id below which everything must be
// read by then.
func (st *state) asOf(p *page) (reached, pending *time.Time, below *uint64) {
	switch {
	case p.read >= st.next: // nothing was running
		return &st.at, nil, nil
	case st.pendingAt == nil:
		return nil, &st.at, &st.next
	case p.read >= st.pendingXID:
		return st.pendingAt, &st.at, &st.next
	}
	return nil, st.pendingAt, &st.pendingXID
}

// apply writes a page in short transactions, the last of which moves the cursors. mine is
// false if another pass was faster.
func (s *Standings) apply(ctx context.Context, st *state, p *page) (mine bool, err error) {
	arguments := func(from, to int) []any {
		return []any{
			st.generation, p.boards[from:to], p.users[from:to], p.keys[from:to], p.reached[from:to],
			p.recorded[from:to], p.revisions[from:to], p.hidden[from:to],
		}
	}
	from := 0
	for ; len(p.users)-from > s.chunkRows; from += s.chunkRows {
		if _, err := s.db.Exec(ctx, sqlPutSome, arguments(from, from+s.chunkRows)...); err != nil {
			return false, err
		}
	}
	reached, pending, below := st.asOf(p)
	last := append(arguments(from, len(p.users)), reached, pending, below, p.shards, p.xids, p.ids)
	err = s.db.QueryRow(ctx, sqlPutLast, last...).Scan(&mine)
	return mine, err
}

// Age returns how old the standings are: the time since everything that was committed is
// in them.
func (s *Standings) Age(ctx context.Context) (age time.Duration, err error) {
	// Standings that are being filled are as old as the attempt to.
	const sql = `select greatest(clock_timestamp() - coalesce(as_of, pending_at, passed_at), '0') from standings_state`
	if err := s.db.QueryRow(ctx, sql).Scan(&age); err != nil {
		return 0, pg.Translate(fmt.Errorf("read the age of the standings: %w", err))
	}
	return age, nil
}
