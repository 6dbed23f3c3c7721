package repair

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// DeadLetterStore holds the dead letters.
type DeadLetterStore interface {
	DeadLetters(ctx context.Context, after int64, limit int) ([]scoreboard.DeadLetter, error)
	RequeueLetter(ctx context.Context, id int64, change *scoreboard.Change, why *scoreboard.AuditEntry) error
}

// Requeue puts dead letters back into the outbox: all changes, or those of one topic or
// partition. Letters that cannot be decoded stay; so do accepted increments, each of which
// may be rejected.
type Requeue struct {
	Letters     DeadLetterStore
	DedupeSince time.Time // older changes are skipped: repeats of them are not recognised
	Topic       string    // empty: every topic
	Partition   *int
	DryRun      bool
	Progress    func(*ReplayResult)
}

// letterPage bounds the memory of a page: a letter may be large.
const letterPage = 50

// Run requeues the letters. Newer counts those put back into the outbox;
// applying what the ranking already has changes nothing.
func (q *Requeue) Run(ctx context.Context) (*ReplayResult, error) {
	started := time.Now()
	done := &ReplayResult{}
	for after := int64(0); ; {
		page, err := q.Letters.DeadLetters(ctx, after, letterPage)
		if err != nil {
			return nil, fmt.Errorf("requeue: %w", err)
		}
		for i := range page {
			l := &page[i]
			after = l.ID
			if q.Topic != "" && l.Topic != q.Topic || q.Partition != nil && l.Partition != *q.Partition {
				continue
			}
			if err := q.requeue(ctx, l, done); err != nil {
				return nil, fmt.Errorf("requeue: %w", err)
			}
		}
		done.Elapsed = time.Since(started)
		if len(page) < letterPage {
			return done, nil
		}
		q.Progress(done)
	}
}

func (q *Requeue) requeue(ctx context.Context, l *scoreboard.DeadLetter, done *ReplayResult) error {
	done.Records++
	change, beat, err := protocol.DecodeEvent(l.Value)
	switch {
	case errors.Is(err, protocol.ErrNewerSchema):
		done.TooNew++
		return nil
	case err != nil || beat != nil:
		done.Unreadable++
		return nil
	case change.RecordedAt.Before(q.DedupeSince):
		done.TooOld++
		return nil
	}
	if q.DryRun {
		done.Newer++
		return nil
	}
	switch err := q.Letters.RequeueLetter(ctx, l.ID, change, nil); wire.CodeOf(err) {
	case wire.CodeNotFound:
		done.Same++ // requeued concurrently
		return nil
	default:
		if err == nil {
			done.Newer++
		}
		return err
	}
}
