package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// GET / of both addresses says what they are, and every link works. So do the examples
// of the API's description.
func TestFrontPages(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "web-boards", "*")
	root := bearer(h.token("root", auth.ScopeAdmin, time.Hour))
	for address, wants := range map[string][]string{
		n.URL: {"/b/global", "/docs", "/openapi.json", "/v1/boards", "/v1/leaderboard/top"},
		n.Ops: {"/console", "/metrics", "/readyz", "/healthz", "/debug/pprof/"},
	} {
		status, header, body := request(t, http.MethodGet, address+"/", "", nil)
		var page wire.FrontPage
		if err := json.Unmarshal([]byte(body), &page); err != nil || status != http.StatusOK ||
			!strings.HasPrefix(page.Name, "scoreboard") {
			t.Fatalf("got %d, %s, %v, want JSON", status, body, err)
		}
		if header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: got the headers %v", page.Name, header)
		}
		status, header, html := request(t, http.MethodGet, address+"/", "", http.Header{
			"Accept": {"text/html,application/xhtml+xml,*/*;q=0.8"},
		})
		if status != http.StatusOK || !strings.HasPrefix(header.Get("Content-Type"), "text/html") ||
			!strings.Contains(header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
			t.Errorf("%s: got %d, %v, want a page", page.Name, status, header)
		}
		linked := map[string]bool{}
		for _, link := range page.Links {
			linked[link.Path] = true
			status, _, _ := request(t, http.MethodGet, address+link.Path, "", root)
			want := http.StatusOK
			if link.Path == "/console" {
				want = http.StatusSeeOther // to the sign-in
			}
			if status != want || link.Description == "" || !strings.Contains(html, link.Path) {
				t.Errorf("%s: %s: got %d and %q", page.Name, link.Path, status, link.Description)
			}
		}
		for _, want := range wants {
			if !linked[want] {
				t.Errorf("%s has no link to %s", page.Name, want)
			}
		}
		if status, _, _ := request(t, http.MethodGet, address+"/nowhere", "", nil); status != http.StatusNotFound {
			t.Errorf("%s: an unknown path: got %d, want 404", page.Name, status)
		}
	}
	testExamples(t, h, n)
	// A gateway has neither boards nor reads.
	gateway := h.start("gateway")
	_, _, body := request(t, http.MethodGet, gateway.URL+"/", "", nil)
	if strings.Contains(body, "/v1/boards") || !strings.Contains(body, "/docs") {
		t.Errorf("a gateway: got %s, want no links to routes that it lacks", body)
	}
}
