package server_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// The routes of a page, for a board.
func pagePaths(board string) []string {
	return []string{
		"/b/" + board, "/b/" + board + "/card.svg", "/b/" + board + "/top", "/b/" + board + "/players/ada",
		"/embed/" + board,
	}
}

// Pages are public exactly for listed public boards; a client with a token gets nothing that a cache
// may keep.
func TestPagesOfBoards(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "web-boards", "global,secret", "web-origins", "global=https://game.example",
		"limit-anonymous-per-minute", "0")
	other := h.start("read,gateway") // does not list boards
	game := n.client("game", auth.ScopeUpdate)
	for user, points := range map[string]int64{"ada": 30, "bob": 20, "cyd": 20} {
		if _, err := game.Submit(t.Context(), client.Increment{User: user, Delta: points}); err != nil {
			t.Fatal(err)
		}
	}
	root := bearer(h.token("root", auth.ScopeAdmin, time.Hour))
	for _, body := range []string{`{"board":"secret","public":false}`, `{"board":"other"}`} {
		status, _, answer := request(t, http.MethodPost, n.URL+"/v1/boards", body, root)
		if status != http.StatusCreated {
			t.Fatalf("got %d %s", status, answer)
		}
	}
	h.await("the standings", func() bool {
		_, _, page := request(t, http.MethodGet, n.URL+"/b/global", "", nil)
		return strings.Count(page, "data-user=") == 3
	})
	ada := bearer(h.token("ada", "", time.Hour))
	for _, path := range pagePaths("global") {
		status, header, body := request(t, http.MethodGet, n.URL+path, "", nil)
		vary := strings.Join(header.Values("Vary"), ", ")
		if status != http.StatusOK || !strings.Contains(body, "ada") || header.Get("Set-Cookie") != "" ||
			!strings.HasPrefix(header.Get("Cache-Control"), "public, max-age=0, s-maxage=1, stale-while-revalidate=") ||
			!strings.Contains(vary, "Authorization") || !strings.Contains(vary, "Origin") {
			t.Errorf("%s: got %d %v %s", path, status, header, body)
		}
		if etag := header.Get("Etag"); etag != "" {
			again, header, _ := request(t, http.MethodGet, n.URL+path, "", http.Header{"If-None-Match": {etag}})
			if again != http.StatusNotModified || header.Get("Cache-Control") == "no-store" {
				t.Errorf("%s with its tag: got %d %v, want 304", path, again, header)
			}
		} else if !strings.Contains(path, "/players/") {
			t.Errorf("%s has no ETag", path)
		}
		for name, token := range map[string]http.Header{"a user's": ada, "an operator's": root} {
			status, header, _ := request(t, http.MethodGet, n.URL+path, "", token)
			if status != http.StatusOK || header.Get("Cache-Control") != "private, no-store" {
				t.Errorf("%s with %s token: got %d %v", path, name, status, header)
			}
		}
		wrong := bearer("wrong")
		if status, _, _ := request(t, http.MethodGet, n.URL+path, "", wrong); status != http.StatusUnauthorized {
			t.Errorf("%s with a wrong token: got %d, want 401", path, status)
		}
	}
	for _, board := range []string{"secret", "other", "unknown"} {
		for _, path := range append(pagePaths(board), "/v1/realtime/pages/"+board) {
			for name, token := range map[string]http.Header{"no": nil, "a user's": ada, "an operator's": root} {
				status, header, _ := request(t, http.MethodGet, n.URL+path, "", token)
				if status != http.StatusNotFound || header.Get("Cache-Control") != "no-store" {
					t.Errorf("%s with %s token: got %d %v, want 404", path, name, status, header)
				}
			}
		}
	}
	for _, path := range append(pagePaths("global"), "/v1/realtime/pages/global", "/assets/score-board.js") {
		if status, _, _ := request(t, http.MethodGet, other.URL+path, "", root); status != http.StatusNotFound {
			t.Errorf("%s of a node that lists no boards: got %d, want 404", path, status)
		}
	}
	api := n.URL + "/v1/leaderboard/top"
	if status, _, _ := request(t, http.MethodGet, api, "", nil); status != http.StatusUnauthorized {
		t.Errorf("the API without a token: got %d, want 401", status)
	}
	status, header, body := request(t, http.MethodGet, n.URL+"/b/other", "", http.Header{"Accept": {"text/html"}})
	if status != http.StatusNotFound || !strings.HasPrefix(header.Get("Content-Type"), "text/html") ||
		!strings.Contains(body, "Board not found") ||
		!strings.Contains(header.Get("Content-Security-Policy"), "'none'") {
		t.Errorf("a page that does not exist, in a browser: got %d %v %s", status, header, body)
	}
}

