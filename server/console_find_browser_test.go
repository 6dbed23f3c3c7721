package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	axe "github.com/scoreboard/scoreboard/internal/test/browser"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// value is what an expression is on the page, as a text.
func (b *tab) value(expression string) (out string) {
	b.t.Helper()
	b.run(chromedp.Evaluate("String("+expression+")", &out))
	return out
}

func (b *tab) awaitValue(expression, want string) {
	b.t.Helper()
	got := ""
	for end := time.Now().Add(awaitTimeout); got != want; time.Sleep(50 * time.Millisecond) {
		if got = b.value(expression); time.Now().After(end) {
			b.t.Fatalf("%s is %q, want %q", expression, got, want)
		}
	}
}

// press presses a key that writes no character, because the page prevents it.
func (b *tab) press(key string, modifiers ...input.Modifier) {
	b.t.Helper()
	p := input.DispatchKeyEvent(input.KeyDown).WithKey(key)
	for _, m := range modifiers {
		p = p.WithModifiers(m)
	}
	b.run(p)
}

// The console is used by keyboard: / searches, ? shows the keys, Ctrl-K goes to pages, boards, players and
// actions, and inputs offer boards and players. None of it has an accessibility problem.
func TestConsoleKeyboard(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "auth-dev-issuer", "true", "console-dev-sign-in", "true")
	furnish(t, n, backends.Connect(t, h.postgres))
	b := newTab(t, n.Ops)
	accessible := func(name string) {
		t.Helper()
		for _, theme := range []string{"light", "dark"} {
			b.run(inTheme(theme))
			problems, err := axe.AccessibilityProblems(b.ctx)
			if err != nil || len(problems) > 0 {
				t.Errorf("%s in %s: %v, %v", name, theme, problems, err)
			}
			b.picture(name + "-" + theme)
		}
	}
	b.open("/console/boards", 1360, "light")
	b.run(chromedp.Click(`button[value=development]`), chromedp.WaitVisible(".side"))

	b.press("/")
	b.awaitValue("document.activeElement.name", "family")
	b.press("/") // while somebody types, it is a character
	b.run(chromedp.KeyEvent("ar"))
	b.awaitValue(`document.activeElement.list.querySelector("option")?.value`, "arena")
	b.run(chromedp.Evaluate("document.activeElement.blur()", nil))
	b.press("?")
	b.run(chromedp.WaitVisible("#keys[open] kbd"))
	accessible("keyboard")
	b.run(chromedp.Click("#keys button"))

	for _, c := range []struct{ typed, label, at string }{
		{"are", "arena", "/console/boards/arena"},
		{"alice", "alice", "/console/players/alice"},
		{"dead", "Dead letters", "/console/dead-letters"},
		{"create b", "Create board", "/console/changes/board-create"},
	} {
		b.press("k", input.ModifierCtrl)
		b.run(chromedp.WaitVisible("#palette[open] input"), chromedp.KeyEvent(c.typed))
		b.awaitValue(`document.querySelector("#palette [aria-selected=true] b")?.textContent`, c.label)
		if c.typed == "are" {
			accessible("palette")
			b.run(chromedp.KeyEvent(kb.ArrowUp), chromedp.KeyEvent(kb.ArrowDown))
		}
		b.run(chromedp.KeyEvent(kb.Enter))
		b.awaitValue("document.readyState === 'complete' && location.pathname", c.at)
	}
	if got := b.value(`document.querySelector("dialog[open]")`); got != "null" {
		t.Errorf("the palette is open on the page that it led to: %s", got)
	}
	b.open("/console/jobs", 1360, "light")
	b.press("/") // nothing to filter: the palette
	b.run(chromedp.WaitVisible("#palette[open] input"))
	if b.fail.Load() > 0 {
		t.Error("a script failed")
	}
}

