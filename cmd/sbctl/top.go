package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/english"
	"github.com/scoreboard/scoreboard/tui"
)

func newTopCmd(p *program) *cobra.Command {
	var q client.TopQuery
	var past atFlags
	cmd := &cobra.Command{
		Use: "top", Short: "Show the top of a board, now or at a past time", Args: exactArgs(),
		Long: `Show the top of a board. With --at, show it as it was at that time, with ties in the
order they had; add --as now to leave out the events that are reversed and the users
who are banned now. With --archived, the server reads its archive (ledger.archive) if the
database no longer has the events before that time. This can take minutes; the result
is kept for seven days. It requires the scope score:operate.`,
		Example: trimExamples(`
  sbctl top --at "yesterday 18:00"
  sbctl top --at 2026-01-31T18:00:00Z --archived
  sbctl top --board arena --tier gold
  sbctl top --limit 100 --board global --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			if q.Limit < 1 || q.Limit > 100 {
				return usagef("--limit must be 1 to 100")
			}
			var err error
			if q.At, q.AsNow, err = past.parse(); err != nil {
				return err
			}
			var top client.Top
			if err := readPast(cmd.Context(), p.output, c, &past, q.Board, q.At, func() (err error) {
				top, err = c.Top(cmd.Context(), q)
				return err
			}); err != nil {
				return err
			}
			if !p.structured() {
				p.infof("%s: %d of %s, %s%s", top.Board, len(top.Entries), english.Count(top.Total, "user"),
					ageNote(q.At, top.AsOf, top.AgeMS), degradedNote(top.Degraded, top.DegradedReason))
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
	cmd.Flags().StringVar(&q.Tier, "tier", "", "only users in this tier of the board")
	cmd.Flags().StringVar(&q.Cursor, "cursor", "", "continue from the cursor of the previous page")
	past.add(cmd)
	addBoardFlag(cmd, &q.Board)
	return repeatable(p.connector, p.output, cmd)
}

// ageNote says of when rows are.
func ageNote(at, asOf time.Time, ageMS int64) string {
	if at.IsZero() {
		return fmt.Sprintf("%v old", ms(ageMS))
	}
	return "at " + asOf.Format(time.RFC3339)
}

// atFlags are the flags of reads of past standings.
type atFlags struct {
	at, as   string
	archived bool
}

func (f *atFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.at, "at", "", "show the standings at this `time`")
	cmd.Flags().StringVar(&f.as, "as", "recorded", "with --at: `recorded` for the standings as they were, or now to "+
		"leave out what is reversed or banned today")
	cmd.Flags().BoolVar(&f.archived, "archived", false,
		"with --at: read the archive if the database no longer has the events")
}

func (f *atFlags) parse() (at time.Time, asNow bool, err error) {
	if f.as != "recorded" && f.as != "now" {
		return at, false, usagef("--as must be recorded or now, not %q", f.as)
	}
	if f.as == "now" && f.at == "" {
		return at, false, usagef("--as now requires --at")
	}
	if f.archived && f.at == "" {
		return at, false, usagef("--archived requires --at")
	}
	at, err = timeFlag("at", f.at)
	return at, f.as == "now", err
}

// readPast calls read and, with --archived, has the server read its archive if read needs it.
func readPast(
	ctx context.Context, out *output, c *client.Client, f *atFlags, board string, at time.Time, read func() error,
) error {
	err := read()
	var refused *client.Error
	if !f.archived || !errors.As(err, &refused) || refused.Code != wire.CodeGone {
		return err
	}
	kept, err := c.CheckpointArchived(ctx, client.CheckpointRequest{Board: board, At: at}, progress(out))
	if err != nil {
		return err
	}
	out.infof("read %s of %s from the archive and the database; kept until %s", english.Count(kept.Events, "event"),
		kept.Board, kept.KeptUntil.Format(time.RFC3339))
	return read()
}

func degradedNote(degraded bool, reason string) string {
	if !degraded {
		return ""
	}
	return ", degraded: " + reason
}

// entriesTable lists rows of a board and marks those of user own.
func entriesTable(entries []client.Entry, own string) *table {
	t := newTable(">RANK", "USER", ">SCORE", ">SUBSCORE")
	for _, e := range entries {
		row := []string{number(e.Rank), shownName(e), number(e.Score), subscoreCell(e.Subscore)}
		if own != "" && e.UserID == own {
			row = append(row, "◀")
		}
		t.add(row...)
	}
	return t.withoutEmpty("SUBSCORE")
}

// shownName is the user id, with the display name if there is one.
func shownName(e client.Entry) string {
	if e.DisplayName == "" || e.DisplayName == e.UserID {
		return e.UserID
	}
	return e.UserID + " (" + tui.Printable(e.DisplayName) + ")"
}
