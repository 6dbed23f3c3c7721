package repair

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Letters is where dead letters are kept.
type Letters interface {
	DeadLetters(ctx context.Context, after int64, limit int) ([]scoreboard.DeadLetter, error)
	RequeueLetter(ctx context.Context, id int64, why *scoreboard.AuditEntry) error
}

// Requeue has dead letters carried again: all, or those of one topic or
// partition. A letter that cannot be read stays.
type Requeue struct {
	Letters   Letters
	Known     time.Time
	Topic     string // of any where it is empty
	Partition *int
	Dry       bool
	Progress  func(*Replayed)
}

// lettersAtOnce bounds the bytes of a page: a letter may be large.
const lettersAtOnce = 50

// Run requeues. Newer is what was put into the outbox again: what the ranking
// has already does nothing there.
func (q *Requeue) Run(ctx context.Context) (*Replayed, error) {
	started := time.Now()
	done := &Replayed{}
	for after := int64(0); ; {
		page, err := q.Letters.DeadLetters(ctx, after, lettersAtOnce)
		if err != nil {
			return nil, fmt.Errorf("requeue: %w", err)
		}
		for i := range page {
			l := &page[i]
			after = l.ID
			if q.Topic != "" && l.Topic != q.Topic || q.Partition != nil && l.Partition != *q.Partition {
				continue
			}
			if err := q.letter(ctx, l, done); err != nil {
				return nil, fmt.Errorf("requeue: %w", err)
			}
		}
		done.Took = time.Since(started)
		if len(page) < lettersAtOnce {
			return done, nil
		}
		q.Progress(done)
	}
}

func (q *Requeue) letter(ctx context.Context, l *scoreboard.DeadLetter, done *Replayed) error {
	done.Records++
	change, beat, err := protocol.DecodeEvent(l.Value)
	switch {
	case errors.Is(err, protocol.ErrNewerSchema):
		done.TooNew++
		return nil
	case err != nil || beat != nil:
		done.Unreadable++
		return nil
	case change.RecordedAt.Before(q.Known):
		done.TooOld++
		return nil
	}
	if q.Dry {
		done.Newer++
		return nil
	}
	switch err := q.Letters.RequeueLetter(ctx, l.ID, nil); scoreboard.CodeOf(err) {
	case scoreboard.CodeNotFound:
		done.Same++ // somebody else was quicker
		return nil
	default:
		if err == nil {
			done.Newer++
		}
		return err
	}
}
