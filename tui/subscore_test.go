package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
)

// On a board with subscores, rows with the same score are tied only with the same subscore, and the second number is
// beside the first.
func TestSubscores(t *testing.T) {
	t.Parallel()
	entries := []client.Entry{
		{Rank: 1, UserID: "reds", Score: 9, Subscore: new(int64(12))},
		{Rank: 2, UserID: "blues", Score: 9, Subscore: new(int64(-3))},
		{Rank: 3, UserID: "greens", Score: 9, Subscore: new(int64(-3))},
	}
	var b board
	b.update(entries, time.Now())
	if b.rows[0].tied || !b.rows[1].tied || !b.rows[2].tied {
		t.Errorf("got %+v, want the last two tied", b.rows)
	}
	s := client.State{Board: "football", Entries: entries, Connection: client.WebSocket, HeardAt: time.Now()}
	text := frame(&s, "", time.Now(), error.Error)
	if !strings.Contains(text, "reds               9        12\n") {
		t.Errorf("the frame has no second number:\n%s", text)
	}
	var lines strings.Builder
	(&board{}).writeLines(&lines, entries, time.Now(), "12:00:00")
	if !strings.Contains(lines.String(), "blues is #2 with 9 (-3)\n") {
		t.Errorf("got %s", lines.String())
	}
}
