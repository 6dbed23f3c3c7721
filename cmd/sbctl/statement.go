package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/tui"
)

func newScoreStatementCmd(p *program) *cobra.Command {
	var q client.StatementQuery
	var from, to string
	var limit int
	cmd := &cobra.Command{
		Use: "statement USER", Short: "Show what made a user's scores, event by event, newest first", Args: takes("USER"),
		Long: `Show what made a user's scores, event by event, newest first: the delta, the
score before and after it, the signing key, and where it came from. It is for the
user and for operators (score:admin).

Times are RFC 3339, or a day alone, which is its beginning in UTC. --to is
exclusive. A board with periods is all of them.`,
		Example: trimExamples(`
  sbctl score statement alice
  sbctl score statement alice --board daily --from 2026-11-01 --to 2026-12-01 --limit 1000 --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) (err error) {
			if limit < 1 {
				return usagef("--limit must be more than nothing")
			}
			if q.From, err = timeFlag("from", from); err != nil {
				return err
			}
			if q.To, err = timeFlag("to", to); err != nil {
				return err
			}
			statement := client.Statement{Entries: []client.StatementEntry{}}
			for len(statement.Entries) < limit {
				page, err := c.Statement(cmd.Context(), args[0], q)
				if err != nil {
					return err
				}
				statement.Entries = append(statement.Entries, page.Entries...)
				statement.NextCursor, statement.ArchivedBefore = page.NextCursor, page.ArchivedBefore
				if q.Cursor = page.NextCursor; q.Cursor == "" {
					break
				}
			}
			p.sayMore(&statement, limit)
			return p.print(statement, func() *table { return statementTable(statement.Entries) })
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&q.Board, "board", "", "only this board (default all)")
	flags.StringVar(&from, "from", "", "only events since then")
	flags.StringVar(&to, "to", "", "only events before then")
	flags.StringVar(&q.Cursor, "cursor", "", "go on behind a page: its next_cursor")
	flags.IntVar(&limit, "limit", 100, "how many events at least, where there are so many; pages come whole")
	return cmd
}

// sayMore tells what is not in a statement.
func (p *program) sayMore(s *client.Statement, limit int) {
	if s.NextCursor != "" {
		p.say("there are more: --limit %d, or --cursor %s", limit*10, s.NextCursor)
	}
	if s.ArchivedBefore != nil {
		p.say("events before %s are in the archive of the ledger", s.ArchivedBefore.Format(time.RFC3339))
	}
}

func statementTable(entries []client.StatementEntry) *table {
	t := newTable("RECORDED", "BOARD", ">DELTA", ">BEFORE", ">SCORE", ">VERSION", "EVENT", "ACTION", "KEY", "FROM")
	for _, e := range entries {
		before := ""
		if e.PreviousScore != nil {
			before = number(*e.PreviousScore)
		}
		t.add(e.RecordedAt.Format(time.RFC3339), e.Board, fmt.Sprintf("%+d", e.Delta), before, number(e.NewScore), number(e.Version),
			e.EventID, e.Action, e.KeyID, tui.Printable(e.Address))
	}
	return t
}
