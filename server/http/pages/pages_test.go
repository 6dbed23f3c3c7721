package pages

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/scoreboard/scoreboard/internal/design"
	"github.com/scoreboard/scoreboard/internal/test/browser"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

var update = flag.Bool("update", false, "rewrite sdk/typescript/web/tokens.css")

// The element has the tokens of package design, for its own root.
func TestTokensOfElement(t *testing.T) {
	t.Parallel()
	const path = "../../../sdk/typescript/web/tokens.css"
	want := strings.NewReplacer(":root[", ":host([", "] {", "]) {", ":root {", ":host {").Replace(string(design.CSS()))
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s is not current (%v): run go test ./server/http/pages -run Tokens -update, then npm run web in "+
			"sdk/typescript", path, err)
	}
}

// The committed scripts were built from the sources as they are.
func TestScriptsAreCurrent(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile("sources.sha256")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(list)), "\n")
	for _, line := range lines {
		want, path, _ := strings.Cut(line, "  ")
		body, err := os.ReadFile("../../../" + path)
		if err != nil {
			t.Error(err)
			continue
		}
		if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s has changed: run npm run web in sdk/typescript", path)
		}
	}
	for _, path := range []string{
		"sdk/typescript/src/watch/state.ts", "server/http/pages/assets/rows.css", "server/http/pages/assets/board.js",
		"server/http/pages/assets/timeline.js", "server/http/pages/assets/chart.js",
		"server/http/pages/assets/score-board.js",
	} {
		if !strings.Contains(string(list), "  "+path+"\n") {
			t.Errorf("%s is not among the %d files", path, len(lines))
		}
	}
}

// maxElement bounds the element that other pages load, compressed.
const maxElement = 15 << 10

// Pages of any origin may load the assets. The element is small, and can be renewed under its
// name.
func TestAssets(t *testing.T) {
	t.Parallel()
	s := New()
	for name, cache := range map[string]string{
		Element: "public, max-age=300", s.assets.Name(Element): "public, max-age=31536000, immutable",
		s.assets.Name(styleSheet): "public, max-age=31536000, immutable",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/assets/"+name, nil)
		r.Header.Set("Accept-Encoding", "gzip")
		w := httptest.NewRecorder()
		if !s.ServeAsset(w, r, name) || w.Code != http.StatusOK || w.Header().Get("Cache-Control") != cache ||
			w.Header().Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: got %d, %v", name, w.Code, w.Header())
		}
		if n := w.Body.Len(); name == Element && (n > maxElement || n < maxElement/4) {
			t.Errorf("the element has %d bytes, want at most %d", n, maxElement)
		}
	}
	w := httptest.NewRecorder()
	if s.ServeAsset(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), "rows.css") {
		t.Error("a part of the style sheet is served by itself")
	}
}

// hostile is a board whose texts try to leave their place.
func hostile() *Board {
	name := `"><script>alert(1)</script><img src=x onerror=alert(1)>'` + "`"
	profile := func(name string) *scoreboard.Profile { return &scoreboard.Profile{DisplayName: name} }
	return &Board{
		ID: "global", Shown: "global", Limit: 10, Top: &scoreboard.Top{
			Board: "global", Total: 12345, AsOf: time.UnixMilli(1_800_000_000_123),
			Entries: []scoreboard.Entry{
				{Rank: 1, User: "a", Score: 50, Profile: profile(name)},
				{Rank: 2, User: "b", Score: 40, Profile: profile("]]></svg><svg onload=alert(1)>")},
				{Rank: 3, User: "c", Score: 40, Profile: profile("\u202Eevil & co")},
				{Rank: 4, User: "d", Score: -1234567},
			},
		},
		Player: &Player{ID: `x:@"`, Place: nil},
	}
}

// A player in the rows has one score on the page, that of the row, and no neighbours that only
// repeat rows.
func TestPlayerHasOneScore(t *testing.T) {
	t.Parallel()
	b := hostile()
	place := &scoreboard.Place{User: "d", Rank: 3, Score: 752, Total: 5, Neighbours: []scoreboard.Entry{
		{Rank: 2, User: "b", Score: 800}, {Rank: 3, User: "d", Score: 752}, {Rank: 4, User: "c", Score: 40},
	}}
	b.Player = &Player{ID: "d", Place: place}
	page := string(New().Page(b))
	if want := `is #4 of 5 with −1,234,567 points, ahead of 20 %.`; !strings.Contains(page, want) ||
		strings.Contains(page, "752") || strings.Count(page, `data-user="d"`) != 1 {
		t.Errorf("want %q and each player once:\n%s", want, page)
	}
	place.Neighbours = append(place.Neighbours, scoreboard.Entry{Rank: 5, User: "e", Score: -2_000_000})
	page = string(New().Page(b))
	if strings.Count(page, `data-user="d"`) != 2 || strings.Contains(page, "752") ||
		!strings.Contains(page, "−2,000,000") {
		t.Errorf("want the neighbours, as the rows show them:\n%s", page)
	}
}

