package server

import (
	"context"
	"errors"
	"time"

	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// moderator is moderation as the API sees it: a ban, its end and an erasure are
// answered when every ranking shows them and no node tells what it held before.
// Where that takes longer than settleTime, the answer says that it is pending.
type moderator struct {
	*store.Store
	ranking *ranking.Ranking
	held    time.Duration // how long a node tells a standing again
}

const settleTime, settleEvery = 2 * time.Second, 10 * time.Millisecond

func (m moderator) Ban(ctx context.Context, user scoreboard.UserID, why *scoreboard.AuditEntry) (*scoreboard.UserState, error) {
	return m.shown(ctx)(m.Store.Ban(ctx, user, why))
}

func (m moderator) Unban(ctx context.Context, user scoreboard.UserID, why *scoreboard.AuditEntry) (*scoreboard.UserState, error) {
	return m.shown(ctx)(m.Store.Unban(ctx, user, why))
}

// Unseen waits until no ranking shows an erased user.
func (m moderator) Unseen(ctx context.Context, user scoreboard.UserID) (pending bool, err error) {
	moved, err := m.Tombstones(ctx, user)
	state, err := m.shown(ctx)(&scoreboard.UserState{User: user, Moved: moved}, err)
	return state.Pending, err
}

// shown waits for what a change of a user's status moves.
func (m moderator) shown(ctx context.Context) func(*scoreboard.UserState, error) (*scoreboard.UserState, error) {
	return func(state *scoreboard.UserState, err error) (*scoreboard.UserState, error) {
		if err != nil || len(state.Moved) == 0 {
			return state, err
		}
		ctx, cancel := context.WithTimeout(ctx, settleTime)
		defer cancel()
		tick := time.NewTicker(settleEvery)
		defer tick.Stop()
		for !m.ranked(ctx, state) {
			select {
			case <-tick.C:
			case <-ctx.Done():
				state.Pending = true
				return state, nil // it is done, and will be shown
			}
		}
		select {
		case <-time.After(m.held):
		case <-ctx.Done():
		}
		return state, nil
	}
}

// ranked reports whether every ranking has come to what has moved. One that is
// not there is made from the store.
func (m moderator) ranked(ctx context.Context, state *scoreboard.UserState) bool {
	for board, revision := range state.Moved {
		kept, err := m.ranking.States(ctx, board, []scoreboard.UserID{state.User})
		if err != nil && !errors.Is(err, ranking.ErrCold) || err == nil && kept[0].Revision < revision {
			return false
		}
		delete(state.Moved, board)
	}
	return true
}
