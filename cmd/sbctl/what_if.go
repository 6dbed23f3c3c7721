package main

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/design"
	"github.com/scoreboard/scoreboard/internal/english"
)

//go:embed what_if.html.tmpl
var whatIfTemplate string

func newWhatIfCmd(p *program) *cobra.Command {
	var r client.WhatIfRequest
	var rules, since, page string
	cmd := &cobra.Command{
		Use: "what-if", Short: "Show how a board would stand under other rules", Args: exactArgs(),
		Long: `Show how a board would stand if other rules had been in force since a time: who would
gain or lose which place, and which events decide it. Nothing is changed. --html also
writes the result as a page.

The rules are a JSON file with any of min_delta, max_delta, cooldown, mode, ties,
void_users, void_keys and anomaly, such as {"max_delta": 500, "cooldown": "5s"}.

--apply voids the rejected events as one job, which can be undone within 30 days
(sbctl event unvoid). It asks for confirmation. If the rules reject other events by then,
nothing is voided: sbctl shows the new result and exits with 3.`,
		Example: trimExamples(`
  sbctl what-if --rules rules.json --board global --since "yesterday 18:00"
  sbctl what-if --rules rules.json --since 2d --html what-if.html
  sbctl what-if --rules rules.json --since 2d --apply --reason "bots"`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) (err error) {
			if r.Since, err = timeFlag("since", since); err != nil {
				return err
			}
			if r.Rules, err = readRules(p.stdin, rules); err != nil {
				return err
			}
			switch {
			case r.Apply:
				if err := requireReason(r.Reason); err != nil {
					return err
				}
			case r.Reason != "":
				return usagef("--reason requires --apply")
			}
			return whatIf(cmd.Context(), p.confirmation, p.output, c, r, page)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&rules, "rules", "", "`file` with the rules as JSON; - for standard input")
	flags.StringVar(&r.Board, "board", "global", "the board")
	flags.StringVar(&since, "since", "", "`time` from which on the rules are in force")
	flags.IntVar(&r.Limit, "limit", 100, "number of users to list, up to 1000")
	flags.StringVar(&page, "html", "", "also write the result to this `file` as a page")
	flags.BoolVar(&r.Apply, "apply", false, "void the rejected events")
	addReasonFlag(cmd, &r.Reason)
	requireFlags(cmd, "rules", "since")
	return cmd
}

// maxRules bounds a file of rules, in bytes; a request may not be larger.
const maxRules = 60 << 10

// readRules reads a file of rules. The server checks what they say.
func readRules(stdin io.Reader, name string) (json.RawMessage, error) {
	from := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, usagef("--rules: %v", err)
		}
		defer func() { _ = f.Close() }()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, maxRules+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the rules: %w", err)
	case len(text) > maxRules:
		return nil, usagef("--rules: %s has more than %d bytes", name, maxRules)
	case !json.Valid(text):
		return nil, usagef("--rules: %s is not JSON", name)
	}
	return text, nil
}

// whatIf asks, shows the result and, with --apply, voids the rejected events after a
// confirmation.
func whatIf(
	ctx context.Context, ask *confirmation, out *output, c *client.Client, r client.WhatIfRequest, page string,
) error {
	apply, reason := r.Apply, r.Reason
	r.Apply, r.Reason = false, ""
	result, err := askWhatIf(ctx, ask.to, out, c, r, page)
	if err != nil {
		return err
	}
	if !apply {
		return out.print(result, func() *table { return whatIfTable(&result) })
	}
	if !out.quiet {
		fmt.Fprint(out.stderr, whatIfTable(&result).render(style{}))
	}
	if result.Rejected == 0 {
		out.infof("nothing to void: the rules reject no event")
		return errors.Join(out.print(result, func() *table { return whatIfTable(&result) }), errCheckFailed)
	}
	question := fmt.Sprintf("Void %s of %s?", english.Count(result.Rejected, "event"),
		english.Count(result.RejectedUsers, "user"))
	if err := ask.confirm(ctx, question); err != nil {
		return err
	}
	r.Apply, r.Reason, r.Digest = true, reason, result.Digest
	done, err := c.WhatIf(ctx, r, progress(out))
	var failed *client.Error
	if errors.As(err, &failed) && failed.Code == wire.CodeConflict {
		out.infof("%s", failed.Message)
		r.Apply, r.Reason, r.Digest = false, "", ""
		if result, err = askWhatIf(ctx, ask.to, out, c, r, page); err != nil {
			return err
		}
		return errors.Join(out.print(result, func() *table { return whatIfTable(&result) }), errCheckFailed)
	}
	if err != nil {
		return err
	}
	if done.Void == nil {
		return errors.New("the server's response has no void")
	}
	out.infof("void %d started; it continues if this command ends", done.Void.ID)
	return followVoid(ctx, out, c, *done.Void, "done")
}

