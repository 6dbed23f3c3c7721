package server_test

import (
	"fmt"
	"html/template"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/browser"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// hostPage is a page of another site that embeds a board in both ways.
var hostPage = template.Must(template.New("").Parse(`<!DOCTYPE html><html lang="en"><title>A game</title>
<script type="module" src="{{.}}/assets/score-board.js"></script>
<score-board board="global" player="ada"></score-board>
<iframe src="{{.}}/embed/global" title="Leaderboard" width="600" height="600"></iframe>`))

// hostSite serves a page that embeds boards of the server that its query names.
func hostSite(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = hostPage.Execute(w, r.FormValue("server"))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// frameWatch records the script contexts of a page's frames, and what the browser logs.
type frameWatch struct {
	mu       sync.Mutex
	contexts map[string]runtime.ExecutionContextID // by origin
	logged   []string
}

func watchFrames(v *viewer) *frameWatch {
	f := &frameWatch{contexts: make(map[string]runtime.ExecutionContextID)}
	chromedp.ListenTarget(v.ctx, func(event any) {
		f.mu.Lock()
		defer f.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExecutionContextCreated:
			f.contexts[e.Context.Origin] = e.Context.ID
		case *log.EventEntryAdded:
			f.logged = append(f.logged, e.Entry.Text)
		}
	})
	v.run(log.Enable())
	return f
}

// value returns what an expression is in the frame of an origin; "" while there is no such frame.
func (f *frameWatch) value(v *viewer, origin, expression string) (value string) {
	v.t.Helper()
	f.mu.Lock()
	id, ok := f.contexts[origin]
	f.mu.Unlock()
	if !ok {
		return ""
	}
	v.run(chromedp.Evaluate("String("+expression+")", &value,
		func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithContextID(id) }))
	return value
}

func (f *frameWatch) hasLogged(text string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Contains(strings.Join(f.logged, "\n"), text)
}

// A page of a listed origin shows a board live, by the element and by the iframe. Names stay text.
// A page of another origin shows no rows in either way, and the element says why.
func TestBoardInOtherSites(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	site, foreign := hostSite(t), hostSite(t)
	n := h.start(allRoles, "web-boards", "*", "web-origins", site, "limit-anonymous-per-minute", "0")
	game := n.client("game", auth.ScopeUpdate)
	submit := func(user string, delta int64) {
		t.Helper()
		if _, err := game.Submit(t.Context(), client.Increment{User: user, Delta: delta}); err != nil {
			t.Fatal(err)
		}
	}
	submit("ada", 30)
	submit("bob", 20)
	const evil = `<img src=x onerror=alert(1)>`
	root := bearer(h.token("root", auth.ScopeAdmin, time.Hour))
	status, _, body := request(t, http.MethodPut, n.URL+"/v1/users/bob/profile",
		fmt.Sprintf(`{"display_name":%q}`, evil), root)
	if status != http.StatusOK {
		t.Fatal(status, body)
	}
	h.await("the name", func() bool {
		_, _, body := request(t, http.MethodGet, n.URL+"/b/global", "", nil)
		return strings.Contains(body, "&lt;img src=x")
	})
	v := newViewer(t, 3*awaitTimeout)
	frames := watchFrames(v)
	const rows = `document.querySelector("score-board").shadowRoot.querySelectorAll("tbody tr")`
	first := func(rows, user string, score int) string {
		return fmt.Sprintf(`((r) => r?.dataset.user === %q && r.querySelector("data").value === "%d")(%s[0])`,
			user, score, rows)
	}
	v.run(chromedp.Navigate(site + "/?server=" + n.URL))
	v.await("the rows of the element", rows+".length === 2 && "+first(rows, "ada", 30))
	const frameRows = `document.querySelectorAll("#rows tbody tr")`
	h.await("the iframe to be live", func() bool {
		return frames.value(v, n.URL, frameRows+".length === 2 && "+live) == "true"
	})
	name := v.value(`[...` + rows + `].find((r) => r.dataset.user === "bob").querySelector(".name").innerHTML`)
	if name != "&lt;img src=x onerror=alert(1)&gt;" {
		t.Errorf("the element shows the name as %s, want it as text", name)
	}
	if got := v.value(rows + `[0].className`); got != "own" {
		t.Errorf("the row of the attribute player has the class %q, want own", got)
	}
	for _, width := range []int{320, 400} { // the window stays wide
		v.run(chromedp.Evaluate(fmt.Sprintf(`document.querySelector("score-board").style.width = "%dpx"`, width), nil))
		shown := v.value(`Math.round(` + rows + `[0].querySelector(".name").getBoundingClientRect().width)`)
		if n, err := strconv.Atoi(shown); err != nil || n < 20 {
			t.Errorf("in %d pixels the element shows %s pixels of the name ada, want all of it", width, shown)
		}
	}
	// A long name fills what the columns leave, also in the usual width of an iframe.
	v.run(chromedp.Evaluate(`document.querySelector("score-board").style.width = "600px"`, nil))
	long := v.value(`Math.round([...` + rows + `].find((r) => r.dataset.user === "bob").querySelector(".name")
		.getBoundingClientRect().width)`)
	if n, err := strconv.Atoi(long); err != nil || n < 100 {
		t.Errorf("in 600 pixels the element shows %s pixels of a long name, want 100 or more", long)
	}
	v.run(chromedp.Evaluate(`document.querySelector("score-board").style.width = ""`, nil))
	started := time.Now()
	submit("bob", 70)
	v.await("the new leader in the element", first(rows, "bob", 90))
	if took := time.Since(started); took > maxLiveDelay {
		t.Errorf("the element showed a submit after %s, want at most %s", took, maxLiveDelay)
	}
	h.await("the new leader in the iframe", func() bool {
		return frames.value(v, n.URL, first(frameRows, "bob", 90)) == "true"
	})
	if broken := v.value("JSON.stringify(window.broken)"); broken != "[]" {
		t.Errorf("a policy or a script broke: %s", broken)
	}
	v.mu.Lock()
	for _, problem := range v.problems {
		t.Error(problem)
	}
	v.mu.Unlock()

	w := newViewer(t, 3*awaitTimeout)
	blocked := watchFrames(w)
	w.run(chromedp.Navigate(foreign + "/?server=" + n.URL))
	const said = `document.querySelector("score-board")?.shadowRoot?.querySelector(".status").textContent`
	w.await("the element to say that it has no rows", "!!"+said+"?.includes('web.origins')")
	if got := w.value(rows + ".length"); got != "0" {
		t.Errorf("the element shows %s rows to an origin that is not listed, want none", got)
	}
	h.await("the browser to block the iframe", func() bool { return blocked.hasLogged("frame-ancestors") })
	if got := blocked.value(w, n.URL, frameRows+".length"); got != "" {
		t.Errorf("the iframe shows %s rows on an origin that is not listed, want no page", got)
	}
}

