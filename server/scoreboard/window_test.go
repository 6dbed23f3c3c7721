package scoreboard_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestWindowSince(t *testing.T) {
	t.Parallel()
	date := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }
	for _, c := range []struct {
		window    scoreboard.Window
		now, want time.Time
	}{
		{0, date(2026, 11, 21), date(2026, 10, 1)},
		{2, date(2026, 11, 2), date(2026, 10, 1)},
		// The database may still be in October.
		{2, date(2026, 11, 2).Add(-time.Nanosecond), date(2026, 9, 1)},
		{2, date(2027, 1, 15), date(2026, 12, 1)},
		{2, time.Date(2026, 11, 2, 1, 0, 0, 0, time.FixedZone("", 2*3600)), date(2026, 9, 1)},
		{3, date(2026, 11, 21), date(2026, 9, 1)},
		{4, date(2026, 11, 21), date(2026, 8, 1)},
		{4, date(2027, 2, 15), date(2026, 11, 1)},
	} {
		if got := c.window.Since(c.now); !got.Equal(c.want) {
			t.Errorf("%d at %s: %s, want %s", c.window, c.now, got, c.want)
		}
	}
}

// Whatever is valid for as long as the window guarantees ends before its record does, on
// every day, with clocks that differ by a day.
func TestWindowGuarantees(t *testing.T) {
	t.Parallel()
	for window := scoreboard.DefaultWindow; window <= scoreboard.MaxWindow; window++ {
		shortest := time.Duration(1<<63 - 1)
		for day := range 4 * 366 {
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, day)
			// The archive keeps what the database's clock, a day ahead, needs.
			shortest = min(shortest, now.Sub(window.Since(now.Add(scoreboard.MaxClockSkew))))
		}
		if left := shortest - window.Guaranteed(); left < scoreboard.MaxClockSkew || left > 5*24*time.Hour {
			t.Errorf("window %d: repeats are recognised for %s at shortest, and %s is guaranteed", window, shortest,
				window.Guaranteed())
		}
	}
}

// What pages say and offline queues assume is what the window guarantees. A queue that sent an
// increment once must not send it after that.
func TestWindowInPagesAndQueues(t *testing.T) {
	t.Parallel()
	days := func(w scoreboard.Window) int { return int(w.Guaranteed() / (24 * time.Hour)) }
	shortest, longest := days(scoreboard.DefaultWindow), days(scoreboard.MaxWindow)
	text := fmt.Sprintf
	for path, want := range map[string]string{
		"README.md":            text("[%d days](docs/requirements.md#attestations)", shortest),
		"docs/requirements.md": text("| 2 | %d days |\n| 3 | %d days |\n| 4 | %d days |", shortest, days(3), longest),
		"docs/settings.md":     text("valid for %d, %d or %d days at most", shortest, days(3), longest),
		"docs/dialects.md":     text("at least %d days by default, %d with the largest window", shortest, longest),

		"sdk/typescript/README.md":                        text("more than %d days ago", shortest),
		"sdk/python/README.md":                            text("more than %d days ago", shortest),
		"sdk/csharp/README.md":                            text("more than %d days ago", shortest),
		"sdk/godot/README.md":                             text("more than %d days ago", shortest),
		"sdk/typescript/src/queue/queue.ts":               text("MAX_AGE = %d * 24 * 3600_000;", shortest),
		"sdk/python/scoreboard/_store.py":                 text("MAX_AGE = %d * 24 * 3600\n", shortest),
		"sdk/csharp/Runtime/Client/Queue/OfflineQueue.cs": text("MaxAge = TimeSpan.FromDays(%d);", shortest),
		"sdk/godot/gdscript/addons/scoreboard/scoreboard_queue.gd": text(
			"MAX_AGE := %d * 24 * 3600\n", shortest),
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", path))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("%s lacks %q", path, want)
		}
	}
}
