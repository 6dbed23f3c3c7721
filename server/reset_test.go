package server_test

import (
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// Reads of a board and of a standing say when the period ends and when the next one begins.
func TestReadsSayWhenPeriodsEnd(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "transport", "direct")
	root, ada := n.client("root", auth.ScopeAdmin), n.client("ada", "")
	ends := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	summer := ends.Add(time.Hour)
	for _, r := range []client.BoardRequest{
		{Board: "daily", Period: "daily"}, {Board: "season", Period: "season", Season: "spring", EndsAt: &ends},
	} {
		if _, err := root.CreateBoard(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	is := func(got *time.Time, want time.Time) bool {
		return got == nil && want.IsZero() || got != nil && got.Equal(want)
	}
	check := func(board string, ends, next time.Time) {
		t.Helper()
		h.await("the times of "+board, func() bool {
			b, err := ada.Board(t.Context(), board)
			if err != nil {
				t.Fatal(err)
			}
			p, err := ada.Me(t.Context(), client.PlaceQuery{Board: board})
			return err == nil && is(b.EndsAt, ends) && is(b.NextReset, next) &&
				is(p.EndsAt, ends) && is(p.NextReset, next)
		})
	}
	for _, board := range []string{"daily", "season", "global"} {
		if _, err := ada.Submit(t.Context(), client.Increment{User: "ada", Board: board, Delta: 1}); err != nil {
			t.Fatal(err)
		}
	}
	b, err := ada.Board(t.Context(), "daily")
	if err != nil {
		t.Fatal(err)
	}
	today, err := ada.Board(t.Context(), b.Current)
	if err != nil {
		t.Fatal(err)
	}
	check("daily", *today.PeriodEnd, *today.PeriodEnd)
	check(today.Board, *today.PeriodEnd, *today.PeriodEnd)
	check("global", time.Time{}, time.Time{})
	check("season", ends, time.Time{})
	later := summer.Add(time.Hour)
	if _, err := root.RollBoards(t.Context(), "season", client.RollRequest{
		Season: "summer", StartsAt: &summer, EndsAt: &later,
	}); err != nil {
		t.Fatal(err)
	}
	check("season", ends, summer)
	check("season:spring", ends, summer)
}
