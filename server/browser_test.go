package server_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/browser"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// A page of another origin in a real browser gets tickets, connects by WebSocket and
// by EventSource, and sees the board change, also after both have reconnected; the
// EventSource does so by itself, with its ticket.
func TestBrowser(t *testing.T) {
	t.Parallel()
	ctx := browser.New(t, 3*awaitTimeout)
	h := newHarness(t)
	site := httptest.NewServer(http.FileServer(http.Dir("testdata")))
	t.Cleanup(site.Close)
	n := h.start(allRoles, "realtime-origins", site.URL, "realtime-connections-per-user", "0",
		"realtime-lifetime", "2s", "realtime-reconnect-within", "100ms")
	game := n.client("game", auth.ScopeUpdate)
	submit := func(user string, delta int64) {
		t.Helper()
		if _, err := game.Submit(t.Context(), client.Increment{User: user, Delta: delta}); err != nil {
			t.Fatal(err)
		}
	}
	shows := func(id, want string) {
		t.Helper()
		got := ""
		for end := time.Now().Add(awaitTimeout); got != want; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s shows %q, want %q", id, got, want)
			}
			if err := chromedp.Run(ctx, chromedp.Text("#"+id, &got, chromedp.ByQuery)); err != nil {
				t.Fatal(err)
			}
		}
	}
	submit("alice", 5)
	query := url.Values{"api": {n.URL}, "bearer": {h.token("bob", "", time.Hour)}}
	if err := chromedp.Run(ctx, chromedp.Navigate(site.URL+"/page.html?"+query.Encode())); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"ws", "sse"} {
		shows(id, "alice 5")
	}
	shows("wsclosed", "4401 token_used")
	submit("carol", 9)
	for _, id := range []string{"ws", "sse"} {
		shows(id, "carol 9")
	}
	const ended = "scoreboard_realtime_closed_total"
	before := n.metric(t, ended, "lifetime")
	h.await("both connections to have ended", func() bool { return n.metric(t, ended, "lifetime") >= before+3 })
	submit("dave", 12)
	for _, id := range []string{"ws", "sse"} {
		shows(id, "dave 12")
	}
}
