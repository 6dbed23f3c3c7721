package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/browser"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// In Firefox, too, a page shows its rows, and a submit within a second; the sign-in of the console
// opens with its style and without anything blocked.
func TestPagesInFirefox(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "web-boards", "*", "limit-anonymous-per-minute", "0", "auth-dev-issuer", "true",
		"console-dev-sign-in", "true")
	game := n.client("game", auth.ScopeUpdate)
	submit := func(user string, delta int64) {
		t.Helper()
		if _, err := game.Submit(t.Context(), client.Increment{User: user, Delta: delta}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		submit(fmt.Sprint("user-", i), int64(100+i))
	}
	h.await("the rows", func() bool {
		_, _, body := request(t, "GET", n.URL+"/b/global", "", nil)
		return strings.Count(body, "data-user=") == 5
	})
	f := browser.NewFirefox(t, 3*awaitTimeout)
	await := func(what, expression string) {
		t.Helper()
		for end := time.Now().Add(awaitTimeout); f.Value(expression) != "true"; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("timed out waiting for %s; the page shows %s", what, f.Value("document.body.innerText"))
			}
		}
	}
	f.Open(n.URL + "/b/global")
	await("the stream", live)
	await("the rows", `document.querySelectorAll("#rows tbody tr").length === 5 && `+shows("user-4", 104))
	started := time.Now()
	submit("user-0", 1000)
	await("the new leader", shows("user-0", 1100)+
		` && document.querySelector("#rows tbody tr").dataset.user === "user-0"`)
	if took := time.Since(started); took > maxLiveDelay {
		t.Errorf("the page showed a submit after %s, want at most %s", took, maxLiveDelay)
	}
	if got := f.Value(`getComputedStyle(document.querySelector(".badge")).display`); got != "inline-flex" {
		t.Errorf("the badges are displayed as %s: the style sheet was not applied", got)
	}
	f.Open(n.Ops + "/console/sign-in")
	await("the button of the sign-in", `!!document.querySelector("button[value=development]")`)
	if got := f.Value(`document.styleSheets.length > 0 && document.styleSheets[0].cssRules.length > 0`); got != "true" {
		t.Error("the console has no style")
	}
}