// The other pages have no accessibility problems in either theme.
func TestPagesAreAccessible(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "web-boards", "*", "limit-anonymous-per-minute", "0", "boards-close-grace", "1s")
	root := bearer(h.token("root", auth.ScopeAdmin, time.Hour))
	status, _, body := request(t, http.MethodPost, n.URL+"/v1/boards",
		`{"board":"cup","period":"season","season":"one","ends_at":"2099-01-01T00:00:00Z",`+
			`"tiers":[{"name":"gold","rank":1},{"name":"silver","percentile":10}]}`, root)
	if status != http.StatusCreated {
		t.Fatal(status, body)
	}
	game := n.client("game", auth.ScopeUpdate)
	for board, want := range map[string]string{"": "/embed/global", "cup": "/b/cup:one"} {
		h.await("a row of "+want, func() bool {
			_, err := game.Submit(t.Context(), client.Increment{User: "ada", Delta: 5, Board: board})
			if err != nil {
				t.Fatal(err)
			}
			_, _, body := request(t, http.MethodGet, n.URL+want, "", nil)
			return strings.Contains(body, `data-user="ada"`)
		})
	}
	status, _, body = request(t, http.MethodPost, n.URL+"/v1/boards/cup/roll",
		`{"season":"two","ends_at":"2099-01-01T00:00:00Z"}`, root)
	if status != http.StatusOK {
		t.Fatal(status, body)
	}
	h.await("the final standings", func() bool {
		_, _, body := request(t, http.MethodGet, n.URL+"/b/cup:one", "", nil)
		return strings.Contains(body, "Final standings")
	})
	v := newViewer(t, 3*awaitTimeout)
	for path, ready := range map[string]string{
		"/embed/global": live, "/b/unknown": `document.body.className === "problem-page"`,
		"/b/":               `document.querySelectorAll(".boards a").length === 2`,
		"/b/global?limit=7": `document.body.textContent.includes("limit must be 10 or 100")`,
		"/b/cup":            `/^in \d+ d \d+ h$/.test(document.getElementById("ends")?.textContent)`,
		"/b/cup:one":        `(document.querySelector("details").open = true)`,
	} {
		v.run(chromedp.Navigate(n.URL + path))
		v.await(path, ready)
		for _, theme := range []string{"light", "dark"} {
			v.run(inTheme(theme))
			found, err := browser.AccessibilityProblems(v.ctx)
			if err != nil || len(found) > 0 {
				t.Errorf("axe-core of %s in the %s theme: %v, %v", path, theme, found, err)
			}
		}
	}
	v.check(n.URL)
}
