package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
)

func newBoardSetCmd(p *program) *cobra.Command {
	var require []string
	var least, life string
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Change what a board's increments must come with", Args: takes("NAME"),
		Long: `Change what a board's increments must come with, from now on and in every period
that is not over. What is not named stays as it is. What was counted before
stays, and a repeat of it gets its receipt.`,
		Example: trimExamples(`
  sbctl board set global --require action-token --action-least 30s
  sbctl board set global --require none`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			var r client.BoardChange
			flags := cmd.Flags()
			if flags.Changed("require") {
				if len(require) == 1 && require[0] == "none" {
					require = []string{}
				}
				r.Require = &require
			}
			if flags.Changed("action-least") {
				r.ActionLeast = &least
			}
			if flags.Changed("action-life") {
				r.ActionLife = &life
			}
			if r == (client.BoardChange{}) {
				return usagef("say what to change: --require, --action-least or --action-life")
			}
			b, err := c.SetBoard(cmd.Context(), args[0], r)
			if err != nil {
				return err
			}
			return p.print(b, func() *table { return boardTable(&b) })
		}),
	}
	f := cmd.Flags()
	f.StringSliceVar(&require, "require", nil, "action-token, attestation, both, or none")
	f.StringVar(&least, "action-least", "", "least duration of an action, such as 30s")
	f.StringVar(&life, "action-life", "", "how long an action token is good")
	return cmd
}

func newBoardRollCmd(p *program) *cobra.Command {
	var r client.RollRequest
	var starts, ends string
	cmd := &cobra.Command{
		Use: "roll [NAME]", Short: "End and begin the periods that are due, of a board or of all; or begin a season",
		Long: `The server ends and begins periods by itself. This does what is due now, and says what that is.

With --season a season begins: now, which ends the one that is under way, or
from --starts.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%q is one argument too many", args[1])
			}
			return nil
		},
		Example: trimExamples(`
  sbctl board roll --dry-run
  sbctl board roll season --season spring --ends 2027-03-31T00:00:00Z`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) (err error) {
			if r.StartsAt, err = flagTime("starts", starts); err != nil {
				return err
			}
			if r.EndsAt, err = flagTime("ends", ends); err != nil {
				return err
			}
			var board string
			if len(args) > 0 {
				board = args[0]
			}
			if r.Season != "" && r.StartsAt == nil && !r.DryRun {
				if err := p.confirm(cmd.Context(), fmt.Sprintf("Begin season %s now? The one that is under way ends, for good.", r.Season)); err != nil {
					return err
				}
			}
			done, err := c.RollBoards(cmd.Context(), board, r)
			if err != nil {
				return err
			}
			switch {
			case done.Interrupted == "" && len(done.Ended)+len(done.Made) == 0:
				p.say("no period is due: there is nothing to end or begin")
			case done.DryRun:
				p.say("this is what is due; nothing is done yet")
			}
			return p.print(done, func() *table { return rolledTable(&done) })
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&r.DryRun, "dry-run", false, "only say what is due")
	f.StringVar(&r.Season, "season", "", "name of a season to begin")
	f.StringVar(&starts, "starts", "", "its start, such as 2026-12-01T00:00:00Z (default now)")
	f.StringVar(&ends, "ends", "", "its end")
	return cmd
}

func rolledTable(r *client.Rolled) *table {
	t := newTable("BOARD", "WHAT", "AT", ">USERS", "HASH")
	if r.Interrupted != "" {
		t.add(r.Interrupted, "interrupted", "", "", "")
	}
	for _, b := range r.Ended {
		t.add(b.Board, "ended", timeCell(&b.PeriodEnd), fmt.Sprint(b.Users), b.StandingsHash)
	}
	for _, b := range r.Made {
		t.add(b, "made", "", "", "")
	}
	if len(t.rows) == 1 {
		return newTable()
	}
	return t
}
