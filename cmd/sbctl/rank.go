package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
)

// wouldRank answers for a user who is not on the board.
type wouldRank struct {
	UserID    string `json:"user_id"`
	Board     string `json:"board"`
	Score     int64  `json:"score"`
	WouldRank int64  `json:"would_rank"`
}

func newRankCmd(p *program) *cobra.Command {
	var q client.PlaceQuery
	var score int64
	cmd := &cobra.Command{
		Use: "rank USER", Short: "Show a user's rank and their neighbours", Args: takes("USER"),
		Example: trimExamples(`
  sbctl rank alice
  sbctl rank alice -k 2 --board global --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			if q.Neighbours < 0 {
				return usagef("-k is 0 or more")
			}
			if cmd.Flags().Changed("score") {
				q.Score = &score
			}
			place, err := c.Around(cmd.Context(), args[0], q)
			var refused *client.Error
			if errors.As(err, &refused) && refused.WouldRank > 0 {
				would := wouldRank{UserID: args[0], Board: q.Board, Score: score, WouldRank: refused.WouldRank}
				if p.output == "json" {
					return p.print(would, nil)
				}
				_, err = fmt.Fprintf(p.stdout, "with %d %s would be %d\n", score, args[0], would.WouldRank)
			}
			if err != nil || refused != nil {
				return err
			}
			if q.Score != nil {
				p.say("%s is on the board, so --score says nothing", place.UserID)
			}
			if p.output == "table" && len(place.Neighbours) > 0 {
				p.say("%s is %d of %d on %s, ahead of %.1f %%%s", place.UserID, place.Rank, place.Total, place.Board,
					place.Percentile, degradedNote(place.Degraded, place.DegradedReason))
			}
			return p.print(place, func() *table {
				if len(place.Neighbours) > 0 {
					return entriesTable(place.Neighbours, place.UserID)
				}
				return placeTable(place)
			})
		}),
	}
	cmd.Flags().IntVarP(&q.Neighbours, "neighbours", "k", 5, "rows above and below")
	cmd.Flags().Int64Var(&score, "score", 0, "a score, to ask what it would rank for a user who has none")
	addBoardFlag(cmd, &q.Board)
	return cmd
}
