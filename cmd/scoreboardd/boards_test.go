package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

func healthy(ctx context.Context, c *client.Client, board string) func() error {
	return func() error {
		k, err := c.RankingStatus(ctx, board)
		if err == nil && k.State != "HEALTHY" {
			err = errors.New(k.State)
		}
		return err
	}
}

// Every mode in both orders, created on one node and written at once on another:
// receipts, database, ranking and top agree.
func TestEveryKindOfBoardEndToEnd(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	one, two := h.start(), h.start()
	root, other := h.client(one, "root", auth.ScopeAdmin+" "+auth.ScopeUpdate), h.client(two, "root",
		auth.ScopeAdmin+" "+auth.ScopeUpdate)
	ctx, cancel := contextFor(2 * time.Minute)
	defer cancel()
	submitted := []struct {
		user  string
		delta int64
	}{{"alice", 5}, {"bob", 9}, {"alice", 7}, {"bob", 2}, {"carol", 8}}
	for _, kind := range []struct {
		mode, order string
		scores      []int64 // after each
		top         []string
	}{
		{"increment", "highest", []int64{5, 9, 12, 11, 8}, []string{"1 alice 12", "2 bob 11", "3 carol 8"}},
		{"increment", "lowest", []int64{5, 9, 12, 11, 8}, []string{"1 carol 8", "2 bob 11", "3 alice 12"}},
		{"best", "highest", []int64{5, 9, 7, 9, 8}, []string{"1 bob 9", "2 carol 8", "3 alice 7"}},
		{"best", "lowest", []int64{5, 9, 5, 2, 8}, []string{"1 bob 2", "2 alice 5", "3 carol 8"}},
		{"latest", "highest", []int64{5, 9, 7, 2, 8}, []string{"1 carol 8", "2 alice 7", "3 bob 2"}},
		{"latest", "lowest", []int64{5, 9, 7, 2, 8}, []string{"1 bob 2", "2 alice 7", "3 carol 8"}},
	} {
		for _, period := range []string{"none", "monthly"} {
			name := kind.mode + "-" + kind.order + "-" + period
			made, err := root.CreateBoard(ctx, client.BoardRequest{
				Board: name, Mode: kind.mode, Order: kind.order,
				Period: period, TimeZone: "Asia/Tokyo",
			})
			if err != nil {
				t.Fatal(err)
			}
			if made.Mode != kind.mode || made.Order != kind.order || made.Status != "active" ||
				(period == "none") != (made.Current == "") {
				t.Errorf("%s: created %+v", name, made)
			}
			board := name
			if made.Current != "" {
				board = made.Current
			}
			for i, s := range submitted {
				r, err := other.Submit(ctx, client.Increment{User: s.user, Delta: s.delta, Board: name})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if r.NewScore != kind.scores[i] || r.Board != board {
					t.Errorf("%s: after %+v the receipt has %d on %s, want %d on %s", name, s, r.NewScore, r.Board,
						kind.scores[i], board)
				}
			}
			for _, c := range []*client.Client{root, other} {
				eventually(t, name+" to be ranked", func() error {
					top, err := c.Top(ctx, client.TopQuery{Board: name})
					if err == nil && top.Board != board {
						err = fmt.Errorf("it is the top of %s", top.Board)
					}
					return errors.Join(err, shows(kind.top...)(top))
				})
			}
			eventually(t, name+" to be healthy", healthy(ctx, root, name))
			if k, err := other.RankingStatus(ctx, board); err != nil || k.Members != 3 || k.Epoch == 0 || k.Bytes == 0 {
				t.Errorf("%s: status %+v, %v", name, k, err)
			}
			var stored []string
			for _, row := range kind.top {
				f := strings.Fields(row)
				stored = append(stored, fmt.Sprintf("user_id = '%s' and score = %s", f[1], f[2]))
			}
			if n := h.sql(`select count(*) from scores where board_id = '` + board + `' and (` +
				strings.Join(stored, " or ") + `)`); n != 3 {
				t.Errorf("%s: %d scores are stored correctly, want 3", name, n)
			}
		}
	}
}

