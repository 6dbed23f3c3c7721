package pages

import (
	"strconv"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Band is a tier of a board in words.
type Band struct{ Name, Bound string }

// Bands are the tiers of the board, the best first.
func (b *Board) Bands() []Band {
	bands := make([]Band, len(b.Tiers))
	for i := range b.Tiers {
		t := &b.Tiers[i]
		bands[i].Name = t.Name
		switch {
		case t.Rank == 1:
			bands[i].Bound = "rank 1"
		case t.Rank > 1:
			bands[i].Bound = "up to rank " + count(t.Rank)
		case t.Percent > 0:
			bands[i].Bound = "best " + strconv.FormatFloat(t.Percentile(), 'f', -1, 64) + " %"
		case b.Order == scoreboard.OrderLowest:
			bands[i].Bound = "up to " + count(*t.Score) + " points"
		default:
			bands[i].Bound = "from " + count(*t.Score) + " points"
		}
	}
	return bands
}
