package api

import (
	"context"
	"errors"
	"time"

	"github.com/scoreboard/scoreboard/internal/retry"
	"github.com/scoreboard/scoreboard/internal/share"
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
	attemptsTime  = 250 * time.Millisecond
	attemptsSlots = 4
)

// attempts counts attempts while the store answers.
type attempts struct {
	store   AttemptCounter
	breaker *retry.Breaker
	slots   *share.Pool
}

func newAttempts(store AttemptCounter) *attempts {
	return &attempts{store, retry.NewBreaker(3, time.Second, time.Now), share.New(attemptsSlots)}
}

// used returns the attempts of a user on a board; false if the store does not say in time.
func (a *attempts) used(ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID) (int64, bool) {
	budget, ok := a.breaker.Budget(attemptsTime)
	if !ok {
		return 0, false
	}
	limited, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	release, err := a.slots.Take(limited, share.Claim{Board: string(board)})
	if err != nil {
		return 0, false // no slot: this says nothing about the store
	}
	defer release()
	used, err := a.store.Attempts(limited, board, user)
	if !errors.Is(ctx.Err(), context.Canceled) { // a client that hung up says nothing about the store
		a.breaker.Done(err == nil)
	}
	return used, err == nil
}
