package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
)

// whatIfResult has what others chose: an event's id, and a detail.
func whatIfResult() *client.WhatIf {
	return &client.WhatIf{
		Board: "global", Since: time.Unix(0, 0), AsOf: time.Unix(0, 0), Evaluated: 12, Rejected: 12,
		Up: 1, Down: 1, Changed: 2,
		RejectedBy: map[string]int64{"anomaly.frequency": 12},
		Limits:     []string{`a <b>limit</b>`},
		Changes: []wire.WhatIfChange{
			{
				UserID: "mallory-1@x", Rank: 100_001, NewRank: 1_000_002, Score: 123_456_789, NewScore: new(int64),
				Rejected: 12,
				Events: []wire.WhatIfEvent{{
					EventID: "0193a5b2-6f3a-7c41-8d12-5a0f9b1c2d3e", Delta: 1_000_000, Rule: "anomaly.frequency",
					Detail: `<script>alert("1")</script>`,
				}},
			},
			{UserID: "ada", Rank: 2, NewRank: 1, Score: 125, NewScore: new(int64)},
		},
	}
}

// The table fits a terminal of 100 columns, and has the ids that clients sent.
func TestWhatIfTableFits(t *testing.T) {
	t.Parallel()
	r := whatIfResult()
	text := whatIfTable(r).render(style{})
	for line := range strings.Lines(text) {
		if n := ansi.StringWidth(strings.TrimSpace(line)); n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(text, "0193a5b2-6f3a-7… +1000000 anomaly.frequency, 11 more") {
		t.Errorf("got:\n%s", text)
	}
	r.Changes[0].Events[0].EventID = "match-8841"
	if text := whatIfTable(r).render(style{}); !strings.Contains(text, "match-8841 +1000000") {
		t.Errorf("got:\n%s", text)
	}
}

// What clients and operators wrote cannot become markup of the page.
func TestWhatIfPageEscapes(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "page.html")
	r := whatIfResult()
	r.Changes[1].UserID = `<img src=x onerror="alert(1)">`
	if err := writeWhatIfPage(name, r); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, markup := range []string{"<script", "<img", "<b>"} {
		if strings.Contains(string(page), markup) {
			t.Errorf("the page has %s", markup)
		}
	}
	for _, text := range []string{"&lt;script&gt;", "&lt;img src=x", "a &lt;b&gt;limit"} {
		if !strings.Contains(string(page), text) {
			t.Errorf("the page lacks %s", text)
		}
	}
}
