package api

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The list of boards has the public ones that have pages, and names no other; each link keeps the
// theme, and pages of the list follow each other.
func TestListOfBoards(t *testing.T) {
	t.Parallel()
	var a *API
	read := func(query string) (int, string) {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, pathPages+query, nil)
		r.Header.Set("Accept", "text/html")
		a.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for name, tt := range map[string]struct {
		catalog Catalog
		listed  Listing
	}{"private": {secretBoard{}, allListed{}}, "unlisted": {openBoard{}, noneListed{}}} {
		a = everything(&trail{}, func(o *Options) { o.Catalog, o.Pages = tt.catalog, tt.listed })
		if status, page := read(""); status != http.StatusOK || strings.Contains(page, "<li>") {
			t.Errorf("%s: got %d %s, want an empty list", name, status, page)
		}
	}
	a = everything(&trail{}, func(o *Options) { o.Catalog, o.Pages = manyBoards(boardsShown+1), allListed{} })
	_, page := read("?theme=dark&utm_source=x")
	for _, want := range []string{
		`href="./b0000?theme=dark"`, `<html lang="en" data-theme="dark">`, `>daily</span>`,
		`href="./?after=b0099&amp;theme=dark"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the list has no %s:\n%s", want, page)
		}
	}
	if _, page := read("?after=b0099"); strings.Count(page, "<li>") != 1 || strings.Contains(page, "More boards") ||
		!strings.Contains(page, `href="./b0100"`) {
		t.Errorf("the last boards: got %s", page)
	}
	for _, query := range []string{"?theme=blue", "?after=%20", "?after=B"} {
		if status, page := read(query); status != http.StatusBadRequest || !strings.Contains(page, "not valid") {
			t.Errorf("%s: got %d %s, want a page with 400", query, status, page)
		}
	}
}

// The list says when the current period of a board ends, and its labels.
func TestListSaysWhenPeriodsEnd(t *testing.T) {
	t.Parallel()
	now := time.Now()
	cup := func(id scoreboard.BoardID, start, end time.Duration) *scoreboard.Board {
		return &scoreboard.Board{
			ID: id, Family: "cup", Period: scoreboard.PeriodSeason, Public: true, Status: scoreboard.StatusActive,
			PeriodStart: now.Add(start), PeriodEnd: now.Add(end),
		}
	}
	family, ended := cup("cup", 0, 0), cup("cup:a", -2*time.Hour, -time.Hour)
	current, next := cup("cup:b", -time.Hour, time.Hour), cup("cup:c", time.Hour, 2*time.Hour)
	family.Platform, family.Region, family.Tags = "pc", "eu", []string{"duel"}
	for name, tt := range map[string]struct {
		periods []*scoreboard.Board
		ends    time.Duration // 0: not said
	}{
		"current, and one to come": {[]*scoreboard.Board{ended, current, next}, time.Hour},
		"between two":              {[]*scoreboard.Board{ended, next}, 0},
		"none":                     {nil, 0},
	} {
		a := everything(&trail{}, func(o *Options) {
			o.Catalog = listedBoards{families: []*scoreboard.Board{family}, periods: tt.periods}
			o.Pages = allListed{}
		})
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, pathPages, nil))
		page := w.Body.String()
		want := "ends " + now.Add(tt.ends).UTC().Format("2 Jan 2006 15:04 UTC")
		if strings.Contains(page, want) != (tt.ends > 0) || tt.ends == 0 && strings.Contains(page, "ends ") ||
			!strings.Contains(page, "<span>eu</span> <span>pc</span> <span>duel</span>") {
			t.Errorf("%s: got %s, want %q and the labels", name, page, want)
		}
	}
}

// manyBoards is a catalog of so many daily boards.
func manyBoards(n int) Catalog {
	c := listedBoards{}
	for i := range n {
		id := scoreboard.BoardID(fmt.Sprintf("b%04d", i))
		c.families = append(c.families, &scoreboard.Board{
			ID: id, Family: id, Period: scoreboard.PeriodDaily, Public: true, Status: scoreboard.StatusActive,
		})
	}
	return c
}

// listedBoards is a catalog with the given families and periods.
type listedBoards struct {
	openBoard
	families, periods []*scoreboard.Board
}

func (l listedBoards) Families(context.Context) ([]*scoreboard.Board, error) { return l.families, nil }

func (l listedBoards) Periods(context.Context, scoreboard.BoardID) ([]*scoreboard.Board, error) {
	return l.periods, nil
}

func (l listedBoards) PublicBoard(context.Context, scoreboard.BoardID) (*scoreboard.Board, error) {
	return l.periods[len(l.periods)-1], nil
}

// emptyTop reads boards without scores.
type emptyTop struct{ Leaderboard }

func (emptyTop) Top(_ context.Context, b *scoreboard.Board, _ int64) (*scoreboard.Top, error) {
	return &scoreboard.Top{Board: b.ID}, nil
}

func (emptyTop) Place(
	context.Context, *scoreboard.Board, scoreboard.UserID, int, int64,
) (*scoreboard.Place, error) {
	return nil, scoreboard.Errorf(wire.CodeNotFound, "no score")
}

// The choice of periods has the newest by their start, however many there are and however they are
// called; older ones follow. Private and future periods are in none. Links keep the view.
func TestChoiceOfPeriods(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	const periods = 1100
	catalog := listedBoards{}
	for i := range periods { // the newest has the first name
		start := now.Add(time.Duration(i-periods+1) * time.Hour)
		catalog.periods = append(catalog.periods, &scoreboard.Board{
			ID: scoreboard.BoardID(fmt.Sprintf("cup:s%04d", periods-1-i)), Family: "cup",
			Period: scoreboard.PeriodSeason, Public: i != periods-2, Status: scoreboard.StatusActive,
			PeriodStart: start, PeriodEnd: start.Add(time.Hour),
		})
	}
	future := *catalog.periods[0]
	future.ID, future.PeriodStart = "cup:future", now.Add(time.Hour)
	catalog.periods = append(catalog.periods, &future)
	a := everything(&trail{}, func(o *Options) {
		o.Catalog, o.Pages, o.Reads = catalog, allListed{}, emptyTop{}
		o.Now = func() time.Time { return now }
	})
	read := func(path, accept string) (int, string) {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Header.Set("Accept", accept)
		a.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	link := regexp.MustCompile(`href="\./(cup:s\d+)\?([^"]*)"`)
	const view = "kiosk=1&amp;limit=100&amp;player=ada&amp;theme=dark"
	next, seen := "/b/cup?limit=100&player=ada&theme=dark&kiosk=1", []string{}
	for range 3 {
		status, page := read(next, "text/html")
		if status != http.StatusOK {
			t.Fatal(status, page)
		}
		menu, _, _ := strings.Cut(page[strings.Index(page, "<details"):], "</details>")
		for _, found := range link.FindAllStringSubmatch(menu, -1) {
			seen = append(seen, found[1])
			if found[2] != view {
				t.Errorf("the link to %s has the parameters %s, want %s", found[1], found[2], view)
			}
		}
		older := regexp.MustCompile(`href="\./(cup\?[^"]*before=[^"]*)">Older`).FindStringSubmatch(menu)
		if older == nil {
			t.Fatalf("no link to older periods in %s", menu)
		}
		next = "/b/" + html.UnescapeString(older[1])
		if !strings.Contains(next, "kiosk=1&limit=100&player=ada&theme=dark") {
			t.Errorf("the link to older periods is %s", next)
		}
	}
	want := []string{"cup:s0000"} // s0001 is private
	for i := 2; len(want) < 3*periodsShown; i++ {
		want = append(want, fmt.Sprintf("cup:s%04d", i))
	}
	if !slices.Equal(seen, want) {
		t.Errorf("got the periods %v, want %v", seen, want)
	}
	for _, query := range []string{
		"before=cup:s0001", "before=cup:future", "before=x", "limit=7", "limit=010", "theme=blue", "kiosk=yes",
		"player=%C3%A9", "player=a%20b",
	} {
		for _, path := range []string{"/b/cup", "/embed/cup", "/b/cup/card.svg"} {
			status, body := read(path+"?"+query, "application/json")
			if status != http.StatusBadRequest || !strings.Contains(body, `"invalid_request"`) {
				t.Errorf("%s?%s: got %d %s, want 400", path, query, status, body)
			}
			if path == "/b/cup/card.svg" {
				continue
			}
			status, body = read(path+"?"+query, "text/html")
			if status != http.StatusBadRequest || !strings.Contains(body, "problem-page") {
				t.Errorf("%s?%s in a browser: got %d %s, want a page with 400", path, query, status, body)
			}
		}
	}
}
