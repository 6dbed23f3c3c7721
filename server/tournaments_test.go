package server_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// A tournament by every way of writing, on two nodes: who may join, leave and submit, and what each caller is told.
func TestTournamentThroughTheAPI(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	nodes := []*node{h.start(allRoles+",intake", "ingest-async", "true"), h.start("api")}
	root := nodes[0].client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	starts, ends := time.Now().Add(time.Hour), time.Now().Add(48*time.Hour)
	b, err := root.CreateBoard(t.Context(), client.BoardRequest{
		Board: "cup", Mode: "best", Period: "season", Season: "one", StartsAt: &starts, EndsAt: &ends,
		Join: wire.JoinRequired, MaxPlayers: 2,
	})
	if err != nil || b.Join != wire.JoinRequired || b.MaxPlayers != 2 || b.LateJoin {
		t.Fatalf("got %+v, %v", b, err)
	}
	ada, bob := nodes[0].client("ada", ""), nodes[1].client("bob", "")
	for i, c := range []*client.Client{ada, bob} {
		p, err := c.JoinBoard(t.Context(), "cup", "")
		if err != nil || p.Board != "cup:one" || !p.Joined || p.JoinedAt == nil || p.Players != int64(i+1) ||
			p.MaxPlayers != 2 || !p.StartsAt.Equal(starts.Truncate(time.Microsecond)) {
			t.Fatalf("got %+v, %v, want player %d of 2", p, err, i+1)
		}
	}
	wants := func(what string, err error, want wire.Code) {
		t.Helper()
		if got := wire.CodeOf(err); got != want {
			t.Errorf("%s: got %v, want %q", what, err, want)
		}
	}
	cy := nodes[1].client("cy", "")
	_, err = cy.JoinBoard(t.Context(), "cup:one", "")
	wants("a third player", err, wire.CodeTournamentFull)
	_, err = cy.JoinBoard(t.Context(), "cup", "ada")
	wants("for another user", err, wire.CodeForbidden)
	_, err = cy.LeaveBoard(t.Context(), "cup", "ada")
	wants("another user leaves", err, wire.CodeForbidden)
	_, err = cy.Participation(t.Context(), "cup", "ada")
	wants("whether another user has joined", err, wire.CodeForbidden)
	_, err = cy.Players(t.Context(), "cup:one", "", 0)
	wants("the players", err, wire.CodeForbidden)
	_, err = root.Players(t.Context(), "cup", "", 0)
	wants("the players of a board", err, wire.CodeInvalidRequest)
	_, err = root.Players(t.Context(), "cup:none", "", 0)
	wants("the players of no period", err, wire.CodeNotFound)
	_, err = root.JoinBoard(t.Context(), "cup", "team:x")
	wants("a reserved id", err, wire.CodeInvalidRequest)
	if p, err := cy.Participation(t.Context(), "cup", ""); err != nil || p.Joined || p.Players != 2 ||
		p.UserID != "cy" {
		t.Errorf("got %+v, %v, want 2 others", p, err)
	}
	if p, err := bob.LeaveBoard(t.Context(), "cup", ""); err != nil || p.Joined || p.Players != 1 {
		t.Errorf("got %+v, %v, want bob to have left", p, err)
	}
	if _, err := root.JoinBoard(t.Context(), "cup", "dan"); err != nil {
		t.Error(err)
	}
	page, err := root.Players(t.Context(), "cup:one", "ada", 1)
	if err != nil || len(page.Players) != 1 || page.Players[0].UserID != "dan" || page.NextAfter != "" {
		t.Errorf("got %+v, %v, want dan", page, err)
	}
	for _, bad := range []client.BoardRequest{
		{Join: "closed", Period: "season"},
		{Join: wire.JoinRequired},
		{Join: wire.JoinRequired, Period: "weekly"},
		{MaxPlayers: 5, Period: "season"},
		{LateJoin: true, Period: "season"},
		{Join: wire.JoinRequired, Period: "season", MaxPlayers: -1},
		{Join: wire.JoinRequired, Period: "season", MaxPlayers: 10_000_001},
	} {
		bad.Board, bad.Season, bad.EndsAt = "bad", "one", &ends
		if bad.Period != "season" {
			bad.Season, bad.EndsAt = "", nil
		}
		_, err := root.CreateBoard(t.Context(), bad)
		wants(fmt.Sprintf("%+v", bad), err, wire.CodeInvalidRequest)
	}
	_, err = root.SetBoard(t.Context(), "global", client.BoardChange{Join: new(wire.JoinRequired)})
	wants("a board without periods", err, wire.CodeInvalidRequest)
	for _, path := range []string{"/v1/boards/cup/join?user=ada", "/v1/boards/cup%3Aone%3Atwo/join"} {
		if status, body := h.get(t, nodes[0].URL+path, bearer(h.token("ada", "", time.Minute))); status != 400 {
			t.Errorf("%s: got %d %s, want 400", path, status, body)
		}
	}
	// A private board is answered like one that does not exist.
	if _, err := root.CreateBoard(t.Context(), client.BoardRequest{
		Board: "secret", Period: "season", Season: "one", StartsAt: &starts, EndsAt: &ends, Join: wire.JoinRequired,
		Public: new(false),
	}); err != nil {
		t.Fatal(err)
	}
	_, err = ada.JoinBoard(t.Context(), "secret", "")
	wants("a private board", err, wire.CodeNotFound)
	if _, err := root.JoinBoard(t.Context(), "secret", "ada"); err != nil {
		t.Errorf("a server on a private board: %v", err)
	}

	if _, err := root.CreateBoard(t.Context(), client.BoardRequest{Board: "side", Mode: "best"}); err != nil {
		t.Fatal(err)
	}
	backends.Connect(t, h.postgres).Do(t, `update boards set period_start = clock_timestamp() where board_id =
    'cup:one'`)
	_, err = bob.JoinBoard(t.Context(), "cup", "")
	wants("a late join", err, wire.CodeJoinClosed)
	_, err = ada.LeaveBoard(t.Context(), "cup:one", "")
	wants("a late leave", err, wire.CodeJoinClosed)
	submit := func(c *client.Client, user, event string) error {
		_, err := c.Submit(t.Context(), client.Increment{User: user, Board: "cup", EventID: event, Delta: 5})
		return err
	}
	wants("a player", submit(ada, "ada", "e1"), "")
	wants("another user", submit(bob, "bob", "e1"), wire.CodeNotJoined)
	results, err := root.SubmitBatch(t.Context(), []client.Increment{
		{User: "bob", Board: "cup", EventID: "e2", Delta: 9}, {User: "dan", Board: "cup", EventID: "e2", Delta: 9},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []wire.Code{wire.CodeNotJoined, ""} {
		wants(fmt.Sprint("item ", i), results[i].Err, want)
	}
	both := client.Increment{User: "bob", EventID: "e3", Delta: 9}
	_, err = bob.SubmitBoards(t.Context(), both, []string{"side", "cup"})
	wants("on two boards", err, wire.CodeNotJoined)
	header := bearer(h.token("bob", "", time.Hour))
	header.Set("Prefer", "respond-async")
	body := fmt.Sprintf(`{"user_id":"bob","delta":9,"event_id":"e4","board":"cup","timestamp":%q}`,
		time.Now().UTC().Format(time.RFC3339))
	status, _, answer := request(t, http.MethodPost, nodes[1].URL+"/v1/scores/increment", body, header)
	if status != http.StatusAccepted && status != http.StatusConflict {
		t.Fatalf("got %d %s", status, answer)
	}
	if status == http.StatusAccepted {
		last := nodes[0].outcome(t, h.token("bob", "", time.Hour), "bob", "e4")
		if last.Status != wire.StatusRejected || last.ErrorCode != string(wire.CodeNotJoined) {
			t.Errorf("got %+v, want a rejection with not_joined", last)
		}
	}

	// Operators add and remove players after the start, and it counts at once on both nodes.
	ctx := client.Because(t.Context(), "a test")
	_, err = root.AddPlayer(ctx, "cup:one", "bob")
	wants("an operator beyond the maximum", err, wire.CodeTournamentFull)
	if p, err := root.RemovePlayer(ctx, "cup:one", "dan"); err != nil || p.Players != 1 || p.Joined {
		t.Errorf("got %+v, %v, want dan to be removed", p, err)
	}
	if p, err := root.AddPlayer(ctx, "cup:one", "bob"); err != nil || p.Players != 2 || !p.Joined {
		t.Errorf("got %+v, %v, want bob to have joined", p, err)
	}
	wants("an added player", submit(bob, "bob", "e1"), "")
	wants("a removed player", submit(root, "dan", "e5"), wire.CodeNotJoined)
	wants("a repeat of a removed player", submit(root, "dan", "e2"), wire.CodeEventConflict) // another delta
	if _, err := root.SetBoard(t.Context(), "cup", client.BoardChange{
		MaxPlayers: new(int64(0)), LateJoin: new(true),
	}); err != nil {
		t.Fatal(err)
	}
	if p, err := nodes[1].client("dan", "").JoinBoard(t.Context(), "cup", ""); err != nil || p.Board != "cup:one" ||
		p.Players != 3 || p.MaxPlayers != 0 {
		t.Errorf("got %+v, %v, want dan to have joined late", p, err)
	}
	wants("who has joined late", submit(root, "dan", "e5"), "")
}
