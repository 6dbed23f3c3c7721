package server_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/css"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/browser"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

var screens = flag.String("screens", "", "folder for pictures of the console's pages")

// tab is a page of the console in a real browser.
type tab struct {
	t    *testing.T
	ctx  context.Context
	base string
	fail atomic.Int64 // scripts that failed, and things that the policy blocked
}

func newTab(t *testing.T, base string) *tab {
	t.Helper()
	b := &tab{t: t, ctx: browser.New(t, 5*time.Minute), base: base}
	chromedp.ListenTarget(b.ctx, func(event any) {
		switch event := event.(type) {
		case *runtime.EventExceptionThrown:
			b.fail.Add(1)
			t.Errorf("a script failed: %s", event.ExceptionDetails)
		case *runtime.EventConsoleAPICalled:
			b.fail.Add(1)
			t.Errorf("the console of the browser has %v", event.Args)
		}
	})
	b.run(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := cdppage.AddScriptToEvaluateOnNewDocument(`addEventListener("securitypolicyviolation", (event) =>
			console.error("blocked", event.violatedDirective, event.blockedURI, event.sourceFile))`).Do(ctx)
		return err
	}))
	return b
}

func (b *tab) run(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx); err != nil { // starts the browser with the first call
		b.t.Fatal(err)
	}
	for i, action := range actions {
		ctx, cancel := context.WithTimeout(b.ctx, awaitTimeout)
		err := chromedp.Run(ctx, action)
		if cancel(); err != nil {
			var at string
			_ = chromedp.Run(b.ctx, chromedp.Location(&at))
			b.t.Fatalf("action %d at %s: %v", i, at, err)
		}
	}
}

// open shows a page in a window of a width in a theme.
func (b *tab) open(path string, width int64, theme string) {
	b.t.Helper()
	b.run(
		emulation.SetDeviceMetricsOverride(width, 850, 1, false), inTheme(theme),
		chromedp.Navigate(b.base+path), chromedp.WaitVisible("#main", chromedp.ByQuery),
	)
}

// inTheme has the browser prefer a theme, also on the page that is open.
func inTheme(theme string) chromedp.Action {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	})
}

func (b *tab) text(selector string) (out string) {
	b.t.Helper()
	b.run(chromedp.Text(selector, &out, chromedp.ByQuery))
	return out
}

func (b *tab) awaitText(selector, want string) {
	b.t.Helper()
	got := ""
	for end := time.Now().Add(awaitTimeout); !strings.Contains(got, want); time.Sleep(50 * time.Millisecond) {
		if got = b.text(selector); time.Now().After(end) {
			b.t.Fatalf("%s shows %q, want %q", selector, got, want)
		}
	}
}