// askWhatIf asks, reports the counts and writes the page.
func askWhatIf(
	ctx context.Context, server *connector, out *output, c *client.Client, r client.WhatIfRequest, page string,
) (client.WhatIf, error) {
	result, err := c.WhatIf(ctx, r, progress(out))
	if err != nil || server.curl {
		return result, err
	}
	out.infof("%s", whatIfSummary(&result))
	for _, limit := range result.Limits {
		out.infof("note: %s", limit)
	}
	if left := result.Changed - int64(len(result.Changes)); left > 0 {
		out.infof("%s not listed; raise --limit", english.Count(left, "user"))
	}
	if page != "" {
		if err := writeWhatIfPage(page, &result); err != nil {
			return result, err
		}
		out.infof("page: %s", page)
	}
	return result, nil
}

func whatIfSummary(r *client.WhatIf) string {
	rejected := ""
	if r.Rejected > 0 {
		rejected = " (" + byCount(r.RejectedBy) + ")"
	}
	return fmt.Sprintf("%s of %s would not count%s; %s up, %d down, %d off the board", english.Grouped(r.Rejected),
		english.Count(r.Evaluated, "event"), rejected, english.Count(r.Up, "user"), r.Down, r.Left)
}

func whatIfTable(r *client.WhatIf) *table {
	t := newTable(">RANK", ">NEW", "USER", ">SCORE", ">NEW", "REJECTED EVENTS")
	for i := range r.Changes {
		row := &r.Changes[i]
		rank, score := whatIfCells(row)
		t.add(fmt.Sprint(row.Rank), rank, row.UserID, pairCell(row.Score, row.Subscore), score, whatIfEvents(row))
	}
	return t
}

// whatIfCells are the rank and the score of a user under the rules.
func whatIfCells(c *wire.WhatIfChange) (rank, score string) {
	if c.NewScore == nil {
		return "-", "-"
	}
	return fmt.Sprint(c.NewRank), pairCell(*c.NewScore, c.NewSubscore)
}

// pairCell is a score, with the subscore in brackets on a board that has them.
func pairCell(score int64, subscore *int64) string {
	if subscore == nil {
		return number(score)
	}
	return fmt.Sprintf("%d (%d)", score, *subscore)
}

// shortEvent is the width of an event's id in a table, which has the first characters only of a
// longer one. JSON and the page have it whole.
const shortEvent = 16

// whatIfEvents are the first rejected event of a user and the number of others.
func whatIfEvents(c *wire.WhatIfChange) string {
	if len(c.Events) == 0 {
		return ""
	}
	e := &c.Events[0]
	cell := fmt.Sprintf("%s %+d %s", ansi.Truncate(e.EventID, shortEvent, "…"), e.Delta, e.Rule)
	if more := c.Rejected - 1; more > 0 {
		cell += fmt.Sprintf(", %d more", more)
	}
	return cell
}

// writeWhatIfPage writes a result as a self-contained page.
func writeWhatIfPage(name string, r *client.WhatIf) error {
	t, err := template.New("what-if").Funcs(template.FuncMap{
		"count": english.Grouped,
		"cells": func(c wire.WhatIfChange) []string {
			rank, score := whatIfCells(&c)
			return []string{rank, score}
		},
		"more": func(c wire.WhatIfChange) int64 { return c.Rejected - int64(len(c.Events)) },
		"class": func(c wire.WhatIfChange) string {
			switch {
			case c.NewScore == nil || c.NewRank > c.Rank:
				return "bad"
			case c.NewRank < c.Rank:
				return "good"
			}
			return ""
		},
	}).Parse(whatIfTemplate)
	if err != nil {
		return fmt.Errorf("parse the page: %w", err)
	}
	type count struct {
		Rule   string
		Events int64
	}
	var rules []count
	for _, rule := range slices.SortedFunc(maps.Keys(r.RejectedBy), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.RejectedBy[b], r.RejectedBy[a]), strings.Compare(a, b))
	}) {
		rules = append(rules, count{rule, r.RejectedBy[rule]})
	}
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	err = t.Execute(f, map[string]any{"Result": r, "Rules": rules, "Tokens": design.CSS()})
	return errors.Join(err, f.Close())
}
