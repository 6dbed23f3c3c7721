package main

import (
	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/plural"
	"github.com/scoreboard/scoreboard/tui"
)

func newTopCmd(p *program) *cobra.Command {
	var q client.TopQuery
	cmd := &cobra.Command{
		Use: "top", Short: "Show the top of a board", Args: exactArgs(),
		Example: trimExamples(`
  sbctl top
  sbctl top --limit 100 --board global --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			if q.Limit < 1 || q.Limit > 100 {
				return usagef("--limit must be 1 to 100")
			}
			top, err := c.Top(cmd.Context(), q)
			if err != nil {
				return err
			}
			if !p.structured() {
				p.infof("%s: %d of %s, %v old%s", top.Board, len(top.Entries), plural.Count(top.Total, "user"),
					ms(top.AgeMS), degradedNote(top.Degraded, top.DegradedReason))
			}
			if err := p.print(top, func() *table { return entriesTable(top.Entries, "") }); err != nil {
				return err
			}
			if !p.structured() && top.NextCursor != "" {
				p.infof("more: --cursor %s", top.NextCursor)
			}
			return nil
		}),
	}
	cmd.Flags().IntVar(&q.Limit, "limit", 10, "number of users, 1 to 100")
	cmd.Flags().StringVar(&q.Cursor, "cursor", "", "continue from the cursor of the previous page")
	addBoardFlag(cmd, &q.Board)
	return p.repeatable(cmd)
}

func degradedNote(degraded bool, reason string) string {
	if !degraded {
		return ""
	}
	return ", degraded: " + reason
}

// entriesTable lists rows of a board and marks those of user own.
func entriesTable(entries []client.Entry, own string) *table {
	t := newTable(">RANK", "USER", ">SCORE")
	for _, e := range entries {
		row := []string{number(e.Rank), shownName(e), number(e.Score)}
		if own != "" && e.UserID == own {
			row = append(row, "◀")
		}
		t.add(row...)
	}
	return t
}

// shownName is the user id, with the display name if there is one.
func shownName(e client.Entry) string {
	if e.DisplayName == "" || e.DisplayName == e.UserID {
		return e.UserID
	}
	return e.UserID + " (" + tui.Printable(e.DisplayName) + ")"
}