// Other sites may embed a board only if web.origins names them for it.
func TestPagesInOtherSites(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "web-boards", "global,other", "web-origins", "global=https://game.example")
	root := bearer(h.token("root", auth.ScopeAdmin, time.Hour))
	request(t, http.MethodPost, n.URL+"/v1/boards", `{"board":"other"}`, root)
	for path, want := range map[string]string{
		"/embed/global": "frame-ancestors 'self' https://game.example", "/embed/other": "frame-ancestors 'self'",
		"/b/global": "frame-ancestors 'none'",
	} {
		_, header, _ := request(t, http.MethodGet, n.URL+path, "", nil)
		policy := header.Get("Content-Security-Policy")
		if !strings.HasSuffix(policy, want) || !strings.Contains(policy, "require-trusted-types-for 'script'") ||
			strings.Contains(policy, "unsafe") {
			t.Errorf("%s: got the policy %s, want %s at its end", path, policy, want)
		}
	}
	for _, tt := range []struct {
		path, origin string
		allowed      bool
	}{
		{"/b/global/top", "https://game.example", true},
		{"/b/global/top", "https://evil.example", false},
		{"/b/global/top", "null", false},
		{"/b/other/top", "https://game.example", false},
		{"/v1/leaderboard/top", "https://game.example", false},
		{"/b/global", "https://game.example", false},
	} {
		_, header, _ := request(t, http.MethodGet, n.URL+tt.path, "", http.Header{"Origin": {tt.origin}})
		got := header.Get("Access-Control-Allow-Origin")
		if (got == tt.origin) != tt.allowed || !tt.allowed && got != "" {
			t.Errorf("%s for %s: got %q, want allowed: %t", tt.path, tt.origin, got, tt.allowed)
		}
	}
	live := n.URL + "/v1/realtime/pages/global"
	if status, _ := h.get(t, live, http.Header{"Origin": {"https://evil.example"}}); status != http.StatusForbidden {
		t.Errorf("a stream for another site: got %d, want 403", status)
	}
	if status, _ := h.get(t, live, http.Header{"Origin": {"https://game.example"}}); status != http.StatusOK {
		t.Errorf("a stream for a site that may embed the board: got %d, want 200", status)
	}
}

// Names and what a link contains are shown as text, in every page and picture of a board.
func TestPagesShowTextsAsTexts(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "web-boards", "*", "limit-anonymous-per-minute", "0")
	const attack = `"><script>window.hit=1</script><img src=x onerror=window.hit=1>'`
	if _, err := n.client("game", auth.ScopeUpdate).Submit(t.Context(), client.Increment{
		User: "ada", Delta: 5, EventID: "first",
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.client("root", auth.ScopeAdmin).PutProfile(t.Context(), "ada", client.Profile{
		DisplayName: `"><script>window.hit=1</script>`, AvatarURL: "https://img.example/" + url.PathEscape(attack),
	}); err != nil {
		t.Fatal(err)
	}
	h.await("the name", func() bool {
		_, _, body := request(t, http.MethodGet, n.URL+"/b/global", "", nil)
		return strings.Contains(body, "window.hit")
	})
	shown := 0
	hostile := url.PathEscape(attack)
	for _, path := range append(pagePaths("global"), "/b/", "/b/"+hostile, "/embed/"+hostile) {
		paths := []string{path}
		for _, name := range []string{"player", "limit", "theme", "kiosk", "before", "after", "label", "at", "k"} {
			paths = append(paths, path+"?"+name+"="+url.QueryEscape(attack))
		}
		for _, path := range paths {
			_, header, body := request(t, http.MethodGet, n.URL+path, "", http.Header{"Accept": {"text/html"}})
			kind, _, _ := strings.Cut(header.Get("Content-Type"), ";")
			if kind == "application/json" { // which no browser reads as a page
				if header.Get("X-Content-Type-Options") != "nosniff" {
					t.Errorf("%s: a browser may take the JSON for a page", path)
				}
				continue
			}
			if strings.Contains(body, "<script>window") || strings.Contains(body, "<img") {
				t.Errorf("%s has markup of a text: %s", path, body)
			}
			if strings.Contains(body, "window.hit") {
				shown++
			}
		}
	}
	if shown < 10 {
		t.Errorf("%d pages show the text, want at least 10: this test checks too little", shown)
	}
}

// A page of a period that has ended shows its final standings, and the choice of periods.
func TestPagesOfPeriods(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "web-boards", "*", "limit-anonymous-per-minute", "0", "boards-close-grace", "1s")
	root := bearer(h.token("root", auth.ScopeAdmin, time.Hour))
	season := func(path, name string, status int) {
		t.Helper()
		body := fmt.Sprintf(`{"season":%q,"ends_at":"2099-01-01T00:00:00Z"`, name)
		if path == "/v1/boards" {
			body += `,"board":"cup","period":"season"`
		}
		if got, _, answer := request(t, http.MethodPost, n.URL+path, body+"}", root); got != status {
			t.Fatalf("season %s: got %d %s", name, got, answer)
		}
	}
	game := n.client("game", auth.ScopeUpdate)
	submit := func(user, board string) {
		h.await("the period "+board, func() bool {
			r, err := game.Submit(t.Context(), client.Increment{User: user, Delta: 5, Board: "cup"})
			if err != nil {
				t.Fatal(err)
			}
			return r.Board == board
		})
	}
	season("/v1/boards", "one", http.StatusCreated)
	submit("ada", "cup:one")
	status, _, body := request(t, http.MethodPut, n.URL+"/v1/users/ada/profile", `{"display_name":"Ada L."}`, root)
	if status != http.StatusOK {
		t.Fatal(status, body)
	}
	season("/v1/boards/cup/roll", "two", http.StatusOK)
	submit("bob", "cup:two")
	page := func(path string) string {
		_, _, body := request(t, http.MethodGet, n.URL+path, "", nil)
		return body
	}
	h.await("the final standings", func() bool {
		return strings.Contains(page("/b/cup:one"), "Final standings, sealed with SHA-256")
	})
	ended := page("/b/cup:one")
	for _, want := range []string{`data-user="ada"`, "Ada L.", "data-ended", `href="./cup:two"`, ">Final<"} {
		if !strings.Contains(ended, want) {
			t.Errorf("the page of the ended season has no %q:\n%s", want, ended)
		}
	}
	h.await("the current season", func() bool { return strings.Contains(page("/b/cup"), `data-user="bob"`) })
	current := page("/b/cup")
	if !strings.Contains(current, `href="./cup:one"`) || strings.Contains(current, "data-ended") {
		t.Errorf("the page of the current season: got\n%s", current)
	}
	const ends = `ends <time id="ends" datetime="2099-01-01T00:00:00.000Z">1 Jan 2099 00:00 UTC</time>`
	if !strings.Contains(current, ends) || strings.Contains(ended, `id="ends"`) {
		t.Errorf("the current season does not say when it ends, or the ended one does: got\n%s", current)
	}
	if list := page("/b/"); !strings.Contains(list, "ends 1 Jan 2099 00:00 UTC") {
		t.Errorf("the list does not say when the season ends: got\n%s", list)
	}
	if got := page("/b/cup:one/card.svg"); !strings.Contains(got, "Ada L.") {
		t.Errorf("the picture of the ended season: got %s", got)
	}
}

