package sources_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/sources"
)

// podium is a Redis with the keys that Podium writes.
func podium(t *testing.T) (url string, db *redis.Client) {
	t.Helper()
	url = backends.Redis(t)
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	db = redis.NewClient(o)
	t.Cleanup(func() { _ = db.Close() })
	do := func(args ...any) {
		t.Helper()
		if err := db.Do(t.Context(), args...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	do("zadd", "kills", 50, "ann", 50, "zoe", 90, "bob", -3, "max")
	do("zadd", "kills:ttl", 1900000000, "bob")
	do("sadd", "expiration-sets", "kills:ttl")
	do("zadd", "cup-year2026week47", 5, "ann")
	do("zadd", "ratios", 1.5, "ann")
	return url, db
}

func TestPodium(t *testing.T) {
	t.Parallel()
	url, db := podium(t)
	open := func(order scoreboard.Order) *sources.Podium {
		t.Helper()
		p, err := sources.OpenPodium(url, order)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		return p
	}
	p := open(scoreboard.OrderHighest)
	boards, err := p.Boards(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(boards, func(a, b sources.Board) int { return strings.Compare(a.ID, b.ID) })
	got := fmt.Sprintf("%+v", boards)
	const none = "Subscores:0 Described:0 Metadata:false Unfit:0 "
	const want = "[{ID:cup-year2026week47 Mode:increment Order:highest Period:none Schedule: Records:1 " + none +
		"Lost:[the expiry of the board] Unsupported:} " +
		"{ID:kills Mode:increment Order:highest Period:none Schedule: Records:4 " + none +
		"Lost:[the expiry of 1 scores] Unsupported:} " +
		"{ID:ratios Mode:increment Order:highest Period:none Schedule: Records:1 " + none + "Lost:[] Unsupported:}]"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	highest := []scoreboard.ImportRecord{
		{User: "bob", Score: 90}, {User: "zoe", Score: 50}, {User: "ann", Score: 50}, {User: "max", Score: -3},
	}
	if records, err := p.Records(t.Context(), &boards[1]); err != nil || !slices.Equal(records, highest) {
		t.Errorf("got %v, %v, want %v", records, err, highest)
	}
	lowest := slices.Clone(highest)
	slices.Reverse(lowest)
	boards[1].Order = scoreboard.OrderLowest
	if records, err := p.Records(t.Context(), &boards[1]); err != nil || !slices.Equal(records, lowest) {
		t.Errorf("got %v, %v, want %v", records, err, lowest)
	}
	if _, err := p.Records(t.Context(), &boards[2]); err == nil || !strings.Contains(err.Error(), "score 1.5") {
		t.Errorf("a fraction: got %v", err)
	}
	if _, err := p.Boards(t.Context(), []string{"nowhere"}); err == nil {
		t.Error("a board that does not exist was found")
	}
	// More than a page.
	var many []redis.Z
	for i := range 12_345 {
		many = append(many, redis.Z{Score: float64(i), Member: fmt.Sprint("u", i)})
	}
	if err := db.ZAdd(t.Context(), "many", many...).Err(); err != nil {
		t.Fatal(err)
	}
	all, err := p.Records(t.Context(), &sources.Board{ID: "many", Order: scoreboard.OrderLowest})
	if err != nil || len(all) != len(many) || all[12_344].User != "u12344" {
		t.Errorf("got %d records, %v", len(all), err)
	}
}

// A member that rises to the top while the board is read is not missed.
func TestPodiumBoardThatChanges(t *testing.T) {
	t.Parallel()
	url, db := podium(t)
	const members = 12_000
	all := make([]redis.Z, members)
	for n := range all {
		all[n] = redis.Z{Score: float64(n), Member: fmt.Sprint("m", n)}
	}
	if err := db.ZAdd(t.Context(), "big", all...).Err(); err != nil {
		t.Fatal(err)
	}
	for _, order := range []scoreboard.Order{scoreboard.OrderHighest, scoreboard.OrderLowest} {
		p, err := sources.OpenPodium(url, order)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = p.Close() }()
		boards, err := p.Boards(t.Context(), []string{"big"})
		if err != nil {
			t.Fatal(err)
		}
		changes := 0
		p.AfterCommand(func() { // the members of both ends change places
			changes++
			low := redis.Z{Score: float64(-changes), Member: fmt.Sprint("m", members-changes)}
			high := redis.Z{Score: float64(members + changes), Member: fmt.Sprint("m", changes)}
			if err := db.ZAdd(t.Context(), "big", low, high).Err(); err != nil {
				t.Error(err)
			}
		})
		records, err := p.Records(t.Context(), &boards[0])
		if err != nil {
			t.Fatal(err)
		}
		found := make(map[scoreboard.UserID]bool)
		for n, r := range records {
			found[r.User] = true
			if n > 0 && order.Key(r.Score) < order.Key(records[n-1].Score) {
				t.Fatalf("%s: %+v comes after %+v", order, r, records[n-1])
			}
		}
		if len(records) != members || len(found) != members || changes < 2 {
			t.Errorf("%s: got %d records of %d members, want %d (%d commands)",
				order, len(records), len(found), members, changes)
		}
	}
}
