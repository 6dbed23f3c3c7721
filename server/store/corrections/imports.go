package corrections

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/ledgertx"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Imports stores imports.
type Imports struct {
	db     *pg.DB
	tx     ledgertx.Runner
	shards int
}

// NewImports returns an Imports over db. shards is the number of outbox shards.
func NewImports(db *pg.DB, shards int, window scoreboard.Window, closeGrace time.Duration) *Imports {
	return &Imports{db, ledgertx.Runner{DB: db, Window: window, CloseGrace: closeGrace}, shards}
}

// FindImport returns the import of a source to a board, with the id 0 if there was none.
func (s *Imports) FindImport(
	ctx context.Context, source string, board scoreboard.BoardID,
) (scoreboard.Import, error) {
	i := scoreboard.Import{Source: source, Board: board}
	err := s.db.QueryRow(ctx, `select import_id, users, events, started_at, last_at from imports
where source = $1 and board_id = $2`, source, board).Scan(&i.ID, &i.Users, &i.Events, &i.Started, &i.Last)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return i, pg.Translate(fmt.Errorf("look for the import of %s to board %s: %w", source, board, err))
	}
	return i, nil
}

// List lists at most limit imports before an id (0: from the newest), newest first.
func (s *Imports) List(ctx context.Context, before int64, limit int) ([]scoreboard.Import, error) {
	rows, err := s.db.Query(ctx, `select import_id, source, board_id, users, events, started_at, last_at from imports
where ($1::bigint = 0 or import_id < $1) order by import_id desc limit $2`, before, limit)
	var all []scoreboard.Import
	if err == nil {
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (i scoreboard.Import, err error) {
			err = row.Scan(&i.ID, &i.Source, &i.Board, &i.Users, &i.Events, &i.Started, &i.Last)
			return i, err
		})
	}
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list the imports: %w", err))
	}
	return all, nil
}

// StartImport returns the import of a source to a board, which it creates if there was
// none.
func (s *Imports) StartImport(
	ctx context.Context, source string, board scoreboard.BoardID, why *scoreboard.AuditEntry,
) (scoreboard.Import, error) {
	i := scoreboard.Import{Source: source, Board: board}
	err := s.db.InLimitedTx(ctx, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `insert into imports (source, board_id) values ($1, $2)
on conflict (source, board_id) do update set started_at = clock_timestamp()
returning import_id, users, events, started_at, last_at`, source, board).Scan(&i.ID, &i.Users, &i.Events, &i.Started,
			&i.Last)
		if err != nil {
			return err
		}
		return pg.WriteAudit(ctx, tx, why)
	})
	if err != nil {
		return i, pg.Translate(fmt.Errorf("start the import of %s to board %s: %w", source, board, err))
	}
	return i, nil
}

// sqlImported reads what an import has written, one probe a user.
const sqlImported = `select t.n, i.score, i.subscore, i.changes from unnest($1::text[]) with ordinality as t(u, n)
cross join lateral (
    select score, subscore, changes from import_scores where user_id = t.u and import_id = $2 offset 0) as i`

// WriteImport writes the differences between the records, each of another user, and what
// the import has written before, in one transaction and the order of the records. A record
// that cannot be written is returned with its error, and the others are written. The entry
// by gets its target and detail here.
func (s *Imports) WriteImport(
	ctx context.Context, id int64, records []scoreboard.ImportRecord, by *scoreboard.AuditEntry,
) (scoreboard.ImportOutcome, error) {
	out, err := s.write(ctx, id, records, by)
	if err != nil {
		return out, pg.Translate(fmt.Errorf("import %d records: %w", len(records), err))
	}
	return out, nil
}