// Every page of the console works in a real browser under its own policy: without a
// script that fails, without anything blocked, accessible in both themes, and no wider
// than a phone.
func TestConsoleInBrowser(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "auth-dev-issuer", "true", "console-dev-sign-in", "true")
	db := backends.Connect(t, h.postgres)
	furnish(t, n, db)
	play(t, n)
	cohort := playInLeague(t, n)
	b := newTab(t, n.Ops)
	accessible := func(name string) {
		t.Helper()
		for _, theme := range []string{"light", "dark"} {
			b.run(inTheme(theme))
			problems, err := browser.AccessibilityProblems(b.ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range problems {
				t.Errorf("%s in %s: %s", name, theme, p)
			}
			b.picture(name + "-" + theme)
			if strings.HasPrefix(name, "review-") || slices.Contains(hovered, name) {
				for _, p := range b.problemsUnderPointer() {
					t.Errorf("%s in %s, under the pointer: %s", name, theme, p)
				}
			}
		}
	}
	examine := func(name, path string) {
		t.Helper()
		b.open(path, 1360, "light")
		accessible(name)
		var odd string // a cell that is no cell, whose borders do not meet the others'
		b.run(chromedp.Evaluate(`[...document.querySelectorAll("td")].find(e =>
			getComputedStyle(e).display != "table-cell")?.outerHTML ?? ""`, &odd))
		if odd != "" {
			t.Errorf("%s has a cell that is drawn as something else: %.200s", name, odd)
		}
		if *screens != "" {
			b.open(path, 390, "light")
			b.picture(name + "-phone")
		}
		b.open(path, 320, "light")
		var wide string // the first element that does not fit
		b.run(chromedp.Evaluate(`document.documentElement.scrollWidth <= innerWidth ? "" :
			[...document.querySelectorAll("main *")].find(e => e.getBoundingClientRect().right > innerWidth)?.outerHTML
			?? "?"`,
			&wide))
		if wide != "" {
			t.Errorf("%s is wider than 320 pixels: %.200s", name, wide)
		}
	}
	examine("sign-in", "/console/sign-in")
	b.open("/console/boards", 1360, "light")
	b.run(chromedp.Click(`button[value=development]`), chromedp.WaitVisible(".side"))
	var job string
	b.open("/console/changes/verify?board=global", 1360, "light")
	b.run(
		chromedp.SendKeys("#f-reason", "a look before the season"), chromedp.Click(`button[value=review]`),
		chromedp.WaitVisible(`button[value=apply]`), chromedp.Click(`button[value=apply]`),
		chromedp.WaitVisible("[data-refresh]"), chromedp.Location(&job),
	)
	b.awaitText("main", "No difference.")
	if *screens != "" { // charts with something in them
		b.open("/console", 1360, "light")
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Second) {
			play(t, n)
		}
	}
	event := "first"
	var recorded time.Time
	if err := db.QueryRow(t.Context(), `select recorded_at from user_score_histories where user_id = 'alice'
		order by recorded_at limit 1`).Scan(&recorded); err != nil {
		t.Fatal(err)
	}
	for _, p := range [][2]string{
		{"overview", "/console"},
		{"boards", "/console/boards"},
		{"board", "/console/boards/global"},
		{"family", "/console/boards/days"},
		{"rewards", "/console/boards/cup:zero/rewards"},
		{"league", "/console/boards/stars:one/league"},
		{"cohort", "/console/boards/stars:one/league/cohorts/" + strconv.FormatInt(cohort, 10)},
		{"leaderboard", "/console/players"},
		{"player", "/console/players/ada"},
		{"event", "/console/players/alice/events/" + event + "?" + url.Values{
			"board": {"global"}, "at": {recorded.UTC().Format(time.RFC3339Nano)},
		}.Encode()},
		{"integrity", "/console/integrity"},
		{"flag", "/console/integrity/flags/1"},
		{"void", "/console/integrity/voids/1"},
		{"job", strings.TrimPrefix(job, n.Ops)},
		{"jobs", "/console/jobs"},
		{"imports", "/console/imports"},
		{"import", "/console/imports/1"},
		{"upload", "/console/changes/import"},
		{"found", "/console/players?name=a"},
		{"dead-letters", "/console/dead-letters"},
		{"record", "/console/dead-letters/1"},
		{"keys", "/console/keys"},
		{"webhooks", "/console/webhooks"},
		{"webhook", "/console/webhooks/wh_1"},
		{"settings", "/console/settings?name=limit"},
		{"audit", "/console/audit?verify=1"},
		{"entry", "/console/audit/1"},
		{"change", "/console/changes/user-ban?user=ada"},
		{"error", "/console/players/nobody"},
	} {
		examine(p[0], p[1])
		if failed := strings.Contains(b.text("main"), "did not work"); failed != (p[0] == "error") {
			t.Errorf("%s shows an error: %t", p[0], failed)
		}
	}
	if got := b.text("main"); !strings.Contains(got, "nobody") {
		t.Errorf("the page of an unknown player shows %q", got)
	}
	for _, change := range []string{"user-ban?user=ada", "user-freeze?user=ada", "rebuild?board=global"} {
		b.open("/console/changes/"+change, 1360, "light")
		b.run(
			chromedp.SendKeys("#f-reason", "a look at the review"), chromedp.Click(`button[value=review]`),
			chromedp.WaitVisible(`button[value=apply]`),
		)
		accessible("review-" + change)
	}
}

