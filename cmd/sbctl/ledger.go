package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
)

func newLedgerCmd(p *program) *cobra.Command {
	return newNounCmd("ledger", "Manage the event ledger", `
  sbctl ledger archive --dry-run
  sbctl ledger archive --yes`,
		withReason(newLedgerArchiveCmd(p)))
}

func newLedgerArchiveCmd(p *program) *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use: "archive", Short: "Move old partitions from the database to the archive", Args: exactArgs(),
		Long: `Move old partitions from the database to the server's ledger.archive now, instead
of within the hour. A partition is moved when all of it is older than ledger.keep.
Events in it can no longer be looked up.`,
		Example: trimExamples(`
  sbctl ledger archive --dry-run
  sbctl ledger archive --yes`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			if !dry {
				if err := p.confirm(cmd.Context(), "Move the ledger's old partitions to the archive?"); err != nil {
					return err
				}
			}
			done, err := c.ArchiveLedger(cmd.Context(), dry)
			if err != nil {
				return err
			}
			return p.print(done, func() *table {
				t := newTable("PARTITION", "FROM", "TO", ">ROWS", ">BYTES", "FILE")
				for _, a := range done.Partitions {
					t.add(a.Partition, a.From.Format(time.DateOnly), a.To.Format(time.DateOnly),
						fmt.Sprint(a.Rows), fmt.Sprint(a.Bytes), a.File)
				}
				return t
			})
		}),
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only list the partitions that would move")
	return cmd
}
