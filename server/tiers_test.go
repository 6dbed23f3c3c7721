package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// Tiers are set, inherited by periods, said with standings and listed in pages; those of a period
// that has ended stay.
func TestTiersOfBoards(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "transport", "direct", "boards-close-grace", "1s", "reads-anonymous", "true",
		"web-boards", "*")
	c := n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	end := time.Now().Add(time.Hour).UTC()
	made, err := c.CreateBoard(t.Context(), client.BoardRequest{
		Board: "cup", Period: "season", Season: "one", EndsAt: &end,
		Tiers: []client.Tier{
			{Name: "gold", Rank: 1},
			{Name: "silver", Percentile: 33.5},
			{Name: "bronze", Score: new(int64(3))},
		},
	})
	if err != nil || wire.TiersText(made.Tiers) != "gold=rank:1,silver=percentile:33.5,bronze=score:3" {
		t.Fatalf("got %+v, %v", made.Tiers, err)
	}
	if b, err := c.Board(t.Context(), "cup:one"); err != nil || !slices.EqualFunc(b.Tiers, made.Tiers, sameTier) {
		t.Errorf("the first period: got %+v, %v, want %+v", b.Tiers, err, made.Tiers)
	}
	for i := range 8 { // u8 is first, then u7; bronze down to u3
		user := fmt.Sprintf("u%d", i+1)
		in := client.Increment{User: user, Board: "cup", Delta: int64(i + 1)}
		if _, err := c.Submit(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	h.await("all users", func() bool {
		top, err := c.Top(t.Context(), client.TopQuery{Board: "cup"})
		return err == nil && top.Total == 8 && !top.Degraded
	})
	_, _, page := request(t, http.MethodGet, n.URL+"/b/cup", "", nil)
	if want := "<b>silver</b> best 33.5 %"; !strings.Contains(page, want) {
		t.Errorf("the page of the board has no %q: %s", want, page)
	}
	for user, want := range map[string]client.Place{
		"u8": {Tier: "gold"},
		"u6": {Tier: "silver", NextTier: &client.NextTier{Name: "gold", Ranks: 2}}, // ceil(2.68) = 3
		"u5": {Tier: "bronze", NextTier: &client.NextTier{Name: "silver", Ranks: 1}},
		"u1": {NextTier: &client.NextTier{Name: "bronze", Points: 2}},
	} {
		p, err := c.Score(t.Context(), user, client.PlaceQuery{Board: "cup"})
		if err != nil || p.Tier != want.Tier || (p.NextTier == nil) != (want.NextTier == nil) ||
			p.NextTier != nil && *p.NextTier != *want.NextTier {
			t.Errorf("%s: got %q, %+v, %v, want %q, %+v", user, p.Tier, p.NextTier, err, want.Tier, want.NextTier)
		}
	}
	for tier, want := range map[string][]string{
		"gold": {"u8"}, "silver": {"u7", "u6"}, "bronze": {"u5", "u4", "u3"},
	} {
		var got []string
		for q := (client.TopQuery{Board: "cup", Tier: tier, Limit: 1}); ; {
			page, err := c.Top(t.Context(), q)
			if err != nil || page.Total != 8 {
				t.Fatalf("%s: %+v, %v", tier, page, err)
			}
			for _, e := range page.Entries {
				got = append(got, e.UserID)
			}
			if q.Cursor = page.NextCursor; q.Cursor == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", tier, got, want)
		}
	}
	bearer := http.Header{"Authorization": {"Bearer " + h.token("root", auth.ScopeAdmin, time.Minute)}}
	for query, status := range map[string]int{
		"tier=iron": 404, "tier=gold&wait=1s": 400, "tier=gold&min_version=1": 400, "tier=gold&tier=silver": 400,
		"tier=gold&at=" + time.Now().UTC().Format(time.RFC3339Nano): 400,
	} {
		got, body := h.get(t, n.URL+"/v1/leaderboard/top?board=cup&"+query, bearer)
		if got != status {
			t.Errorf("%s: got %d %s, want %d", query, got, body, status)
		}
	}
	for _, token := range []http.Header{nil, bearer} { // not even with what others may read
		status, header, body := request(t, http.MethodGet, n.URL+"/v1/leaderboard/top?board=cup&tier=gold", "", token)
		if status != http.StatusOK || header.Get("Cache-Control") != "no-store" {
			t.Errorf("a tier is cached: %d %q %s", status, header.Get("Cache-Control"), body)
		}
	}
	later := end.Add(time.Hour)
	if _, err := c.RollBoards(t.Context(), "cup", client.RollRequest{Season: "two", EndsAt: &later}); err != nil {
		t.Fatal(err)
	}
	h.await("the end of the first period", func() bool {
		b, err := c.Board(t.Context(), "cup:one")
		return err == nil && b.ClosedAt != nil
	})
	all := []client.Tier{{Name: "all", Percentile: 100}}
	changed, err := c.SetBoard(t.Context(), "cup", client.BoardChange{Tiers: &all})
	if err != nil || wire.TiersText(changed.Tiers) != "all=percentile:100" {
		t.Fatalf("got %+v, %v", changed.Tiers, err)
	}
	for board, want := range map[string]string{
		"cup:two": "all=percentile:100", "cup:one": wire.TiersText(made.Tiers),
	} {
		if b, err := c.Board(t.Context(), board); err != nil || wire.TiersText(b.Tiers) != want {
			t.Errorf("%s: got %+v, %v, want %s", board, b.Tiers, err, want)
		}
	}
	none := client.BoardChange{Tiers: &[]client.Tier{}}
	if b, err := c.SetBoard(t.Context(), "cup", none); err != nil || b.Tiers != nil {
		t.Errorf("none: got %+v, %v", b.Tiers, err)
	}
	for _, bad := range [][]client.Tier{
		{{Name: "gold"}},
		{{Name: "gold", Rank: 1, Percentile: 5}},
		{{Name: "gold", Percentile: 0.0001}},
		{{Name: "", Rank: 1}},
	} {
		_, err := c.SetBoard(t.Context(), "cup", client.BoardChange{Tiers: &bad})
		if wire.CodeOf(err) != wire.CodeInvalidRequest {
			t.Errorf("%+v: got %v, want an invalid_request", bad, err)
		}
	}
	db := backends.Connect(t, h.postgres)
	if n := db.Count(t, `select count(*) from audit_log where action = 'board.set' and target = 'board:cup'
    and detail::text like '%tiers%'`); n != 2 {
		t.Errorf("%d entries of changed tiers, want 2", n)
	}
}

func sameTier(a, b client.Tier) bool { return a.String() == b.String() }

// A webhook is told that a user's own event has led to another tier, once, by two nodes; of those
// whom others have moved it is told nothing.
func TestWebhookOfTiers(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, loopback...)
	h.start(allRoles, loopback...)
	db := backends.Connect(t, h.postgres)
	root, game := n.client("root", auth.ScopeAdmin), n.client("game", auth.ScopeUpdate)
	if _, err := root.CreateBoard(t.Context(), client.BoardRequest{
		Board: "arena", Tiers: []client.Tier{{Name: "gold", Rank: 1}, {Name: "silver", Score: new(int64(10))}},
	}); err != nil {
		t.Fatal(err)
	}
	r := newReceiver(t)
	if _, err := root.CreateWebhook(t.Context(), client.WebhookRequest{
		URL: r.URL, Types: []string{"user.tier.updated"}, Boards: []string{"arena"},
	}); err != nil {
		t.Fatal(err)
	}
	passes := func() int64 { return db.Count(t, `select cursor_xid::text::bigint from tier_state`) }
	h.await("the first pass", func() bool { return passes() > 0 })
	type move struct {
		user     string
		delta    int64
		messages int // afterwards
	}
	for _, m := range []move{
		{"ada", 5, 1},   // none → gold
		{"bob", 3, 1},   // none → none
		{"bob", 4, 2},   // none → gold; ada falls to none by another's event
		{"ada", 1, 2},   // stays in none
		{"bob", 20, 2},  // stays in gold
		{"ada", 10, 3},  // none → silver
		{"ada", 100, 4}, // silver → gold
		{"bob", 1, 4},   // stays in silver, where ada's event has moved bob
	} {
		in := client.Increment{User: m.user, Board: "arena", Delta: m.delta}
		if _, err := game.Submit(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		before := passes()
		h.await("two passes", func() bool { return passes() > before })
		h.await(fmt.Sprintf("%d messages after %+v", m.messages, m), func() bool {
			return len(r.all("user.tier.updated")) >= m.messages
		})
	}
	time.Sleep(1500 * time.Millisecond) // for what would be sent twice
	var got []string
	for _, m := range r.all("user.tier.updated") {
		d := m.message.Data
		got = append(got, fmt.Sprintf("%s %s>%s #%d", d.UserID, d.PreviousTier, d.Tier, d.Rank))
	}
	slices.Sort(got) // deliveries come in any order
	want := []string{"ada >gold #1", "ada >silver #2", "ada silver>gold #1", "bob >gold #1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
