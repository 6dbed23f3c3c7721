package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Letters is the store of dead letters.
type Letters interface {
	DeadLetters(ctx context.Context, after int64, limit int) ([]scoreboard.DeadLetter, error)
	DeadLetter(ctx context.Context, id int64) (*scoreboard.DeadLetter, error)
	// RequeueLetter puts a change into the outbox and deletes its letter, atomically.
	RequeueLetter(ctx context.Context, id int64, change *scoreboard.Change, why *scoreboard.AuditEntry) error
	DropLetter(ctx context.Context, id int64, why *scoreboard.AuditEntry) error
}

// DeadLetters implements api.DeadLetters.
type DeadLetters struct {
	Letters
	// Topics are of increments that were accepted for later, and Submit records one.
	Topics []string
	Submit func(context.Context, scoreboard.Increment) ([]scoreboard.Receipt, error)
	Window scoreboard.Window // in which repeats are recognised
}

// Requeue processes a letter again and deletes it: a change goes back into the outbox, and
// an accepted increment is recorded. An increment that is rejected now, or is too old, stays a
// letter.
func (d DeadLetters) Requeue(ctx context.Context, l *scoreboard.DeadLetter, why *scoreboard.AuditEntry) error {
	if slices.Contains(d.Topics, l.Topic) {
		return d.record(ctx, l, why)
	}
	change, heartbeat, err := protocol.DecodeEvent(l.Value)
	if err != nil || heartbeat != nil {
		return undecodable(l, err)
	}
	return d.RequeueLetter(ctx, l.ID, change, why)
}

// record records an accepted increment; a rejection is a conflict. If the process ends before the letter is deleted,
// the next attempt finds the increment recorded.
func (d DeadLetters) record(ctx context.Context, l *scoreboard.DeadLetter, why *scoreboard.AuditEntry) error {
	in, err := protocol.DecodeAccepted(l.Value)
	if err != nil {
		return undecodable(l, err)
	}
	if time.Since(in.Accepted) > d.Window.Guaranteed() {
		return scoreboard.Errorf(wire.CodeGone,
			"dead letter %d was accepted at %s, too long ago for repeats of it to be recognised; drop it",
			l.ID, in.Accepted.Format(time.RFC3339))
	}
	_, err = d.Submit(ctx, *in)
	var e *scoreboard.Error
	switch {
	case err == nil:
		return d.DropLetter(ctx, l.ID, why)
	case errors.As(err, &e) && e.RetryAfter == 0 && e.Code != wire.CodeInternal:
		return &scoreboard.Error{
			Code:    wire.CodeConflict,
			Message: fmt.Sprintf("dead letter %d is rejected (%s): %s", l.ID, e.Code, e.Message),
			Err:     err,
		}
	}
	return fmt.Errorf("record dead letter %d: %w", l.ID, err)
}

func undecodable(l *scoreboard.DeadLetter, err error) error {
	return &scoreboard.Error{
		Code:    wire.CodeConflict,
		Message: fmt.Sprintf("dead letter %d cannot be decoded; drop it", l.ID),
		Err:     err,
	}
}