// hovered are pages that have every kind of control, beside the reviews.
var hovered = []string{"sign-in", "overview", "boards", "integrity", "webhook", "settings"}

// problemsUnderPointer returns what axe finds while the pointer is on every control, pressed.
func (b *tab) problemsUnderPointer() (problems []string) {
	b.t.Helper()
	force := func(states ...string) chromedp.Action {
		return chromedp.ActionFunc(func(ctx context.Context) error {
			root, err := dom.GetDocument().Do(ctx)
			if err != nil {
				return err
			}
			controls, err := dom.QuerySelectorAll(root.NodeID, "a, button, select, input, tbody tr").Do(ctx)
			if err != nil {
				return err
			}
			for _, id := range controls {
				err := css.ForcePseudoState(id, states).Do(ctx)
				// The overview redraws itself: an equal control has replaced one that is gone.
				if err != nil && !strings.Contains(err.Error(), "Could not find node") {
					return err
				}
			}
			return nil
		})
	}
	b.run(dom.Enable(), css.Enable(), force("hover", "active"))
	problems, err := browser.AccessibilityProblems(b.ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	b.run(force(), css.Disable())
	return problems
}

// pictured are the pages in the documentation; dead is that of the dead letters.
var pictured = []string{
	"overview", "boards", "board", "player", "integrity", "dead", "keys", "webhooks", "webhook",
	"settings", "audit", "change", "jobs", "imports", "palette", "keyboard",
}

// picture stores what the page looks like, if the flag -screens names a folder.
func (b *tab) picture(name string) {
	b.t.Helper()
	if page, _, _ := strings.Cut(name, "-"); *screens == "" || !slices.Contains(pictured, page) {
		return
	}
	var picture []byte
	b.run(chromedp.Sleep(200*time.Millisecond), chromedp.ActionFunc(func(ctx context.Context) (err error) {
		picture, err = cdppage.CaptureScreenshot().
			WithFormat(cdppage.CaptureScreenshotFormatWebp).
			WithQuality(82).
			Do(ctx)
		return err
	}))
	if err := os.MkdirAll(*screens, 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*screens, name+".webp"), picture, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// playInLeague has the players of play score in a league of cohorts of eight, and returns the first cohort.
func playInLeague(t *testing.T, n *node) int64 {
	t.Helper()
	ends := time.Date(2098, 1, 1, 0, 0, 0, 0, time.UTC)
	root := n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	if _, err := root.CreateBoard(t.Context(), client.BoardRequest{
		Board: "stars", Period: "season", Season: "one", EndsAt: &ends,
		League: &client.League{Divisions: 3, CohortSize: 8, Min: 4, Promote: new(2), Relegate: new(2)},
	}); err != nil {
		t.Fatal(err)
	}
	for i, name := range gamers {
		in := client.Increment{User: name, Board: "stars", Delta: int64(400 - 30*i)}
		if _, err := root.Submit(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	page, err := root.Cohorts(t.Context(), "stars", 0, 0, 1)
	if err != nil || len(page.Cohorts) != 1 {
		t.Fatalf("got %+v, %v", page, err)
	}
	return page.Cohorts[0].Cohort
}

// gamers are the players of play and playInLeague.
var gamers = []string{
	"ada", "grace", "linus", "barbara", "dennis", "ken", "margaret", "donald", "edsger", "radia", "hedy",
}

// play has players score.
func play(t *testing.T, n *node) {
	t.Helper()
	game := n.client("game", auth.ScopeUpdate)
	for i, name := range gamers {
		for round := range 3 {
			_, err := game.Submit(t.Context(), client.Increment{
				User: name, Delta: int64(1000 - 70*i + 13*round),
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A person watches an increment arrive, bans the player with a reason after a review, and
// finds the audit entry; the page of a job follows it, also after a reload in the middle.
func TestConsoleOperatesInBrowser(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "auth-dev-issuer", "true", "console-dev-sign-in", "true")
	db := backends.Connect(t, h.postgres)
	furnish(t, n, db)
	b := newTab(t, n.Ops)
	b.open("/console", 1360, "light")
	b.run(chromedp.Click(`button[value=development]`), chromedp.WaitVisible("#stage-ranking"))
	b.awaitText("#stage-ranking .figure", "4") // bob is banned
	uptime := b.text("#uptime")
	h.await("the uptime to move", func() bool { return b.text("#uptime") != uptime })
	if _, err := n.client("game", auth.ScopeUpdate).
		Submit(t.Context(), client.Increment{User: "mallory", Delta: 9}); err != nil {
		t.Fatal(err)
	}
	b.awaitText("#stage-ranking .figure", "5")

	const attack = `"><img src=x onerror="window.hit=1"><script>window.hit=1</script>`
	b.run(
		chromedp.Navigate(n.Ops+"/console/players"), chromedp.SendKeys("#user", "mallory\n", chromedp.ByQuery),
		chromedp.WaitVisible(`a[href*="user-ban"]`), chromedp.Click(`a[href*="user-ban"]`),
		chromedp.WaitVisible("#f-reason"), chromedp.SendKeys("#f-reason", attack),
		chromedp.Click(`button[value=review]`), chromedp.WaitVisible(`button[value=apply]`),
	)
	if got, want := b.text(".command"), `sbctl user ban mallory --reason '`+attack+`'`; got != want {
		t.Errorf("the command is %q, want %q", got, want)
	}
	b.run(chromedp.Click(`button[value=apply]`), chromedp.WaitVisible("[role=status] a"))
	b.run(chromedp.Click("[role=status] a"), chromedp.WaitVisible("table"))
	if got := b.text("tbody tr"); !strings.Contains(got, "user.ban") || !strings.Contains(got, attack) {
		t.Errorf("the audit trail shows %q", got)
	}
	var hit bool
	b.run(chromedp.Evaluate(`window.hit === 1`, &hit))
	if hit {
		t.Error("a reason ran as a script")
	}

	lock := backends.Connect(t, h.postgres)
	lock.Do(t, `begin`)
	lock.Do(t, `lock table user_score_histories in access exclusive mode`)
	b.run(
		chromedp.Navigate(n.Ops+"/console/changes/verify"), chromedp.SendKeys("#f-reason", "why"),
		chromedp.Click(`button[value=review]`), chromedp.WaitVisible(`button[value=apply]`),
		chromedp.Click(`button[value=apply]`), chromedp.WaitVisible("progress"), chromedp.Reload(),
		chromedp.WaitVisible("progress"),
	)
	lock.Do(t, `commit`)
	b.awaitText("main", "No difference.") // without a reload

	// A page of another site cannot show the console in a frame.
	status, header, _ := request(t, http.MethodGet, n.Ops+"/console/sign-in", "", nil)
	if status != http.StatusOK || header.Get("X-Frame-Options") != "DENY" {
		t.Errorf("got %d and %v, want framing denied", status, header)
	}
}

// Behind a load balancer, the overview says which nodes its charts are of, and draws a line for
// each.
func TestOverviewOfTwoNodes(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	settings := []string{
		"auth-dev-issuer", "true", "console-dev-sign-in", "true", "auth-master-key", strings.Repeat("ab", 32),
	}
	var nodes [2]*url.URL
	for i := range nodes {
		u, err := url.Parse(h.start(allRoles, settings...).Ops)
		if err != nil {
			t.Fatal(err)
		}
		nodes[i] = u
	}
	var turn atomic.Int64
	balancer := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(nodes[turn.Add(1)%2])
		r.Out.Host = r.In.Host
	}})
	t.Cleanup(balancer.Close)
	b := newTab(t, balancer.URL)
	b.open("/console", 1360, "light")
	b.run(chromedp.Click(`button[value=development]`), chromedp.WaitVisible("#nodes"))
	shown := ""
	h.await("a line for each node", func() bool {
		b.run(chromedp.Evaluate(`[document.querySelectorAll("#nodes li.blue, #nodes li.orange").length,
			document.getElementById("nodes").innerText.trim().split("\n").length,
			JSON.parse(sessionStorage.getItem("overview-nodes:" + document.getElementById("overview").dataset.source))
				?.filter(([node, samples]) => node && samples.length > 1).length].join()`, &shown))
		return shown == "2,2,2"
	})
}

// Tables and charts have one clock: UTC or the zone of the browser. It is remembered, and named
// wherever there are times. Charts follow the theme of the system, too.
func TestConsoleClock(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "auth-dev-issuer", "true", "console-dev-sign-in", "true")
	furnish(t, n, backends.Connect(t, h.postgres))
	b := newTab(t, n.Ops)
	b.run(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := cdppage.AddScriptToEvaluateOnNewDocument(`window.written = new Set();
			const write = CanvasRenderingContext2D.prototype.fillText;
			CanvasRenderingContext2D.prototype.fillText = function(text, ...at) {
				written.add(text);
				window.ink = this.fillStyle;
				return write.call(this, text, ...at);
			}`).Do(ctx)
		return err
	}), emulation.SetTimezoneOverride("Asia/Kolkata"))
	b.open("/console/audit", 1360, "light")
	b.run(chromedp.Click(`button[value=development]`), chromedp.WaitVisible("td.time time"))
	// shown compares the first time of the table with its machine-readable value.
	const shown = `(() => {
		const time = document.querySelector("td.time time")
		const [, date, clock, zone] = /^(\S+) (\S+) (\S+)$/.exec(time.textContent)
		return [zone, Math.round((Date.parse(date + "T" + clock + "Z") - Date.parse(time.dateTime)) / 60000)].join(" ")
	})()`
	value := func(script string) (out string) {
		b.run(chromedp.Evaluate(script, &out))
		return out
	}
	if got := value(shown); got != "UTC 0" {
		t.Errorf("the table is in %s, want UTC", got)
	}
	b.run(chromedp.Click("[data-clock-toggle]"))
	if got := value(shown); got != "GMT+5:30 330" {
		t.Errorf("the table is in %s, want the browser's zone", got)
	}
	// The labels of charts are at full minutes, which differ by half an hour.
	hours := `[...written].filter(text => /^\d\d:\d\d$/.test(text)).map(text => (text.slice(0, 2) * 60 + +text.slice(3)
		- (Date.now() / 60000 | 0)) % 1440 + 1440).map(late => late % 1440 > 720 ? late % 1440 - 1440 : late % 1440)`
	chart := func(low, high int) bool {
		script := fmt.Sprintf(
			"(() => { const all = %s; return all.length > 0 && all.every(m => m >= %d && m <= %d) })()",
			hours, low, high)
		var ok bool
		b.run(chromedp.Evaluate(script, &ok))
		return ok
	}
	b.open("/console", 1360, "light")
	h.await("labels in the browser's zone", func() bool { return chart(330-65, 330) })
	if got := b.text(".charts h2 small"); got != "GMT+5:30" {
		t.Errorf("the chart names the zone %q", got)
	}
	b.run(chromedp.Evaluate(`written.clear()`, nil), chromedp.Click("[data-clock-toggle]"))
	h.await("labels in UTC", func() bool { return chart(-65, 0) })
	if got := b.text(".charts h2 small"); got != "UTC" {
		t.Errorf("the chart names the zone %q", got)
	}
	h.await("the last answer that draws the charts again", func() (ok bool) {
		b.run(chromedp.Evaluate(`performance.getEntriesByType("resource").some(({ name }) =>
			name.includes("/overview/data") && !name.includes("history"))`, &ok))
		return ok
	})
	light := value(`ink`)
	b.run(inTheme("dark"))
	h.await("labels in the colour of the dark theme", func() bool { return value(`ink`) != light })
}
