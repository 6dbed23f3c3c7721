package pages

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
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

// On a board with subscores, the second number is beside the first, and a tie is one of both.
func TestSubscoresAreShown(t *testing.T) {
	t.Parallel()
	b := &Board{Shown: "football", ID: "football", Limit: 10, Pairs: true, Top: &scoreboard.Top{
		Total: 4, Entries: []scoreboard.Entry{
			{Rank: 1, User: "reds", Score: 9, Subscore: 12},
			{Rank: 2, User: "blues", Score: 9, Subscore: -3},
			{Rank: 3, User: "greens", Score: 9, Subscore: -3},
			{Rank: 4, User: "whites", Score: scoreboard.MaxScore, Subscore: -scoreboard.MaxScore},
		},
	}, Player: &Player{ID: "blues", Place: &scoreboard.Place{User: "blues", Rank: 2, Total: 4, Score: 9}}}
	page, card := string(New().Page(b)), string(New().Card(b))
	for _, want := range []string{
		`<data value="9">9</data> <data class="sub" value="12"><span class="quiet">subscore </span>12</data>`,
		`is #2 of 4 with 9 points and a subscore of −3, ahead of`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
	if got := strings.Count(page, `class="tie"`); got != 2 {
		t.Errorf("got %d marks of a tie, want 2", got)
	}
	if !strings.Contains(card, `>12</tspan>`) || strings.Contains(card, "−9,007") {
		t.Errorf("want the subscores that have room:\n%s", card)
	}
	b.Pairs = false
	if page := string(New().Page(b)); strings.Contains(page, "subscore") || strings.Contains(page, `class="sub"`) {
		t.Errorf("a board without subscores shows some:\n%s", page)
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

// What operators say of a board stays text on every page and picture. The colour is a style whose hash is in
// the policy, and the picture's host is the only other one that the page may load from.
func TestAppearanceStaysText(t *testing.T) {
	t.Parallel()
	const attack = `</title></style></bdi></text><script>alert(1)</script>" onload="alert(1)`
	a := &scoreboard.Appearance{
		Title: attack, Description: attack, Color: "#ffee00", Image: `https://cdn.example/a.png?x=">'&y=;`,
	}
	s, b, list := New(), hostile(), &List{}
	b.Appearance = a
	list.Add(Listed{ID: "global", Appearance: a})
	list.Add(Listed{ID: "plain"})
	for name, page := range map[string]struct{ body, policy string }{
		"page":  {string(s.Page(b)), b.Policy()},
		"embed": {string(s.Embed(b)), b.Policy()},
		"list":  {string(s.List(list)), list.Policy()},
		"card":  {string(s.Card(b)), ""},
	} {
		for _, bad := range []string{"<script>alert", `" onload`, "</style></bdi>", "style="} {
			if strings.Contains(page.body, bad) {
				t.Errorf("%s has %q:\n%s", name, bad, page.body)
			}
		}
		if !strings.Contains(page.body, "&lt;script&gt;") {
			t.Errorf("%s does not show the title:\n%s", name, page.body)
		}
		if name == "card" {
			continue
		}
		if got := strings.Count(page.body, "<img"); got != 1 ||
			!strings.Contains(page.body, `src="https://cdn.example/a.png?x=%22%3e%27&amp;y=;"`) {
			t.Errorf("%s has %d pictures, want one:\n%s", name, got, page.body)
		}
		_, style, found := strings.Cut(page.body, "<style>")
		style, _, closed := strings.Cut(style, "</style>")
		sum := sha256.Sum256([]byte(style))
		want := " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src 'self' https://cdn.example; "
		if !found || !closed || !strings.Contains(style, "--accent: light-dark(#") ||
			!strings.Contains(page.policy, want) || strings.Contains(page.policy, "unsafe") {
			t.Errorf("%s: got the style %q and the policy %s, want %s", name, style, page.policy, want)
		}
	}
	plain := policy("", nil)
	if b.Appearance = nil; b.Policy() != plain || (&List{}).Policy() != plain ||
		strings.Contains(plain, "sha256") || !strings.Contains(plain, "img-src 'self';") {
		t.Errorf("without an appearance: got the policy %s", b.Policy())
	}
}

// A list loads pictures from a few hosts, which its policy names.
func TestListLoadsFromFewHosts(t *testing.T) {
	t.Parallel()
	var list List
	for i := range 100 {
		for range 2 {
			list.Add(Listed{Appearance: &scoreboard.Appearance{Image: fmt.Sprintf("https://h%d.example/a", i)}})
		}
	}
	shown := 0
	for _, b := range list.Boards {
		if b.Picture != "" {
			shown++
		}
	}
	if len(list.Boards) != 200 || shown != 2*maxImageOrigins ||
		strings.Count(list.Policy(), "https://") != maxImageOrigins {
		t.Errorf("got %d pictures of %d boards, and the policy %s", shown, len(list.Boards), list.Policy())
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
		"the title": func(b *Board) { b.Appearance = &scoreboard.Appearance{Title: "t"} },
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
