package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/tui"
)

func newScoreStatementCmd(p *program) *cobra.Command {
	var q client.StatementQuery
	var from, to string
	var limit int
	cmd := &cobra.Command{
		Use: "statement USER", Short: "Show what made a user's scores, event by event, newest first", Args: takes("USER"),
		Long: `Show what made a user's scores, event by event, newest first: the delta, the
score after it and the signing key. --output json has the score before it, the
version and where it came from, too. It is for the user and for operators
(score:admin).

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
				q.Limit = min(limit-len(statement.Entries), client.StatementPage)
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
			return p.print(statement, func() *table { return statementTable(args[0], statement.Entries) })
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&q.Board, "board", "", "only this board (default all)")
	flags.StringVar(&from, "from", "", "only events since then")
	flags.StringVar(&to, "to", "", "only events before then")
	flags.StringVar(&q.Cursor, "cursor", "", "go on behind a page: its next_cursor")
	flags.IntVar(&limit, "limit", 100, "how many events")
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

// statementTable keeps within 120 columns; JSON has all of it.
func statementTable(user string, entries []client.StatementEntry) *table {
	t := newTable("RECORDED", "BOARD", ">DELTA", ">SCORE", "EVENT", "ACTION", "KEY")
	sent := map[string]string{} // what an operator's row names by UUID, as it stands in its own row
	for _, e := range entries {
		if id, err := scoreboard.ParseEventID(scoreboard.UserID(user), e.EventID); err == nil {
			sent[scoreboard.FormatUUID(id.UUID)] = e.EventID
		}
	}
	for _, e := range entries {
		t.add(e.RecordedAt.Format(time.RFC3339), e.Board, fmt.Sprintf("%+d", e.Delta), number(e.NewScore),
			e.EventID, tui.Printable(actionOf(e.Action, sent)), tui.Printable(e.KeyID))
	}
	return t
}

// actionOf names the event that an operator's row reverses, or counts again, as
// its own row does; of a UUID that is there the beginning is enough.
func actionOf(action string, sent map[string]string) string {
	kind, id, ofAnother := strings.Cut(action, ":")
	event := sent[id]
	switch {
	case !ofAnother || event == "":
		return action
	case strings.EqualFold(event, id):
		return kind + ":" + event[:8] + "…"
	}
	return kind + ":" + event
}
