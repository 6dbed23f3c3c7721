package server_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/browser"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// The budgets of a page.
const (
	maxPageBytes  = 60 << 10
	maxFirstPaint = 300 * time.Millisecond
	maxLiveDelay  = time.Second
)

// measures are the scripts that measure a page from its start.
const measures = `
	window.shifts = [];
	new PerformanceObserver((l) => l.getEntries().forEach((e) =>
		e.hadRecentInput || window.shifts.push([e.value, ...e.sources.map((s) => [
			s.node?.dataset?.user ?? (s.node?.outerHTML ?? s.node?.parentElement?.outerHTML)?.slice(0, 80),
			s.previousRect.x, s.previousRect.y, s.currentRect.x, s.currentRect.y])])))
		.observe({type: "layout-shift", buffered: true});
	window.broken = [];
	document.addEventListener("securitypolicyviolation",
		(e) => window.broken.push(e.violatedDirective + " " + e.blockedURI));
	window.addEventListener("error", (e) => window.broken.push(e.message));`

// viewer is a browser on a page.
type viewer struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	requests []string
	bytes    map[network.RequestID]int64
	problems []string
}

func newViewer(t *testing.T, timeout time.Duration, setUp ...chromedp.Action) *viewer {
	t.Helper()
	v := &viewer{t: t, ctx: browser.New(t, timeout), bytes: make(map[network.RequestID]int64)}
	chromedp.ListenTarget(v.ctx, func(event any) {
		v.mu.Lock()
		defer v.mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			v.requests = append(v.requests, e.Request.URL)
		case *network.EventDataReceived:
			v.bytes[e.RequestID] += e.DataLength
		case *cdppage.EventJavascriptDialogOpening:
			v.problems = append(v.problems, "a dialog opened: "+e.Message)
		case *runtime.EventExceptionThrown:
			v.problems = append(v.problems, e.ExceptionDetails.Error())
		}
	})
	v.run(append([]chromedp.Action{
		network.Enable(), chromedp.ActionFunc(func(ctx context.Context) error {
			_, err := cdppage.AddScriptToEvaluateOnNewDocument(measures).Do(ctx)
			return err
		}),
	}, setUp...)...)
	return v
}

func (v *viewer) run(actions ...chromedp.Action) {
	v.t.Helper()
	if err := chromedp.Run(v.ctx, actions...); err != nil {
		v.t.Fatal(err)
	}
}

// value returns what an expression is in the page.
func (v *viewer) value(expression string) (value string) {
	v.t.Helper()
	v.run(chromedp.Evaluate("String("+expression+")", &value))
	return value
}

// await waits until an expression is true in the page.
func (v *viewer) await(what, expression string) {
	v.t.Helper()
	for end := time.Now().Add(awaitTimeout); v.value(expression) != "true"; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			v.t.Fatalf("timed out waiting for %s; the page shows %s", what, v.value("document.body.innerText"))
		}
	}
}

// checkFirstPaint fails unless one of a few loads without a cache paints in time: other tests run
// on this machine.
func (v *viewer) checkFirstPaint() {
	v.t.Helper()
	v.run(network.SetCacheDisabled(true))
	defer v.run(network.SetCacheDisabled(false))
	var times []time.Duration
	for range 10 {
		var paint float64
		v.run(chromedp.Reload(), chromedp.Poll(`performance.getEntriesByName("first-contentful-paint")[0]?.startTime`,
			&paint))
		times = append(times, time.Duration(paint*float64(time.Millisecond)))
		if slices.Min(times) <= maxFirstPaint {
			v.await("the stream", live)
			v.t.Logf("the first paints took %v", times)
			return
		}
	}
	v.t.Errorf("the first paints took %v, want one of at most %s", times, maxFirstPaint)
}

