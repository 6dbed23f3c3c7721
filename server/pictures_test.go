package server_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/browsertest"
	"github.com/scoreboard/scoreboard/server/auth"
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
	ctx := browsertest.New(t, 3*awaitTimeout, browsertest.DebianFonts(t))
	const live = `document.getElementById("connection").textContent === "Live" &&
		document.getElementById("age").textContent === ""`
	for _, p := range []struct {
		name, url, theme string
		width, height    int64
		ready            string
	}{
		{"board-light", n.URL + "/b/global?player=user-9", "light", 1000, 1050, live},
		{"board-dark", n.URL + "/b/global", "dark", 1000, 800, live},
		{"board-phone", n.URL + "/b/global", "light", 360, 800, live},
		{"board-wall", n.URL + "/b/global?kiosk=1", "dark", 1280, 720, live},
		{"embed", n.URL + "/embed/global?player=user-3", "light", 600, 640, live},
		{"boards", n.URL + "/b/", "light", 800, 400, "true"},
		{"problem", n.URL + "/b/global?limit=7", "dark", 800, 400, "true"},
		{"console-sign-in", n.Ops + "/console/sign-in", "light", 1000, 700, "true"},
	} {
		var picture []byte
		if err := chromedp.Run(
			ctx,
			emulation.SetDeviceMetricsOverride(p.width, p.height, 1, false),
			emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: p.theme}, {Name: "prefers-reduced-motion", Value: "reduce"},
			}),
			chromedp.Navigate(p.url), chromedp.Poll(p.ready, nil), chromedp.CaptureScreenshot(&picture),
		); err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
		browsertest.ComparePicture(t, filepath.Join("testdata", "pictures", p.name+".png"), picture, *update)
	}
}
