package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/english"
)

func newUserHistoryCmd(p *program) *cobra.Command {
	var q client.HistoryQuery
	var from, to, as string
	cmd := &cobra.Command{
		Use: "history USER", Short: "Show a user's score and rank over time", Args: exactArgs("USER"),
		Long: `Show a user's score and rank at regular times, at most 1,000, each exactly as it was
at that moment: hourly for a day by default. The best rank, the days in the top 10
and the biggest climb are those of the points shown; those of all time follow, from
hourly samples of the first 1,000 ranks. The user "me" is the token's
user. With --as now, leave out the events that are reversed and the users that are
banned today.`,
		Example: trimExamples(`
  sbctl user history alice --since 7d --step 6h
  sbctl user history me --board weekly --output csv`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) (err error) {
			if as != "recorded" && as != "now" {
				return usagef("--as must be recorded or now, not %q", as)
			}
			q.AsNow = as == "now"
			if q.From, err = timeFlag("from", from); err != nil {
				return err
			}
			if q.To, err = timeFlag("to", to); err != nil {
				return err
			}
			h, err := c.RankHistory(cmd.Context(), args[0], q)
			if err != nil {
				return err
			}
			if !p.structured() {
				p.infof("%s on %s: best rank %s at %s, %s in the top 10", h.UserID, h.Board, ordinal(h.BestRank),
					h.BestRankAt.Format(time.RFC3339), english.Count(h.DaysInTop10, "day"))
				if h.Climb != nil {
					p.infof("biggest climb: %s up from %s to %s", english.Count(h.Climb.Ranks, "rank"),
						h.Climb.Began.Format(time.RFC3339), h.Climb.Ended.Format(time.RFC3339))
				}
				if h.AllTime != nil {
					printAllTime(p.output, h.AllTime)
				}
			}
			return p.print(h, func() *table { return historyTable(h.Points) })
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&from, "from", "", "first point, a `time` (alias --since; default: 24 steps before --to)")
	flags.StringVar(&to, "to", "", "last point at the latest, a `time`, also --until (default: the last whole step)")
	flags.DurationVar(&q.Step, "step", time.Hour, "time between points, 1s to 8784h")
	flags.StringVar(&as, "as", "recorded", "`recorded` for the standings as they were, or now to leave out what is "+
		"reversed or banned today")
	acceptSince(flags, "from", "to")
	addBoardFlag(cmd, &q.Board)
	return cmd
}

func printAllTime(out *output, m *client.AllTimeRanks) {
	out.infof("hourly samples since %s: best rank %s at %s, %s in the top 10", m.Since.Format(time.RFC3339),
		ordinal(m.BestRank), m.BestRankAt.Format(time.RFC3339), english.Count(m.DaysInTop10, "day"))
	if m.Climb != nil {
		out.infof("biggest climb of these: %s up from %s to %s", english.Count(m.Climb.Ranks, "rank"),
			m.Climb.Began.Format(time.RFC3339), m.Climb.Ended.Format(time.RFC3339))
	}
}

func historyTable(points []client.RankPoint) *table {
	t := newTable("TIME", ">RANK", ">SCORE", ">SUBSCORE", ">USERS")
	for _, p := range points {
		rank, score := "", ""
		if p.Rank != nil {
			rank, score = number(*p.Rank), number(*p.Score)
		}
		t.add(p.At.Format(time.RFC3339), rank, score, subscoreCell(p.Subscore), number(p.Total))
	}
	return t.withoutEmpty("SUBSCORE")
}
