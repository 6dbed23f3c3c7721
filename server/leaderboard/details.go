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

// MetadataReads reads the metadata of standings.
type MetadataReads interface {
	// Metadata returns the standings of those users on a board that have metadata; a hidden one is
	// only that of own.
	Metadata(
		ctx context.Context, board scoreboard.BoardID, users []scoreboard.UserID, own scoreboard.UserID,
	) ([]scoreboard.Described, error)
}

// Bounds of the reads of metadata, as of the counts of attempts.
const (
	metadataBudget = 250 * time.Millisecond
	metadataSlots  = 4
)

// details reads what PostgreSQL alone knows of standings, beside their ranks.
type details struct {
	counts    AttemptCounter
	described MetadataReads
	attempts  *guard
	metadata  *guard
}

// AttemptsUsed returns how many events of a user a board has recorded that are not reversed. It
// answers with an error within a quarter of a second, and while the store does not answer.
func (d *details) AttemptsUsed(
	ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID,
) (used int64, err error) {
	err = d.attempts.try(ctx, board, func(ctx context.Context) (err error) {
		used, err = d.counts.Attempts(ctx, board, user)
		return err
	})
	return used, err
}

// MetadataOf returns the standings of those users on a board that have metadata; a hidden one is
// only that of own. It answers with an error within a quarter of a second, and while the store does
// not answer.
func (d *details) MetadataOf(
	ctx context.Context, board scoreboard.BoardID, users []scoreboard.UserID, own scoreboard.UserID,
) (found []scoreboard.Described, err error) {
	err = d.metadata.try(ctx, board, func(ctx context.Context) (err error) {
		found, err = d.described.Metadata(ctx, board, users, own)
		return err
	})
	return found, err
}
