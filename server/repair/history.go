package repair

import (
	"context"
	"fmt"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Histories is the store, as it knows its own history.
type Histories interface {
	History(ctx context.Context) (now scoreboard.History, cursors string, err error)
	AdoptHistory(ctx context.Context) error
}

// Remembered is the ranking, as it remembers from which history it was built.
type Remembered interface {
	History(ctx context.Context) (scoreboard.History, error)
	SetHistory(ctx context.Context, h scoreboard.History) error
}

// Turn says that the store is not what ranking and relay were fed from: it was
// restored, failed over, or is another one.
type Turn struct {
	Now, Before scoreboard.History
	// Own: it is the same database on another timeline, or further back on its
	// own, so it may be made the truth by itself. Another one a person must
	// mean: a wrong setting looks the same.
	Own bool
}

func (t *Turn) String() string {
	what := "PostgreSQL is another one than the ranking was built from"
	if t.Own {
		what = "PostgreSQL has gone back in time, or over to another timeline"
	}
	return fmt.Sprintf("%s: it was %s, and is %s", what, t.Before, t.Now)
}

// Turned compares the histories, and remembers how far the store's has come
// where it only went on. Nil: all is well.
func Turned(ctx context.Context, truth Histories, ranking Remembered) (*Turn, error) {
	now, cursors, err := truth.History(ctx)
	if err != nil {
		return nil, err
	}
	before, err := ranking.History(ctx)
	if err != nil {
		return nil, err
	}
	if cursors != "" && before.ID != cursors {
		before = scoreboard.History{ID: cursors} // Redis was flushed, and the relay remembers
	}
	if now.Follows(before) {
		return nil, ranking.SetHistory(ctx, now)
	}
	return &Turn{Now: now, Before: before, Own: now.SameStore(before)}, nil
}

// Adopt makes the store the truth in spite of what has been published: the
// outbox is relayed from its start, and no board built from now on takes what
// was recorded before. Every board must be rebuilt then, and Adopted called.
func Adopt(ctx context.Context, truth Histories) error { return truth.AdoptHistory(ctx) }

// Adopted ends what Adopt began.
func Adopted(ctx context.Context, truth Histories, ranking Remembered) error {
	now, _, err := truth.History(ctx)
	if err != nil {
		return err
	}
	return ranking.SetHistory(ctx, now)
}
