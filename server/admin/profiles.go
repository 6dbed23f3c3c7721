package admin

import (
	"context"

	"github.com/scoreboard/scoreboard/server/profile"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/profiles"
)

// Profiles changes profiles, and this node's cache of them.
type Profiles struct {
	Store *profiles.Profiles
	Cache *profile.Cache
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
