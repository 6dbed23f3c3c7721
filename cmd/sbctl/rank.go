package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
)

// wouldRank is the rank of a given score for a user without one.
type wouldRank struct {
	UserID    string `json:"user_id"`
	Board     string `json:"board"`
	Score     int64  `json:"score"`
	Subscore  *int64 `json:"subscore,omitempty"`
	WouldRank int64  `json:"would_rank"`
}

func newRankCmd(p *program) *cobra.Command {
	var q client.PlaceQuery
	var score, subscore int64
	var past atFlags
	cmd := &cobra.Command{
		Use: "rank USER", Short: "Show a user's rank and neighbours, now or at a past time", Args: exactArgs("USER"),
		Example: trimExamples(`
  sbctl rank alice --at "yesterday 18:00"
  sbctl rank alice --at 2026-01-31T18:00:00Z --archived
  sbctl rank alice -k 2 --board global --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			if q.Neighbours < 0 {
				return usagef("-k must not be negative")
			}
			var err error
			if q.At, q.AsNow, err = past.parse(); err != nil {
				return err
			}
			if cmd.Flags().Changed("score") {
				q.Score = &score
			}
			if cmd.Flags().Changed("subscore") {
				if q.Score == nil {
					return usagef("--subscore requires --score")
				}
				q.Subscore = &subscore
			}
			var place client.Place
			err = readPast(cmd.Context(), p.output, c, &past, q.Board, q.At, func() (err error) {
				place, err = c.Around(cmd.Context(), args[0], q)
				return err
			})
			var refused *client.Error
			if errors.As(err, &refused) && refused.WouldRank > 0 {
				would := wouldRank{
					UserID: args[0], Board: q.Board, Score: score, Subscore: q.Subscore, WouldRank: refused.WouldRank,
				}
				if p.structured() {
					return p.print(would, nil)
				}
				_, err = fmt.Fprintf(p.stdout, "%s would be %s with a score of %s\n", args[0],
					ordinal(would.WouldRank), withSubscore(score, q.Subscore))
			}
			if err != nil || refused != nil {
				return err
			}
			if q.Score != nil {
				p.infof("%s has a score on the board; --score is ignored", place.UserID)
			}
			if !p.structured() && len(place.Neighbours) > 0 {
				p.infof("%s is %s of %d on %s, ahead of %.1f %% of users%s", place.UserID, ordinal(place.Rank),
					place.Total, place.Board, place.Percentile, degradedNote(place.Degraded, place.DegradedReason))
			}
			if tier := tierCell(&place); !p.structured() && len(place.Neighbours) > 0 && tier != "" {
				p.infof("tier: %s", tier)
			}
			if !p.structured() && len(place.Neighbours) > 0 && place.Private {
				p.infof("%s is private: %s", place.UserID, privateNote)
			}
			return p.print(place, func() *table {
				if len(place.Neighbours) > 0 {
					return entriesTable(place.Neighbours, place.UserID)
				}
				return placeTable(place)
			})
		}),
	}
	cmd.Flags().IntVarP(&q.Neighbours, "neighbours", "k", 5, "number of rows above and below")
	cmd.Flags().Int64Var(&score, "score", 0, "if the user has no score, show the rank that this score would have")
	cmd.Flags().Int64Var(&subscore, "subscore", 0, "with --score: the subscore, on a board that has subscores")
	past.add(cmd)
	addBoardFlag(cmd, &q.Board)
	return cmd
}

// withSubscore is a score in a sentence, with the subscore on a board that has them.
func withSubscore(score int64, subscore *int64) string {
	if subscore == nil {
		return number(score)
	}
	return fmt.Sprintf("%d and a subscore of %d", score, *subscore)
}
