package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/tui"
)

func newUserCmd(p *program) *cobra.Command {
	return newNounCmd("user", "Show, ban, freeze, adjust, export and erase users", `
  sbctl user ban mallory --reason "forged scores"
  sbctl user adjust alice --delta -50 --reason "counted by hand"`,
		newUserShowCmd(p),
		p.statusCmd("ban", "Keep a user from writing and hide the user from every board", "Ban %s?", (*client.Client).Ban),
		p.statusCmd("unban", "End a ban; the scores are where they were", "", (*client.Client).Unban),
		p.statusCmd("freeze", "Keep a user from writing; the user stays to be seen", "", (*client.Client).Freeze),
		p.statusCmd("unfreeze", "Let a frozen user write again", "", (*client.Client).Unfreeze),
		newAdjustCmd(p), newUserExportCmd(p), newUserEraseCmd(p))
}

// statusCmd makes a user something else. With a question it asks before.
func (p *program) statusCmd(verb, short, question string, do func(*client.Client, context.Context, string, string) (client.UserState, error)) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: verb + " USER", Short: short, Args: takes("USER"),
		Example: trimExamples(fmt.Sprintf(`
  sbctl user %[1]s mallory --reason "ticket 4711"
  sbctl user %[1]s mallory --reason "ticket 4711" --output json`, verb)),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			if err := wantReason(reason); err != nil {
				return err
			}
			if question != "" {
				if err := p.confirm(cmd.Context(), fmt.Sprintf(question, args[0])); err != nil {
					return err
				}
			}
			s, err := do(c, cmd.Context(), args[0], reason)
			if err != nil {
				return err
			}
			if !s.Changed {
				p.say("%s was %s already", s.UserID, s.Status)
			}
			if s.Pending {
				p.say("the rankings do not show it yet; \"sbctl doctor\" looks for the cause")
			}
			return p.print(s, func() *table {
				t := newTable()
				t.add("user", s.UserID)
				t.add("status", s.Status)
				return t
			})
		}),
	}
	addReasonFlag(cmd, &reason)
	return cmd
}

func addReasonFlag(cmd *cobra.Command, reason *string) {
	cmd.Flags().StringVar(reason, "reason", "", "why, for the audit trail")
}

// audited gives a command that changes something, but nobody's scores, a reason
// that it may have.
func audited(cmd *cobra.Command) *cobra.Command {
	var reason string
	addReasonFlag(cmd, &reason)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cmd.SetContext(client.Because(cmd.Context(), reason))
		return run(cmd, args)
	}
	return cmd
}

func wantReason(reason string) error {
	if reason == "" {
		return usagef("--reason is missing: the audit trail keeps why")
	}
	return nil
}

func newAdjustCmd(p *program) *cobra.Command {
	var a client.Adjustment
	cmd := &cobra.Command{
		Use: "adjust USER", Short: "Change a score by hand, with a row in the ledger", Args: takes("USER"),
		Long: `Change a score by hand, with a row in the ledger. The delta is signed, and added
on every kind of board. With --event-id the same adjustment counts once, however
often it is asked for.`,
		Example: trimExamples(`
  sbctl user adjust alice --delta -50 --reason "counted by hand"
  sbctl user adjust alice --board weekly --delta 10 --reason "a lost match" --event-id ticket-4711`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			if err := wantReason(a.Reason); err != nil {
				return err
			}
			if !cmd.Flags().Changed("delta") {
				return usagef("--delta is missing")
			}
			if a.Delta == 0 {
				return usagef("--delta 0 changes nothing")
			}
			a.User = args[0]
			if err := p.confirm(cmd.Context(), fmt.Sprintf("Change the score of %s by %+d?", a.User, a.Delta)); err != nil {
				return err
			}
			receipt, err := c.Adjust(cmd.Context(), a)
			if err != nil {
				return err
			}
			return p.print(receipt, func() *table { return receiptTable(receipt) })
		}),
	}
	addBoardFlag(cmd, &a.Board)
	cmd.Flags().Int64Var(&a.Delta, "delta", 0, "what to add, signed")
	cmd.Flags().StringVar(&a.EventID, "event-id", "", "the adjustment's event id (default a new one)")
	addReasonFlag(cmd, &a.Reason)
	return cmd
}

func newUserShowCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "show USER", Short: "Show what a user is, since when and why, with scores and flags", Args: takes("USER"),
		Example: trimExamples(`
  sbctl user show mallory
  sbctl user show mallory --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			u, err := c.User(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return p.print(u, func() *table { return userTable(&u) })
		}),
	}
}

func userTable(u *client.User) *table {
	t := newTable()
	t.add("user", u.UserID)
	t.add("status", u.Status)
	if u.Since != nil {
		t.add("since", timeCell(u.Since))
		t.add("by", tui.Printable(u.By))
		t.add("because", tui.Printable(u.Reason))
	}
	t.add("created", timeCell(&u.CreatedAt))
	t.add("open flags", fmt.Sprint(u.OpenFlags))
	for _, s := range u.Scores {
		hidden := ""
		if s.Hidden {
			hidden = ", hidden"
		}
		t.add("on "+s.Board, fmt.Sprintf("%d since %s%s", s.Score, s.ReachedAt.Format(time.RFC3339), hidden))
	}
	return t
}

func newUserExportCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "export USER", Short: "Print all that is kept about a user, a JSON row a line", Args: takes("USER"),
		Long: `Print all that is kept about a user, a JSON row a line: {"kind", "row"}. What was
moved into archives of the ledger is not in it. The audit trail keeps who asked.`,
		Example: trimExamples(`
  sbctl user export alice > alice.ndjson
  sbctl user export alice --quiet | jq 'select(.kind == "score")'`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			rows, err := c.Export(cmd.Context(), args[0], p.stdout)
			if err != nil {
				return err
			}
			p.say("%d rows", rows)
			return nil
		}),
	}
}

func newUserEraseCmd(p *program) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "erase USER", Short: "Forget a user for good; the ledger goes to an anonymous name", Args: takes("USER"),
		Long: `Forget a user for good. The ledger goes to an anonymous name, so that every sum
stays true; addresses, agents, the profile and refused events go. The name alone is
kept for 30 days as a tombstone, so that nothing that is still on its way can
bring it back: until then its writes are refused. Interrupted, the server goes
on by itself. Archives of the ledger that were made before are not touched.`,
		Example: trimExamples(`
  sbctl user erase alice --reason "asked on 2026-11-21"
  sbctl user erase alice --reason "asked on 2026-11-21" --yes --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			if err := wantReason(reason); err != nil {
				return err
			}
			if err := p.confirm(cmd.Context(), fmt.Sprintf("Erase %s? This cannot be undone.", args[0])); err != nil {
				return err
			}
			e, err := c.Erase(cmd.Context(), args[0], reason)
			if err != nil {
				return err
			}
			if e.Pending {
				p.say("the rankings do not show it yet; \"sbctl doctor\" looks for the cause")
			}
			return p.print(e, func() *table {
				t := newTable()
				t.add("anonymous", e.Anonymous)
				t.add("rows", fmt.Sprint(e.Rows))
				return t
			})
		}),
	}
	addReasonFlag(cmd, &reason)
	return cmd
}
