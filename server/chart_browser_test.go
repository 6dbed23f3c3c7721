package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/browser"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// The page of a player draws the last day of score and rank, with words for screen readers, and
// names nobody who is hidden.
func TestChartInBrowser(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "web-boards", "*", "limit-anonymous-per-minute", "0")
	root := n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	submit := func(user string, delta int64) {
		t.Helper()
		if _, err := root.Submit(t.Context(), client.Increment{User: user, Delta: delta}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		submit(fmt.Sprint("user-", i), int64(100-10*i))
	}
	// What was recorded now was recorded hours ago.
	db := backends.Connect(t, h.postgres)
	for _, sql := range []string{
		"update boards set created_at = created_at - interval '30 hours'",
		"update user_score_histories set recorded_at = recorded_at - interval '5 hours'",
	} {
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	submit("user-2", 50)
	v := newViewer(t, 3*awaitTimeout, emulation.SetDeviceMetricsOverride(1280, 1200, 1, false))
	v.run(chromedp.Navigate(n.URL + "/b/global"))
	v.await("the stream", live)
	v.mu.Lock()
	early := strings.Contains(strings.Join(v.requests, "\n"), "/chart.")
	v.mu.Unlock()
	if early {
		t.Error("the page loads the code of charts without a player")
	}
	v.run(chromedp.Navigate(n.URL + "/b/global?player=user-2"))
	v.await("the charts", `document.querySelectorAll("#chart svg").length === 2`)
	words := v.value(`[...document.querySelectorAll("#chart svg")].map((s) => s.ariaLabel).join(" ")`)
	want := "Rank over the last day: from #3 to #1, best #1. Score over the last day: from 80 to 130, best 130."
	if words != want {
		t.Errorf("got the words %q, want %q", words, want)
	}
	if got := v.value(`JSON.stringify(window.shifts)`); got != "[]" {
		t.Errorf("got the layout shifts %s, want none", got)
	}
	for _, theme := range []string{"light", "dark"} {
		v.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: theme},
		}))
		found, err := browser.AccessibilityProblems(v.ctx)
		if err != nil || len(found) > 0 {
			t.Errorf("axe-core in the %s theme: %v, %v", theme, found, err)
		}
	}
	if _, err := root.SetPrivacy(t.Context(), "user-2", "pseudonym"); err != nil {
		t.Fatal(err)
	}
	h.await("the hidden player's charts to go", func() bool {
		status, body := h.get(t, n.URL+"/b/global/players/user-2/history", nil)
		return status == 404 && !strings.Contains(body, `"rank"`)
	})
	v.check(n.URL)
}
