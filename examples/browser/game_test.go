package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/browser"
	"github.com/scoreboard/scoreboard/internal/test/instance"
)

const sdk = "../../sdk/typescript"

// buildSDK builds the SDK unless that was done. Without npm the test is skipped, and fails in CI.
func buildSDK(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(sdk, "dist", "element.js")); err == nil {
		return
	}
	if _, err := exec.LookPath("npm"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("npm is not installed: run make setup")
		}
		fmt.Fprintf(os.Stderr, "!!! %s SKIPPED: requires npm\n", t.Name())
		t.Skip("requires npm")
	}
	for _, args := range [][]string{{"ci", "--no-progress"}, {"run", "build"}} {
		npm := exec.CommandContext(t.Context(), "npm", args...)
		npm.Dir = sdk
		if out, err := npm.CombinedOutput(); err != nil {
			t.Fatalf("npm %s: %v\n%s", args[0], err, out)
		}
	}
}

// backend is the game on a real server. While it is offline, hits are not answered.
type backend struct {
	URL     string
	offline atomic.Bool
}

func start(t *testing.T) *backend {
	t.Helper()
	b := &backend{}
	var game atomic.Value
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b.offline.Load() && r.URL.Path == "/hits" {
			panic(http.ErrAbortHandler) // breaks the connection
		}
		game.Load().(http.Handler).ServeHTTP(w, r)
	}))
	t.Cleanup(site.Close)
	b.URL = site.URL
	s := instance.New(t, "realtime-origins", site.URL)
	scores, err := client.New(s.URL, client.Options{
		Token: instance.Token("game", "score:update score:admin"),
		KeyID: instance.KeyID, KeySecret: instance.Secret,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(scores.Close)
	game.Store(newGame(scores, s.URL, filepath.Join(sdk, "dist")))
	return b
}

// await waits until a script in the page returns what is wanted.
func await(ctx context.Context, t *testing.T, script, want string) {
	t.Helper()
	got := ""
	for end := time.Now().Add(30 * time.Second); got != want; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s is %q, want %q", script, got, want)
		}
		if err := chromedp.Run(ctx, chromedp.Evaluate(script, &got)); err != nil {
			t.Fatal(err)
		}
	}
}

const (
	waiting = `document.getElementById("waiting").textContent`
	// The score of the player on the live board, "" before the first.
	score = `[...document.querySelector("scoreboard-top").shadowRoot.querySelectorAll("tr")]
		.filter(tr => tr.cells[1].textContent === document.getElementById("player").textContent)
		.map(tr => tr.cells[2].textContent).join()`
	ready = `String(document.getElementById("player").textContent !== "" &&
		document.querySelector("scoreboard-top").shadowRoot !== null)`
)

// Hits count on the live board beside the game. Hits made offline are kept over a reload, and count
// once when the backend is back.
func TestGame(t *testing.T) {
	t.Parallel()
	ctx := browser.New(t, 3*time.Minute)
	buildSDK(t)
	b := start(t)
	hit := func(n int) {
		t.Helper()
		for range n {
			if err := chromedp.Run(ctx, chromedp.Click("#target", chromedp.ByQuery)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := chromedp.Run(ctx, chromedp.Navigate(b.URL)); err != nil {
		t.Fatal(err)
	}
	await(ctx, t, ready, "true")
	await(ctx, t, waiting, "0")
	hit(3)
	await(ctx, t, score, "3")

	b.offline.Store(true)
	hit(2)
	await(ctx, t, waiting, "2")
	if err := chromedp.Run(ctx, chromedp.Reload()); err != nil {
		t.Fatal(err)
	}
	await(ctx, t, ready, "true")
	await(ctx, t, waiting, "2")
	b.offline.Store(false)
	await(ctx, t, score, "5")
	await(ctx, t, waiting, "0")
}

// The page chooses neither the user nor the points, and cannot play without a session.
func TestHitIsValidated(t *testing.T) {
	t.Parallel()
	b := start(t)
	var cookies []*http.Cookie
	post := func(path, body string) (status int, set []*http.Cookie) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		for _, c := range cookies {
			req.AddCookie(c)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode, res.Cookies()
	}
	if got, _ := post("/hits", `{"event_id":"e1"}`); got != http.StatusUnauthorized {
		t.Errorf("without a session: got %d", got)
	}
	_, cookies = post("/session", "")
	for body, want := range map[string]int{
		`{}`: http.StatusBadRequest, `{"event_id":"a b"}`: http.StatusBadRequest, `{"event_id":"e1"}`: http.StatusOK,
	} {
		if got, _ := post("/hits", body); got != want {
			t.Errorf("%s: got %d, want %d", body, got, want)
		}
	}
	limited := 0
	for range 2 * hitsAtOnce {
		if got, _ := post("/hits", `{"event_id":"e1"}`); got == http.StatusTooManyRequests {
			limited++
		}
	}
	if limited == 0 {
		t.Error("hits are not limited")
	}
}
