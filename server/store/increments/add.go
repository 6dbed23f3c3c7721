package increments

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/ledgertx"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// add records items that only add up, in one round trip. It returns nil if the batch
// needs a decision; then nothing was written.
func (s *Increments) add(
	ctx context.Context, items []scoreboard.Increment, policy *scoreboard.IngestPolicy, rules *scoreboard.BoardRules,
) ([]scoreboard.Outcome, error) {
	if s.unusual.any(items) {
		return nil, nil
	}
	a, ok := ledger.NewAdditions(items, s.o.Shards, policy)
	if !ok {
		return nil, nil
	}
	if rules != nil {
		a.RulesVersion = &rules.Version
	}
	undecided, err := s.callAdd(ctx, a)
	if err != nil {
		return nil, err
	}
	if undecided != nil {
		s.unusual.remember(undecided.users, undecided.boards)
		return nil, nil
	}
	s.batches.WithLabelValues("added").Inc()
	return a.Outcomes, nil
}

// undecided are the users and boards that need a decision, as far as they are known: why
// additions were not recorded.
type undecided struct{ users, boards []string }

// What add_increments answers (migrations/01003_ledger.sql).
const (
	outcomeAdded  = "added"
	outcomeLocked = "locked"
)

const sqlAdd = `select * from add_increments($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
    $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32)`

// callAdd records additions in one round trip, which is one transaction: statements that
// are sent together without a begin are committed together. Two nils mean that it is
// committed; otherwise nothing was written.
func (s *Increments) callAdd(ctx context.Context, a *ledger.Additions) (*undecided, error) {
	var done addition
	var q pgx.Batch
	s.db.QueueLimits(&q)
	q.Queue(sqlAdd, s.addArguments(a)...).QueryRow(func(row pgx.Row) error { return done.scan(row) })
	err := s.db.SendBatch(ctx, &q).Close()
	switch {
	case err != nil:
		return nil, fmt.Errorf("add: %w", err)
	case done.outcome == outcomeLocked:
		return nil, fmt.Errorf("add: %w: %w", ledgertx.ErrUsersLocked, pg.ErrLocked)
	case done.outcome != outcomeAdded:
		return &done.undecided, nil
	}
	done.setOutcomes(a)
	return nil, nil //nolint:nilnil // they are committed
}

func (s *Increments) addArguments(a *ledger.Additions) []any {
	rows := &a.Rows
	return []any{
		a.Boards, a.Lowest, a.Highest, a.Users, a.PairUsers, a.PairBoards, a.PairUserNames, a.PairBoardNames,
		a.Sums, a.Counts, rows.Pairs, rows.Sums, rows.Counts, rows.Users, rows.Boards, rows.Events, rows.EventTexts,
		rows.Hashes, rows.Deltas, rows.Sources, rows.Shards, rows.ClientTimes, rows.Actions, rows.Keys, rows.Signers,
		rows.Addresses, rows.Agents, rows.Countries, rows.Traces, a.AcceptedKeys, s.o.Window.Since(time.Now()),
		a.RulesVersion,
	}
}

// addition is what add_increments returns.
type addition struct {
	outcome          string
	undecided        undecided
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
	return row.Scan(&d.outcome, &d.undecided.users, &d.undecided.boards, &d.times, &d.scores, &d.versions, &d.knownRows,
		&d.knownBoards, &d.knownHashes, &d.knownApplied, &d.knownPrevious, &d.knownScores, &d.knownVersions,
		&d.knownTimes, &d.knownReversed)
}

// setOutcomes sets the outcomes of committed additions.
func (d *addition) setOutcomes(a *ledger.Additions) {
	for i, row := range d.knownRows {
		a.AddKnown(int(row-1), [16]byte(d.knownHashes[i]), scoreboard.Receipt{
			Board: scoreboard.BoardID(d.knownBoards[i]), Applied: d.knownApplied[i],
			Previous: (*scoreboard.Score)(d.knownPrevious[i]), NewScore: scoreboard.Score(d.knownScores[i]),
			Version: d.knownVersions[i], RecordedAt: d.knownTimes[i], Reversed: d.knownReversed[i],
		})
	}
	a.Added(d.times, d.scores, d.versions)
}
