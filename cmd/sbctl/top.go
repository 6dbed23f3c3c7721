package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/tui"
)

func newTopCmd(p *program) *cobra.Command {
	var q client.TopQuery
	cmd := &cobra.Command{
		Use: "top", Short: "Show the head of a board", Args: takes(),
		Example: trimExamples(`
  sbctl top
  sbctl top --limit 100 --board global --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			if q.Limit < 1 || q.Limit > 100 {
				return usagef("--limit is 1 to 100")
			}
			top, err := c.Top(cmd.Context(), q)
			if err != nil {
				return err
			}
			if p.output == "table" {
				p.say("%s: %d of %d users, %v old%s", top.Board, len(top.Entries), top.Total,
					time.Duration(top.AgeMS)*time.Millisecond, degradedNote(top.Degraded, top.DegradedReason))
			}
			if err := p.print(top, func() *table { return entriesTable(top.Entries, "") }); err != nil {
				return err
			}
			if p.output == "table" && top.NextCursor != "" {
				p.say("more with --cursor %s", top.NextCursor)
			}
			return nil
		}),
	}
	cmd.Flags().IntVar(&q.Limit, "limit", 10, "how many users, 1 to 100")
	cmd.Flags().StringVar(&q.Cursor, "cursor", "", "the next page, as the page before named it")
	addBoardFlag(cmd, &q.Board)
	return cmd
}

func degradedNote(degraded bool, reason string) string {
	if !degraded {
		return ""
	}
	return ", degraded: " + reason
}

// entriesTable lists rows of a board and marks one user's own.
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

// shownName is the user's id, and the name they chose if they have one.
func shownName(e client.Entry) string {
	if e.DisplayName == "" || e.DisplayName == e.UserID {
		return e.UserID
	}
	return e.UserID + " (" + tui.Printable(e.DisplayName) + ")"
}
