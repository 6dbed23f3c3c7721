package history

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// change is what the rows of the ledger between a checkpoint and a moment say about a user.
type change struct {
	first, last int64 // versions of rows
	had         bool  // whether the user had a score before the first row
	before      keys
	exists      bool // whether the user has one after the last row
	keys
	moved   int64 // the version of the last row that changed the score; 0: none did
	left    bool  // whether the standing in the checkpoint is another one
	reached time.Time
}

// loader collects what makes up a view.
type loader struct {
	view
	board *scoreboard.Board
	at    scoreboard.PastTime
	since time.Time // of the checkpoint
	// restoredAt is set if the checkpoint has the scores without what was reversed by then.
	restoredAt *time.Time
	slab       []change
	recounted  []scoreboard.UserID // of whom events were ever reversed, if today's count

	maskedBlock []standing                                // of the hidden users of the checkpoint
	masked      map[scoreboard.UserID]scoreboard.Position // of those who matter
}

func newLoader(tx pgx.Tx, board *scoreboard.Board, at scoreboard.PastTime) *loader {
	return &loader{
		view: view{
			tx: tx, board: board, changes: make(map[scoreboard.UserID]*change),
			hidden: make(map[scoreboard.UserID]struct{}),
		},
		board: board, at: at,
		masked: make(map[scoreboard.UserID]scoreboard.Position),
	}
}

