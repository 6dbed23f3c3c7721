package leaderboard

import (
	"context"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// AttemptCounter counts the attempts of users.
type AttemptCounter interface {
	// Attempts returns how many events of a user a board has recorded that are not reversed.
	Attempts(ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID) (int64, error)
}

// Bounds of the counts of attempts: a standing from Redis must neither wait for a PostgreSQL that
// hangs nor take the connections of writes.
const (
	attemptsBudget = 250 * time.Millisecond
	attemptsSlots  = 4
)

// AttemptsUsed returns how many events of a user a board has recorded that are not reversed. It
// answers with an error within a quarter of a second, and while the store does not answer.
func (l *Leaderboard) AttemptsUsed(
	ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID,
) (used int64, err error) {
	err = l.attempts.try(ctx, board, func(ctx context.Context) (err error) {
		used, err = l.AttemptCounts.Attempts(ctx, board, user)
		return err
	})
	return used, err
}
