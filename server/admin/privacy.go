package admin

import (
	"context"

	"github.com/scoreboard/scoreboard/server/privacy"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/visibility"
)

// Privacy reads and changes who sees users, and this node's list of them.
type Privacy struct {
	Store *visibility.Visibility
	List  *privacy.List
}

// Privacy implements api.UserPrivacy. It reads the store, because the list may not have heard of a
// change on another node.
func (p Privacy) Privacy(ctx context.Context, user scoreboard.UserID) (scoreboard.Privacy, error) {
	return p.Store.Get(ctx, user)
}

// SetVisibility implements api.UserPrivacy.
func (p Privacy) SetVisibility(
	ctx context.Context, user scoreboard.UserID, to scoreboard.Visibility, why *scoreboard.AuditEntry,
) (scoreboard.Privacy, error) {
	kept, err := p.Store.Put(ctx, user, to, why)
	if err == nil {
		p.List.Put(&kept)
	}
	return kept, err
}