// check fails if the page broke its policy, ran foreign code or asked another host.
func (v *viewer) check(origin string) {
	v.t.Helper()
	if broken := v.value("JSON.stringify(window.broken)"); broken != "[]" {
		v.t.Errorf("the page's policy or a script broke: %s", broken)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, problem := range v.problems {
		v.t.Error(problem)
	}
	for _, request := range v.requests {
		if !strings.HasPrefix(request, origin+"/") {
			v.t.Errorf("the page requested %s", request)
		}
	}
}

// stableAddress is an address in front of a node that may be replaced by another.
func stableAddress(t *testing.T) (address string, point func(*node)) {
	t.Helper()
	var target atomic.Pointer[url.URL]
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target.Load())
	}, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }}
	s := httptest.NewServer(proxy)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL, func(n *node) {
		u, err := url.Parse(n.URL)
		if err != nil {
			t.Fatal(err)
		}
		target.Store(u)
	}
}

const live = `document.getElementById("connection").textContent === "Live"`

func shows(user string, score int64) string {
	return fmt.Sprintf(`document.querySelector('#rows tr[data-user=%q] data')?.value === "%d"`, user, score)
}

// A page in a real browser is live within a second, says when it is not, comes back after a
// flushed Redis and a restart, and keeps its budgets and its policy.
func TestPageInBrowser(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	settings := []string{
		"web-boards", "*", "limit-anonymous-per-minute", "0", "realtime-reconnect-within", "100ms",
		"realtime-drain-percent", "100",
	}
	n := h.start(allRoles, settings...)
	address, point := stableAddress(t)
	point(n)
	game := n.client("game", auth.ScopeUpdate)
	submit := func(user string, delta int64) {
		t.Helper()
		if _, err := game.Submit(t.Context(), client.Increment{User: user, Delta: delta}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 12 {
		submit(fmt.Sprint("user-", i), int64(100+i))
	}
	const evil = `<img src=x onerror=alert(1)>`
	root := bearer(h.token("root", auth.ScopeAdmin, time.Hour))
	for user, name := range map[string]string{"user-11": evil, "user-10": "هيدي لامار"} {
		status, _, body := request(t, "PUT", n.URL+"/v1/users/"+user+"/profile",
			fmt.Sprintf(`{"display_name":%q}`, name), root)
		if status != http.StatusOK {
			t.Fatal(status, body)
		}
	}
	h.await("the names", func() bool {
		_, _, body := request(t, "GET", n.URL+"/b/global", "", nil)
		return strings.Contains(body, "&lt;img src=x") && strings.Contains(body, "هيدي")
	})
	v := newViewer(t, 4*awaitTimeout, emulation.SetDeviceMetricsOverride(1280, 900, 1, false))
	v.run(chromedp.Navigate(address + "/b/global"))
	v.await("the stream", live)
	v.mu.Lock()
	total := int64(0)
	for _, n := range v.bytes {
		total += n
	}
	v.mu.Unlock()
	t.Logf("the page has %d bytes, uncompressed", total)
	if total > maxPageBytes || total < 10<<10 {
		t.Errorf("the page has %d bytes, uncompressed, want at most %d", total, maxPageBytes)
	}
	name := v.value(`document.querySelector("#rows .name").innerHTML`)
	if name != "&lt;img src=x onerror=alert(1)&gt;" {
		t.Errorf("got the first name as %s, want it as text", name)
	}
	v.checkFirstPaint()

	if got := v.value(`JSON.stringify(window.shifts)`); got != "[]" {
		t.Errorf("got the layout shifts %s, want none", got)
	}
	started := time.Now()
	submit("user-0", 1000)
	v.await("the new leader", shows("user-0", 1100)+
		` && document.querySelector("#rows tbody tr").dataset.user === "user-0"`)
	if took := time.Since(started); took > maxLiveDelay {
		t.Errorf("the page showed a submit after %s, want at most %s", took, maxLiveDelay)
	}
	submit("user-1", 1010)
	submit("user-2", 1020)
	v.await("places lost", `document.querySelector('#rows tr[data-user="user-0"] .down')?.textContent === "▼down 2"`)
	// The script's rows are as the server's.
	_, _, html := request(t, "GET", n.URL+"/b/global", "", nil)
	rows := v.value(`[...document.querySelectorAll("#rows tbody tr")].map((r) => {
		const c = r.cloneNode(true), m = c.querySelector(".move"); m.className = "move"; m.textContent = "";
		return c.outerHTML; }).join("\n")`)
	for _, row := range strings.Split(rows, "\n") {
		if !strings.Contains(html, row) {
			t.Errorf("the script shows the row\n%s\nwhich is not in\n%s", row, html)
		}
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

	options, err := redis.ParseURL(h.redis.URL)
	if err != nil {
		t.Fatal(err)
	}
	flushed := redis.NewClient(options)
	defer func() { _ = flushed.Close() }()
	if err := flushed.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	submit("user-3", 5000)
	v.await("a submit after the flush", shows("user-3", 5103)+" && "+live)

	n.stop()
	v.await("the page to say that it waits", `document.getElementById("connection").textContent === "Reconnecting"`+
		` && !document.getElementById("warning").hidden`)
	n = h.start(allRoles, settings...)
	point(n)
	game = n.client("game", auth.ScopeUpdate)
	submit("user-4", 9000)
	v.await("a submit after the restart", shows("user-4", 9104)+" && "+live+
		` && document.getElementById("warning").hidden`)
	v.check(address)
}

// The viewer's own row, and the statement, with a token that is in no address.
func TestPageOfViewer(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "web-boards", "*", "limit-anonymous-per-minute", "0")
	game := n.client("game", auth.ScopeUpdate)
	for i := range 15 {
		in := client.Increment{User: fmt.Sprint("user-", i), Delta: int64(100 - i)}
		if _, err := game.Submit(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	h.await("all rows", func() bool {
		_, _, body := request(t, "GET", n.URL+"/b/global", "", nil)
		return strings.Contains(body, ">15</span> players")
	})
	v := newViewer(t, 2*awaitTimeout, emulation.SetDeviceMetricsOverride(360, 800, 1, false))
	token := h.token("user-13", "", time.Hour)
	v.run(chromedp.Navigate(n.URL + "/b/global#token=" + token))
	v.await("the own rank",
		`document.getElementById("place").textContent.includes("user-13 is #14 of 15 with 87 points")`)
	v.await("the neighbours", `document.querySelectorAll("#near tbody tr").length === 4 &&
		document.querySelector("#near .own").dataset.user === "user-13"`)
	if got := v.value("location.href"); got != n.URL+"/b/global" {
		t.Errorf("the address is %s, want it without the token", got)
	}
	v.run(chromedp.Click("#statement"))
	v.await("the statement", `document.querySelectorAll("#events tbody tr").length === 1`)
	for _, theme := range []string{"light", "dark"} {
		v.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: theme},
		}))
		found, err := browser.AccessibilityProblems(v.ctx)
		if err != nil || len(found) > 0 {
			t.Errorf("axe-core of the statement in the %s theme: %v, %v", theme, found, err)
		}
	}
	v.run(chromedp.KeyEvent("\x1b"))
	if _, err := game.Submit(t.Context(), client.Increment{User: "user-13", Delta: 1000}); err != nil {
		t.Fatal(err)
	}
	v.await("the row to be marked", `document.querySelector("#rows .own")?.dataset.user === "user-13"`)
	v.run(chromedp.Click("#signin"))
	v.await("the end of the session",
		`document.getElementById("player").hidden && !document.querySelector("#rows .own")`)
	v.run(chromedp.KeyEvent("/"))
	v.await("the search to have the focus", `document.activeElement.id === "find"`)
	v.value(`document.getElementById("find").value = ""`) // the debugger types the slash, too
	v.run(chromedp.KeyEvent("user-7\r"))
	v.await("a player", `document.getElementById("place").textContent.startsWith("user-7 is #9 of 15")`)
	if got := v.value("location.search"); got != "?player=user-7" {
		t.Errorf("got the query %s, want a link to share", got)
	}
	v.check(n.URL)
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, request := range v.requests {
		sent, _, _ := strings.Cut(request, "#")
		if strings.Contains(sent, token) {
			t.Errorf("the token is in the address %s", request)
		}
	}
}

