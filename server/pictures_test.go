package server_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/browser"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// The pages look as in the pictures of testdata/pictures. After a change that is meant, look at the
// pages (make docs) and store their pictures: go test ./server -run Pictures -update.
func TestPicturesOfPages(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "web-boards", "*", "limit-anonymous-per-minute", "0", "auth-dev-issuer", "true",
		"console-dev-sign-in", "true")
	game := n.client("game", auth.ScopeUpdate)
	root := bearer(h.token("root", auth.ScopeAdmin, time.Hour))
	names := []string{"Ada Lovelace", "Grace Hopper", "", "هيدي لامار", "Katherine Johnson of Virginia", "", "林"}
	const users = 12
	for i := range users {
		user := fmt.Sprint("user-", i)
		in := client.Increment{User: user, Delta: int64(98765 / (i/2*2 + 1))} // pairs are tied
		if _, err := game.Submit(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		if i >= len(names) || names[i] == "" {
			continue
		}
		status, _, body := request(t, http.MethodPut, n.URL+"/v1/users/"+user+"/profile",
			fmt.Sprintf(`{"display_name":%q}`, names[i]), root)
		if status != http.StatusOK {
			t.Fatal(status, body)
		}
	}
	h.await("the rows", func() bool {
		_, _, body := request(t, http.MethodGet, n.URL+"/b/global?limit=100", "", nil)
		return strings.Count(body, "data-user=") == users && strings.Contains(body, "林")
	})
	ctx := browser.New(t, 3*awaitTimeout, browser.DebianFonts(t))
	const live = `document.getElementById("connection").textContent === "Live" &&
		document.getElementById("age").textContent === ""`
	signIn := chromedp.Tasks{
		chromedp.Navigate(n.Ops + "/console/boards"), chromedp.Click(`button[value=development]`),
		chromedp.WaitVisible(".side"),
	}
	takePictures(ctx, t, chromedp.Tasks{}, []pagePicture{
		{
			"board-light", n.URL + "/b/global?player=user-9", "light", 1000, 1050,
			live + ` && document.getElementById("chart").childElementCount > 0`,
		},
		{"board-dark", n.URL + "/b/global", "dark", 1000, 800, live},
		{"board-phone", n.URL + "/b/global", "light", 360, 800, live},
		{"board-wall", n.URL + "/b/global?kiosk=1", "dark", 1280, 720, live},
		{"embed", n.URL + "/embed/global?player=user-3", "light", 600, 640, live},
		{"boards", n.URL + "/b/", "light", 800, 400, "true"},
		{"problem", n.URL + "/b/global?limit=7", "dark", 800, 400, "true"},
		{"console-sign-in", n.Ops + "/console/sign-in", "light", 1000, 700, "true"},
	})
	for _, board := range []string{
		`{"board":"arena","mode":"best"}`, `{"board":"race","order":"lowest","public":false}`,
	} {
		status, _, body := request(t, http.MethodPost, n.URL+"/v1/boards", board, root)
		if status != http.StatusCreated {
			t.Fatal(status, body)
		}
	}
	takePictures(ctx, t, signIn, []pagePicture{
		{"console-overview-light", n.Ops + "/console", "light", 1360, 900, steadyOverview},
		{"console-overview-dark", n.Ops + "/console", "dark", 1360, 900, steadyOverview},
		{"console-overview-phone", n.Ops + "/console", "light", 390, 900, steadyOverview},
		{"console-boards-light", n.Ops + "/console/boards", "light", 1360, 700, steadyTable},
		{"console-boards-dark", n.Ops + "/console/boards", "dark", 1360, 700, steadyTable},
		{"console-boards-phone", n.Ops + "/console/boards", "light", 390, 800, steadyTable},
	})
}

// What differs in every run is replaced: times, figures, findings, and the state of each stage,
// of which there is one of each kind.
const (
	steadyTable = `document.querySelectorAll("td.time time").forEach((e) => {
			e.textContent = "2026-11-21 10:00:00 UTC"
		}),
		document.querySelectorAll("tbody tr").length === 3`
	steadyOverview = `(() => {
		const set = (all, text) => document.querySelectorAll(all).forEach((e) => { e.textContent = text })
		set(".summary .dim", "scoreboard 1.0.0 · up 2 h 10 min · api · node one"); set(".figure b", "1,234")
		set(".summary b", "Working, with warnings."); document.getElementById("summary").className = "summary warn"
		set(".stage .detail", "4 ms behind"); set(".stage .state", "warning")
		for (const list of ["findings", "checks", "nodes"]) document.getElementById(list).replaceChildren()
		document.querySelectorAll(".chart").forEach((e) => e.replaceChildren())
		document.querySelectorAll(".stage").forEach((e, i) => {
			e.className = "stage " + ["good", "warn", "bad"][i % 3]
		})
		return true
	})()`
)

// pagePicture is a page in a state of which a picture is stored.
type pagePicture struct {
	name, url, theme string
	width, height    int64
	ready            string
}

// takePictures compares pages with their pictures, after an action. Requests of the console's
// scripts are never answered, so that its pages stay as the server has rendered them.
func takePictures(ctx context.Context, t *testing.T, first chromedp.Action, pages []pagePicture) {
	t.Helper()
	unanswered := chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := cdppage.AddScriptToEvaluateOnNewDocument(`if (location.pathname === "/console") {
			window.fetch = () => new Promise(() => {})
		}`).Do(ctx)
		return err
	})
	if err := chromedp.Run(ctx, first, unanswered); err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		// Not Poll, which fails if the page's context was replaced since.
		ready := chromedp.ActionFunc(func(ctx context.Context) error {
			for is := false; ; {
				if err := chromedp.Evaluate(p.ready, &is).Do(ctx); err != nil || is {
					return err
				}
				select {
				case <-time.After(20 * time.Millisecond):
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		})
		var picture []byte
		if err := chromedp.Run(
			ctx,
			emulation.SetDeviceMetricsOverride(p.width, p.height, 1, false),
			emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: p.theme}, {Name: "prefers-reduced-motion", Value: "reduce"},
			}),
			chromedp.Navigate(p.url), ready, chromedp.CaptureScreenshot(&picture),
		); err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
		browser.ComparePicture(t, filepath.Join("testdata", "pictures", p.name+".png"), picture, *update)
	}
}
