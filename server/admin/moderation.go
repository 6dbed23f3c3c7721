package admin

import (
	"context"
	"errors"
	"time"

	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/corrections"
	"github.com/scoreboard/scoreboard/server/store/moderation"
	"github.com/scoreboard/scoreboard/server/store/privacy"
)

// Moderation changes the status of users. A ban, its end and an erasure return
// when every ranking shows them and every node's cached standings have expired;
// after visibleTimeout they return as pending.
type Moderation struct {
	*moderation.Moderation
	*corrections.Corrections
	*privacy.Privacy
	Ranking  *ranking.Ranking
	CacheTTL time.Duration // how long a node may serve a cached standing
}

const visibleTimeout, visiblePoll = 2 * time.Second, 10 * time.Millisecond

// Ban implements api.Moderation.
func (m Moderation) Ban(
	ctx context.Context, user scoreboard.UserID, why *scoreboard.AuditEntry,
) (*scoreboard.UserState, error) {
	return m.awaitVisible(ctx)(m.Moderation.Ban(ctx, user, why))
}

// Unban implements api.Moderation.
func (m Moderation) Unban(
	ctx context.Context, user scoreboard.UserID, why *scoreboard.AuditEntry,
) (*scoreboard.UserState, error) {
	return m.awaitVisible(ctx)(m.Moderation.Unban(ctx, user, why))
}

// WaitUntilHidden waits until no ranking shows an erased user.
func (m Moderation) WaitUntilHidden(ctx context.Context, user scoreboard.UserID) (pending bool, err error) {
	moved, err := m.Privacy.Tombstones(ctx, user)
	state, err := m.awaitVisible(ctx)(&scoreboard.UserState{User: user, Moved: moved}, err)
	return state.Pending, err
}

// awaitVisible waits until readers see what a change of a user's status moved.
func (m Moderation) awaitVisible(
	ctx context.Context,
) func(*scoreboard.UserState, error) (*scoreboard.UserState, error) {
	return func(state *scoreboard.UserState, err error) (*scoreboard.UserState, error) {
		if err != nil || len(state.Moved) == 0 {
			return state, err
		}
		ctx, cancel := context.WithTimeout(ctx, visibleTimeout)
		defer cancel()
		tick := time.NewTicker(visiblePoll)
		defer tick.Stop()
		for !m.ranked(ctx, state) {
			select {
			case <-tick.C:
			case <-ctx.Done():
				state.Pending = true
				return state, nil // committed; the projection applies it later
			}
		}
		select {
		case <-time.After(m.CacheTTL):
		case <-ctx.Done():
		}
		return state, nil
	}
}

// ranked reports whether every ranking has reached the revisions that moved. A
// ranking that is not loaded counts: it will be built from the store.
func (m Moderation) ranked(ctx context.Context, state *scoreboard.UserState) bool {
	for board, revision := range state.Moved {
		kept, err := m.Ranking.States(ctx, board, []scoreboard.UserID{state.User})
		if err != nil && !errors.Is(err, scoreboard.ErrNotLoaded) || err == nil && kept[0].Revision < revision {
			return false
		}
		delete(state.Moved, board)
	}
	return true
}
