package repair

import (
	"context"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// ExposedUsers are users who must be hidden and are shown, which nothing but a change by hand in
// the database brings about.
type ExposedUsers interface {
	// Exposed lists banned, erased and private users whose score on a board is shown, or the
	// one user. There may be more.
	Exposed(ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID) ([]scoreboard.UserID, error)
	// HideExposed hides all scores of such a user.
	HideExposed(ctx context.Context, user scoreboard.UserID) error
}

// checkExposed reports those users of a board that must be hidden and are shown, and hides them
// with Repair.
func (c *Check) checkExposed(ctx context.Context, board scoreboard.BoardID, v *VerifyResult) error {
	users, err := c.Store.Exposed(ctx, board, c.User)
	if err != nil {
		return err
	}
	for _, user := range users {
		v.add(Difference{
			Board: board, User: user, Kind: "exposed",
			Detail: "the user is banned, erased or private, but the score is visible",
		})
		if !c.Repair {
			continue
		}
		if err := c.Store.HideExposed(ctx, user); err != nil {
			return err
		}
		v.Repaired++
	}
	return nil
}
