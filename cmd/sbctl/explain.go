package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/english"
)

func newExplainCmd(p *program) *cobra.Command {
	var board string
	cmd := &cobra.Command{
		Use: "explain USER", Short: "Explain why a user has this rank", Args: exactArgs("USER"),
		Long: `Explain why a user has this rank: where the points come from, who is directly ahead
and behind, who reached the same score first, which banned users are not counted, and
whether the rankings answer the same. All is read from one state of PostgreSQL. Users
can explain their own rank; operators (score:operate) anyone's.`,
		Example: trimExamples(`
  sbctl explain alice
  sbctl explain me --board weekly --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			e, err := c.ExplainRank(cmd.Context(), args[0], board)
			if err != nil {
				return err
			}
			if !p.structured() {
				for _, line := range explanation(&e) {
					p.infof("%s", line)
				}
			}
			if err := p.print(e, func() *table { return statementTable(e.UserID, e.Latest) }); err != nil {
				return err
			}
			if !p.structured() && e.NextCursor != "" {
				p.infof("more: sbctl score statement %s --board %s --cursor %s", e.UserID, e.Board, e.NextCursor)
			}
			return nil
		}),
	}
	addBoardFlag(cmd, &board)
	return cmd
}

// explanation says in sentences what a rank follows from.
func explanation(e *client.RankExplanation) []string {
	lines := []string{
		fmt.Sprintf("%s is %s of %d on %s with a score of %s, reached at %s", e.UserID, ordinal(e.Rank), e.Total,
			e.Board, withSubscore(e.Score, e.Subscore), e.ReachedAt.Format(time.RFC3339)),
		pointSources(e),
	}
	if n := e.Above; n != nil {
		lines = append(lines, nextTo(n, "ahead"))
	}
	if n := e.Below; n != nil {
		lines = append(lines, nextTo(n, "behind"))
	}
	if e.Tie.Users > 1 {
		line := english.Count(e.Tie.Users, "user") + " have this score"
		if e.Subscore != nil {
			line += " and subscore"
		}
		if e.Tie.FirstAt != nil {
			line += fmt.Sprintf("; %s reached it first, at %s", e.Tie.First, e.Tie.FirstAt.Format(time.RFC3339Nano))
		}
		lines = append(lines, line+"; of equal scores, the earlier one ranks first")
	}
	if e.HiddenAhead > 0 {
		lines = append(lines, english.Count(e.HiddenAhead, "banned user")+" would rank ahead, and are not counted")
	}
	switch r := e.Ranking; {
	case r == nil:
		lines = append(lines, "reads return no rank at the moment")
	case r.Agrees:
		lines = append(lines, fmt.Sprintf(
			"reads return the same rank and score; they include all changes up to at least %s%s",
			r.AsOf.Format(time.RFC3339Nano), degradedNote(r.Degraded, r.DegradedReason)))
	default:
		lines = append(lines, fmt.Sprintf("reads return %s with %s; they include all changes up to at least %s%s, and "+
			"PostgreSQL was read as of %s", ordinal(r.Rank), withSubscore(r.Score, r.Subscore),
			r.AsOf.Format(time.RFC3339Nano),
			degradedNote(r.Degraded, r.DegradedReason), e.AsOf.Format(time.RFC3339Nano)))
	}
	return lines
}

// pointSources says what the score is the sum of.
func pointSources(e *client.RankExplanation) string {
	var parts []string
	for _, s := range []struct {
		points int64
		name   string
	}{
		{e.Sources.Submitted, "submitted"},
		{e.Sources.Adjusted, "adjusted"},
		{e.Sources.Reversed, "reversed"},
		{e.Sources.Reinstated, "reinstated"},
		{e.Sources.Imported, "imported"},
		{e.Sources.Archived, "in the archive"},
	} {
		if s.points != 0 {
			parts = append(parts, fmt.Sprintf("%+d %s", s.points, s.name))
		}
	}
	text := english.Count(e.Events, "event")
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	return text
}

// nextTo describes the user directly ahead or behind.
func nextTo(n *client.RankNeighbour, where string) string {
	if n.Difference == 0 && n.Subscore != nil {
		return fmt.Sprintf("%s is directly %s with the same score and a subscore of %d, reached at %s",
			shownName(n.Entry), where, *n.Subscore, n.ReachedAt.Format(time.RFC3339Nano))
	}
	if n.Difference == 0 {
		return fmt.Sprintf("%s is directly %s with the same score, reached at %s", shownName(n.Entry), where,
			n.ReachedAt.Format(time.RFC3339Nano))
	}
	return fmt.Sprintf("%s is directly %s by %s, with %d", shownName(n.Entry), where,
		english.Count(n.Difference, "point"), n.Score)
}