// load reads a checkpoint at or before a moment, and what changed between the two.
func (m *PastBoards) load(
	ctx context.Context, tx pgx.Tx, board *scoreboard.Board, at scoreboard.PastTime,
) (*view, error) {
	l := newLoader(tx, board, at)
	for _, step := range []func(context.Context) error{
		l.readCheckpoint,
		func(ctx context.Context) error { return l.readChanges(ctx, m.maxEvents) },
		l.readCorrected, l.readRecounted, l.readHidden, l.recount, l.merge,
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return &l.view, nil
}

// sqlCheckpoint also returns whether rows between the checkpoint and the moment can be
// archived, and the beginning of the ledger. Whatever changed after the newest checkpoint was
// recorded since the time in checkpoint_boards. Scores without what is reversed are those of
// exactly the moment of the checkpoint.
const sqlCheckpoint = `with ledger as (
    select min(to_date(right(c.relname, 8), 'YYYYMMDD')::timestamp) at time zone 'UTC' as begins
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'user_score_histories'::regclass and c.relname ~ '^user_score_histories_[0-9]{8}$'
)
select c.checkpoint_id, c.at, case when c.at = $2 then c.corrected_at end, begins,
    coalesce(c.at, $3) < begins and (c.at is null or c.at < $2 and (
        exists (select from checkpoints as later where later.board_id = $1 and later.complete and later.at > c.at)
        or exists (select from checkpoint_boards as b where b.board_id = $1 and b.since < begins)))
from ledger left join (
    select checkpoint_id, at, corrected_at from checkpoints where board_id = $1 and complete and at <= $2
    order by at desc, kept_until desc nulls last limit 1) as c on true`

func (l *loader) readCheckpoint(ctx context.Context) error {
	var id *int64
	var since *time.Time
	var begins time.Time
	var archived bool
	err := l.tx.QueryRow(ctx, sqlCheckpoint, l.board.ID, l.at.At, l.board.Created).Scan(&id, &since, &l.restoredAt,
		&begins, &archived)
	switch {
	case err != nil:
		return err
	case archived:
		return l.gone("the events before the standings are archived; the ledger in the database begins at %s",
			begins.UTC().Format(time.RFC3339))
	case id == nil:
		l.since = time.Unix(0, 0)
		return nil
	}
	l.checkpoint, l.since = *id, *since
	if err := l.readBlocks(ctx); err != nil {
		return err
	}
	l.maskedBlock, err = l.readBeside(ctx, maskedBlock)
	return err
}

// gone returns a gone with what to do.
func (l *loader) gone(format string, args ...any) error {
	at := l.at.At.Format(time.RFC3339Nano)
	return scoreboard.Errorf(wire.CodeGone, "board %s at %s: %s; sbctl top --board %[1]s --at %[2]s --archived "+
		"reads the archive", l.board.ID, at, fmt.Sprintf(format, args...))
}

// Blocks beside those of the ranked users.
const (
	maskedBlock   = -1 // users who were hidden
	restoredBlock = -2 // scores without the reversed events, of users of whom some were reversed
)

// readBeside reads a block beside those of the ranked users; it may not exist.
func (l *loader) readBeside(ctx context.Context, block int) ([]standing, error) {
	var n int
	var encoded []byte
	err := l.tx.QueryRow(ctx, `select users, standings from checkpoint_blocks
where checkpoint_id = $1 and block = $2`, l.checkpoint, block).Scan(&n, &encoded)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return readStandings(encoded, n, l.board)
}

// Hundreds of thousands of rows can be read: only what is needed, and previous_score only if the
// user had a score.
const sqlRows = `select user_id, case when version > 1 then previous_score end, new_score, version, recorded_at
from user_score_histories` + sqlRowsWhere

// sqlPairRows is sqlRows for a board with subscores.
const sqlPairRows = `select user_id, case when version > 1 then previous_score end, new_score, version, recorded_at,
    coalesce(previous_subscore, 0), coalesce(new_subscore, 0)
from user_score_histories` + sqlRowsWhere

const sqlRowsWhere = ` where board_id = $1 and recorded_at > $2 and recorded_at <= $3 limit $4`

// ledgerRow is a row of the ledger between a checkpoint and a moment.
type ledgerRow struct {
	user            []byte // valid until the next row
	previous, score scoreboard.Pair
	had             bool // whether the user had a score before: previous
	version         int64
	at              time.Time
}

// moved reports whether the row changed the standing.
func (r *ledgerRow) moved() bool { return !r.had || r.score != r.previous }

// eachRow calls do with the rows after the checkpoint, up to the moment, in any order. It
// returns their number, which is limit+1 if there are more than most.
func (l *loader) eachRow(ctx context.Context, limit int, do func(*ledgerRow)) (n int, err error) {
	sql := sqlRows
	if l.board.HasSubscores() {
		sql = sqlPairRows
	}
	rows, err := l.tx.Query(ctx, sql, binaryColumns, l.board.ID, l.since, l.at.At, limit+1)
	if err != nil {
		return 0, err
	}
	var r ledgerRow
	return n, pg.ForEach(rows, func() error {
		n++
		if !r.decode(rows.RawValues()) {
			return errRow
		}
		do(&r)
		return nil
	})
}

var (
	binaryColumns = pgx.QueryResultFormats{pgx.BinaryFormatCode} // all of them
	errRow        = errors.New("a ledger row has unexpected columns")
)

// postgresEpoch is 2000-01-01 in microseconds since 1970.
const postgresEpoch = 946_684_800_000_000

// decode decodes the columns of sqlRows or sqlPairRows in a fraction of the time that Scan takes.
func (r *ledgerRow) decode(columns [][]byte) bool {
	pairs := len(columns) == 7 && len(columns[5]) == 8 && len(columns[6]) == 8
	if len(columns) != 5 && !pairs || len(columns[2]) != 8 || len(columns[3]) != 8 || len(columns[4]) != 8 {
		return false
	}
	number := func(i int) int64 { return int64(binary.BigEndian.Uint64(columns[i])) }
	r.user, r.had = columns[0], len(columns[1]) == 8
	r.previous, r.score = scoreboard.Pair{}, scoreboard.Pair{Score: scoreboard.Score(number(2))}
	if r.had {
		r.previous.Score = scoreboard.Score(number(1))
	}
	r.version, r.at = number(3), time.UnixMicro(number(4)+postgresEpoch).UTC()
	if pairs {
		r.score.Subscore = scoreboard.Score(number(6))
		if r.had {
			r.previous.Subscore = scoreboard.Score(number(5))
		}
	}
	return true
}

func (l *loader) readChanges(ctx context.Context, limit int) error {
	n, err := l.eachRow(ctx, limit, l.add)
	if err != nil {
		return err
	}
	if n > limit {
		return l.gone("more than %d events since the last checkpoint", limit)
	}
	return nil
}

func (l *loader) add(r *ledgerRow) {
	c := l.changes[scoreboard.UserID(r.user)]
	if c == nil {
		c = l.newChange()
		l.changes[scoreboard.UserID(r.user)] = c
	}
	c.add(l.board, r)
}

// newChange allocates many changes at once.
func (l *loader) newChange() *change {
	if len(l.slab) == cap(l.slab) {
		l.slab = make([]change, 0, 1000)
	}
	l.slab = append(l.slab, change{})
	return &l.slab[len(l.slab)-1]
}

// add adds a row of the user; rows come in any order.
func (c *change) add(board *scoreboard.Board, r *ledgerRow) {
	if r.version < c.first || c.first == 0 {
		c.first, c.had = r.version, r.had
		if r.had {
			c.before = keysOn(board, r.previous)
		}
	}
	if r.version > c.last {
		c.last, c.exists, c.keys = r.version, true, keysOn(board, r.score)
	}
	if r.moved() && r.version > c.moved {
		c.moved, c.reached = r.version, r.at
	}
}

// correction is the standing that a correction left, which the rows do not tell.
type correction struct {
	reached time.Time
	empty   bool
}

// eachCorrection calls do with the corrections after the checkpoint, up to the moment, by
// version.
func (l *loader) eachCorrection(
	ctx context.Context, do func(user scoreboard.UserID, version int64, left correction),
) error {
	rows, err := l.tx.Query(ctx, `select user_id, version, reached_at, empty from corrected_standings
where board_id = $1 and at > $2 and at <= $3 order by version`, l.board.ID, l.since, l.at.At)
	if err != nil {
		return err
	}
	var user scoreboard.UserID
	var version int64
	var left correction
	_, err = pgx.ForEachRow(rows, []any{&user, &version, &left.reached, &left.empty}, func() error {
		left.reached = left.reached.UTC()
		do(user, version, left)
		return nil
	})
	return err
}

// readCorrected reads what corrections left, which the rows do not tell.
func (l *loader) readCorrected(ctx context.Context) error {
	return l.eachCorrection(ctx, func(user scoreboard.UserID, version int64, left correction) {
		if c := l.changes[user]; c != nil { // or an erasure is moving the rows
			c.correct(version, left)
		}
	})
}

// correct adds what a correction left; corrections come after the rows, by version.
func (c *change) correct(version int64, left correction) {
	if version >= c.moved {
		c.moved, c.reached = version, left.reached
	}
	if version == c.last && left.empty {
		c.exists = false
	}
}

// recount computes the standings again of users of whom events were ever reversed, with the
// reversals that are in force now.
func (l *loader) recount(ctx context.Context) error {
	if !l.at.Now {
		return nil
	}
	users := l.shownRecounted()
	before, err := l.find(ctx, users)
	if err != nil {
		return err
	}
	folded := make(map[scoreboard.UserID]ledger.Standing, len(users))
	if l.restoredAt != nil {
		err = l.readRestored(ctx, users, folded)
	} else {
		err = l.fold(ctx, users, func(user scoreboard.UserID, _ *ledger.FoldRow, to ledger.Standing) {
			folded[user] = to
		})
	}
	if err != nil {
		return err
	}
	for user, to := range folded {
		c := l.changes[user]
		if c == nil {
			c = &change{}
			if p, had := before[user]; had {
				c.had, c.before = true, keysOf(&p)
			}
			l.changes[user] = c
		}
		c.exists, c.keys, c.reached, c.moved = to.Exists, keysOn(l.board, to.Pair), to.ReachedAt, 1
	}
	return nil
}

// readRestored reads the scores of users without the reversed events from the checkpoint.
func (l *loader) readRestored(
	ctx context.Context, users []scoreboard.UserID, folded map[scoreboard.UserID]ledger.Standing,
) error {
	var later bool
	err := l.tx.QueryRow(ctx, `select exists (select from corrected_standings where board_id = $1 and at > $2)`,
		l.board.ID, l.restoredAt).Scan(&later)
	if err != nil {
		return err
	}
	if later {
		return l.gone("events were reversed or reinstated since the archive was read")
	}
	for _, u := range users {
		folded[u] = ledger.Standing{}
	}
	block, err := l.readBeside(ctx, restoredBlock)
	if err != nil {
		return err
	}
	restored, err := named(ctx, l.tx, block)
	for _, p := range restored {
		if _, corrected := folded[p.User]; corrected { // or hidden
			folded[p.User] = ledger.Standing{
				Pair: l.board.Pair(p.Key, p.SubKey), Exists: true, ReachedAt: p.ReachedAt,
			}
		}
	}
	return err
}

// readRecounted reads the users of whom events were ever reversed, if today's reversals count.
func (l *loader) readRecounted(ctx context.Context) error {
	if !l.at.Now {
		return nil
	}
	rows, err := l.tx.Query(ctx, `select distinct user_id from corrected_standings
where board_id = $1 limit $2`, l.board.ID, maxCorrected+1)
	if err != nil {
		return err
	}
	l.recounted, err = pgx.CollectRows(rows, pgx.RowTo[scoreboard.UserID])
	if err == nil && len(l.recounted) > maxCorrected {
		err = scoreboard.Errorf(wire.CodeGone,
			"events of more than %d users of the board were reversed; as=recorded answers", maxCorrected)
	}
	return err
}

// shownRecounted returns the recounted users who are not hidden.
func (l *loader) shownRecounted() []scoreboard.UserID {
	return slices.DeleteFunc(slices.Clone(l.recounted), func(u scoreboard.UserID) bool {
		_, hidden := l.hidden[u]
		return hidden
	})
}

const sqlFold = `select h.user_id, h.event_id, h.delta, h.source = 'admin', coalesce(h.action, ''), h.recorded_at,
    h.version, h.new_score - h.applied, h.previous_score is not null, exists (select from reversals as r
        where r.user_id = h.user_id and r.event_id = h.event_id and r.internal = (h.source = 'admin')),
    coalesce(h.subscore, 0), coalesce(h.previous_subscore, 0)
from user_score_histories as h where h.user_id collate "POSIX" = any($1) and h.board_id = $2 and h.recorded_at <= $3
order by h.user_id, h.version`

// sqlArchivedOf returns whether the first rows of a user are archived who was corrected after a
// time.
const sqlArchivedOf = `select exists (select from unnest($1::text[]) as t(u)
where coalesce((select version from user_score_histories as h
        where h.user_id collate "POSIX" = t.u and h.board_id = $2 order by recorded_at limit 1), 2) > 1
    and exists (select from corrected_standings as c where c.user_id = t.u and c.board_id = $2 and c.at > $3))`

// checkWhole returns a gone if rows of users without a row up to the moment are archived, and the
// checkpoint does not have what was corrected. Other users began later.
func (l *loader) checkWhole(ctx context.Context, users []scoreboard.UserID) error {
	var archived bool
	err := l.tx.QueryRow(ctx, sqlArchivedOf, users, l.board.ID, l.since).Scan(&archived)
	if err == nil && archived {
		err = l.goneReversed()
	}
	return err
}

// goneReversed does not name the user: everyone may read as of now.
func (l *loader) goneReversed() error {
	return l.gone("events of a user of whom some were reversed are archived, and as=now needs them")
}

// fold calls do with each row of users up to the moment, and the standing after it with the
// reversals that are in force now.
func (l *loader) fold(
	ctx context.Context, users []scoreboard.UserID,
	do func(user scoreboard.UserID, r *ledger.FoldRow, after ledger.Standing),
) error {
	rows, err := l.tx.Query(ctx, sqlFold, users, l.board.ID, l.at.At)
	if err != nil {
		return err
	}
	var fold *ledger.Fold
	var user, folding scoreboard.UserID
	seen := make(map[scoreboard.UserID]struct{}, len(users))
	var r ledger.FoldRow
	to := []any{
		&user, &r.Event, &r.Delta, &r.Admin, &r.Action, &r.At, &r.Version, &r.Before, &r.Existed, &r.Reversed,
		&r.Subscore, &r.SubscoreBefore,
	}
	_, err = pgx.ForEachRow(rows, to, func() error {
		if fold == nil || user != folding {
			if r.Version > 1 {
				return l.goneReversed()
			}
			fold, folding = ledger.NewFold(l.board), user
			seen[user] = struct{}{}
		}
		fold.Add(&r)
		do(user, &r, fold.Standing())
		return nil
	})
	if err != nil {
		return err
	}
	return l.checkWhole(ctx, slices.DeleteFunc(slices.Clone(users), func(u scoreboard.UserID) bool {
		_, found := seen[u]
		return found
	}))
}

// merge derives which standings of the checkpoint count no more, and which join them.
func (l *loader) merge(ctx context.Context) error {
	// Only the checkpoint tells whether it has a user who was erased when it was made.
	found, err := l.find(ctx, slices.Collect(maps.Keys(l.hidden)))
	if err != nil {
		return err
	}
	l.out = make(map[scoreboard.UserID]scoreboard.Position, len(l.hidden))
	for user, p := range found {
		l.leftKeys = append(l.leftKeys, keysOf(&p))
		l.out[user] = p
	}
	for user, p := range l.masked {
		if _, hidden := l.hidden[user]; hidden {
			l.out[user] = p
		}
	}
	for user, c := range l.changes {
		if c.moved == 0 {
			continue // as in the checkpoint
		}
		if _, hidden := l.hidden[user]; hidden {
			if c.exists {
				l.out[user] = c.position(c.reached, user)
			} else {
				delete(l.out, user)
			}
			continue
		}
		if _, masked := l.masked[user]; c.had && !masked {
			c.left, l.leftKeys = true, append(l.leftKeys, c.before)
		}
		if c.exists {
			l.joined = append(l.joined, c.position(c.reached, user))
		}
	}
	for user, p := range l.masked {
		c := l.changes[user]
		if _, hidden := l.hidden[user]; !hidden && (c == nil || c.moved == 0) {
			l.joined = append(l.joined, p)
		}
	}
	l.total += int64(len(l.joined) - len(l.leftKeys))
	return nil
}
