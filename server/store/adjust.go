package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Adjust adds a signed delta to a user's score on exactly one board, whatever
// its mode, as an event of its own. The same event twice is a replay.
func (s *Store) Adjust(ctx context.Context, user scoreboard.UserID, board scoreboard.BoardID, delta int64, event scoreboard.EventID, why *scoreboard.AuditEntry) (*scoreboard.Receipt, error) {
	items := []scoreboard.Increment{{
		User: user, Delta: delta, Event: event, Boards: []scoreboard.BoardID{board}, Action: actionAdjust,
		Source: scoreboard.SourceAdmin, Signer: string(why.Who), Address: why.Address, Agent: why.Agent,
	}}
	outcomes, err := s.amend(ctx, items, func(ctx context.Context, conn *pgxpool.Conn, r *recording) error {
		in, hash := &r.items[0], r.hashes[0]
		if err := r.knows(user); err != nil {
			return err
		}
		if known := r.known[eventKey{user, event.UUID}]; known != nil {
			receipts, err := replay(in, hash, known)
			r.outcomes[0] = scoreboard.Outcome{Receipts: receipts}
			return err
		}
		b, err := r.openExactly(board)
		if err != nil {
			return err
		}
		to := standing{r.scores[scoreKey{user, board}].score + scoreboard.Score(delta), true, r.users[user].time}
		if err := b.Holds(to.score); err != nil {
			return err
		}
		r.outcomes[0].Receipts = []scoreboard.Receipt{r.amendScore(in, hash, b, to)}
		return writeAudit(ctx, conn, why)
	})
	if err != nil {
		return nil, translate(fmt.Errorf("adjust %s on board %s: %w", user, board, err))
	}
	return &outcomes[0].Receipts[0], nil
}
