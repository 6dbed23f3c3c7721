package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
)

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
