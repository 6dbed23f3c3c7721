package main

import (
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/bulk"
)

// On resume the percentage, the lines and the time left are about the whole file.
func TestProgressOfResumedFile(t *testing.T) {
	t.Parallel()
	b := &progressBar{size: 1000}
	for _, c := range []struct {
		name  string
		tally bulk.Tally
		want  string
	}{
		{
			"first run",
			bulk.Tally{Done: 40, Rejected: 10, Bytes: 500},
			"[############............]  50 %  50 lines, 5/s, 10 rejected, 10s left",
		},
		{ // 30 lines took 10 s, so the last 20 of 100 take 7 s
			"resumed",
			bulk.Tally{Done: 30, Skipped: 50, Bytes: 800},
			"[###################.....]  80 %  80 lines, 3/s, 50 by an earlier run, 7s left",
		},
		{
			"nothing new yet",
			bulk.Tally{Skipped: 1, Bytes: 10},
			"[........................]   1 %  1 line, 0/s, 1 by an earlier run",
		},
	} {
		if got := b.text(c.tally, 10*time.Second); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}
