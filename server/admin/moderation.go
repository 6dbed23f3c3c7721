package admin

import (
	"context"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/corrections"
	"github.com/scoreboard/scoreboard/server/store/users"
)

// Moderation changes the status of users. A ban, its end and an erasure return when they
// are Visible.
type Moderation struct {
	*corrections.Moderation
	*corrections.Corrections
	*users.Privacy
	Visible
}

// Ban implements api.Moderation.
func (m Moderation) Ban(
	ctx context.Context, user scoreboard.UserID, why *scoreboard.AuditEntry,
) (*scoreboard.UserState, error) {
	return m.awaitStatus(ctx)(m.Moderation.Ban(ctx, user, why))
}

// Unban implements api.Moderation.
func (m Moderation) Unban(
	ctx context.Context, user scoreboard.UserID, why *scoreboard.AuditEntry,
) (*scoreboard.UserState, error) {
	return m.awaitStatus(ctx)(m.Moderation.Unban(ctx, user, why))
}

func (m Moderation) awaitStatus(
	ctx context.Context,
) func(*scoreboard.UserState, error) (*scoreboard.UserState, error) {
	return func(state *scoreboard.UserState, err error) (*scoreboard.UserState, error) {
		if err == nil {
			state.Pending = m.await(ctx, state.User, state.Moved)
		}
		return state, err
	}
}

// WaitUntilHidden waits until no ranking shows an erased user.
func (m Moderation) WaitUntilHidden(ctx context.Context, user scoreboard.UserID) (pending bool, err error) {
	moved, err := m.Privacy.Tombstones(ctx, user)
	return err == nil && m.await(ctx, user, moved), err
}
