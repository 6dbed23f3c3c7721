package repair_test

import (
	"context"
	"testing"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/upkeep/repair"
)

// fourRewards says that a period has ended and four rewards were compared, one of them wrong.
type fourRewards struct{}

func (fourRewards) CheckRewards(
	_ context.Context, _ *scoreboard.Board, user scoreboard.UserID, _ int,
	do func([]scoreboard.RewardDifference) error,
) (int64, error) {
	return 4, do([]scoreboard.RewardDifference{{Kind: scoreboard.RewardWrong, User: user, Grant: 1}})
}

// The list of boards may be from before the period ended: only the store knows.
func TestVerifyComparesRewardsOfAPeriodJustClosed(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.record(t, 0, 1)
	r.rebuild(t)
	c := repair.Check{
		Store: r.Recovery, Rewards: fourRewards{}, Ranking: r.ranking, Progress: func(*repair.VerifyResult) {},
	}
	before := r.board
	before.StandingsVersion, before.StandingsHash = 0, ""
	v, err := c.Run(ctx, []scoreboard.Board{before})
	if err != nil || v.Rewards != 4 || v.DifferenceCount != 1 {
		t.Errorf("got %+v, %v, want four rewards, one of them wrong", v, err)
	}
}
