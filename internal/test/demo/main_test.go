package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/instance"
)

// newClient returns the demo's client of a new server.
func newClient(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.New(instance.New(t).URL, client.Options{
		Token: instance.Token("demo", "score:admin score:update"),
		KeyID: instance.KeyID, KeySecret: instance.Secret,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// The story of the demo happens: the cheater leads, is flagged, falls back and is banned,
// and a second season follows the first.
func TestStory(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	ctx := t.Context()
	if err := seed(ctx, c, seasonLasts); err != nil {
		t.Fatal(err)
	}
	leads := func(want bool) bool {
		top, err := c.Top(ctx, client.TopQuery{Board: cup, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		return len(top.Entries) == 1 && (top.Entries[0].UserID == id(cheater)) == want
	}
	await := func(what string, holds func() bool) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("not within 20 s: %s", what)
			}
		}
	}
	await("another player leads", func() bool { return leads(false) })
	done := make(chan error, 1)
	go func() { done <- story{reversed: 3 * time.Second, banned: 4 * time.Second}.cheat(ctx, c) }()
	await("the cheater leads", func() bool { return leads(true) })
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	await("another player leads again", func() bool { return leads(false) })
	var e *client.Error
	if _, err := c.Score(ctx, id(cheater), client.PlaceQuery{Board: cup}); !errors.As(err, &e) || e.Status != 404 {
		t.Errorf("the banned cheater: got %v, want a 404", err)
	}
	// The viewer may ban players and freeze boards while the game goes on.
	if _, err := c.Ban(ctx, id(0), "test"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.FreezeBoard(ctx, arena); err != nil {
		t.Fatal(err)
	}
	for range 30 {
		if err := match(ctx, c, 0); err != nil {
			t.Fatal(err)
		}
		if err := match(ctx, c, 1); err != nil {
			t.Fatal(err)
		}
	}
	seasons, err := c.Boards(ctx, client.BoardQuery{Family: cup})
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]bool)
	for _, b := range seasons.Boards {
		found[b.Board] = true
	}
	if !found["cup:autumn"] || !found["cup:winter"] {
		t.Errorf("seasons: got %v, want autumn and winter", found)
	}
}

// At the end of the first season, players are promoted, and the winner claims a reward.
func TestLeagueNight(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	if err := seed(t.Context(), c, 15*time.Second); err != nil {
		t.Fatal(err)
	}
	happened, err := leagueNight(t.Context(), c)
	if err != nil || !strings.Contains(happened, "are promoted, and the winner, ") ||
		!strings.HasSuffix(happened, `, claims {"trophy":"gold"}`) {
		t.Errorf("got %q, %v", happened, err)
	}
	claimed, err := c.BoardRewards(t.Context(), cup+":autumn", "claimed", "", 0)
	if err != nil || len(claimed.Rewards) != 1 || claimed.Rewards[0].Rank != 1 {
		t.Errorf("got %+v, %v, want the winner's reward", claimed, err)
	}
}

func TestPlayersHaveDistinctIDs(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for player := range names {
		if user := id(player); seen[user] {
			t.Errorf("two players have the id %s", user)
		}
		seen[id(player)] = true
	}
}
