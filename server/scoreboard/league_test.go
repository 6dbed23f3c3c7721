package scoreboard_test

import (
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestZonesOfCohorts(t *testing.T) {
	t.Parallel()
	l := scoreboard.League{Divisions: 3, CohortSize: 20, Min: 4, Promote: 3, Relegate: 2}
	const up, safe, down = scoreboard.ZonePromotion, scoreboard.ZoneSafe, scoreboard.ZoneRelegation
	for _, c := range []struct {
		division      int
		rank, players int64
		want          scoreboard.LeagueZone
	}{
		{1, 1, 20, up},
		{1, 3, 20, up},
		{1, 4, 20, safe},
		{1, 20, 20, safe}, // nobody falls out of the lowest division
		{2, 3, 20, up},
		{2, 18, 20, safe},
		{2, 19, 20, down},
		{3, 1, 20, safe}, // nor rises above the highest
		{3, 19, 20, down},
		{2, 1, 3, safe}, // too few
		{2, 3, 4, up},   // promotion first
		{2, 4, 4, down},
		{3, 3, 4, down},
	} {
		if got := l.ZoneOf(c.division, c.rank, c.players); got != c.want {
			t.Errorf("%+v: got %s", c, got)
		}
	}
}

func TestLeaguesAreChecked(t *testing.T) {
	t.Parallel()
	good := scoreboard.League{Divisions: 5, CohortSize: 50, Min: 10, Promote: 10, Relegate: 5, Attribute: "region"}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*scoreboard.League){
		"one division":     func(l *scoreboard.League) { l.Divisions = 1 },
		"many divisions":   func(l *scoreboard.League) { l.Divisions = 21 },
		"a cohort of one":  func(l *scoreboard.League) { l.CohortSize = 1 },
		"a large cohort":   func(l *scoreboard.League) { l.CohortSize = 201 },
		"no minimum":       func(l *scoreboard.League) { l.Min = 0 },
		"a large minimum":  func(l *scoreboard.League) { l.Min = 51 },
		"negative":         func(l *scoreboard.League) { l.Relegate = -1 },
		"more than all":    func(l *scoreboard.League) { l.Promote = 51 },
		"a bad attribute":  func(l *scoreboard.League) { l.Attribute = "A b" },
		"a long attribute": func(l *scoreboard.League) { l.Attribute = string(make([]byte, 49)) },
	} {
		l := good
		change(&l)
		if err := l.Check(); wire.CodeOf(err) != wire.CodeInvalidRequest {
			t.Errorf("%s: got %v, want an invalid_request", name, err)
		}
	}
}

// Only servers choose with whom a player competes.
func TestPlayersDoNotChooseTheirCohort(t *testing.T) {
	t.Parallel()
	in := scoreboard.Increment{Attributes: scoreboard.Attributes{{Name: "region", Value: "eu"}}}
	by := scoreboard.League{Attribute: "region"}
	if got := by.FillOf(&in); got != "" {
		t.Errorf("a player: got %q, want none", got)
	}
	in.Server = true
	if got := by.FillOf(&in); got != "eu" {
		t.Errorf("a server: got %q, want eu", got)
	}
	if got := (&scoreboard.League{}).FillOf(&in); got != "" {
		t.Errorf("by order: got %q, want none", got)
	}
}
