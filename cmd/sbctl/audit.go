package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/tui"
)

func newAuditCmd(p *program) *cobra.Command {
	return newNounCmd("audit", "See what operators have changed, from where and why", `
  sbctl audit list
  sbctl audit list --target user:alice`,
		newAuditListCmd(p))
}

func newAuditListCmd(p *program) *cobra.Command {
	var q client.AuditQuery
	var from, to string
	cmd := &cobra.Command{
		Use: "list", Short: "List the audit trail, the newest first", Args: takes(),
		Example: trimExamples(`
  sbctl audit list --who root --from 2026-11-21T00:00:00Z
  sbctl audit list --target user:alice --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) (err error) {
			if q.From, err = timeFlag("from", from); err != nil {
				return err
			}
			if q.To, err = timeFlag("to", to); err != nil {
				return err
			}
			page, err := c.Audit(cmd.Context(), q)
			if err != nil {
				return err
			}
			if page.NextCursor != "" {
				p.say("there are more: --cursor %s", page.NextCursor)
			}
			return p.print(page, func() *table {
				t := newTable(">ID", "AT", "WHO", "ADDRESS", "ACTION", "TARGET", "REASON", "DETAIL")
				for _, e := range page.Entries {
					t.add(fmt.Sprint(e.ID), e.At.Format(time.RFC3339), tui.Printable(e.Who), tui.Printable(e.Address),
						tui.Printable(e.Action), tui.Printable(e.Target), tui.Printable(e.Reason), detailOf(e.Detail))
				}
				return t
			})
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&q.Who, "who", "", "only what this operator did")
	flags.StringVar(&q.Action, "action", "", "only this action, such as user.ban")
	flags.StringVar(&q.Target, "target", "", "only what was done to this, such as user:alice")
	flags.StringVar(&from, "from", "", "only from this time on (RFC 3339)")
	flags.StringVar(&to, "to", "", "only before this time (RFC 3339)")
	flags.IntVar(&q.Limit, "limit", 50, "at most so many, up to 500")
	flags.StringVar(&q.Cursor, "cursor", "", "the next page, as the one before named it")
	return cmd
}

// detailWidth is how much a row shows of what was done; JSON has all of it.
const detailWidth = 60

// detailOf tells what was asked for, but the reason, which has its own column.
func detailOf(detail json.RawMessage) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(detail, &fields) != nil { // there is none
		return ""
	}
	delete(fields, "reason")
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value := string(fields[name])
		var text string
		if json.Unmarshal(fields[name], &text) == nil {
			value = text
		}
		parts = append(parts, name+"="+value)
	}
	return ansi.Truncate(tui.Printable(strings.Join(parts, " ")), detailWidth, "…")
}

// timeFlag reads a flag's RFC 3339 time, or a day, which is its beginning in UTC; an
// empty one is none.
func timeFlag(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usagef("--%s takes a time such as 2026-11-21T12:00:00Z, or a day such as 2026-11-21, not %q", name, text)
}
