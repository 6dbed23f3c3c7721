package server_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// Every caller sees in each frame of a film what the top of the board at its time returns for
// them, on boards with and without periods, with users who are banned, hidden and erased.
func TestFilmIsTopAtEachTime(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	node := h.start(allRoles, "web-boards", "*", "reads-anonymous", "true",
		"limit-anonymous-per-minute", "0", "limit-address-per-minute", "0")
	root := node.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	ends := time.Now().Add(24 * time.Hour)
	for _, r := range []client.BoardRequest{
		{Board: "cup", Period: "season", Season: "one", EndsAt: &ends}, {Board: "secret", Public: new(false)},
	} {
		if _, err := root.CreateBoard(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	boards := []string{"global", "cup", "secret"}
	user := func() string { return fmt.Sprintf("user-%02d", rng.IntN(12)) }
	var first, last time.Time
	var events []string
	banned := make(map[string]bool)
	for i := range 150 {
		name, err := user(), error(nil)
		switch kind := rng.IntN(20); {
		case kind < 15:
			event := fmt.Sprintf("film-%d", i)
			var receipt client.Receipt
			receipt, err = root.Submit(t.Context(), client.Increment{
				User: name, Board: boards[rng.IntN(3)], Delta: 1 + rng.Int64N(3), EventID: event,
			})
			if err == nil {
				last = receipt.RecordedAt
				events = append(events, name+" "+event)
			}
			if first.IsZero() {
				first = last
			}
		case kind == 15 && len(events) > 0:
			n := rng.IntN(len(events))
			who, event, _ := strings.Cut(events[n], " ")
			_, err = root.Reverse(t.Context(), event, client.ReverseRequest{UserID: who, Reason: "a test"})
		case kind < 18:
			if banned[name] {
				_, err = root.Unban(t.Context(), name, "a test")
			} else {
				_, err = root.Ban(t.Context(), name, "a test")
			}
			banned[name] = err == nil && !banned[name]
		case kind == 18:
			visibilities := []string{"public", "friends", "pseudonym", "private"}
			_, err = root.SetPrivacy(t.Context(), name, visibilities[rng.IntN(4)])
		}
		var refused *client.Error
		if err != nil && (!errors.As(err, &refused) || refused.Status >= 500) {
			t.Fatal(err)
		}
	}
	if _, err := root.Erase(t.Context(), "user-03", "a test"); err != nil {
		t.Fatal(err)
	}
	callers := map[string]http.Header{
		"nobody": nil, "a player": bearer(h.token("user-01", "", time.Hour)),
		"a server":    bearer(h.token("game", auth.ScopeUpdate, time.Hour)),
		"an operator": bearer(h.token("ops", auth.ScopeOperate, time.Hour)),
	}
	f := filmRig{t, node.URL}
	checked := 0
	for who, token := range callers {
		for _, board := range boards {
			if board == "secret" && (who == "nobody" || who == "a player") {
				query := url.Values{"board": {board}}
				if status := f.read("/v1/leaderboard/film", query, token, &wire.Film{}); status < 400 {
					t.Errorf("a private board for %s: got %d, want an error", who, status)
				}
				continue
			}
			for range 12 { // the least step is a second: films that begin at other times see other moments
				from := first.Add(time.Duration(rng.Int64N(int64(last.Sub(first)) + 1)))
				as := []string{"recorded", "now"}[rng.IntN(2)]
				checked += f.check(who, token, url.Values{
					"board": {board}, "as": {as}, "from": {from.Format(time.RFC3339Nano)},
					"to": {last.Format(time.RFC3339Nano)}, "step": {"1s"}, "limit": {"5"},
				})
			}
		}
	}
	t.Logf("%d moments compared over %v", checked, last.Sub(first))
	var page, api wire.Film
	query := url.Values{"from": {first.Format(time.RFC3339Nano)}, "to": {last.Format(time.RFC3339Nano)}}
	if f.read("/b/cup/film", query, nil, &page); len(page.Frames) == 0 {
		t.Fatalf("the page's film has no frames: %+v", page)
	}
	query.Set("board", "cup")
	if f.read("/v1/leaderboard/film", query, nil, &api); !reflect.DeepEqual(page, api) {
		t.Errorf("the page's film: got %+v, want %+v", page, api)
	}
}

// filmRig reads films.
type filmRig struct {
	t   *testing.T
	url string
}

func (f *filmRig) read(path string, query url.Values, token http.Header, into any) (status int) {
	f.t.Helper()
	status, _, body := request(f.t, http.MethodGet, f.url+path+"?"+query.Encode(), "", token)
	if err := json.Unmarshal([]byte(body), into); err != nil {
		f.t.Fatal(err, body)
	}
	return status
}

// check compares a film, of one part, with the top of the board at each of its steps.
func (f *filmRig) check(who string, token http.Header, query url.Values) (checked int) {
	f.t.Helper()
	var film wire.Film
	if status := f.read("/v1/leaderboard/film", query, token, &film); status != http.StatusOK {
		f.t.Fatalf("%v for %s: got %d", query, who, status)
	}
	frames := film.Frames
	var frame wire.FilmFrame
	step := time.Duration(film.StepMS) * time.Millisecond
	for at := film.Start; ; at = at.Add(step) {
		if at.After(film.End) {
			at = film.End
		}
		if len(frames) > 0 && frames[0].At.Equal(at) {
			frame, frames = frames[0], frames[1:]
		}
		var top wire.Top
		if status := f.read("/v1/leaderboard/top", url.Values{
			"board": query["board"], "as": query["as"], "limit": query["limit"], "at": {at.Format(time.RFC3339Nano)},
		}, token, &top); status != http.StatusOK {
			f.t.Fatal(status)
		}
		if !reflect.DeepEqual(frame.Entries, top.Entries) {
			f.t.Fatalf("%v at %v for %s:\n got %+v\nwant %+v", query, at, who, frame.Entries, top.Entries)
		}
		if checked++; !at.Before(film.End) {
			break
		}
	}
	if len(frames) > 0 {
		f.t.Fatalf("frames at other times than steps: %+v", frames)
	}
	return checked
}

// A film without from is of the period in which it ends.
func TestFilmOfThePeriodOfItsEnd(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	node := h.start(allRoles, "web-boards", "*")
	root := node.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	ends, laterEnds := time.Now().Add(24*time.Hour), time.Now().Add(48*time.Hour)
	if _, err := root.CreateBoard(t.Context(), client.BoardRequest{
		Board: "cup", Period: "season", Season: "one", EndsAt: &ends,
	}); err != nil {
		t.Fatal(err)
	}
	receipt, err := root.Submit(t.Context(), client.Increment{User: "alice", Delta: 5, Board: "cup"})
	if err != nil {
		t.Fatal(err)
	}
	rolled := time.Now()
	next := client.RollRequest{Season: "two", EndsAt: &laterEnds}
	if _, err := root.RollBoards(t.Context(), "cup", next); err != nil {
		t.Fatal(err)
	}
	if _, err := root.Submit(t.Context(), client.Increment{User: "bob", Delta: 7, Board: "cup"}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		to    time.Time
		board string
		user  string
	}{
		"the season before": {receipt.RecordedAt, "cup:one", "alice"},
		"until the roll":    {rolled, "cup:one", "alice"},
		"this season":       {time.Time{}, "cup:two", "bob"},
	} {
		var film client.Film
		h.await(name+" to be settled", func() bool {
			film, err = root.Film(t.Context(), client.FilmQuery{Board: "cup", To: c.to})
			n := len(film.Frames)
			return err != nil || !c.to.IsZero() || n > 0 && len(film.Frames[n-1].Entries) > 0
		})
		if err != nil || film.Board != c.board || film.Start.After(film.End) || !c.to.IsZero() && film.End.After(c.to) {
			t.Errorf("%s: got %+v, %v, want a film of %s until %s", name, film, err, c.board, c.to)
			continue
		}
		var page wire.Film
		query := url.Values{"to": {film.End.Format(time.RFC3339Nano)}}
		if (&filmRig{t, node.URL}).read("/b/cup/film", query, nil, &page); page.Board != c.board {
			t.Errorf("%s: the page's film is of %s, want %s", name, page.Board, c.board)
		}
		if last := film.Frames[len(film.Frames)-1]; len(last.Entries) != 1 || last.Entries[0].UserID != c.user {
			t.Errorf("%s: it ends with %+v, want %s", name, last, c.user)
		}
	}
}

// A film without from is of the whole period, its parts join without a gap, and invalid
// parameters are a 400 about them.
func TestFilmQuery(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	node := h.start(allRoles)
	root := node.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	receipt, err := root.Submit(t.Context(), client.Increment{User: "alice", Delta: 5})
	if err != nil {
		t.Fatal(err)
	}
	ends := time.Now().Add(24 * time.Hour)
	season, err := root.CreateBoard(t.Context(), client.BoardRequest{
		Board: "cup", Period: "season", Season: "one", EndsAt: &ends,
	})
	if err != nil {
		t.Fatal(err)
	}
	film, err := root.Film(t.Context(), client.FilmQuery{Board: "cup"})
	if err != nil || film.Board != "cup:one" || season.PeriodStart != nil && !film.Start.Equal(*season.PeriodStart) {
		t.Errorf("a season from its start: got %+v, %v, want it from %v", film, err, season.PeriodStart)
	}
	q := client.FilmQuery{
		From: receipt.RecordedAt.Add(-700 * time.Second), To: receipt.RecordedAt, Step: time.Second, Limit: 20,
	}
	part, err := root.Film(t.Context(), q)
	if err != nil || part.NextFrom == nil || !part.NextFrom.Equal(q.From.Add(500*time.Second)) ||
		len(part.Frames) != 1 || len(part.Frames[0].Entries) != 0 || !part.End.Equal(q.To) || part.StepMS != 1000 {
		t.Fatalf("the first part: got %+v, %v, want 500 steps without a row", part, err)
	}
	q.From = *part.NextFrom
	part, err = root.Film(t.Context(), q)
	if err != nil || part.NextFrom != nil || len(part.Frames) != 2 || !part.Frames[1].At.Equal(q.To) ||
		part.Frames[1].Entries[0].UserID != "alice" || part.Frames[1].Total != 1 {
		t.Errorf("the last part: got %+v, %v, want alice in a frame at its end", part, err)
	}
	var refused *client.Error
	_, err = root.Film(t.Context(), client.FilmQuery{To: time.Now().Add(5 * time.Second)})
	if !errors.As(err, &refused) || refused.Code != "not_settled" || refused.RetryAfter == 0 {
		t.Errorf("a film of the future: got %v, want not_settled with Retry-After", err)
	}
	for query, field := range map[string]string{
		"step=0s": "step", "step=soon": "step", "limit=101": "limit", "limit=0": "limit", "as=then": "as",
		"from=2100-01-01T00:00:00Z": "from", "to=2100-01-01T00:00:00Z": "to", "from=yesterday": "from",
		"from=2026-11-20T00:00:00Z&to=2026-11-19T00:00:00Z": "from", "board=A": "board",
	} {
		status, _, body := request(t, http.MethodGet, node.URL+"/v1/leaderboard/film?"+query, "",
			bearer(h.token("carol", "", time.Hour)))
		if status != http.StatusBadRequest || !strings.Contains(body, `"field":"`+field+`"`) {
			t.Errorf("film with %s: got %d %s, want a 400 about %s", query, status, body, field)
		}
	}
}