// The card of a player and the table show the same score at every moment, and neighbours that the
// table shows are not repeated.
func TestPageShowsOneScoreOfAPlayer(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "web-boards", "*", "limit-anonymous-per-minute", "0")
	game := n.client("game", auth.ScopeUpdate)
	submit := func(user string, delta int64) {
		t.Helper()
		if _, err := game.Submit(t.Context(), client.Increment{User: user, Delta: delta}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 15 {
		submit(fmt.Sprint("user-", i), int64(100-i))
	}
	h.await("all rows", func() bool {
		_, _, body := request(t, "GET", n.URL+"/b/global", "", nil)
		return strings.Contains(body, ">15</span> players")
	})
	v := newViewer(t, 2*awaitTimeout, emulation.SetDeviceMetricsOverride(1280, 900, 1, false))
	v.run(chromedp.Navigate(n.URL + "/b/global?player=user-3"))
	v.await("the stream", live)
	v.await("the card", `document.getElementById("place").textContent.includes("with 97 points")`)
	if got := v.value(`String(document.getElementById("near").checkVisibility())`); got != "false" {
		t.Error("the neighbours repeat rows of the table")
	}
	v.value(`window.differ = [], new MutationObserver(() => {
		const score = document.querySelector('#rows tr[data-user="user-3"] data')?.textContent;
		const card = document.getElementById("place").textContent;
		if (score && !card.includes(` + "`with ${score} points`" + `)) window.differ.push([score, card]);
	}).observe(document.querySelector("#rows tbody"), {childList: true, subtree: true})`)
	v.value(`window.animated = [], window.animate = Element.prototype.animate,
		Element.prototype.animate = function(frames, options) {
			if (frames[0].transform?.startsWith("scale")) window.animated.push(this.localName);
			return window.animate.call(this, frames, options);
		}, ""`)
	for range 3 {
		submit("user-3", 100)
	}
	v.await("the score", shows("user-3", 397))
	// A cell that grew would break the border of its row.
	if got := v.value(`[...new Set(window.animated)].join()`); got != "data" {
		t.Errorf("a changed score grows as %q, want its number alone", got)
	}
	if got := v.value(`JSON.stringify(window.differ)`); got != "[]" {
		t.Errorf("the row and the card differ: %s", got)
	}
	v.run(chromedp.Navigate(n.URL + "/b/global?player=user-9"))
	v.await("the neighbours below the table", `document.querySelectorAll("#near tbody tr").length === 5 &&
		document.getElementById("near").checkVisibility()`)
	v.check(n.URL)
}

// The viewer chooses between UTC and the own zone; the page remembers it, and names the zone.
func TestPageShowsTheZoneOfTimes(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "web-boards", "*", "limit-anonymous-per-minute", "0")
	game := n.client("game", auth.ScopeUpdate)
	if _, err := game.Submit(t.Context(), client.Increment{User: "ada", Delta: 7}); err != nil {
		t.Fatal(err)
	}
	v := newViewer(t, 2*awaitTimeout, emulation.SetDeviceMetricsOverride(1280, 900, 1, false),
		emulation.SetTimezoneOverride("Asia/Kolkata"))
	open := func() string {
		t.Helper()
		v.await("the stream", live)
		v.run(chromedp.Click("#playback"))
		v.await("the moment", `/:\d\d/.test(document.querySelector(".moment")?.textContent)`)
		return v.value(`document.querySelector(".moment").textContent`)
	}
	v.run(chromedp.Navigate(n.URL + "/b/global"))
	if got := open(); !strings.HasSuffix(got, "GMT+5:30") {
		t.Errorf("the moment is %q, want the viewer's zone named", got)
	}
	v.run(chromedp.Click("#clock"))
	v.await("UTC", `document.querySelector(".moment").textContent.endsWith("UTC") &&
		document.getElementById("clock").textContent === "Times in UTC"`)
	v.run(chromedp.Reload())
	if got := open(); !strings.HasSuffix(got, "UTC") {
		t.Errorf("after a reload the moment is %q, want the choice remembered", got)
	}
	v.check(n.URL)
}

