package reads

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
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

// NewStandings returns the Standings in db.
func NewStandings(db *pg.DB) *Standings { return &Standings{db: db, pageRows: 20_000, chunkRows: 1000} }

const (
	// As the relays': the time before the snapshot, and no plan that reads or sorts a
	// whole partition. A page is joined with itself by hash. What is off makes plans look
	// expensive, which would have PostgreSQL compile them.
	sqlPlan = `select clock_timestamp(), set_config('enable_seqscan', 'off', true),
    set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true),
    set_config('enable_nestloop', 'off', true), set_config('jit', 'off', true)`

	sqlState = `select standings_stale(), fill_user is not null, generation, pending_at,
    coalesce(pending_xid, '0'), pg_snapshot_xmin(s), pg_snapshot_xmax(s)
from standings_state, pg_current_snapshot() as s`

	// The next rows of every shard, in each shard the one of the highest revision of each
	// standing, with the number of rows that were read of the shard.
	sqlPage = `with shards as (
    select t.s as shard, coalesce(c.cursor_xid, '0') as xid, coalesce(c.cursor_id, 0) as id
    from generate_series(0, coalesce((select max(shard) from outbox_score_updates), -1)) as t(s)
    left join standings_cursors as c on c.shard = t.s
), page as materialized (
    select o.* from shards cross join lateral (
        select shard, xid, id, board_id, user_id, order_key, sub_key, reached_at, recorded_at, revision, hidden
        from outbox_score_updates as u
        where u.shard = shards.shard and (u.xid, u.id) > (shards.xid, shards.id)
            and u.xid < pg_snapshot_xmin(pg_current_snapshot())
        order by u.xid, u.id limit greatest($1 / (select count(*) from shards), 1)) as o
), counts as (
    select shard, count(*) as rows from page group by shard
), last as (
    select shard, board_id, user_id, max(revision) as revision from page group by shard, board_id, user_id
)
select board_id, user_id, order_key, coalesce(sub_key, 0), reached_at, recorded_at, revision, hidden,
    shard, xid, id, rows, rows >= greatest($1 / (select count(*) from shards), 1)
from page join last using (shard, board_id, user_id, revision) join counts using (shard)`

	sqlPut = `insert into standings as s (board_id, user_id, order_key, reached_at, recorded_at, revision, hidden,
    sub_key)
select t.* from unnest($2::text[], $3::text[], $4::bigint[], $5::timestamptz[], $6::timestamptz[], $7::bigint[],
    $8::boolean[], $9::bigint[]) as t, mine
on conflict (board_id, user_id) do update set order_key = excluded.order_key, reached_at = excluded.reached_at,
    recorded_at = excluded.recorded_at, revision = excluded.revision, hidden = excluded.hidden,
    sub_key = excluded.sub_key
where s.revision < excluded.revision`

	sqlPutSome = `with mine as (select from standings_state where generation = $1)
` + sqlPut

	// The last ones, with the cursors.
	sqlPutLast = `with mine as (
    update standings_state set generation = generation + 1, passed_at = clock_timestamp(), as_of = coalesce($10, as_of),
        pending_at = $11, pending_xid = $12
    where generation = $1 returning true
), moved as (
    insert into standings_cursors (shard, cursor_xid, cursor_id)
    select t.* from unnest($13::smallint[], $14::xid8[], $15::bigint[]) as t, mine
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

// standing is a change of a standing.
type standing struct {
	board, user       string
	key, subKey       int64
	revision          int64
	reached, recorded time.Time
	hidden            bool
}

// page is the changes of standings that a pass makes.
type page struct {
	standings []standing                  // in the order of their keys
	cursors   map[int16]scoreboard.Cursor // of the shards that have any
	rows      int64                       // of the outbox
	read      uint64                      // everything of transactions below is read
	full      bool                        // there may be more
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
	mine, err := s.apply(ctx, &st, p)
	if err != nil {
		return 0, false, pg.Translate(fmt.Errorf("update %d standings: %w", len(p.standings), err))
	}
	return p.rows, p.full && mine, nil
}

func (s *Standings) state(ctx context.Context) (st state, err error) {
	var b pgx.Batch
	b.Queue("begin read only")
	b.Queue(sqlPlan).QueryRow(func(row pgx.Row) error { return row.Scan(&st.at, nil, nil, nil, nil, nil) })
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
func (s *Standings) read(ctx context.Context, settled uint64) (*page, error) {
	p := &page{read: settled, cursors: make(map[int16]scoreboard.Cursor)}
	var b pgx.Batch
	b.Queue("begin read only")
	b.Queue(sqlPlan)
	b.Queue(sqlPage, s.pageRows).Query(p.scan)
	b.Queue("commit")
	if err := s.db.SendBatch(ctx, &b).Close(); err != nil {
		return nil, err
	}
	// A user is in two shards after their number was changed.
	slices.SortFunc(p.standings, func(a, b standing) int {
		return cmp.Or(
			strings.Compare(a.board, b.board), strings.Compare(a.user, b.user), cmp.Compare(b.revision, a.revision))
	})
	p.standings = slices.CompactFunc(p.standings, func(a, b standing) bool {
		return a.board == b.board && a.user == b.user
	})
	return p, nil
}

// scan reads the rows of sqlPage. The cursor of a shard is that of its last standing: rows
// after it are of older revisions, and are read once more.
func (p *page) scan(rows pgx.Rows) error {
	full := make(map[int16]bool)
	var c standing
	var shard int16
	var at scoreboard.Cursor
	var n int64
	var isFull bool
	err := pg.ForEach(rows, func() error {
		err := rows.Scan(&c.board, &c.user, &c.key, &c.subKey, &c.reached, &c.recorded, &c.revision, &c.hidden,
			&shard, &at.XID, &at.ID, &n, &isFull)
		p.standings = append(p.standings, c)
		last, seen := p.cursors[shard]
		if !seen {
			p.rows += n
			full[shard] = isFull
		}
		if !seen || last.XID < at.XID || last.XID == at.XID && last.ID < at.ID {
			p.cursors[shard] = at
		}
		return err
	})
	for shard, isFull := range full {
		if isFull {
			p.full, p.read = true, min(p.read, p.cursors[shard].XID)
		}
	}
	return err
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
	rest := p.standings
	for ; len(rest) > s.chunkRows; rest = rest[s.chunkRows:] {
		if _, err := s.db.Exec(ctx, sqlPutSome, arguments(st.generation, rest[:s.chunkRows])...); err != nil {
			return false, err
		}
	}
	var shards []int16
	var xids []uint64
	var ids []int64
	for shard, at := range p.cursors {
		shards, xids, ids = append(shards, shard), append(xids, at.XID), append(ids, at.ID)
	}
	reached, pending, below := st.asOf(p)
	last := append(arguments(st.generation, rest), reached, pending, below, shards, xids, ids)
	err = s.db.QueryRow(ctx, sqlPutLast, last...).Scan(&mine)
	return mine, err
}

// arguments are the parameters of sqlPutSome.
func arguments(generation int64, of []standing) []any {
	n := len(of)
	boards, users := make([]string, n), make([]string, n)
	keys, subKeys, revisions := make([]int64, n), make([]int64, n), make([]int64, n)
	reached, recorded, hidden := make([]time.Time, n), make([]time.Time, n), make([]bool, n)
	for i := range of {
		c := &of[i]
		boards[i], users[i], keys[i], reached[i] = c.board, c.user, c.key, c.reached
		recorded[i], revisions[i], hidden[i], subKeys[i] = c.recorded, c.revision, c.hidden, c.subKey
	}
	return []any{generation, boards, users, keys, reached, recorded, revisions, hidden, subKeys}
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
