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

// Every caller sees in each frame of a timeline what the top of the board at its time returns for
// them, on boards with and without periods, with users who are banned, hidden and erased.
func TestTimelineIsTopAtEachTime(t *testing.T) {
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
			event := fmt.Sprintf("timeline-%d", i)
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
	f := timelineRig{t, node.URL}
	checked := 0
	for who, token := range callers {
		for _, board := range boards {
			if board == "secret" && (who == "nobody" || who == "a player") {
				query := url.Values{"board": {board}}
				if status := f.read("/v1/leaderboard/timeline", query, token, &wire.Timeline{}); status < 400 {
					t.Errorf("a private board for %s: got %d, want an error", who, status)
				}
				continue
			}
			for range 12 { // the least step is a second: timelines that begin at other times see other moments
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
	var page, api wire.Timeline
	query := url.Values{"from": {first.Format(time.RFC3339Nano)}, "to": {last.Format(time.RFC3339Nano)}}
	if f.read("/b/cup/timeline", query, nil, &page); len(page.Frames) == 0 {
		t.Fatalf("the page's timeline has no frames: %+v", page)
	}
	query.Set("board", "cup")
	if f.read("/v1/leaderboard/timeline", query, nil, &api); !reflect.DeepEqual(page, api) {
		t.Errorf("the page's timeline: got %+v, want %+v", page, api)
	}
}

// timelineRig reads timelines.
type timelineRig struct {
	t   *testing.T
	url string
}

func (f *timelineRig) read(path string, query url.Values, token http.Header, into any) (status int) {
	f.t.Helper()
	status, _, body := request(f.t, http.MethodGet, f.url+path+"?"+query.Encode(), "", token)
	if err := json.Unmarshal([]byte(body), into); err != nil {
		f.t.Fatal(err, body)
	}
	return status
}

// check compares a timeline, of one part, with the top of the board at each of its steps.
func (f *timelineRig) check(who string, token http.Header, query url.Values) (checked int) {
	f.t.Helper()
	var timeline wire.Timeline
	if status := f.read("/v1/leaderboard/timeline", query, token, &timeline); status != http.StatusOK {
		f.t.Fatalf("%v for %s: got %d", query, who, status)
	}
	frames := timeline.Frames
	var frame wire.TimelineFrame
	step := time.Duration(timeline.StepMS) * time.Millisecond
	for at := timeline.Start; ; at = at.Add(step) {
		if at.After(timeline.End) {
			at = timeline.End
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
		if checked++; !at.Before(timeline.End) {
			break
		}
	}
	if len(frames) > 0 {
		f.t.Fatalf("frames at other times than steps: %+v", frames)
	}
	return checked
}

// A timeline without from is of the period in which it ends.
func TestTimelineOfThePeriodOfItsEnd(t *testing.T) {
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
		var timeline client.Timeline
		h.await(name+" to be settled", func() bool {
			timeline, err = root.Timeline(t.Context(), client.TimelineQuery{Board: "cup", To: c.to})
			n := len(timeline.Frames)
			return err != nil || !c.to.IsZero() || n > 0 && len(timeline.Frames[n-1].Entries) > 0
		})
		if err != nil || timeline.Board != c.board || timeline.Start.After(timeline.End) ||
			!c.to.IsZero() && timeline.End.After(c.to) {
			t.Errorf("%s: got %+v, %v, want a timeline of %s until %s", name, timeline, err, c.board, c.to)
			continue
		}
		var page wire.Timeline
		query := url.Values{"to": {timeline.End.Format(time.RFC3339Nano)}}
		if (&timelineRig{t, node.URL}).read("/b/cup/timeline", query, nil, &page); page.Board != c.board {
			t.Errorf("%s: the page's timeline is of %s, want %s", name, page.Board, c.board)
		}
		if last := timeline.Frames[len(timeline.Frames)-1]; len(last.Entries) != 1 || last.Entries[0].UserID != c.user {
			t.Errorf("%s: it ends with %+v, want %s", name, last, c.user)
		}
	}
}

// A timeline without from is of the whole period, its parts join without a gap, and invalid
// parameters are a 400 about them.
func TestTimelineQuery(t *testing.T) {
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
	timeline, err := root.Timeline(t.Context(), client.TimelineQuery{Board: "cup"})
	if err != nil || timeline.Board != "cup:one" ||
		season.PeriodStart != nil && !timeline.Start.Equal(*season.PeriodStart) {
		t.Errorf("a season from its start: got %+v, %v, want it from %v", timeline, err, season.PeriodStart)
	}
	q := client.TimelineQuery{
		From: receipt.RecordedAt.Add(-700 * time.Second), To: receipt.RecordedAt, Step: time.Second, Limit: 20,
	}
	part, err := root.Timeline(t.Context(), q)
	if err != nil || part.NextFrom == nil || !part.NextFrom.Equal(q.From.Add(500*time.Second)) ||
		len(part.Frames) != 1 || len(part.Frames[0].Entries) != 0 || !part.End.Equal(q.To) || part.StepMS != 1000 {
		t.Fatalf("the first part: got %+v, %v, want 500 steps without a row", part, err)
	}
	q.From = *part.NextFrom
	part, err = root.Timeline(t.Context(), q)
	if err != nil || part.NextFrom != nil || len(part.Frames) != 2 || !part.Frames[1].At.Equal(q.To) ||
		part.Frames[1].Entries[0].UserID != "alice" || part.Frames[1].Total != 1 {
		t.Errorf("the last part: got %+v, %v, want alice in a frame at its end", part, err)
	}
	var refused *client.Error
	_, err = root.Timeline(t.Context(), client.TimelineQuery{To: time.Now().Add(5 * time.Second)})
	if !errors.As(err, &refused) || refused.Code != "not_settled" || refused.RetryAfter == 0 {
		t.Errorf("a timeline of the future: got %v, want not_settled with Retry-After", err)
	}
	for query, field := range map[string]string{
		"step=0s": "step", "step=soon": "step", "limit=101": "limit", "limit=0": "limit", "as=then": "as",
		"from=2100-01-01T00:00:00Z": "from", "to=2100-01-01T00:00:00Z": "to", "from=yesterday": "from",
		"from=2026-11-20T00:00:00Z&to=2026-11-19T00:00:00Z": "from", "board=A": "board",
	} {
		status, _, body := request(t, http.MethodGet, node.URL+"/v1/leaderboard/timeline?"+query, "",
			bearer(h.token("carol", "", time.Hour)))
		if status != http.StatusBadRequest || !strings.Contains(body, `"field":"`+field+`"`) {
			t.Errorf("timeline with %s: got %d %s, want a 400 about %s", query, status, body, field)
		}
	}
}
