package corrections

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/ledgertx"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Corrections stores corrections and voids.
type Corrections struct {
	db     *pg.DB
	tx     ledgertx.Runner
	shards int
}

// New returns a Corrections over db. shards is the number of outbox shards, and repeats
// are recognised in the window.
func New(db *pg.DB, shards int, window scoreboard.Window, closeGrace time.Duration) *Corrections {
	return &Corrections{db, ledgertx.Runner{DB: db, Window: window, CloseGrace: closeGrace}, shards}
}

// run runs corrections in one transaction: the locks and reads of an increment,
// then decide, which fills in the outcomes and rows and may write more, then the
// commit. It is tried at most tries times.
func (c *Corrections) run(
	ctx context.Context, tries int, items []scoreboard.Increment,
	decide func(context.Context, *pgxpool.Conn, *ledger.Batch) error,
) ([]scoreboard.Outcome, error) {
	var outcomes []scoreboard.Outcome
	err := pg.RetryTimes(ctx, tries, func() error {
		b := ledger.NewBatch(items, c.shards, nil)
		err := c.tx.Run(ctx, b, func(ctx context.Context, conn *pgxpool.Conn) error {
			if err := decide(ctx, conn, b); err != nil {
				return err
			}
			b.Finalize()
			return nil
		})
		outcomes = b.Outcomes
		return err
	})
	return outcomes, err
}

// Adjust changes a user's score on exactly one board of any mode, as an event of its own. A repeat
// of the event is a replay.
func (c *Corrections) Adjust(
	ctx context.Context, a scoreboard.Adjustment, audit *scoreboard.AuditEntry,
) (*scoreboard.Receipt, error) {
	items := []scoreboard.Increment{{
		User: a.User, Delta: a.Delta, Subscore: a.Subscore, Event: a.Event, Boards: []scoreboard.BoardID{a.Board},
		Action: ledger.ActionAdjust, Source: scoreboard.SourceAdmin, Signer: string(audit.Actor),
		Address: audit.Address, Agent: audit.Agent,
	}}
	decide := func(ctx context.Context, conn *pgxpool.Conn, b *ledger.Batch) error {
		if replayed, err := b.Adjust(); replayed || err != nil {
			return err
		}
		return pg.WriteAudit(ctx, conn, audit)
	}
	outcomes, err := c.run(ctx, pg.Retries, items, decide)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("adjust %s on board %s: %w", a.User, a.Board, err))
	}
	return &outcomes[0].Receipts[0], nil
}
