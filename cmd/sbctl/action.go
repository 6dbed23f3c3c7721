package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
)

func newActionCmd(p *program) *cobra.Command {
	return newNounCmd("action", "Start actions, for boards that require an action token", `
  sbctl action start --user alice --board arena
  sbctl action start --user alice --board arena --output json`,
		newActionStartCmd(p))
}

func newActionStartCmd(p *program) *cobra.Command {
	var r client.ActionRequest
	var boards []string
	var minDuration, ttl time.Duration
	var minDelta, maxDelta int64
	cmd := &cobra.Command{
		Use: "start", Short: "Start a user's action and print its token", Args: exactArgs(),
		Long: `Start a user's action and print its token, which is valid for one increment: of the
same user, board and action, not before the minimum duration and not after it expires.
Limits must be within those of the board.`,
		Example: trimExamples(`
  sbctl action start --user alice --board arena
  sbctl action start --user alice --board arena --action race --min-duration 30s --ttl 10m`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			if len(boards) == 1 {
				r.Board = boards[0]
			} else {
				r.Boards = boards
			}
			if minDuration < 0 || ttl < 0 {
				return usagef("--min-duration and --ttl must not be negative")
			}
			if minDuration > 0 {
				r.MinDuration = minDuration.String()
			}
			if ttl > 0 {
				r.TTL = ttl.String()
			}
			if cmd.Flags().Changed("min-delta") {
				r.MinDelta = &minDelta
			}
			if cmd.Flags().Changed("max-delta") {
				r.MaxDelta = &maxDelta
			}
			a, err := c.StartAction(cmd.Context(), r)
			if err != nil {
				return err
			}
			p.infof("next: %s", endOfAction(&a))
			return p.print(a, func() *table { return actionTable(&a) })
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&r.UserID, "user", "", "user id (default: the token's user)")
	flags.StringSliceVar(&boards, "board", nil, "board, or several, as in the increment (default global)")
	flags.StringVar(&r.Action, "action", "", "name of the action")
	flags.DurationVar(&minDuration, "min-duration", 0, "minimum duration of the action (default: the board's)")
	flags.DurationVar(&ttl, "ttl", 0, "lifetime of the token (default: the board's)")
	flags.Int64Var(&minDelta, "min-delta", 0, "minimum delta of the increment (default: the board's)")
	flags.Int64Var(&maxDelta, "max-delta", 0, "maximum delta of the increment (default: the board's)")
	return cmd
}

// endOfAction is the command that submits the increment of an action.
func endOfAction(a *client.Action) string {
	command := "sbctl score submit --user " + a.UserID + " --delta …"
	if boards := actionBoards(a); boards != "" {
		command += " --board " + boards
	}
	if a.Action != "" {
		command += " --action " + a.Action
	}
	return command + " --action-token …"
}

func actionBoards(a *client.Action) string {
	if a.Board != "" {
		return a.Board
	}
	return strings.Join(a.Boards, ",")
}

func actionTable(a *client.Action) *table {
	t := newTable()
	t.add("token", a.ActionToken)
	t.add("action id", a.ActionID)
	t.add("user", a.UserID)
	if boards := actionBoards(a); boards != "" {
		t.add("board", boards)
	}
	if a.Action != "" {
		t.add("action", a.Action)
	}
	t.add("delta", fmt.Sprintf("%d to %d", a.MinDelta, a.MaxDelta))
	t.add("minimum", shortDuration(a.MinDuration))
	t.add("issued", timeCell(&a.IssuedAt))
	t.add("expires", timeCell(&a.ExpiresAt))
	return t
}
