package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/browser"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// The page plays back a running board and a season that has ended: with pause, a scrubber and
// speeds, by keyboard, without a shift, and only after that loads the code for it.
func TestTimelineInBrowser(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "web-boards", "*", "limit-anonymous-per-minute", "0", "boards-close-grace", "1s")
	root := n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	ends := time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, err := root.CreateBoard(t.Context(), client.BoardRequest{
		Board: "cup", Period: "season", Season: "one", EndsAt: &ends,
	}); err != nil {
		t.Fatal(err)
	}
	submit := func(user string, delta int64) {
		t.Helper()
		if _, err := root.Submit(t.Context(), client.Increment{User: user, Board: "cup", Delta: delta}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 12 {
		submit(fmt.Sprint("user-", i), int64(100-i))
	}
	time.Sleep(2 * time.Second) // a timeline has steps of a second
	submit("user-11", 1000)
	time.Sleep(2 * time.Second)
	v := newViewer(t, 4*awaitTimeout, emulation.SetDeviceMetricsOverride(1280, 900, 1, false))
	requested := func(what string) bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		return strings.Contains(strings.Join(v.requests, "\n"), what)
	}
	first := func(user string) string {
		return fmt.Sprintf(`document.querySelector("#rows tbody tr")?.dataset.user === %q`, user)
	}
	scrub := func(seconds string) {
		t.Helper()
		v.value(`(() => { const r = document.getElementById("timeline-at"); r.value = ` + seconds +
			`; r.dispatchEvent(new Event("input")); r.dispatchEvent(new Event("change")); })()`)
	}
	v.run(chromedp.Navigate(n.URL + "/b/cup"))
	v.await("the stream", live)
	if requested("/timeline") {
		t.Error("the page loads the code of timelines before it is asked to")
	}
	v.run(chromedp.Click("#playback"))
	v.await("the timeline", `document.getElementById("timeline-play")?.textContent === "Pause"`)
	if !requested("/b/cup/timeline") || v.value(`document.getElementById("connection").textContent`) != "Playback" {
		t.Error("the page does not say that it shows the past")
	}
	scrub("document.getElementById('timeline-at').max")
	v.await("the last moment", first("user-11")+` && document.querySelector("#timeline-play").textContent === "Play"`)
	scrub("0")
	v.await("the first moment", `document.querySelectorAll("#rows tbody tr").length === 0`)
	v.run(chromedp.Focus("#timeline-at"), chromedp.KeyEvent(kb.ArrowRight))
	v.await("a step by key", `Number(document.getElementById("timeline-at").value) === 1`)
	v.run(chromedp.SetValue("#timeline-speed", "8"),
		chromedp.Evaluate(`document.getElementById("timeline-speed").dispatchEvent(new Event("change"))`, nil),
		chromedp.Focus("#timeline-play"), chromedp.KeyEvent(" "))
	v.await("a leader of the past", first("user-0"))
	v.await("the leader after", first("user-11"))
	v.await("the end", `document.getElementById("timeline-play").textContent === "Play"`)
	if said := v.value(`document.getElementById("announce").textContent`); !strings.Contains(said, "leads with") {
		t.Errorf("a screen reader hears %q, want the moment and its leader", said)
	}
	submit("user-5", 5000)
	if v.value(first("user-5")) == "true" {
		t.Error("the present shows in the past")
	}
	for _, theme := range []string{"light", "dark"} {
		v.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}))
		found, err := browser.AccessibilityProblems(v.ctx)
		if err != nil || len(found) > 0 {
			t.Errorf("axe-core in the %s theme: %v, %v", theme, found, err)
		}
	}
	v.run(chromedp.Click("#timeline-close"))
	v.await("the present", first("user-5")+` && document.getElementById("timeline").hidden && `+live)
	if got := v.value(`JSON.stringify(window.shifts)`); got != "[]" {
		t.Errorf("got the layout shifts %s, want none", got)
	}

	if status, _, body := request(t, http.MethodPost, n.URL+"/v1/boards/cup/roll",
		`{"season":"two","ends_at":"2099-01-01T00:00:00Z"}`, bearer(h.token("root", auth.ScopeAdmin, time.Hour)),
	); status != http.StatusOK {
		t.Fatal(status, body)
	}
	h.await("the final standings", func() bool {
		_, _, body := request(t, http.MethodGet, n.URL+"/b/cup:one", "", nil)
		return strings.Contains(body, "Final standings")
	})
	v.run(chromedp.Navigate(n.URL + "/b/cup:one"))
	v.await("the script", `document.getElementById("playback").hidden === false`)
	v.run(chromedp.Click("#playback"))
	// Motion is reduced: nothing moves before the viewer says so.
	v.await("a timeline that waits", `document.getElementById("timeline-play")?.textContent === "Play"`+
		` && !document.getElementById("timeline-play").disabled`)
	v.await("the beginning", `document.querySelectorAll("#rows tbody tr").length === 0`)
	scrub("document.getElementById('timeline-at').max")
	v.await("the end of the season", shows("user-5", 5095))
	v.run(chromedp.Click("#playback"))
	v.await("the final standings again", shows("user-5", 5095)+` && document.getElementById("timeline").hidden`+
		` && document.getElementById("connection").textContent === "Final"`)
	v.check(n.URL)
}
