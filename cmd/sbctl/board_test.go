package main

import (
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
)

// A period whose standings are stored is ended, and not frozen by an operator.
func TestStatusOfBoards(t *testing.T) {
	t.Parallel()
	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	for want, boards := range map[string][]client.Board{
		"active": {{Status: "active"}, {Status: "active", PeriodEnd: &future}},
		"ended": {
			{Status: "active", PeriodEnd: &past}, {Status: "frozen", PeriodEnd: &past, ClosedAt: &past},
		},
		"frozen":   {{Status: "frozen"}, {Status: "frozen", PeriodEnd: &future}},
		"archived": {{Status: "archived", ClosedAt: &past}},
	} {
		for _, b := range boards {
			if got := statusCell(&b, nil); got != want {
				t.Errorf("%+v: got %s, want %s", b, got, want)
			}
		}
	}
}