func (s *Imports) write(
	ctx context.Context, id int64, records []scoreboard.ImportRecord, by *scoreboard.AuditEntry,
) (out scoreboard.ImportOutcome, err error) {
	var source string
	var board scoreboard.BoardID
	err = s.db.QueryRow(ctx, `select source, board_id from imports where import_id = $1`, id).Scan(&source, &board)
	if errors.Is(err, pgx.ErrNoRows) {
		return out, scoreboard.Errorf(wire.CodeNotFound, "import %d not found", id)
	}
	if err != nil {
		return out, err
	}
	items := make([]scoreboard.Increment, len(records))
	for i, r := range records {
		items[i] = scoreboard.Increment{
			User: r.User, Delta: int64(r.Score), Subscore: r.Subscore, Boards: []scoreboard.BoardID{board},
			Metadata: r.Metadata,
			Action:   ledger.ActionImport, Source: scoreboard.SourceAdmin,
			Signer: string(by.Actor), Address: by.Address, Agent: by.Agent,
		}
	}
	// Without locks: a repeated record needs none.
	if items, err = s.dropUnchanged(ctx, s.db, id, items); err != nil || len(items) == 0 {
		out.Unchanged = len(records)
		return out, err
	}
	err = pg.Retry(ctx, func() error {
		out = scoreboard.ImportOutcome{Unchanged: len(records) - len(items)}
		b := ledger.NewBatch(append([]scoreboard.Increment(nil), items...), s.shards, nil)
		b.ImportID = id
		return s.tx.Run(ctx, b, func(ctx context.Context, conn *pgxpool.Conn) error {
			if err := decide(ctx, conn, b, source, &out); err != nil || out.Written == 0 {
				return err
			}
			why := *by
			why.Target = "board:" + string(board)
			why.Detail = fmt.Appendf(nil, `{"import_id":%d,"written":%d}`, id, out.Written)
			return pg.WriteAudit(ctx, conn, &why)
		})
	})
	return out, err
}

// dropUnchanged returns the items whose score is not the one that the import has written.
func (s *Imports) dropUnchanged(
	ctx context.Context, from pg.Querier, id int64, items []scoreboard.Increment,
) (changed []scoreboard.Increment, err error) {
	before, err := readImported(ctx, from, id, items)
	if err != nil {
		return nil, err
	}
	for i := range items {
		if before[i].Changes == 0 || before[i].Pair != items[i].Submitted() {
			changed = append(changed, items[i])
		}
	}
	return changed, nil
}

func readImported(
	ctx context.Context, from pg.Querier, id int64, items []scoreboard.Increment,
) ([]ledger.Imported, error) {
	users := make([]string, len(items))
	for i := range items {
		users[i] = string(items[i].User)
	}
	rows, err := from.Query(ctx, sqlImported, users, id)
	if err != nil {
		return nil, err
	}
	found := make([]ledger.Imported, len(items))
	var n int64
	var one ledger.Imported
	_, err = pgx.ForEachRow(rows, []any{&n, &one.Score, &one.Subscore, &one.Changes}, func() error {
		found[n-1] = one
		return nil
	})
	return found, err
}

const (
	sqlSetImported = `insert into import_scores (user_id, import_id, score, changes, subscore)
select u, $1, score, changes, subscore
from unnest($2::text[], $3::bigint[], $4::integer[], $5::bigint[]) as t(u, score, changes, subscore)
on conflict (user_id, import_id) do update set score = excluded.score, changes = excluded.changes,
    subscore = excluded.subscore`

	sqlCountImported = `update imports set users = users + $2, events = events + $3, last_at = greatest(last_at, $4)
where import_id = $1`
)

// decide decides the items of an import under the locks, and stores what is written.
func decide(
	ctx context.Context, conn *pgxpool.Conn, b *ledger.Batch, source string, out *scoreboard.ImportOutcome,
) error {
	imported, err := readImported(ctx, conn, b.ImportID, b.Items)
	if err != nil {
		return err
	}
	var users []string
	var scores, subscores []int64
	var changes []int32
	var last time.Time
	added := 0
	for i := range b.Items {
		in, before := &b.Items[i], imported[i]
		score := in.Submitted()
		if before.Changes > 0 && before.Pair == score { // by another process, meanwhile
			out.Unchanged++
			continue
		}
		err := b.Import(i, before, ledger.ImportEvent(in.User, source, in.Boards[0], before.Changes+1))
		if wire.CodeOf(err) == wire.CodeBoardClosed || wire.CodeOf(err) == wire.CodeNotFound {
			return err // so are the others'
		}
		if err != nil {
			out.Rejected = append(out.Rejected, scoreboard.RejectedRecord{User: in.User, Err: err})
			continue
		}
		users, scores = append(users, string(in.User)), append(scores, int64(score.Score))
		subscores, changes = append(subscores, int64(score.Subscore)), append(changes, before.Changes+1)
		if before.Changes == 0 {
			added++
		}
		if at := b.Outcomes[i].Receipts[0].RecordedAt; at.After(last) {
			last = at
		}
	}
	b.Finalize()
	out.Written = len(users)
	if len(users) == 0 {
		return nil
	}
	var q pgx.Batch
	q.Queue(sqlSetImported, b.ImportID, users, scores, changes, subscores)
	q.Queue(sqlCountImported, b.ImportID, added, len(users), last)
	return conn.SendBatch(ctx, &q).Close()
}
