package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
)

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