// While rows rise and fall, enter and leave, and the table grows, nothing on a page jumps: rows
// move by transforms alone.
func TestPageDoesNotShift(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "web-boards", "*", "limit-anonymous-per-minute", "0", "log-level", "error")
	game := n.client("game", auth.ScopeUpdate)
	root := bearer(h.token("root", auth.ScopeAdmin, time.Hour))
	const present, users, duration = 6, 40, 4 * time.Second
	for _, tt := range []struct {
		board, query  string
		width, height int64
	}{
		{"desk", "?player=user-0", 1281, 900},
		{"phone", "?player=user-1", 360, 1600},
		{"wall", "?kiosk=1", 1920, 1080},
		{"wide", "?limit=100&player=user-1", 2560, 1300},
	} {
		t.Run(tt.board, func(t *testing.T) {
			t.Parallel()
			status, _, body := request(t, http.MethodPost, n.URL+"/v1/boards",
				fmt.Sprintf(`{"board":%q}`, tt.board), root)
			if status != http.StatusCreated {
				t.Fatal(status, body)
			}
			submit := func(user int, delta int64) {
				t.Helper()
				in := client.Increment{Board: tt.board, User: fmt.Sprint("user-", user), Delta: delta}
				if _, err := game.Submit(t.Context(), in); err != nil {
					t.Fatal(err)
				}
			}
			for user := range present {
				submit(user, int64(100*user+1))
			}
			h.await("the rows", func() bool {
				_, _, body := request(t, http.MethodGet, n.URL+"/b/"+tt.board, "", nil)
				return strings.Count(body, "data-rank=") >= present
			})
			v := newViewer(t, duration+2*awaitTimeout,
				emulation.SetDeviceMetricsOverride(tt.width, tt.height, 1, false))
			v.run(chromedp.Navigate(n.URL + "/b/" + tt.board + tt.query))
			v.await("the stream", live)
			v.value(`window.seen = {entered: 0, left: 0, moved: 0},
				new MutationObserver((changes) => {
					const rows = (nodes) => new Set([...nodes].map((n) => n.dataset?.user).filter(Boolean));
					const added = rows(changes.flatMap((c) => [...c.addedNodes]));
					const removed = rows(changes.flatMap((c) => [...c.removedNodes]));
					for (const user of added.union(removed)) {
						seen[added.has(user) ? removed.has(user) ? "moved" : "entered" : "left"]++;
					}
				}).observe(document.querySelector("#rows tbody"), {childList: true})`)
			var seen struct{ Entered, Left, Moved int }
			enough := func() bool {
				return seen.Entered >= 5 && seen.Moved >= 5 && (tt.board == "wide" || seen.Left >= 5)
			}
			for started := time.Now(); time.Since(started) < duration || !enough(); time.Sleep(100 * time.Millisecond) {
				submit(rand.IntN(users), 1+rand.Int64N(900))
				v.run(chromedp.Evaluate(`window.seen`, &seen))
				if time.Since(started) > awaitTimeout {
					t.Fatalf("got %+v rows, want at least 5 of each", seen)
				}
			}
			t.Logf("rows: %+v", seen)
			if got := v.value(`JSON.stringify(window.shifts)`); got != "[]" {
				t.Errorf("got the layout shifts %s, want none", got)
			}
			v.check(n.URL)
		})
	}
}

