package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
)

func newBoardCmd(p *program) *cobra.Command {
	return newNounCmd("board", "Make, look at, change and end boards", `
  sbctl board create arena --mode best
  sbctl board list`,
		audited(newBoardCreateCmd(p)), newBoardListCmd(p), newBoardShowCmd(p), audited(newBoardSetCmd(p)), audited(newBoardRollCmd(p)),
		newBoardChangeCmd(p, "freeze", "Refuse writes to a board; reads stay", "", (*client.Client).FreezeBoard),
		newBoardChangeCmd(p, "unfreeze", "Take writes to a frozen board again", "", (*client.Client).UnfreezeBoard),
		newBoardChangeCmd(p, "archive", "End a board for good: out of the ranking, read from the database",
			"Archive board %s? It takes no writes any more, and there is no way back.", (*client.Client).ArchiveBoard))
}

func newBoardCreateCmd(p *program) *cobra.Command {
	r := client.BoardRequest{}
	var private bool
	var starts, ends string
	bounds := map[string]**int64{"min-delta": &r.MinDelta, "max-delta": &r.MaxDelta, "min-score": &r.MinScore, "max-score": &r.MaxScore}
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Make a board, which can be written and read at once", Args: takes("NAME"),
		Example: trimExamples(`
  sbctl board create daily --period daily --time-zone Europe/Berlin
  sbctl board create race --mode best --order lowest --min-delta 0`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) (err error) {
			r.Board = args[0]
			if private {
				r.Public = new(bool)
			}
			for name, to := range bounds {
				if cmd.Flags().Changed(name) {
					n, err := cmd.Flags().GetInt64(name)
					if err != nil {
						return err
					}
					*to = &n
				}
			}
			if r.StartsAt, err = flagTime("starts", starts); err != nil {
				return err
			}
			if r.EndsAt, err = flagTime("ends", ends); err != nil {
				return err
			}
			b, err := c.CreateBoard(cmd.Context(), r)
			if err != nil {
				return err
			}
			return p.print(b, func() *table { return boardTable(&b) })
		}),
	}
	f := cmd.Flags()
	f.StringVar(&r.Mode, "mode", "increment", "what is submitted does: increment (adds), best (counts if better) or latest (counts)")
	f.StringVar(&r.Order, "order", "highest", "what is first: highest or lowest")
	f.StringVar(&r.Period, "period", "none", "begins anew: none, daily, weekly, monthly or season")
	f.StringVar(&r.TimeZone, "time-zone", "UTC", "whose midnight ends a period, such as Europe/Berlin")
	f.StringVar(&r.WeekStart, "week-start", "monday", "first day of a weekly board")
	f.StringVar(&r.Region, "region", "", "a label to find the board by, such as eu")
	f.StringVar(&r.Season, "season", "", "name of the first season")
	f.StringVar(&starts, "starts", "", "start of the first season, such as 2026-12-01T00:00:00Z (default now)")
	f.StringVar(&ends, "ends", "", "end of the first season")
	f.StringSliceVar(&r.Require, "require", nil, "what increments must come with: action-token, attestation")
	f.StringVar(&r.ActionLeast, "action-least", "", "least duration of an action, such as 30s")
	f.StringVar(&r.ActionLife, "action-life", "", "how long an action token is good (default 1h)")
	f.BoolVar(&private, "private", false, "only servers and operators may read others' standings")
	f.Int64("min-delta", 0, "least that may be submitted (default 1, else the least score)")
	f.Int64("max-delta", 0, "most that may be submitted (default 1000000, else the highest score)")
	f.Int64("min-score", 0, "least score (default −(2^53 − 1))")
	f.Int64("max-score", 0, "highest score (default 2^53 − 1)")
	return cmd
}

// flagTime reads a time of a flag; nil for none.
func flagTime(name, text string) (*time.Time, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // no time was given
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return nil, usagef("--%s takes a time such as 2026-12-01T00:00:00Z, not %q", name, text)
	}
	return &t, nil
}

func boardTable(b *client.Board) *table {
	t := newTable()
	t.add("board", b.Board)
	for _, row := range [][2]string{
		{"family", b.Family},
		{"current", b.Current},
		{"status", b.Status},
		{"mode", b.Mode},
		{"order", b.Order},
		{"delta", fmt.Sprintf("%d to %d", b.MinDelta, b.MaxDelta)},
		{"score", fmt.Sprintf("%d to %d", b.MinScore, b.MaxScore)},
		{"public", strconv.FormatBool(b.Public)},
		{"region", b.Region},
		{"requires", strings.Join(b.Require, ", ")},
		{"an action", actionCell(b)},
		{"period", b.Period},
		{"time zone", b.TimeZone},
		{"week start", b.WeekStart},
		{"from", timeCell(b.PeriodStart)},
		{"to", timeCell(b.PeriodEnd)},
		{"created", timeCell(&b.CreatedAt)},
		{"closed", timeCell(b.ClosedAt)},
		{"standings", b.StandingsHash},
	} {
		if row[1] != "" {
			t.add(row[0], row[1])
		}
	}
	return t
}

