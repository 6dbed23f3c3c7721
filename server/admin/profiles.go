package admin

import (
	"context"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/leaderboard/display"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/users"
)

// Profiles reads and changes profiles, and this node's cache of them.
type Profiles struct {
	Store *users.Profiles
	Cache *display.Profiles
}

// Profile implements api.Profiles. It reads the store, because the cache may not have
// heard of a change on another node.
func (p Profiles) Profile(ctx context.Context, user scoreboard.UserID) (*scoreboard.Profile, error) {
	found, err := p.Store.Profiles(ctx, []scoreboard.UserID{user})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, scoreboard.Errorf(wire.CodeNotFound, "user %s has no profile", user)
	}
	return &found[0], nil
}

// Search implements api.Profiles.
func (p Profiles) Search(
	ctx context.Context, name string, after scoreboard.UserID, limit int,
) ([]scoreboard.FoundUser, error) {
	return p.Store.Search(ctx, name, after, limit)
}

// PutProfile implements api.Profiles.
func (p Profiles) PutProfile(ctx context.Context, put *scoreboard.Profile, why *scoreboard.AuditEntry) error {
	if err := p.Store.PutProfile(ctx, put, why); err != nil {
		return err
	}
	kept := *put
	p.Cache.Put(&kept)
	return nil
}
