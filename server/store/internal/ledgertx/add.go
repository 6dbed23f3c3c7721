package ledgertx

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Unusual is why additions were not recorded: users or boards that need a decision, as
// far as they are known.
type Unusual struct{ Users, Boards []string }

// What add_increments (package migrations) answers.
const (
	outcomeAdded  = "added"
	outcomeLocked = "locked"
)

const sqlAdd = `select * from add_increments($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
    $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32)`

// Add records additions in one round trip, which is one transaction: statements that are
// sent together without a begin are committed together. A nil error and a nil Unusual
// mean that it is committed. If it is unusual, nothing was written.
func (r Runner) Add(ctx context.Context, a *ledger.Additions) (*Unusual, error) {
	var done addition
	var q pgx.Batch
	r.DB.QueueLimits(&q)
	q.Queue(sqlAdd, r.addArguments(a)...).QueryRow(func(row pgx.Row) error { return done.scan(row) })
	err := r.DB.SendBatch(ctx, &q).Close()
	switch {
	case err != nil:
		return nil, fmt.Errorf("add: %w", err)
	case done.outcome == outcomeLocked:
		return nil, fmt.Errorf("add: %w: %w", ErrUsersLocked, pg.ErrLocked)
	case done.outcome != outcomeAdded:
		return &done.unusual, nil
	}
	done.tell(a)
	return nil, nil //nolint:nilnil // it is usual
}

func (r Runner) addArguments(a *ledger.Additions) []any {
	rows := &a.Rows
	return []any{
		a.Boards, a.Lowest, a.Highest, a.Users, a.PairUsers, a.PairBoards, a.PairUserNames, a.PairBoardNames,
		a.Sums, a.Counts, rows.Pairs, rows.Sums, rows.Counts, rows.Users, rows.Boards, rows.Events, rows.EventTexts,
		rows.Hashes, rows.Deltas, rows.Sources, rows.Shards, rows.ClientTimes, rows.Actions, rows.Keys, rows.Signers,
		rows.Addresses, rows.Agents, rows.Countries, rows.Traces, a.AcceptedKeys, r.Window.Since(time.Now()),
		a.RulesVersion,
	}
}

// addition is what add_increments returns.
type addition struct {
	outcome          string
	unusual          Unusual
	times            []time.Time
	scores, versions []int64

	knownRows     []int32
	knownBoards   []string
	knownHashes   [][]byte
	knownApplied  []int64
	knownPrevious []*int64
	knownScores   []int64
	knownVersions []int64
	knownTimes    []time.Time
	knownReversed []bool
}

func (d *addition) scan(row pgx.Row) error {
	return row.Scan(&d.outcome, &d.unusual.Users, &d.unusual.Boards, &d.times, &d.scores, &d.versions, &d.knownRows,
		&d.knownBoards, &d.knownHashes, &d.knownApplied, &d.knownPrevious, &d.knownScores, &d.knownVersions,
		&d.knownTimes, &d.knownReversed)
}

// tell sets the outcomes of committed additions.
func (d *addition) tell(a *ledger.Additions) {
	for i, row := range d.knownRows {
		a.AddKnown(int(row-1), [16]byte(d.knownHashes[i]), scoreboard.Receipt{
			Board: scoreboard.BoardID(d.knownBoards[i]), Applied: d.knownApplied[i],
			Previous: (*scoreboard.Score)(d.knownPrevious[i]), NewScore: scoreboard.Score(d.knownScores[i]),
			Version: d.knownVersions[i], RecordedAt: d.knownTimes[i], Reversed: d.knownReversed[i],
		})
	}
	a.Added(d.times, d.scores, d.versions)
}
