package admin

import (
	"context"

	"github.com/scoreboard/scoreboard/server/leaderboard/display"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/users"
)

// Privacy reads and changes the visibility of users, and this node's list of them.
type Privacy struct {
	Store *users.Visibility
	List  *display.Hidden
	Visible
}

// Privacy implements api.UserPrivacy. It reads the store, because the list may not have heard of a
// change on another node.
func (p Privacy) Privacy(ctx context.Context, user scoreboard.UserID) (scoreboard.Privacy, error) {
	return p.Store.Get(ctx, user)
}

// SetVisibility implements api.UserPrivacy. A user who leaves the boards or comes back has done
// so when it returns, or it is pending.
func (p Privacy) SetVisibility(
	ctx context.Context, user scoreboard.UserID, to scoreboard.Visibility, why *scoreboard.AuditEntry,
) (scoreboard.Privacy, error) {
	return p.set(ctx, user, to, why, p.Store.Put)
}

// HideUser implements api.UserPrivacy.
func (p Privacy) HideUser(
	ctx context.Context, user scoreboard.UserID, to scoreboard.Visibility, why *scoreboard.AuditEntry,
) (scoreboard.Privacy, error) {
	return p.set(ctx, user, to, why, p.Store.Hide)
}

func (p Privacy) set(
	ctx context.Context, user scoreboard.UserID, to scoreboard.Visibility, why *scoreboard.AuditEntry,
	put func(
		context.Context, scoreboard.UserID, scoreboard.Visibility, *scoreboard.AuditEntry,
	) (scoreboard.Privacy, map[scoreboard.BoardID]int64, error),
) (scoreboard.Privacy, error) {
	kept, moved, err := put(ctx, user, to, why)
	if err == nil {
		p.List.Put(&kept)
		kept.Pending = p.await(ctx, user, moved)
	}
	return kept, err
}
