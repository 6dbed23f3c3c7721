package leaderboard

import (
	"context"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
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

// MetadataOf returns the standings of those users on a board that have metadata; a hidden one is
// only that of own. It answers with an error within a quarter of a second, and while the store does
// not answer.
func (l *Leaderboard) MetadataOf(
	ctx context.Context, board scoreboard.BoardID, users []scoreboard.UserID, own scoreboard.UserID,
) (found []scoreboard.Described, err error) {
	err = l.metadata.try(ctx, board, func(ctx context.Context) (err error) {
		found, err = l.Metadata.Metadata(ctx, board, users, own)
		return err
	})
	return found, err
}
