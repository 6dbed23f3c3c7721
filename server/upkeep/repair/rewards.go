package repair

import (
	"context"
	"fmt"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Rewards is the store with the rewards that were granted for periods.
type Rewards interface {
	// CheckRewards calls do with what differs between the grants of a period and what its final standings and its
	// table say, of one user unless that is "", and returns how many grants it has compared.
	CheckRewards(
		ctx context.Context, board *scoreboard.Board, user scoreboard.UserID, size int,
		do func([]scoreboard.RewardDifference) error,
	) (compared int64, err error)
}

// checkRewards compares the rewards of a period that has ended; the store says whether it has, as the list of boards
// may be from before. None is repaired: the game may have given it out.
func (c *Check) checkRewards(ctx context.Context, board *scoreboard.Board, v *VerifyResult) error {
	if c.Rewards == nil {
		return nil
	}
	compared, err := c.Rewards.CheckRewards(ctx, board, c.User, chunkSize,
		func(found []scoreboard.RewardDifference) error {
			for i := range found {
				v.add(Difference{
					Board: board.ID, User: found[i].User, Kind: string(found[i].Kind),
					Detail: describeReward(&found[i]),
				})
			}
			return ctx.Err()
		})
	v.Rewards += compared
	return err
}

func describeReward(d *scoreboard.RewardDifference) string {
	switch d.Kind {
	case scoreboard.RewardMissing:
		return fmt.Sprintf("rank %d has no reward, and gets that of band %d", d.Rank, d.Want)
	case scoreboard.RewardExtra:
		return fmt.Sprintf("reward %d for rank %d, which gets nothing: the user has rank %d", d.Grant, d.GotRank,
			d.Rank)
	case scoreboard.RewardWrong:
		return fmt.Sprintf("reward %d is that of band %d for rank %d, and must be that of band %d for rank %d",
			d.Grant, d.Got, d.GotRank, d.Want, d.Rank)
	case scoreboard.RewardTableDiffers:
		return fmt.Sprintf("granted by table %d, and table %d was in force at the end", d.Got, d.Want)
	}
	return ""
}