func TestInvalidBoards(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d := h.start()
	root, alice := h.client(d, "root", auth.ScopeAdmin), h.client(d, "alice", "")
	ctx, cancel := contextFor(time.Minute)
	defer cancel()
	n := func(n int64) *int64 { return &n }
	past, soon := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	for _, c := range []struct {
		about string
		r     client.BoardRequest
		field string
	}{
		{"no name", client.BoardRequest{}, "board"},
		{"name of an instance", client.BoardRequest{Board: "daily:2026-11-21"}, "board"},
		{"capitals", client.BoardRequest{Board: "Arena"}, "board"},
		{"too long", client.BoardRequest{Board: strings.Repeat("a", 49)}, "board"},
		{"unknown mode", client.BoardRequest{Board: "b", Mode: "average"}, "mode"},
		{"unknown order", client.BoardRequest{Board: "b", Order: "up"}, "order"},
		{"unknown period", client.BoardRequest{Board: "b", Period: "hourly"}, "period"},
		{"unknown zone", client.BoardRequest{Board: "b", Period: "daily", TimeZone: "Mars/Olympus"}, "time_zone"},
		{"local zone", client.BoardRequest{Board: "b", Period: "daily", TimeZone: "Local"}, "time_zone"},
		{"unknown day", client.BoardRequest{Board: "b", Period: "weekly", WeekStart: "caturday"}, "week_start"},
		{"week start of a day", client.BoardRequest{Board: "b", Period: "daily", WeekStart: "sunday"}, "week_start"},
		{"odd region", client.BoardRequest{Board: "b", Region: "EU!"}, "region"},
		{"odd platform", client.BoardRequest{Board: "b", Platform: "a b"}, "platform"},
		{"odd tag", client.BoardRequest{Board: "b", Tags: []string{"ok", ""}}, "tags"},
		{"duplicate tag", client.BoardRequest{Board: "b", Tags: []string{"a", "a"}}, "tags"},
		{"too many tags", client.BoardRequest{Board: "b", Tags: strings.Split("abcdefghijk", "")}, "tags"},
		{"minimum delta over maximum", client.BoardRequest{Board: "b", MinDelta: n(5), MaxDelta: n(4)}, "min_delta"},
		{"minimum score over maximum", client.BoardRequest{Board: "b", MinScore: n(5), MaxScore: n(4)}, "min_score"},
		{"score bound too large", client.BoardRequest{Board: "b", MaxScore: n(1 << 53)}, "max_score"},
		{"only delta zero", client.BoardRequest{Board: "b", MinDelta: n(0), MaxDelta: n(0)}, "max_delta"},
		{"season without a name", client.BoardRequest{Board: "b", Period: "season", EndsAt: &soon}, "season"},
		{"season without an end", client.BoardRequest{Board: "b", Period: "season", Season: "s1"}, "ends_at"},
		{
			"season in the past",
			client.BoardRequest{Board: "b", Period: "season", Season: "s1", EndsAt: &past},
			"ends_at",
		},
		{"season of a daily board", client.BoardRequest{Board: "b", Period: "daily", Season: "s1"}, "season"},
	} {
		_, err := root.CreateBoard(ctx, c.r)
		var e *client.Error
		if !errors.As(err, &e) || e.Code != wire.CodeInvalidRequest || e.Field != c.field {
			t.Errorf("%s: got %v, want invalid_request about %s", c.about, err, c.field)
		}
	}
	if _, err := alice.CreateBoard(ctx,
		client.BoardRequest{Board: "b"}); wire.CodeOf(err) != wire.CodeForbidden {
		t.Errorf("without the scope: got %v", err)
	}
	if n := h.sql(`select count(*) from boards`); n != 1 {
		t.Errorf("got %d boards, want only global", n)
	}
	private := false
	if _, err := root.CreateBoard(ctx, client.BoardRequest{Board: "secret", Public: &private}); err != nil {
		t.Fatal(err)
	}
	if _, err := root.CreateBoard(ctx,
		client.BoardRequest{Board: "secret"}); wire.CodeOf(err) != wire.CodeConflict {
		t.Errorf("duplicate board: got %v, want a conflict", err)
	}
	if _, err := alice.Board(ctx, "secret"); wire.CodeOf(err) != wire.CodeNotFound {
		t.Errorf("private board read by a user: got %v", err)
	}
	for about, q := range map[string]client.BoardQuery{"region": {Region: "mars"}, "family": {Family: "nobody"}} {
		if _, err := root.Boards(ctx, q); wire.CodeOf(err) != wire.CodeNotFound {
			t.Errorf("unknown %s: got %v", about, err)
		}
	}
	for about, q := range map[string]client.BoardQuery{
		"period": {Period: "hourly"}, "status": {Status: "melted"},
		"limit": {Limit: 1001},
	} {
		if _, err := root.Boards(ctx, q); wire.CodeOf(err) != wire.CodeInvalidRequest {
			t.Errorf("bad %s: got %v", about, err)
		}
	}
	if page, err := alice.Boards(ctx, client.BoardQuery{}); err != nil || len(page.Boards) != 1 ||
		page.Boards[0].Board != "global" {
		t.Errorf("alice sees %+v, %v", page, err)
	}
}
