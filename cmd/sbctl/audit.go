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
)

func newAuditCmd(p *program) *cobra.Command {
	return newNounCmd("audit", "Read the audit trail of operator changes", `
  sbctl audit list
  sbctl audit list --target user:alice`,
		newAuditListCmd(p))
}

func newAuditListCmd(p *program) *cobra.Command {
	var q client.AuditQuery
	var from, to string
	cmd := &cobra.Command{
		Use: "list", Short: "List audit entries, newest first", Args: exactArgs(),
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
				p.infof("more: --cursor %s", page.NextCursor)
			}
			return p.print(page, func() *table {
				t := newTable(">ID", "AT", "WHO", "ADDRESS", "ACTION", "TARGET", "REASON", "DETAIL")
				for _, e := range page.Entries {
					t.add(fmt.Sprint(e.ID), e.At.Format(time.RFC3339), e.Who, e.Address,
						e.Action, e.Target, e.Reason, detailOf(e.Detail))
				}
				return t
			})
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&q.Who, "who", "", "only changes by this operator")
	flags.StringVar(&q.Action, "action", "", "only this action, such as user.ban")
	flags.StringVar(&q.Target, "target", "", "only changes to this target, such as user:alice")
	flags.StringVar(&from, "from", "", "only entries from this time on (RFC 3339)")
	flags.StringVar(&to, "to", "", "only entries before this time (RFC 3339)")
	flags.IntVar(&q.Limit, "limit", 50, "maximum number of entries, up to 500")
	flags.StringVar(&q.Cursor, "cursor", "", "continue from the cursor of the previous page")
	return cmd
}

// detailWidth limits the DETAIL column; JSON has all of it.
const detailWidth = 60

// detailOf lists the fields of the request but the reason, which has its own
// column.
func detailOf(detail json.RawMessage) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(detail, &fields) != nil { // no detail
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
	return ansi.Truncate(escape(strings.Join(parts, " ")), detailWidth, "…")
}

// timeFlag parses a flag's RFC 3339 time, or a date, which means its start in
// UTC. An empty flag is the zero time.
func timeFlag(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usagef(
		"--%s must be a time such as 2026-11-21T12:00:00Z or a date such as 2026-11-21, not %q", name, text)
}
