package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
)

func newEventCmd(p *program) *cobra.Command {
	return newNounCmd("event", "Look up and reverse submitted events", `
  sbctl event show match-8841 --user ada
  sbctl event reverse match-8841 --user ada --reason "the match was void"`,
		newEventShowCmd(p), newEventReverseCmd(p), newVoidCmd(p), newVoidsCmd(p), newShowVoidCmd(p),
		newUnvoidCmd(p))
}

func newEventShowCmd(p *program) *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show the status and the receipts of an event", Args: exactArgs("ID"),
		Example: trimExamples(`
  sbctl event show match-8841 --user ada
  sbctl event show match-8841 --user ada --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			event, err := c.ReceiptOf(cmd.Context(), user, args[0])
			if err != nil {
				return err
			}
			for i := range event.Receipts {
				event.Receipts[i].Replayed = false // a lookup is not a repeat
			}
			return p.print(event, func() *table {
				if len(event.Receipts) == 1 {
					return receiptTable(event.Receipts[0]).rename("rank", currentRank)
				}
				if len(event.Receipts) > 1 {
					return receiptsTable(event.Receipts).rename("RANK", strings.ToUpper(currentRank))
				}
				t := newTable()
				t.add("event", event.ID)
				t.add("status", event.Status)
				if event.Code != "" {
					t.add("error", string(event.Code))
					t.add("message", event.Message)
				}
				return t
			})
		}),
	}
	cmd.Flags().StringVar(&user, "user", "", "the event's user (default: the token's user)")
	return cmd
}
