package docs

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/scoreboard/scoreboard/internal/test/browser"
)

// In a real browser the documentation is searched with the keyboard alone, its own
// policy blocks nothing, and no page is wider than a window of 320 pixels.
func TestDocsInBrowser(t *testing.T) {
	t.Parallel()
	const timeout = 30 * time.Second
	ctx := browser.New(t, 3*timeout)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/docs"), "/")
		if known, err := whole().Serve(w, r, name); !known {
			http.Error(w, "not found", http.StatusNotFound)
			if err != nil || name != "favicon.ico" {
				t.Errorf("%s: not found, %v", r.URL, err)
			}
		}
	}))
	t.Cleanup(server.Close)
	chromedp.ListenTarget(ctx, func(event any) {
		switch event := event.(type) {
		case *runtime.EventExceptionThrown:
			t.Errorf("a script failed: %s", event.ExceptionDetails)
		case *runtime.EventConsoleAPICalled:
			t.Errorf("the console has %v", event.Args)
		}
	})
	if err := chromedp.Run(ctx); err != nil { // starts it
		t.Fatal(err)
	}
	run := func(actions ...chromedp.Action) {
		t.Helper()
		for i, action := range actions {
			ctx, cancel := context.WithTimeout(ctx, timeout)
			err := chromedp.Run(ctx, action)
			if cancel(); err != nil {
				t.Fatalf("action %d: %v", i, err)
			}
		}
	}
	var blocked int
	const watch = `window.blocked = 0
		document.addEventListener("securitypolicyviolation", () => { window.blocked++ })`
	var at, results string
	run(
		chromedp.Navigate(server.URL+"/docs"),
		chromedp.Evaluate(watch, nil),
		chromedp.WaitVisible("#search-words", chromedp.ByQuery),
		input.DispatchKeyEvent(input.KeyDown).WithKey("/"), // without a character, which the page prevents
		chromedp.KeyEvent("two roles"),
		chromedp.WaitVisible("#search-found [aria-selected=true] a", chromedp.ByQuery),
		chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowUp),
		chromedp.Text("#search-found", &results, chromedp.ByQuery),
		chromedp.Evaluate(`window.blocked`, &blocked),
		chromedp.KeyEvent(kb.Enter),
		chromedp.WaitVisible("#two-roles", chromedp.ByQuery),
		chromedp.Location(&at),
	)
	if !strings.HasSuffix(at, "/docs/security#two-roles") || !strings.Contains(results, "Security: Two roles") ||
		blocked != 0 {
		t.Errorf("got to %s, from %q; %d things were blocked", at, results, blocked)
	}
	// Questions find what explains them, misspelt words too.
	for question, want := range map[string]string{
		"tounament": "Tournaments", "how do I rotate signing keys": "Signing: Keys", "pseudonim": "Privacy: Pseudonyms",
		"backup and restroe": "Backup", "leage divisions": "Leagues", //nolint:misspell // as somebody types it
	} {
		var first string
		run(
			chromedp.Navigate(server.URL+"/docs"), chromedp.WaitVisible("#search-words", chromedp.ByQuery),
			chromedp.SendKeys("#search-words", question, chromedp.ByQuery),
			chromedp.WaitVisible("#search-found [aria-selected=true] a", chromedp.ByQuery),
			chromedp.Poll(`document.querySelector("#search-words").value &&
				document.querySelector("#search-count").textContent`, nil),
			chromedp.Text("#search-found [aria-selected=true] b", &first, chromedp.ByQuery),
		)
		if !strings.HasPrefix(first, want) {
			t.Errorf("%q finds %q first, want %s", question, first, want)
		}
	}
	var open bool
	run(
		chromedp.Navigate(server.URL+"/docs/api#postScoresIncrement"),
		chromedp.WaitVisible("#postScoresIncrement pre", chromedp.ByQuery),
		chromedp.Evaluate(`document.querySelector("#postScoresIncrement").open`, &open),
	)
	if !open {
		t.Error("a link to an operation does not open it")
	}
	run(chromedp.EmulateViewport(320, 640))
	var pages []string
	run(
		chromedp.Navigate(server.URL+"/docs"),
		chromedp.Evaluate(`[...document.querySelectorAll("dt a")].map((a) => a.href)`, &pages),
	)
	if len(pages) < 12 {
		t.Errorf("the index has the pages %v, want at least 12", pages)
	}
	for _, page := range append(pages, server.URL+"/docs") {
		var wide []string
		run(chromedp.Navigate(page), chromedp.Evaluate(`document.documentElement.scrollWidth <= 320 ? [] :
			[...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > 321 &&
				!e.parentElement.closest(".wide, pre")).slice(0, 5).map((e) => e.outerHTML.slice(0, 200))
				.concat("width " + document.documentElement.scrollWidth)`, &wide))
		if len(wide) > 0 {
			t.Errorf("%s is wider than 320 pixels: %q", page, wide)
		}
	}
}
