package repair

import (
	"context"
	"fmt"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// HistorySource is PostgreSQL's own history. cursors is the history that the
// relay's cursors belong to, or empty.
type HistorySource interface {
	History(ctx context.Context) (now scoreboard.History, cursors string, err error)
	AdoptHistory(ctx context.Context) error
}

// HistoryMarker stores, in Redis, the history that the ranking was built from.
type HistoryMarker interface {
	History(ctx context.Context) (scoreboard.History, error)
	SetHistory(ctx context.Context, h scoreboard.History) error
}

// HistoryChange reports that PostgreSQL's history is not the one that the
// ranking and the relay follow: it was restored, failed over or replaced.
type HistoryChange struct {
	Now, Before scoreboard.History
	// SameDatabase: the same database on another timeline, or at an earlier
	// position. It can be adopted automatically. A different database needs an
	// operator, because a wrong setting looks the same.
	SameDatabase bool
}

func (c *HistoryChange) String() string {
	what := "PostgreSQL is not the database that the ranking was built from"
	if c.SameDatabase {
		what = "PostgreSQL went back in time or changed its timeline"
	}
	return fmt.Sprintf("%s: expected %s, found %s", what, c.Before, c.Now)
}

// CheckHistory compares the history of the store with that of the ranking. It
// returns nil if the store's only continues, and then stores the new position.
func CheckHistory(ctx context.Context, store HistorySource, ranking HistoryMarker) (*HistoryChange, error) {
	now, cursors, err := store.History(ctx)
	if err != nil {
		return nil, err
	}
	before, err := ranking.History(ctx)
	if err != nil {
		return nil, err
	}
	if cursors != "" && before.ID != cursors {
		before = scoreboard.History{ID: cursors} // Redis was flushed; the relay's cursors were not
	}
	if now.Follows(before) {
		return nil, ranking.SetHistory(ctx, now)
	}
	return &HistoryChange{Now: now, Before: before, SameDatabase: now.SameStore(before)}, nil
}

// AdoptHistory accepts the store's history although other changes have been
// published: the outbox is relayed from its start, and boards built from now on
// reject what was recorded before. The caller must then rebuild every board and
// call CompleteAdoption.
func AdoptHistory(ctx context.Context, store HistorySource) error { return store.AdoptHistory(ctx) }

// CompleteAdoption records that every board was rebuilt from the adopted history.
func CompleteAdoption(ctx context.Context, store HistorySource, ranking HistoryMarker) error {
	now, _, err := store.History(ctx)
	if err != nil {
		return err
	}
	return ranking.SetHistory(ctx, now)
}
