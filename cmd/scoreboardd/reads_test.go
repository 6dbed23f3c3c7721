package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// ask sends a read and returns the status and the headers.
func ask(t *testing.T, url, token string, headers ...string) (int, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	return resp.StatusCode, resp.Header
}

// stream returns the first line of an event stream without a token.
func stream(t *testing.T, ctx context.Context, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	if err != nil {
		t.Fatalf("%s: %v", resp.Status, err)
	}
	return line
}

func TestReadsEndToEnd(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d := h.start()
	game := h.client(d, "game", auth.ScopeUpdate)
	ctx, cancel := contextFor(2 * time.Minute)
	defer cancel()
	const users = 25
	for i := range users {
		if _, err := game.Submit(ctx, client.Increment{User: fmt.Sprint("u", i), Delta: int64(100 - i/2)}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all users to be ranked", topIs(game, func(top client.Top) error {
		if top.Total != users || top.Degraded || top.BoardState != string(scoreboard.StateHealthy) {
			return fmt.Errorf("got %d, degraded %q, %s", top.Total, top.DegradedReason, top.BoardState)
		}
		return nil
	}))
	seen := func(c *client.Client) (users []string) {
		for q := (client.TopQuery{Limit: 7}); ; {
			page, err := c.Top(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page.Entries {
				if users = append(users, e.UserID); e.Rank != int64(len(users)) {
					t.Errorf("%+v is row #%d", e, len(users))
				}
			}
			if q.Cursor = page.NextCursor; q.Cursor == "" {
				return users
			}
		}
	}
	all := seen(game)
	if len(all) != users || all[0] != "u0" || all[users-1] != "u24" {
		t.Errorf("pages have %q", all)
	}

	t.Run("read role without Kafka", func(t *testing.T) {
		alone := *h
		alone.t, alone.env = t, append(append([]string(nil), h.env...), "SCOREBOARD_KAFKA_BROKERS=",
			"SCOREBOARD_READS_ANONYMOUS=true",
			"SCOREBOARD_LIMIT_ANONYMOUS_PER_MINUTE=3")
		r := alone.start("--roles", "read,gateway")
		c, err := client.New(r.url, client.Options{Token: h.token("u3", ""), Attempts: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if there := seen(c); strings.Join(there, " ") != strings.Join(all, " ") {
			t.Errorf("the reader's pages have %q, the other node's %q", there, all)
		}
		var refused *client.Error
		if _, err := c.Submit(ctx, client.Increment{User: "u3", Delta: 1}); !errors.As(err, &refused) ||
			refused.Status != 404 {
			t.Errorf("a write to a reader: %v, want 404", err)
		}
		watching, stop := contextFor(20 * time.Second)
		defer stop()
		if first := stream(t, watching, r.url+"/v1/realtime/leaderboard"); !strings.HasPrefix(first, "id: ") {
			t.Errorf("a stream without a token begins with %q", first)
		}
		for n, want := range []int{200, 200, 429} {
			if status, _ := ask(t, r.url+"/v1/users/u1/score", ""); status != want {
				t.Errorf("read #%d without a token: %d, want %d", n+1, status, want)
			}
		}
		if status, _ := ask(t, d.url+"/v1/leaderboard/top", ""); status != 401 {
			t.Errorf("anonymous read while disabled: got %d, want 401", status)
		}
	})

	t.Run("own writes", func(t *testing.T) {
		for n := range 20 {
			receipt, err := game.Submit(ctx, client.Increment{User: "fresh", Delta: 1})
			if err != nil {
				t.Fatal(err)
			}
			place, err := game.Around(ctx, "fresh", client.PlaceQuery{MinVersion: receipt.Version, Neighbours: 2})
			if err != nil || place.Score != int64(n+1) {
				t.Fatalf("after %d: %+v, %v", n+1, place, err)
			}
		}
		list, err := game.Users(ctx, "", []string{"u9", "nobody", "u2", "u9x"})
		if err != nil || len(list.Entries) != 2 || list.Entries[0].UserID != "u2" || list.Entries[1].ListRank != 2 ||
			list.Entries[1].Rank != 10 ||
			len(list.NotFound) != 2 || list.Degraded {
			t.Errorf("list: %+v, %v", list, err)
		}
		score := int64(99)
		var refused *client.Error
		_, err = game.Around(ctx, "nobody", client.PlaceQuery{Score: &score})
		if !errors.As(err, &refused) || refused.Status != 404 || refused.WouldRank != 5 {
			t.Errorf("rank of a score of 99: %v", err)
		}
	})

	t.Run("names", func(t *testing.T) {
		u0 := h.client(d, "u0", "")
		if _, err := u0.PutProfile(ctx, "u0",
			client.Profile{DisplayName: "Zoë 👩‍🚀", AvatarURL: "https://a.example/0.png"}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the name in the top", topIs(game, func(top client.Top) error {
			if e := top.Entries[0]; e.DisplayName != "Zoë 👩‍🚀" || e.AvatarURL != "https://a.example/0.png" {
				return fmt.Errorf("got %+v", e)
			}
			return nil
		}))
		var refused *client.Error
		if _, err := u0.PutProfile(ctx, "u1", client.Profile{DisplayName: "x"}); !errors.As(err, &refused) ||
			refused.Status != 403 {
			t.Errorf("another user's profile: %v, want 403", err)
		}
		if _, err := u0.PutProfile(ctx, "u0", client.Profile{DisplayName: "a\nb"}); !errors.As(err, &refused) ||
			refused.Status != 400 || refused.Field != "display_name" {
			t.Errorf("name with a line break: %v, want 400", err)
		}
		place, err := game.Around(ctx, "u1", client.PlaceQuery{Neighbours: 1})
		if err != nil || place.Neighbours[0].DisplayName != "Zoë 👩‍🚀" {
			t.Errorf("neighbours: %+v, %v", place.Neighbours, err)
		}
		list, err := game.Users(ctx, "", []string{"u0"})
		if err != nil || list.Entries[0].DisplayName != "Zoë 👩‍🚀" {
			t.Errorf("list: %+v, %v", list, err)
		}
		watching, stop := contextFor(20 * time.Second)
		defer stop()
		for state := range game.Watch(watching, "", client.WatchOptions{}) {
			if len(state.Entries) > 0 && state.Entries[0].DisplayName == "Zoë 👩‍🚀" {
				return
			}
		}
		t.Error("no frame has the name")
	})

	t.Run("304", func(t *testing.T) {
		token := h.token("u1", "")
		_, header := ask(t, d.url+"/v1/leaderboard/top", token)
		if status, _ := ask(t, d.url+"/v1/leaderboard/top", token, "If-None-Match", header.Get("ETag")); status != 304 {
			t.Errorf("unchanged: %d, want 304", status)
		}
		if _, err := game.Submit(ctx, client.Increment{User: "u1", Delta: 500}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "another ETag", func() error {
			if status, _ := ask(t, d.url+"/v1/leaderboard/top", token, "If-None-Match",
				header.Get("ETag")); status != 200 {
				return fmt.Errorf("%d", status)
			}
			return nil
		})
	})
}
