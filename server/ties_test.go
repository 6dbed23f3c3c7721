package server_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// On a board with ties = shared, in one piece or in partitions, everything that says a rank says 1 + the users
// with a better score: receipts, pages, places, neighbours, lists, messages, the past, and what a score would
// have. Rows of one rank are in the order in which it was reached.
func TestRanksAreShared(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "transport", "direct", "reads-anonymous", "true")
	c := n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	for _, partitions := range []int{1, 2} {
		name := fmt.Sprint("arena", partitions)
		made, err := c.CreateBoard(t.Context(), client.BoardRequest{
			Board: name, Mode: "best", Ties: "shared", Partitions: &partitions,
			Tiers: []client.Tier{{Name: "podium", Rank: 2}, {Name: "bronze", Rank: 3}},
		})
		if err != nil || made.Ties != "shared" {
			t.Fatalf("got %+v, %v", made, err)
		}
		sharedRanksOf(t, h, c, name)
	}
	b, err := c.CreateBoard(t.Context(), client.BoardRequest{Board: "plain", Ties: "unique"})
	if err != nil || b.Ties != "" {
		t.Errorf("got %+v, %v, want no ties", b, err)
	}
	_, err = c.CreateBoard(t.Context(), client.BoardRequest{Board: "odd", Ties: "dense"})
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Code != wire.CodeInvalidRequest || refused.Field != "ties" {
		t.Errorf("ties that do not exist: got %v", err)
	}
}

func sharedRanksOf(t *testing.T, h *harness, c *client.Client, board string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	states := c.Watch(ctx, board, client.WatchOptions{})
	scores := []struct {
		user  string
		score int64
		rank  int64 // in the receipt
	}{
		{"ann", 30, 1},
		{"ben", 50, 1},
		{"cid", 30, 2},
		{"dee", 20, 4},
		{"eva", 30, 2},
		{"fay", 50, 1},
		{"ben", 60, 1},
		{"gus", 20, 6},
	}
	for _, s := range scores {
		receipt, err := c.Submit(t.Context(), client.Increment{User: s.user, Board: board, Delta: s.score})
		if err != nil || receipt.Rank == nil || *receipt.Rank != s.rank {
			t.Fatalf("%s: %s with %d: got %+v, %v, want rank %d", board, s.user, s.score, receipt, err, s.rank)
		}
		h.await("the score", func() bool {
			p, err := c.Score(t.Context(), s.user, client.PlaceQuery{Board: board})
			return err == nil && p.Score == s.score && !p.Degraded
		})
	}
	const all = "1 ben, 2 fay, 3 ann, 3 cid, 3 eva, 6 dee, 6 gus"
	text := func(rows []client.Entry) string {
		var parts []string
		for _, e := range rows {
			parts = append(parts, fmt.Sprint(e.Rank, " ", e.UserID))
		}
		return strings.Join(parts, ", ")
	}
	h.await("the top", func() bool {
		top, err := c.Top(t.Context(), client.TopQuery{Board: board})
		return err == nil && text(top.Entries) == all
	})
	var pages []client.Entry
	for q := (client.TopQuery{Board: board, Limit: 1}); ; {
		page, err := c.Top(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Entries) == 0 {
			t.Errorf("%s: an empty page follows %s", board, text(pages))
		}
		pages = append(pages, page.Entries...)
		if q.Cursor = page.NextCursor; q.Cursor == "" {
			break
		}
	}
	if text(pages) != all {
		t.Errorf("%s: the pages are %s, want %s", board, text(pages), all)
	}
	place, err := c.Around(t.Context(), "cid", client.PlaceQuery{Board: board, Neighbours: 1})
	if err != nil || place.Rank != 3 || text(place.Neighbours) != "3 ann, 3 cid, 3 eva" || place.Total != 7 {
		t.Errorf("%s: cid has %+v, %v", board, place, err)
	}
	list, err := c.Users(t.Context(), board, []string{"dee", "eva", "ann", "nobody"})
	var got []string
	for _, e := range list.Entries {
		got = append(got, fmt.Sprint(e.ListRank, " of ", e.Rank, " ", e.UserID))
	}
	if want := []string{"1 of 3 ann", "1 of 3 eva", "3 of 6 dee"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%s: the list is %q, %v, want %q", board, got, err, want)
	}
	for score, rank := range map[int64]int64{60: 1, 50: 2, 30: 3, 31: 3, 1: 8} {
		_, err := c.Score(t.Context(), "nobody", client.PlaceQuery{Board: board, Score: &score})
		var none *client.Error
		if !errors.As(err, &none) || none.WouldRank != rank {
			t.Errorf("%s: a score of %d: %v, want rank %d", board, score, err, rank)
		}
	}
	page, err := c.Top(t.Context(), client.TopQuery{Board: board, Tier: "podium"})
	if err != nil || text(page.Entries) != "1 ben, 2 fay" {
		t.Errorf("%s: the tier has %s, %v", board, text(page.Entries), err)
	}
	// A band by rank has all of a tie that begins in it.
	page, err = c.Top(t.Context(), client.TopQuery{Board: board, Tier: "bronze"})
	if err != nil || text(page.Entries) != "3 ann, 3 cid, 3 eva" {
		t.Errorf("%s: the tier of the tie has %s, %v", board, text(page.Entries), err)
	}
	for user, tier := range map[string]string{"fay": "podium", "ann": "bronze", "eva": "bronze", "dee": ""} {
		if p, err := c.Score(t.Context(), user, client.PlaceQuery{Board: board}); err != nil || p.Tier != tier {
			t.Errorf("%s: %s is in %q, %v, want %q", board, user, p.Tier, err, tier)
		}
	}
	for seen := ""; seen != all; {
		select {
		case s := <-states:
			seen = text(s.Entries)
			for _, e := range s.Entries {
				first := slices.IndexFunc(s.Entries, func(o client.Entry) bool { return o.Score == e.Score })
				if e.Rank != int64(first)+1 {
					t.Errorf("%s: a state of the stream is %s", board, seen)
				}
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: the stream shows %s, want %s", board, seen, all)
		}
	}
	at := time.Now().UTC()
	h.await("the past", func() bool {
		top, err := c.Top(t.Context(), client.TopQuery{Board: board, At: at})
		return err == nil && text(top.Entries) == all
	})
	past, err := c.Around(t.Context(), "eva", client.PlaceQuery{Board: board, Neighbours: 1, At: at})
	if err != nil || past.Rank != 3 || text(past.Neighbours) != "3 cid, 3 eva, 6 dee" {
		t.Errorf("%s: eva had %+v, %v", board, past, err)
	}
	why, err := c.ExplainRank(t.Context(), "eva", board)
	if err != nil || why.Rank != 3 || why.Tie.Users != 3 || why.Tie.Ahead != 2 {
		t.Errorf("%s: explained as %+v, %v", board, why, err)
	}
}