// actionCell says how long an action may take where its token is asked for.
func actionCell(b *client.Board) string {
	if !slices.Contains(b.Require, "action-token") {
		return ""
	}
	most := plainDuration(b.ActionLife)
	if b.ActionLeast == "" || b.ActionLeast == "0s" {
		return "takes up to " + most
	}
	return "takes " + plainDuration(b.ActionLeast) + " to " + most
}

// plainDuration leaves out of "1h0m0s" what is nothing.
func plainDuration(text string) string {
	for _, nothing := range []string{"m0s", "h0m"} {
		if rest, ok := strings.CutSuffix(text, nothing); ok {
			text = rest + nothing[:1]
		}
	}
	return text
}

func timeCell(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Format(time.RFC3339)
}

func newBoardListCmd(p *program) *cobra.Command {
	var q client.BoardQuery
	cmd := &cobra.Command{
		Use: "list", Short: "List boards by name", Args: takes(),
		Example: trimExamples(`
  sbctl board list --period weekly
  sbctl board list --family daily --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			page, err := c.Boards(cmd.Context(), q)
			if err != nil {
				return err
			}
			if page.NextAfter != "" {
				p.say("there are more: --after %s", page.NextAfter)
			}
			return p.print(page, func() *table {
				t := newTable("BOARD", "MODE", "FIRST", "PERIOD", "REGION", "STATUS", "FROM", "TO")
				for _, b := range page.Boards {
					t.add(b.Board, b.Mode, b.Order, b.Period, b.Region, b.Status, timeCell(b.PeriodStart), timeCell(b.PeriodEnd))
				}
				return t
			})
		}),
	}
	f := cmd.Flags()
	f.StringVar(&q.Family, "family", "", "only a board and its instances")
	f.StringVar(&q.Period, "period", "", "only none, daily, weekly, monthly or season")
	f.StringVar(&q.Region, "region", "", "only of this region")
	f.StringVar(&q.Status, "status", "", "only active, frozen or archived")
	f.StringVar(&q.After, "after", "", "only names behind this one")
	f.IntVar(&q.Limit, "limit", 100, "at most so many")
	return cmd
}

// newBoardChangeCmd makes a verb that changes a board's status, and asks first
// where there is something to ask.
func newBoardChangeCmd(p *program, verb, short, question string, change func(*client.Client, context.Context, string) (client.Board, error)) *cobra.Command {
	second := "--output json"
	if question != "" {
		second = "--yes"
	}
	return audited(&cobra.Command{
		Use: verb + " NAME", Short: short, Args: takes("NAME"),
		Example: trimExamples(fmt.Sprintf(`
  sbctl board %s arena
  sbctl board %s daily:2026-11-21 %s`, verb, verb, second)),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			if question != "" {
				if err := p.confirm(cmd.Context(), fmt.Sprintf(question, args[0])); err != nil {
					return err
				}
			}
			b, err := change(c, cmd.Context(), args[0])
			if err != nil {
				return err
			}
			p.say("board %s is %s", b.Board, b.Status)
			return p.print(b, func() *table { return boardTable(&b) })
		}),
	})
}

// shownBoard is a board and how its ranking is.
type shownBoard struct {
	client.Board
	Now     *client.Board     `json:"now,omitempty"`     // of a family: its current instance
	Ranking *client.Condition `json:"ranking,omitempty"` // of an archived board there is none
}

func newBoardShowCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show a board and how its ranking is", Args: takes("NAME"),
		Example: trimExamples(`
  sbctl board show global
  sbctl board show daily:2026-11-21 --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			b, err := c.Board(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			shown := shownBoard{Board: b}
			if b.Current != "" && b.Current != b.Board {
				now, err := c.Board(cmd.Context(), b.Current)
				if err != nil {
					return err
				}
				shown.Now = &now
			}
			if b.Status != "archived" {
				k, err := c.Condition(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				shown.Ranking = &k
			}
			return p.print(shown, func() *table {
				t := boardTable(&b)
				if shown.Now != nil {
					t.add("now from", timeCell(shown.Now.PeriodStart))
					t.add("now to", timeCell(shown.Now.PeriodEnd))
				}
				if shown.Ranking != nil {
					conditionRows(t, shown.Ranking)
				}
				return t
			})
		}),
	}
}
