package verify

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/loadgen/record"
)

// fakeBoards is a client of a server with scores by board and user.
func fakeBoards(t *testing.T, scores map[string]map[string]int64) *client.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		board := scores[r.URL.Query().Get("board")]
		user, single := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/v1/users/"), "/score")
		if score, ok := board[user]; single && ok {
			_ = json.NewEncoder(w).Encode(wire.Place{UserID: user, Score: score})
			return
		}
		if single {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"error_code":"not_found","message":"no score","request_id":"r"}`))
			return
		}
		top := wire.Top{Total: int64(len(board)), Entries: []wire.Entry{}}
		for user, score := range board {
			top.Entries = append(top.Entries, wire.Entry{UserID: user, Score: score})
		}
		slices.SortFunc(top.Entries, func(a, b wire.Entry) int { return cmp.Compare(b.Score, a.Score) })
		for i := range top.Entries {
			top.Entries[i].Rank = int64(i + 1)
		}
		_ = json.NewEncoder(w).Encode(top)
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, client.Options{Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// Scores are read from each user's board, and the worst board is the result.
func TestEveryBoardIsVerified(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change        func(map[string]map[string]int64)
		top           float64
		doubled, lost float64
	}{
		"correct":           {func(map[string]map[string]int64) {}, 100, 0, 0},
		"more on the first": {func(s map[string]map[string]int64) { s["one"]["user-0000000"]++ }, 50, 1, 0},
		"missing on the second": {
			func(s map[string]map[string]int64) { delete(s["two"], "user-0000003") }, 50, 0, 1,
		},
		"on the wrong board": {func(s map[string]map[string]int64) {
			s["one"]["user-0000003"] = s["two"]["user-0000003"]
			delete(s["two"], "user-0000003")
		}, 50, 0, 1},
	} {
		p := testPlan(t, "10/1s")
		p.Boards, p.Users = []string{"one", "two"}, 4
		scores := map[string]map[string]int64{"": {"probe": 5}, "one": {}, "two": {}}
		tracker := NewTracker(p)
		for user := range uint64(4) {
			tracker.Expected[user] = int64(10 * (user + 1))
			scores[p.Board(user)][p.UserID(user)] = tracker.Expected[user]
		}
		c.change(scores)
		measured := record.Measured{}
		v := &Verifier{
			Client: fakeBoards(t, scores), Plan: p, Events: plan.NewEvents(p, time.Now()), Tracker: tracker,
			Extras: map[string]int64{"probe": 5}, Settle: time.Millisecond, Measured: measured, lost: map[uint64]bool{},
		}
		if err := v.checkScores(t.Context()); err != nil {
			t.Fatal(err)
		}
		v.countLost()
		if err := v.Ranks(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if measured["top.correct"] != c.top || measured["doubled"] != c.doubled || measured["lost"] != c.lost {
			t.Errorf("%s: got %v", name, measured)
		}
	}
}
