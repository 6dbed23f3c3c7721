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
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func newAuditCmd(p *program) *cobra.Command {
	return newNounCmd("audit", "Read and verify the audit trail of operator changes", `
  sbctl audit list
  sbctl audit list --target user:alice
  sbctl audit verify`,
		newAuditListCmd(p), newAuditShowCmd(p), newAuditVerifyCmd(p))
}

func newAuditVerifyCmd(p *program) *cobra.Command {
	var head string
	cmd := &cobra.Command{
		Use: "verify", Short: "Verify that the audit trail is what was written", Args: exactArgs(),
		Long: `Verify that the audit trail is what was written: walk the chain of hashes that a
server with the role maintenance adds to, and report the first break. Rows of the last
second, and those after a transaction that is still running, are not sealed yet.

Whoever owns the schema could recompute the whole chain, or cut off its end. Pass a
head that a server has logged ("audit trail sealed"), or that an earlier run printed, to
detect that, too. Exit code 3: the chain is broken.`,
		Example: trimExamples(`
  sbctl audit verify
  sbctl audit verify --head 12:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			chain, err := c.VerifyAudit(cmd.Context(), head)
			if err != nil {
				return err
			}
			if err := p.print(chain, func() *table { return chainTable(&chain) }); err != nil {
				return err
			}
			if !chain.Intact {
				return errCheckFailed
			}
			return nil
		}),
	}
	cmd.Flags().StringVar(&head, "head", "", "head of the chain from a server's log, which must be in the chain")
	return cmd
}

func chainTable(chain *client.AuditChain) *table {
	t := newTable("CHAIN", "")
	t.add("sealed", number(chain.Sealed))
	t.add("head", chain.Head)
	unsealed := number(chain.Unsealed)
	if chain.Since != nil {
		unsealed += ", the oldest from " + chain.Since.UTC().Format(time.RFC3339)
	}
	t.add("not yet sealed", unsealed)
	b := chain.Break
	if b == nil {
		t.add("result", "intact")
		return t
	}
	place := fmt.Sprintf("at seal %d", b.Seal)
	if b.Seal == 0 {
		place = "outside the chain"
	}
	if b.ID != 0 {
		place += fmt.Sprintf(", entry %d", b.ID)
	}
	t.add("result", "broken "+place+": "+b.Problem)
	return t
}

func newAuditListCmd(p *program) *cobra.Command {
	var q client.AuditQuery
	var from, to string
	cmd := &cobra.Command{
		Use: "list", Short: "List audit entries, newest first", Args: exactArgs(),
		Example: trimExamples(`
  sbctl audit list --who root --since 24h
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
	flags.StringVar(&from, "from", "", "only entries from this `time` on (alias --since)")
	flags.StringVar(&to, "to", "", "only entries before this `time`, also --until")
	acceptSince(flags, "from", "to")
	flags.IntVar(&q.Limit, "limit", 50, "maximum number of entries, up to 500")
	flags.StringVar(&q.Cursor, "cursor", "", "continue from the cursor of the previous page")
	return cmd
}

func newAuditShowCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show an audit entry with its whole detail", Args: exactArgs("ID"),
		Example: trimExamples(`
  sbctl audit show 17
  sbctl audit show 17 --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			id, err := idArgument("audit entry", args[0])
			if err != nil {
				return err
			}
			e, err := c.AuditEntry(cmd.Context(), id)
			if err != nil {
				return err
			}
			return p.print(e, func() *table { return auditEntryTable(&e) })
		}),
	}
}

func auditEntryTable(e *client.AuditEntry) *table {
	t := newTable()
	t.add("entry", number(e.ID))
	for _, row := range [][2]string{
		{"at", timeCell(&e.At)},
		{"who", e.Who},
		{"action", e.Action},
		{"target", e.Target},
		{"reason", e.Reason},
		{"address", e.Address},
		{"user agent", e.UserAgent},
		{"request", e.RequestID},
	} {
		if row[1] != "" {
			t.add(row[0], row[1])
		}
	}
	for _, field := range detailFields(e.Detail) {
		t.add("detail "+field[0], field[1])
	}
	return t
}

// detailWidth limits the DETAIL column; JSON has all of it.
const detailWidth = 60

// detailOf is detailFields in one cell.
func detailOf(detail json.RawMessage) string {
	var parts []string
	for _, field := range detailFields(detail) {
		parts = append(parts, field[0]+"="+field[1])
	}
	return ansi.Truncate(scoreboard.Escape(strings.Join(parts, " ")), detailWidth, "…")
}

// detailFields are the names and values of the fields of the request, without the reason,
// which an entry has apart.
func detailFields(detail json.RawMessage) (fields [][2]string) {
	var values map[string]json.RawMessage
	if json.Unmarshal(detail, &values) != nil { // no detail
		return nil
	}
	delete(values, "reason")
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := string(values[name])
		var text string
		if json.Unmarshal(values[name], &text) == nil {
			value = text
		}
		fields = append(fields, [2]string{name, value})
	}
	return fields
}
