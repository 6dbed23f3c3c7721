package main

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
)

func newRewardCmd(p *program) *cobra.Command {
	return newNounCmd("reward", "List, claim, grant and revoke rewards", `
  sbctl reward list --user ada
  sbctl reward claim 8841`,
		newRewardListCmd(p), newRewardClaimCmd(p), newRewardGrantCmd(p), newRewardRevokeCmd(p))
}

func newRewardListCmd(p *program) *cobra.Command {
	var q client.RewardQuery
	var board, after string
	cmd := &cobra.Command{
		Use: "list", Short: "List the rewards of a user, or of a period", Args: exactArgs(),
		Long: `List the rewards of the token's user, newest first, or with --user those of another one. With
--board, list those of a period that has ended, by user; that needs the scope score:operate.`,
		Example: trimExamples(`
  sbctl reward list --user ada --state claimable
  sbctl reward list --board weekly:2026-w47 --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			if board == "" {
				page, err := c.Rewards(cmd.Context(), q)
				if err != nil {
					return err
				}
				if !p.structured() && page.NextBefore > 0 {
					p.infof("more: --before %d", page.NextBefore)
				}
				return p.print(page, func() *table { return rewardsTable(page.Rewards...) })
			}
			page, err := c.BoardRewards(cmd.Context(), board, q.State, after, q.Limit)
			if err != nil {
				return err
			}
			if !p.structured() && page.NextAfter != "" {
				p.infof("more: --after %s", page.NextAfter)
			}
			return p.print(page, func() *table { return rewardsTable(page.Rewards...) })
		}),
	}
	f := cmd.Flags()
	f.StringVar(&q.User, "user", "", "user, instead of the token's")
	f.StringVar(&q.State, "state", "", "only rewards in this state: claimable, claimed, revoked or expired")
	f.Int64Var(&q.Before, "before", 0, "continue before the last reward of the previous page")
	f.StringVar(&board, "board", "", "period, such as weekly:2026-w47")
	f.StringVar(&after, "after", "", "with --board, continue after the last user of the previous page")
	f.IntVar(&q.Limit, "limit", 100, "number of rewards, 1 to 1000")
	cmd.MarkFlagsMutuallyExclusive("board", "user")
	cmd.MarkFlagsMutuallyExclusive("board", "before")
	return cmd
}

func rewardsTable(rewards ...client.Reward) *table {
	t := newTable(">ID", "USER", "BOARD", ">RANK", "STATE", "EXPIRES", "REWARD")
	for _, r := range rewards {
		rank := ""
		if r.Rank > 0 {
			rank = number(r.Rank)
		}
		state := r.State
		if r.Flagged {
			state += ", flagged"
		}
		t.add(strconv.FormatInt(r.ID, 10), r.UserID, r.Board, rank, state, r.ExpiresAt.Format(time.RFC3339),
			string(r.Reward))
	}
	return t
}

func newRewardClaimCmd(p *program) *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use: "claim ID", Short: "Claim a reward; a repeat gets the same answer", Args: exactArgs("ID"),
		Example: trimExamples(`
  sbctl reward claim 8841
  sbctl reward claim 8841 --user ada --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			id, err := idArgument("reward", args[0])
			if err != nil {
				return err
			}
			r, err := c.ClaimReward(cmd.Context(), user, id)
			if err != nil {
				return err
			}
			return p.print(r, func() *table { return rewardsTable(r) })
		}),
	}
	cmd.Flags().StringVar(&user, "user", "", "winner, instead of the token's user; needs the scope score:update")
	return cmd
}

func newRewardGrantCmd(p *program) *cobra.Command {
	var r client.RewardRequest
	var reward string
	cmd := &cobra.Command{
		Use: "grant USER", Short: "Grant a reward to a user, whatever the table says", Args: exactArgs("USER"),
		Long: `Grant a reward to a user in a period that has ended, whatever the table of the board says. A
user has one reward of a period: revoke it first.`,
		Example: trimExamples(`
  sbctl reward grant ada --board weekly:2026-w47 --reward '{"gems":500}' --reason "her game had crashed"
  sbctl reward grant ada --board cup:one --reward 500 --reason "ticket 4711" --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			r.UserID, r.Reward = args[0], json.RawMessage(reward)
			if !json.Valid(r.Reward) {
				return usagef("invalid --reward %q: must be JSON", reward)
			}
			made, err := c.GrantReward(cmd.Context(), r)
			if err != nil {
				return err
			}
			return p.print(made, func() *table { return rewardsTable(made) })
		}),
	}
	f := cmd.Flags()
	f.StringVar(&r.Board, "board", "", "period that has ended, such as weekly:2026-w47")
	f.StringVar(&reward, "reward", "", "what the user gets, as JSON")
	f.StringVar(&r.Expires, "expires", "", "how long it can be claimed (default 2160h)")
	addReasonFlag(cmd, &r.Reason)
	requireFlags(cmd, "board", "reward", "reason")
	return cmd
}

func newRewardRevokeCmd(p *program) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "revoke ID", Short: "Revoke a reward that is not claimed", Args: exactArgs("ID"),
		Example: trimExamples(`
  sbctl reward revoke 8841 --reason "won by a bot"
  sbctl reward revoke 8841 --reason "won by a bot" --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			id, err := idArgument("reward", args[0])
			if err != nil {
				return err
			}
			r, err := c.RevokeReward(cmd.Context(), id, reason)
			if err != nil {
				return err
			}
			return p.print(r, func() *table { return rewardsTable(r) })
		}),
	}
	addReasonFlag(cmd, &reason)
	requireFlags(cmd, "reason")
	return cmd
}
