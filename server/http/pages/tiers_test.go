package pages

import (
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// A board with tiers names them with their bounds, the best first; one without, and a screen on a wall, do not.
func TestPageNamesTiers(t *testing.T) {
	t.Parallel()
	b := hostile()
	if page := string(New().Page(b)); strings.Contains(page, "Tiers") {
		t.Errorf("a board without tiers: %s", page)
	}
	b.Tiers = scoreboard.Tiers{
		{Name: "champion", Rank: 1},
		{Name: "master", Rank: 1500},
		{Name: "gold", Percent: 12_500},
		{Name: "silver", Score: new(scoreboard.Score(1000))},
	}
	const best = `Tiers <span><b>champion</b> rank 1</span> <span><b>master</b> up to rank 1,500</span> ` +
		`<span><b>gold</b> best 12.5 %</span> <span><b>silver</b> `
	for order, silver := range map[scoreboard.Order]string{
		scoreboard.OrderHighest: "from 1,000 points", scoreboard.OrderLowest: "up to 1,000 points",
	} {
		b.Order = order
		if page := string(New().Page(b)); !strings.Contains(page, best+silver+"</span></p>") {
			t.Errorf("%s: the page does not name the tiers with %s:\n%s", order, silver, page)
		}
	}
	b.Kiosk = true
	if page := string(New().Page(b)); strings.Contains(page, "Tiers") {
		t.Error("a screen on a wall has tiers")
	}
}