// The stream of a page on one node has what another node recorded. The page of a board that
// was made private is gone.
func TestPageStreamOfTwoNodes(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	writer := h.start("api,relay,projector,maintenance")
	reader := h.start("read,gateway", "web-boards", "*")
	url := reader.URL + "/v1/realtime/pages/global?limit=10&delta=1"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK || res.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("got %d %v", res.StatusCode, res.Header)
	}
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(res.Body); s.Scan(); {
			lines <- s.Text()
		}
	}()
	game := writer.client("game", auth.ScopeUpdate)
	if _, err := game.Submit(t.Context(), client.Increment{User: "ada", Delta: 5}); err != nil {
		t.Fatal(err)
	}
	wait := func(what string, done func(line string, open bool) bool) {
		t.Helper()
		timeout := time.After(awaitTimeout)
		for {
			select {
			case line, open := <-lines:
				if done(line, open) {
					return
				}
				if !open {
					t.Fatalf("the stream ended before %s", what)
				}
			case <-timeout:
				t.Fatalf("timed out waiting for %s", what)
			}
		}
	}
	wait("the row", func(line string, _ bool) bool { return strings.Contains(line, `"user_id":"ada"`) })
	db := backends.Connect(t, h.postgres)
	if _, err := db.Exec(t.Context(), "update boards set public = false where board_id = 'global'"); err != nil {
		t.Fatal(err)
	}
	h.await("the page to be gone", func() bool {
		status, _, _ := request(t, http.MethodGet, reader.URL+"/b/global", "", nil)
		return status == http.StatusNotFound
	})
}

// The list of boards shows those that have all the labels of its address.
func TestListOfBoardsByLabel(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "web-boards", "*")
	root := n.client("root", auth.ScopeAdmin)
	for _, r := range []client.BoardRequest{
		{Board: "duel", Region: "eu", Platform: "pc", Tags: []string{"ranked"}},
		{Board: "race", Region: "eu", Platform: "console", Tags: []string{"ranked", "fun"}},
	} {
		if _, err := root.CreateBoard(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	for query, want := range map[string]string{
		"": "duel global race", "?tag=ranked": "duel race", "?tag=ranked&platform=pc": "duel",
		"?region=eu&tag=fun": "race", "?tag=none": "", "?platform=pc&region=us": "",
	} {
		h.await("the list "+query, func() bool {
			_, _, page := request(t, http.MethodGet, n.URL+"/b/"+query, "", nil)
			var listed []string
			for _, board := range []string{"duel", "global", "race"} {
				if strings.Contains(page, "<bdi>"+board+"</bdi>") {
					listed = append(listed, board)
				}
			}
			return strings.Join(listed, " ") == want
		})
	}
}
