package main

import (
	"cmp"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/english"
)

func newStandingsCmd(p *program) *cobra.Command {
	var after int64
	var limit int
	cmd := &cobra.Command{
		Use: "standings NAME", Short: "List the final standings of a finished period", Args: exactArgs("NAME"),
		Long: `List the final standings of a finished period, such as daily:2026-11-20. They are
stored when the period is closed, by default a minute after its end, and do not change
afterwards. The hash seals all of them; --output json shows what it is computed from.
"sbctl top" shows a period before.`,
		Example: trimExamples(`
  sbctl board standings daily:2026-11-20
  sbctl board standings daily:2026-11-20 --limit 1000 --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			if limit < 1 {
				return usagef("--limit must be greater than 0")
			}
			var final client.FinalStandings
			for next := after; ; {
				page, err := c.FinalStandings(cmd.Context(), args[0], next)
				if err != nil {
					return err
				}
				page.Entries = append(final.Entries, page.Entries...)
				final, next = page, page.NextAfter
				if next == 0 || len(final.Entries) >= limit {
					break
				}
			}
			if len(final.Entries) > limit {
				final.Entries = final.Entries[:limit]
				final.NextAfter = final.Entries[limit-1].Rank
			}
			p.infof("%s: %s, closed %s, hash %s", final.Board, english.Count(final.Users, "user"),
				final.ClosedAt.Format(time.RFC3339), cmp.Or(final.StandingsHash, "not shown"))
			if final.NextAfter > 0 {
				p.infof("more: --after %d", final.NextAfter)
			}
			return p.print(final, func() *table {
				t := newTable(">RANK", "USER", ">SCORE", ">SUBSCORE", "REACHED")
				for _, e := range final.Entries {
					t.add(number(e.Rank), e.UserID, number(e.Score), subscoreCell(e.Subscore),
						e.ReachedAt.Format(time.RFC3339))
				}
				return t.withoutEmpty("SUBSCORE")
			})
		}),
	}
	cmd.Flags().Int64Var(&after, "after", 0, "only ranks after this one")
	cmd.Flags().IntVar(&limit, "limit", 100, "maximum number of users")
	return cmd
}
