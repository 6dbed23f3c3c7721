package users

import (
	"context"
	"fmt"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// ExternalIDs are the ids of the identity provider for users whose own id is derived from
// them.
type ExternalIDs struct{ db *pg.DB }

// NewExternalIDs returns ExternalIDs over db.
func NewExternalIDs(db *pg.DB) *ExternalIDs { return &ExternalIDs{db} }

// Add stores a user's external id, once. That of an erased user stays deleted.
func (e *ExternalIDs) Add(ctx context.Context, user scoreboard.UserID, external string) error {
	_, err := e.db.Exec(ctx, `insert into external_ids (user_id, external_id) select $1, $2
where not exists (select from users where user_id = $1 and status = 'erased') on conflict do nothing`, user, external)
	if err != nil {
		return pg.Translate(fmt.Errorf("store the external id of %s: %w", user, err))
	}
	return nil
}
