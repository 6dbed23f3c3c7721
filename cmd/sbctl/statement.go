package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func newScoreStatementCmd(p *program) *cobra.Command {
	var q client.StatementQuery
	var from, to string
	var limit int
	cmd := &cobra.Command{
		Use: "statement USER", Short: "List the events behind a user's scores, newest first", Args: exactArgs("USER"),
		Long: `List the events behind a user's scores, newest first: the delta, the score after it
and the signing key. --output json adds the score before it, the version, the
address and the user agent. Users can read their own statement; operators
(score:operate) can read anyone's.

--to is exclusive. A periodic board includes all its periods.`,
		Example: trimExamples(`
  sbctl score statement alice --since "yesterday 18:00"
  sbctl score statement alice --board daily --from 2026-11-01 --to 2026-12-01 --limit 1000 --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) (err error) {
			if limit < 1 {
				return usagef("--limit must be greater than 0")
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
				if q.Cursor = page.NextCursor; q.Cursor == "" || len(page.Entries) == 0 {
					break
				}
			}
			noteOmitted(p.output, &statement, limit)
			return p.print(statement, func() *table { return statementTable(args[0], statement.Entries) })
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&q.Board, "board", "", "only this board (default: all)")
	flags.StringVar(&from, "from", "", "only events from this `time` on (alias --since)")
	flags.StringVar(&to, "to", "", "only events before this `time`, also --until")
	flags.StringVar(&q.Cursor, "cursor", "", "continue from the cursor of the previous page")
	flags.IntVar(&limit, "limit", 100, "maximum number of events")
	acceptSince(flags, "from", "to")
	return cmd
}

// noteOmitted notes the events that are not in the statement.
func noteOmitted(out *output, s *client.Statement, limit int) {
	if s.NextCursor != "" {
		out.infof("more: --limit %d, or --cursor %s", limit*10, s.NextCursor)
	}
	if s.ArchivedBefore != nil {
		out.infof("events before %s are in the ledger archive", s.ArchivedBefore.Format(time.RFC3339))
	}
}

// statementTable fits into 120 columns; JSON has all fields.
func statementTable(user string, entries []client.StatementEntry) *table {
	t := newTable("RECORDED", "BOARD", ">DELTA", ">SCORE", ">SUBSCORE", "EVENT", "ACTION", "KEY")
	sent := map[string]string{} // by UUID, the event id as the client sent it
	for _, e := range entries {
		if id, err := scoreboard.ParseEventID(scoreboard.UserID(user), e.EventID); err == nil {
			sent[scoreboard.FormatUUID(id.UUID)] = e.EventID
		}
	}
	for _, e := range entries {
		t.add(e.RecordedAt.Format(time.RFC3339), e.Board, fmt.Sprintf("%+d", e.Delta), number(e.NewScore),
			subscoreCell(e.NewSubscore), e.EventID, actionOf(e.Action, sent), e.KeyID)
	}
	return t.withoutEmpty("SUBSCORE")
}

// actionOf shows the event of an operator's action by the id that the client sent
// instead of its UUID; an event id that is itself a UUID is shortened.
func actionOf(action string, sent map[string]string) string {
	kind, id, hasEvent := strings.Cut(action, ":")
	event := sent[id]
	switch {
	case !hasEvent || event == "":
		return action
	case strings.EqualFold(event, id):
		return kind + ":" + event[:8] + "…"
	}
	return kind + ":" + event
}