// Ids are copied as a whole, times are picked in the chosen clock and sent in RFC 3339, and settings are filtered
// while somebody types.
func TestConsoleInputs(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "auth-dev-issuer", "true", "console-dev-sign-in", "true")
	db := backends.Connect(t, h.postgres)
	furnish(t, n, db)
	b := newTab(t, n.Ops)
	b.run(emulation.SetTimezoneOverride("Asia/Kolkata"), browser.GrantPermissions([]browser.PermissionType{
		browser.PermissionTypeClipboardReadWrite, browser.PermissionTypeClipboardSanitizedWrite,
	}))
	b.open("/console/audit", 1360, "light")
	b.run(chromedp.Click(`button[value=development]`), chromedp.WaitVisible("td a"))
	entry := b.value(`document.querySelector("td.code a").href`)
	b.run(chromedp.Navigate(entry), chromedp.WaitVisible(".copy"))
	request := b.value(`document.querySelector(".id code").title`)
	if shown := b.text(".id code"); len(request) != 32 || !strings.Contains(shown, "…") || len(shown) >= len(request) {
		t.Errorf("the id %q of the request is shown as %q, want it shortened", request, shown)
	}
	b.run(chromedp.Click(".copy"))
	b.awaitValue(`document.querySelector(".copy").getAttribute("aria-label")`, "Copied")
	var copied string
	b.run(chromedp.Evaluate("navigator.clipboard.readText()", &copied, awaitPromise))
	if copied != request {
		t.Errorf("copied %q, want %q", copied, request)
	}

	const field, picker = `document.querySelector("[name=from]")`, `document.querySelector("[name=from] + input")`
	b.open("/console/audit?from=2026-11-21T10:00:00Z", 1360, "light")
	if got := b.value(picker + ".value"); got != "2026-11-21T10:00" && got != "2026-11-21T10:00:00" {
		t.Errorf("in UTC the picker shows %s", got)
	}
	b.run(chromedp.Click("[data-clock-toggle]"))
	if got := b.value(picker + ".value"); !strings.HasPrefix(got, "2026-11-21T15:30") {
		t.Errorf("in the zone of the browser the picker shows %s, want 15:30", got)
	}
	b.run(chromedp.Evaluate(picker+`.value = "2026-11-22T05:30:00"; `+
		picker+`.dispatchEvent(new Event("input", { bubbles: true }))`, nil))
	if got := b.value(field + ".value"); got != "2026-11-22T00:00:00.000Z" {
		t.Errorf("05:30 in Kolkata is sent as %s", got)
	}
	b.run(chromedp.Click(".filters button"))
	b.awaitValue(`document.readyState === "complete" && new URL(location.href).searchParams.get("from")`,
		"2026-11-22T00:00:00.000Z")
	b.open("/console/audit?from=yesterday", 1360, "light") // no time: the text stays, and the API says what is wrong
	if got := b.text("[role=alert]"); !strings.Contains(got, "RFC 3339") {
		t.Errorf("a text that is no time: %s", got)
	}

	b.open("/console/settings", 1360, "light")
	shown := func() string {
		return b.value(`[...document.querySelectorAll(".settings li")].filter((row) => row.checkVisibility()).length +
			" " + document.querySelector("[data-shown]").textContent`)
	}
	all := shown()
	b.run(chromedp.SendKeys("[data-live] input", "reads.top_n"))
	some := shown()
	if n, counted, _ := strings.Cut(some, " "); n != counted || len(n) > 1 || !strings.Contains(
		b.text(".settings li:not([hidden])"), "reads.top_n") {
		t.Errorf("%s of %s settings are shown for reads.top_n, want a few", some, all)
	}
	b.run(chromedp.KeyEvent(kb.Enter))
	b.awaitValue(`document.readyState === "complete" && new URL(location.href).searchParams.get("name")`, "reads.top_n")
	if got := shown(); got != some {
		t.Errorf("the server shows %s settings, want %s", got, some)
	}
	if b.fail.Load() > 0 {
		t.Error("a script failed")
	}
}

func awaitPromise(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// A new tab has the last hour of the node, which it has not seen itself.
func TestOverviewHasTheLastHour(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "auth-dev-issuer", "true", "console-dev-sign-in", "true")
	furnish(t, n, backends.Connect(t, h.postgres))
	root := bearer(h.token("root", auth.ScopeOperate, time.Hour))
	h.await("two samples of the node", func() bool {
		code, _, body := request(t, http.MethodGet, n.URL+"/v1/admin/status?history=1", "", root)
		var status wire.Status
		if err := json.Unmarshal([]byte(body), &status); err != nil || code != http.StatusOK {
			t.Fatal(code, body, err)
		}
		return len(status.History) >= 2 && status.History[0].OutboxDepth != nil
	})
	b := newTab(t, n.Ops)
	b.open("/console", 1360, "light")
	b.run(chromedp.Click(`button[value=development]`), chromedp.WaitVisible("#nodes"))
	const first = `((all) => all && Math.round((Date.now() - all[0][1][0][0]) / 1000) >= 10)(
		JSON.parse(sessionStorage.getItem("overview-nodes:" + document.getElementById("overview").dataset.source)))`
	b.awaitValue(first, "true")
	// The finding about the issuer of development leads to its page, on the same address.
	const page = `#findings a[href$="/docs/security"]`
	b.run(chromedp.WaitVisible(page), chromedp.Click(page), chromedp.WaitVisible("h1", chromedp.ByQuery))
	if got := b.text("h1"); got != "Security" {
		t.Errorf("the runbook page is %q", got)
	}
}
