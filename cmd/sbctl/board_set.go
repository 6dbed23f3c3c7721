package main

import (
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
