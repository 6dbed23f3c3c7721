package server_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// All-time ranks are part of a user's history, for clients that may read it and no others.
func TestMarksAreReadWithTheHistory(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	node := h.start(allRoles)
	s := storetest.Open(t, h.postgres)
	root := node.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	player := node.client("bob", "")
	var times []time.Time
	// submit submits points, and samples the ranks after them.
	submit := func(user string, delta int64) {
		t.Helper()
		receipt, err := root.Submit(t.Context(), client.Increment{User: user, Delta: delta})
		if err != nil {
			t.Fatal(err)
		}
		var at time.Time
		h.await("the time of the points to be settled", func() bool {
			if _, at, err = s.PastBoards.Count(t.Context(), 1_000_000); err != nil {
				t.Fatal(err)
			}
			return !at.Before(receipt.RecordedAt)
		})
		if err := s.PastBoards.Sample(t.Context(), scoreboard.GlobalBoard, at); err != nil {
			t.Fatal(err)
		}
		times = append(times, at.UTC())
	}
	submit("alice", 5)
	submit("bob", 3)
	submit("bob", 4)
	query := client.HistoryQuery{From: times[2], To: times[2], Step: time.Hour}
	for name, c := range map[string]*client.Client{
		"an operator": root, "bob": player, "another": node.client("carol", ""),
	} {
		got, err := c.RankHistory(t.Context(), "bob", query)
		if err != nil || got.AllTime == nil {
			t.Fatalf("for %s: got %+v, %v, want all-time ranks", name, got, err)
		}
		m := got.AllTime
		if m.BestRank != 1 || !m.BestRankAt.Equal(times[2]) || m.DaysInTop10 < 1 || m.Samples != "hourly" ||
			m.Climb == nil || m.Climb.Ranks != 1 || !m.Climb.Began.Equal(times[1]) || !m.Climb.Ended.Equal(times[2]) ||
			!m.Since.Equal(times[0]) {
			t.Errorf("for %s: got %+v with climb %+v, want rank 1 by a climb between %v", name, m, m.Climb, times)
		}
	}
	asNow := query
	asNow.AsNow = true
	if got, err := player.RankHistory(t.Context(), "me", asNow); err != nil || got.AllTime != nil {
		t.Errorf("as of now: got %+v, %v, want no all-time ranks", got.AllTime, err)
	}
	if got, err := root.RankHistory(t.Context(), "carol", query); err == nil {
		t.Errorf("a user without a score: got %+v", got)
	}
	if _, err := player.SetPrivacy(t.Context(), "bob", "private"); err != nil {
		t.Fatal(err)
	}
	var refused *client.Error
	got, err := player.RankHistory(t.Context(), "bob", query)
	if !errors.As(err, &refused) || refused.Status != http.StatusNotFound || got.AllTime != nil {
		t.Errorf("of a private user: got %+v, %v, want a 404", got, err)
	}
	status, _, body := request(t, http.MethodGet, node.URL+"/v1/users/bob/history", "",
		bearer(h.token("carol", "", time.Hour)))
	if status != http.StatusNotFound || strings.Contains(body, "all_time") {
		t.Errorf("of a private user: got %d %s, want a 404 without all-time ranks", status, body)
	}
}
