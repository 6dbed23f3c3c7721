package main

import (
	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
)

func newBoardRewardsCmd(p *program) *cobra.Command {
	return newNounCmd("rewards", "Manage what the winners of a board's periods get", `
  sbctl board rewards set weekly --band 'rank:1-3={"gems":500}'
  sbctl board rewards show weekly`,
		newBoardRewardsShowCmd(p), withReason(newBoardRewardsSetCmd(p)), withReason(newBoardRewardsClearCmd(p)))
}

func newBoardRewardsShowCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show the rewards of a board, or of a period that has ended", Args: exactArgs("NAME"),
		Example: trimExamples(`
  sbctl board rewards show weekly
  sbctl board rewards show weekly:2026-w47 --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			t, err := c.RewardTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return p.printRewards(&t)
		}),
	}
}

func newBoardRewardsSetCmd(p *program) *cobra.Command {
	var r client.RewardTableRequest
	var bands []string
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Set or replace the rewards of a board", Args: exactArgs("NAME"),
		Long: `Set or replace the rewards of a periodic board. Each --band says who gets what: the ranks
in the final standings, the first percent of them, a tier of the board, or a division of a
league, and after "=" any JSON value of at most 2,048 bytes, which the server does not
interpret. A user gets the reward of the first band that holds. Periods that end later grant by the new table.`,
		Example: trimExamples(`
  sbctl board rewards set weekly --band 'rank:1={"gems":500}' --band 'percentile:10={"gems":50}'
  sbctl board rewards set arena --band 'tier:gold={"chest":"gold"}' --expires 720h`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			for _, text := range bands {
				band, err := wire.ParseRewardBand(text)
				if err != nil {
					return usagef("%v", err)
				}
				r.Bands = append(r.Bands, band)
			}
			t, err := c.SetRewardTable(cmd.Context(), args[0], r)
			if err != nil {
				return err
			}
			return p.printRewards(&t)
		}),
	}
	f := cmd.Flags()
	f.StringArrayVar(&bands, "band", nil, "who gets what, as `BOUND=JSON`; repeat it for more, best first")
	f.BoolVar(&r.Private, "private", false, "also reward users who have left all boards")
	f.StringVar(&r.Expires, "expires", "", "how long a reward can be claimed (default 2160h)")
	requireFlags(cmd, "band")
	return cmd
}

func newBoardRewardsClearCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "clear NAME", Short: "Remove the rewards of a board; those that were granted stay",
		Args: exactArgs("NAME"),
		Example: trimExamples(`
  sbctl board rewards clear weekly
  sbctl board rewards clear weekly --reason 'the event is over'`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			t, err := c.SetRewardTable(cmd.Context(), args[0], client.RewardTableRequest{Bands: []client.RewardBand{}})
			if err != nil {
				return err
			}
			return p.printRewards(&t)
		}),
	}
}

// printRewards prints a table of rewards.
func (p *program) printRewards(t *client.RewardTable) error {
	if !p.structured() {
		if len(t.Bands) == 0 {
			p.infof("board %s has no rewards", t.Board)
		} else {
			private := "not for users who have left all boards"
			if t.Private {
				private = "also for users who have left all boards"
			}
			p.infof("rewards of %s: to be claimed within %s; %s", t.Board, shortDuration(t.Expires), private)
		}
	}
	return p.print(*t, func() *table {
		out := newTable("BAND", "REWARD")
		for _, b := range t.Bands {
			out.add(b.String(), string(b.Reward))
		}
		return out
	})
}