// A page keeps drawing and does not grow while its board takes 1,000 updates a second, for the time that
// SCOREBOARD_TEST_BUSY_PAGE says, such as 10m.
func TestPageOfBusyBoard(t *testing.T) {
	text := os.Getenv("SCOREBOARD_TEST_BUSY_PAGE")
	if text == "" {
		t.Skip("wants the machine for itself: SCOREBOARD_TEST_BUSY_PAGE=30s runs it, and make proof for 10m")
	}
	duration, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	h := newHarness(t)
	n := h.start(allRoles, "web-boards", "*", "limit-anonymous-per-minute", "0", "log-level", "error")
	game := n.client("game", auth.ScopeUpdate)
	const users, perBatch = 60, 100
	sent := 0
	batch := func() {
		items := make([]client.Increment, perBatch)
		for i := range items {
			items[i] = client.Increment{User: fmt.Sprint("user-", rand.IntN(users)), Delta: 1 + rand.Int64N(500)}
		}
		if _, err := game.SubmitBatch(t.Context(), items); err != nil {
			t.Error(err)
		}
		sent += perBatch
	}
	batch()
	v := newViewer(t, duration+4*awaitTimeout, emulation.SetDeviceMetricsOverride(1280, 900, 1, false))
	v.run(chromedp.Navigate(n.URL + "/b/global?limit=100"))
	v.await("the stream", live)
	heap := func() (bytes float64) {
		v.run(chromedp.ActionFunc(func(ctx context.Context) error {
			if err := heapprofiler.CollectGarbage().Do(ctx); err != nil {
				return err
			}
			var err error
			bytes, _, _, _, err = runtime.GetHeapUsage().Do(ctx)
			return err
		}))
		return bytes
	}
	before := heap()
	v.run(chromedp.Evaluate(`window.frames_ = 0; window.since = performance.now();
		(function frame() { window.frames_++; requestAnimationFrame(frame); })()`, nil))
	tick := time.NewTicker(time.Second / 10)
	defer tick.Stop()
	for started := time.Now(); time.Since(started) < duration; <-tick.C {
		batch()
	}
	var perSecond float64
	v.run(chromedp.Evaluate(`window.frames_ / (performance.now() - window.since) * 1000`, &perSecond))
	after := heap()
	t.Logf("%d updates, %.1f frames a second, heap %.0f to %.0f bytes", sent, perSecond, before, after)
	if perSecond < 50 {
		t.Errorf("got %.1f frames a second, want at least 50", perSecond)
	}
	if after > before+1<<20 {
		t.Errorf("the heap grew from %.0f to %.0f bytes", before, after)
	}
	v.check(n.URL)
}

// Without scripts the rows, the search and the choice of rows work.
func TestPageWithoutScripts(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "web-boards", "*", "limit-anonymous-per-minute", "0")
	game := n.client("game", auth.ScopeUpdate)
	for i := range 12 {
		in := client.Increment{User: fmt.Sprint("user-", i), Delta: int64(100 - i)}
		if _, err := game.Submit(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	h.await("all rows", func() bool {
		_, _, body := request(t, "GET", n.URL+"/b/global?limit=100", "", nil)
		return strings.Count(body, "data-user=") == 12
	})
	v := newViewer(t, 2*awaitTimeout, emulation.SetScriptExecutionDisabled(true))
	var text string
	v.run(chromedp.Navigate(n.URL+"/b/global"), chromedp.SendKeys("#find", "user-11\r", chromedp.NodeVisible),
		chromedp.WaitVisible("#near .own"), chromedp.Text("#place", &text))
	if text != "user-11 is #12 of 12 with 89 points, ahead of 0 %." {
		t.Errorf("got %q", text)
	}
	v.run(chromedp.Click(`//a[text()="Top 100"]`), chromedp.WaitVisible(`#rows tr[data-user="user-11"].own`))
}