func TestTextStaysText(t *testing.T) {
	t.Parallel()
	s, b := New(), hostile()
	pages := map[string]string{
		"page": string(s.Page(b)), "embed": string(s.Embed(b)), "card": string(s.Card(b)),
		"problem": string(s.Problem("<script>", "<img src=x onerror=alert(1)>")),
	}
	for name, page := range pages {
		for _, bad := range []string{"<script>alert", "<img", "onload=alert(1)>", "style="} {
			if strings.Contains(page, bad) {
				t.Errorf("%s has %q:\n%s", name, bad, page)
			}
		}
	}
	for _, want := range []string{
		"&lt;script&gt;", `<data value="-1234567">−1,234,567</data>`, "12,345", `<bdi class="name" dir="auto">`,
	} {
		if !strings.Contains(pages["page"], want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if got := strings.Count(pages["page"], `class="tie"`); got != 2 {
		t.Errorf("got %d marks of a tie, want 2", got)
	}
	d := xml.NewDecoder(strings.NewReader(pages["card"]))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the picture is no XML: %v\n%s", err, pages["card"])
		}
	}
}

// The addresses in previews are those of the setting, and left out without it: none comes from
// a request.
func TestAddressesOfPreviews(t *testing.T) {
	t.Parallel()
	s, b := New(), hostile()
	page := string(s.Page(b))
	if strings.Contains(page, "og:image") || strings.Contains(page, "og:url") ||
		strings.Contains(page, "twitter:card") ||
		!strings.Contains(page, `<link rel="canonical" href="./global">`) {
		t.Errorf("without the address of the site: got %s", page)
	}
	b.URL = "https://scores.example"
	page = string(s.Page(b))
	for _, want := range []string{
		`<meta property="og:url" content="https://scores.example/b/global">`,
		`<meta property="og:image" content="https://scores.example/b/global/card.svg">`,
		`<link rel="canonical" href="https://scores.example/b/global">`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s: %s", want, page)
		}
	}
}

// The tag changes with what the page shows, and not with time alone.
func TestTagIgnoresTime(t *testing.T) {
	t.Parallel()
	s := New()
	tag := func(change func(*Board)) string {
		b := hostile()
		change(b)
		return Tag(b, s.Page(b))
	}
	first := tag(func(*Board) {})
	if tag(func(b *Board) { b.Top.AsOf = b.Top.AsOf.Add(90 * time.Minute) }) != first {
		t.Error("time alone changes the tag")
	}
	for name, change := range map[string]func(*Board){
		"a score": func(b *Board) { b.Top.Entries[3].Score++ }, "the total": func(b *Board) { b.Top.Total++ },
		"the player": func(b *Board) { b.Player = nil }, "the warning": func(b *Board) { b.Top.Degraded = "stale" },
		"the doubt": func(b *Board) { b.Top.State = scoreboard.StateCatchingUp },
		"the theme": func(b *Board) { b.Theme = "dark" }, "the end": func(b *Board) { b.Ended = true },
		"a tier": func(b *Board) { b.Tiers = scoreboard.Tiers{{Name: "gold", Rank: 1}} },
	} {
		if tag(change) == first {
			t.Errorf("%s does not change the tag", name)
		}
	}
}

func TestShorten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"short": "short", "Bartholomew Rochester": "Bartholome…", "漢字漢字漢字漢字漢字漢字": "漢字漢字漢字漢…", "": "",
	} {
		if got := shorten(text, 236, cardSize); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// No name on the picture is wider than its place, where it would be cut without an ellipsis.
func TestNamesFitOnTheCard(t *testing.T) {
	t.Parallel()
	ctx := browser.New(t, time.Minute)
	b := &Board{Shown: scoreboard.BoardID(strings.Repeat("Wm-board", 8)), Limit: 10, Top: &scoreboard.Top{Total: 10}}
	for i, name := range []string{
		"WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW", "Bartholomew Rochester the Third of", "illillillillillillillillillillil",
		"漢字漢字漢字漢字漢字漢字漢字漢字", "😀😀😀😀😀😀😀😀😀😀😀😀😀😀", "ДЖЩФЮЫЖЩФЮЫДЖЩФЮЫЖЩФЮЫ", "ada",
	} {
		for _, score := range []scoreboard.Score{scoreboard.MaxScore, 5} {
			b.Top.Entries = []scoreboard.Entry{
				{Rank: int64(i + 1), User: "u", Score: score, Profile: &scoreboard.Profile{DisplayName: name}},
			}
			row := b.CardRows()[0]
			if short := name == "ada" && score == 5; short && row.Short != name ||
				row.Short != name && !strings.HasSuffix(row.Short, "…") {
				t.Errorf("%s is shown as %q", name, row.Short)
			}
			var wide []string
			err := chromedp.Run(ctx,
				chromedp.Navigate("data:image/svg+xml;base64,"+base64.StdEncoding.EncodeToString(New().Card(b))),
				chromedp.Evaluate(`[...document.querySelectorAll("svg svg")].filter(place =>
					place.querySelector("text").getComputedTextLength() > place.getAttribute("width"))
					.map(place => place.textContent)`, &wide))
			if err != nil || len(wide) > 0 {
				t.Errorf("%v; cut without an ellipsis: %q", err, wide)
			}
		}
	}
}
