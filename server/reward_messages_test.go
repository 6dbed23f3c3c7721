package server_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// The winners of a season are sent to a webhook, once each although two nodes work: with the id by which a server
// claims the
// reward, and without the names of users who hide.
func TestRewardWebhook(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	settings := append([]string{"transport", "direct", "boards-close-grace", "1s"}, loopback...)
	n := h.start(allRoles, settings...)
	h.start(allRoles, settings...)
	root := n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	end := time.Now().Add(time.Hour)
	if _, err := root.CreateBoard(t.Context(), client.BoardRequest{
		Board: "arena", Period: "season", Season: "one", EndsAt: &end, Mode: "best",
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := root.SetRewardTable(t.Context(), "arena", client.RewardTableRequest{Bands: []client.RewardBand{
		{LastRank: 10, Reward: json.RawMessage(`{"gems":50}`)},
	}}); err != nil {
		t.Fatal(err)
	}
	r := newReceiver(t)
	hook, err := root.CreateWebhook(t.Context(), client.WebhookRequest{
		URL: r.URL, Types: []string{"reward.granted"}, Boards: []string{"arena"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for user, score := range map[string]int64{"ada": 3, "hidden-user": 2, "cy": 1} {
		if _, err := root.Submit(t.Context(), client.Increment{User: user, Board: "arena", Delta: score}); err != nil {
			t.Fatal(err)
		}
	}
	status, _, answer := request(t, "PUT", n.URL+"/v1/users/hidden-user/privacy", `{"visibility":"pseudonym"}`,
		bearer(h.token("hidden-user", "", time.Minute)))
	if status != 200 {
		t.Fatalf("got %d %s", status, answer)
	}
	later := end.Add(time.Hour)
	if _, err := root.RollBoards(t.Context(), "arena", client.RollRequest{Season: "two", EndsAt: &later}); err != nil {
		t.Fatal(err)
	}
	h.await("three messages", func() bool { return len(r.all("reward.granted")) >= 3 })
	seen := map[string]wire.RewardGranted{}
	for _, m := range r.all("reward.granted") {
		var message struct{ Data wire.RewardGranted }
		if err := json.Unmarshal([]byte(m.body), &message); err != nil {
			t.Fatal(err)
		}
		if err := verify(t, hook.Secret, &m); err != nil {
			t.Error(err)
		}
		d := message.Data
		if seen[m.id].ID != 0 {
			t.Errorf("%s came twice", m.id)
		}
		seen[m.id] = d
		if strings.Contains(m.body, "hidden-user") || d.Board != "arena:one" || d.Family != "arena" ||
			string(d.Reward) != `{"gems":50}` || d.Revision != 1 || d.ExpiresAt.IsZero() {
			t.Errorf("got %s", m.body)
		}
		want := []string{"ada", "~", "cy"}[d.Rank-1]
		if !strings.HasPrefix(d.UserID, want) {
			t.Errorf("rank %d: got user %s, want %s", d.Rank, d.UserID, want)
		}
		if d.UserID == "ada" {
			if got, err := root.ClaimReward(t.Context(), "ada", d.ID); err != nil || got.State != "claimed" {
				t.Errorf("claimed by its id: got %+v, %v", got, err)
			}
		}
	}
	if len(seen) != 3 {
		t.Errorf("got %d messages, want 3", len(seen))
	}
}
