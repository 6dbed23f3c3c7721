package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
)

func newFlagCmd(p *program) *cobra.Command {
	return newNounCmd("flag", "Review flagged events", `
  sbctl flag list
  sbctl flag confirm 17 --reason "a bot"`,
		newFlagListCmd(p), newFlagShowCmd(p),
		decideFlagCmd(p, "dismiss", "Dismiss a flag as unfounded", (*client.Client).DismissFlag),
		decideFlagCmd(p, "confirm", "Confirm a flag; the user and the event are not changed",
			(*client.Client).ConfirmFlag))
}

func newFlagListCmd(p *program) *cobra.Command {
	var q client.FlagQuery
	cmd := &cobra.Command{
		Use: "list", Short: "List open flags, oldest first", Args: exactArgs(),
		Example: trimExamples(`
  sbctl flag list --user mallory
  sbctl flag list --state confirmed --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			page, err := c.Flags(cmd.Context(), q)
			if err != nil {
				return err
			}
			if page.NextAfter > 0 {
				p.infof("more: --after %d", page.NextAfter)
			}
			return p.print(page, func() *table {
				t := newTable(">ID", "STATE", "RULE", "MODE", "USER", "BOARD", "EVENT", ">DELTA", ">TIMES", "LAST",
					"DETAIL")
				for _, f := range page.Flags {
					t.add(fmt.Sprint(f.ID), f.State, f.Rule, f.Mode, f.UserID, f.Board, f.EventID, fmt.Sprint(f.Delta),
						fmt.Sprint(f.Times), f.LastAt.Format(time.RFC3339), f.Detail)
				}
				return t
			})
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&q.State, "state", "open", "flags in this state: open, dismissed, confirmed or all")
	flags.StringVar(&q.User, "user", "", "only flags of this user")
	flags.Int64Var(&q.After, "after", 0, "only flags after this id")
	return cmd
}

func flagTable(f client.Flag) *table {
	t := newTable()
	t.add("flag", fmt.Sprint(f.ID))
	t.add("state", f.State)
	t.add("rule", f.Rule+" ("+f.Mode+")")
	t.add("user", f.UserID)
	t.add("board", f.Board)
	t.add("event", f.EventID)
	t.add("delta", fmt.Sprint(f.Delta))
	t.add("detail", f.Detail)
	t.add("times", fmt.Sprint(f.Times))
	t.add("first", f.CreatedAt.Format(time.RFC3339))
	t.add("last", f.LastAt.Format(time.RFC3339))
	if f.DecidedAt != nil {
		t.add("decided",
			f.DecidedAt.Format(time.RFC3339)+" by "+f.DecidedBy+": "+f.Reason)
	}
	return t
}

func newFlagShowCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show a flag", Args: exactArgs("ID"),
		Example: trimExamples(`
  sbctl flag show 17
  sbctl flag show 17 --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			id, err := idArgument("flag", args[0])
			if err != nil {
				return err
			}
			f, err := c.Flag(cmd.Context(), id)
			if err != nil {
				return err
			}
			return p.print(f, func() *table { return flagTable(f) })
		}),
	}
}

func decideFlagCmd(
	p *program, verb, short string, do func(*client.Client, context.Context, int64, string) (client.Flag, error),
) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: verb + " ID", Short: short, Args: exactArgs("ID"),
		Example: trimExamples(fmt.Sprintf(`
  sbctl flag %[1]s 17 --reason "reviewed the match recording"
  sbctl flag %[1]s 17 --reason "reviewed the match recording" --output json`, verb)),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			id, err := idArgument("flag", args[0])
			if err != nil {
				return err
			}
			f, err := do(c, cmd.Context(), id, reason)
			if err != nil {
				return err
			}
			if f.State == "confirmed" {
				p.infof("next: sbctl user ban %s --reason …, or sbctl event reverse %s --user %s --reason …",
					f.UserID, f.EventID, f.UserID)
			}
			return p.print(f, func() *table { return flagTable(f) })
		}),
	}
	addReasonFlag(cmd, &reason)
	requireFlags(cmd, "reason")
	return cmd
}
