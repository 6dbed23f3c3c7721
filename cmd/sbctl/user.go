package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/english"
)

func newUserCmd(p *program) *cobra.Command {
	return newNounCmd("user", "Manage users", `
  sbctl user ban mallory --reason "forged scores"
  sbctl user adjust alice --delta -50 --reason "counted by hand"`,
		newUserShowCmd(p),
		statusCmd(p, "ban", "Ban a user: reject writes and hide the user from all boards", "Ban %s?",
			(*client.Client).Ban),
		statusCmd(p, "unban", "Unban a user; scores and ranks come back", "", (*client.Client).Unban),
		statusCmd(p, "freeze", "Block a user's writes; the user stays visible", "", (*client.Client).Freeze),
		statusCmd(p, "unfreeze", "Unfreeze a user", "", (*client.Client).Unfreeze),
		newAdjustCmd(p), newUserHistoryCmd(p), newUserProfileCmd(p), newUserPrivacyCmd(p),
		newUserExportCmd(p), newUserEraseCmd(p))
}

// statusCmd returns a command that changes a user's status, after a confirmation
// if question is set.
func statusCmd(
	p *program, verb, short, question string,
	do func(*client.Client, context.Context, string, string) (client.UserState, error),
) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: verb + " USER", Short: short, Args: exactArgs("USER"),
		Example: trimExamples(fmt.Sprintf(`
  sbctl user %[1]s mallory --reason "ticket 4711"
  sbctl user %[1]s mallory --reason "ticket 4711" --output json`, verb)),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
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
				p.infof("%s is already %s", s.UserID, s.Status)
			}
			if s.Pending {
				p.infof("the rankings do not show the change yet; \"sbctl doctor\" diagnoses the cause")
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
	requireFlags(cmd, "reason")
	return cmd
}

func addReasonFlag(cmd *cobra.Command, reason *string) {
	cmd.Flags().StringVar(reason, "reason", "", "reason for the audit trail")
}

// withReason adds an optional --reason to a command whose change is audited.
func withReason(cmd *cobra.Command) *cobra.Command {
	var reason string
	addReasonFlag(cmd, &reason)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cmd.SetContext(client.Because(cmd.Context(), reason))
		return run(cmd, args)
	}
	return cmd
}

func requireReason(reason string) error {
	if reason == "" {
		return usagef("--reason is required, for the audit trail")
	}
	return nil
}

func newAdjustCmd(p *program) *cobra.Command {
	var a client.Adjustment
	var subscore int64
	cmd := &cobra.Command{
		Use: "adjust USER", Short: "Adjust a user's score", Args: exactArgs("USER"),
		Long: `Adjust a user's score and record the adjustment in the ledger. The delta is signed
and added, whatever the board's mode. On a board with subscores, --subscore is
likewise added to the subscore, and the delta may be 0. With --event-id, repeating
the command does not adjust twice.`,
		Example: trimExamples(`
  sbctl user adjust alice --delta -50 --reason "counted by hand"
  sbctl user adjust reds --board goals --delta 0 --subscore -2 --reason "a goal was offside"
  sbctl user adjust alice --board weekly --delta 10 --reason "a lost match" --event-id ticket-4711`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			if a.Delta == 0 && subscore == 0 {
				return usagef("--delta must not be 0 without --subscore")
			}
			a.User = args[0]
			question := fmt.Sprintf("Change the score of %s by %+d?", a.User, a.Delta)
			if cmd.Flags().Changed("subscore") {
				a.Subscore = &subscore
				question = fmt.Sprintf("Change the score of %s by %+d and the subscore by %+d?",
					a.User, a.Delta, subscore)
			}
			if err := p.confirm(cmd.Context(), question); err != nil {
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
	cmd.Flags().Int64Var(&a.Delta, "delta", 0, "amount to add, signed")
	cmd.Flags().Int64Var(&subscore, "subscore", 0, "amount to add to the subscore, signed")
	cmd.Flags().StringVar(&a.EventID, "event-id", "", "event id of the adjustment (default: a new one)")
	addReasonFlag(cmd, &a.Reason)
	requireFlags(cmd, "delta", "reason")
	return cmd
}

func newUserShowCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "show USER", Short: "Show a user's status and its reason, with scores and flags", Args: exactArgs("USER"),
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
	if u.ExternalID != "" {
		t.add("external id", u.ExternalID)
	}
	t.add("status", u.Status)
	if u.Since != nil {
		t.add("since", timeCell(u.Since))
		t.add("by", u.By)
		t.add("reason", u.Reason)
	}
	t.add("created", timeCell(&u.CreatedAt))
	t.add("open flags", fmt.Sprint(u.OpenFlags))
	for _, s := range u.Scores {
		hidden := ""
		if s.Hidden {
			hidden = ", hidden"
		}
		t.add("on "+s.Board, fmt.Sprintf("%s since %s%s", withSubscore(s.Score, s.Subscore),
			s.ReachedAt.Format(time.RFC3339), hidden))
	}
	for _, f := range u.VoidFailures {
		t.add(fmt.Sprintf("void %d", f.VoidID), f.State+", "+failureCell(f))
	}
	return t
}

func newUserExportCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "export USER", Short: "Export all data about a user as NDJSON", Args: exactArgs("USER"),
		Long: `Export all data about a user as lines of JSON: {"kind", "row"}. The export does not
contain events in the ledger archive. The audit trail records each export.`,
		Example: trimExamples(`
  sbctl user export alice > alice.ndjson
  sbctl user export alice --quiet | jq 'select(.kind == "score")'`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			rows, err := c.Export(cmd.Context(), args[0], &jsonEscaper{w: p.stdout})
			if err != nil {
				return err
			}
			p.infof("%s", english.Count(rows, "row"))
			return nil
		}),
	}
}

func newUserEraseCmd(p *program) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "erase USER", Short: "Erase a user; the ledger is kept under an anonymous name", Args: exactArgs("USER"),
		Long: `Erase a user. The ledger moves to an anonymous name, so that all sums stay correct;
addresses, user agents, the profile and rejected events are deleted. Only the user
id is kept as a tombstone for 30 days (longer with a longer ledger.window), so that
delayed events cannot bring the user back; writes are rejected during that time. If the
command is interrupted, the server continues. Existing ledger archives are not changed.`,
		Example: trimExamples(`
  sbctl user erase alice --reason "requested on 2026-11-21"
  sbctl user erase alice --reason "requested on 2026-11-21" --yes --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			if err := p.confirm(cmd.Context(), fmt.Sprintf("Erase %s? This cannot be undone.", args[0])); err != nil {
				return err
			}
			e, err := c.Erase(cmd.Context(), args[0], reason)
			if err != nil {
				return err
			}
			if e.Pending {
				p.infof("the rankings do not show the change yet; \"sbctl doctor\" diagnoses the cause")
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
	requireFlags(cmd, "reason")
	return cmd
}
