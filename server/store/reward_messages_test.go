package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// tellRewards queues messages as the worker does, until some number of them is queued, and then for some runs more.
func tellRewards(
	t *testing.T, s *store.Store, w *scoreboard.Webhook, h *scoreboard.RewardHorizon, wanted int,
) (users []string) {
	t.Helper()
	end := time.Now().Add(20 * time.Second) // transactions of other tests delay the horizon
	for rest := 5; rest > 0 && time.Now().Before(end); {
		if len(users) >= wanted {
			rest--
		}
		if err := s.Webhooks.RewardHorizon(t.Context(), h); err != nil {
			t.Fatal(err)
		}
		for more := true; more; {
			var err error
			more, err = s.Webhooks.QueueRewards(t.Context(), w, h.Safe, func(g *scoreboard.RewardGrant) (string,
				error,
			) {
				users = append(users, string(g.User))
				return fmt.Sprintf(`{"id":%d}`, g.ID), nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	return users
}

// Each reward is told of once, whichever transaction ends first; only those that are granted after the webhook was
// created and can be claimed; and while many messages wait for a webhook, the rest does.
func TestRewardMessages(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	id := cup(t, s, "cup", scoreboard.OrderHighest, nil, map[scoreboard.UserID]int64{"ada": 5, "bob": 4})
	endCup(t, s, conn, id)
	grant := func(c *backends.Conn, user string) {
		c.Do(t, `insert into reward_grants (board_id, user_id, reward, granted_at, expires_at)
values ($1, $2, '1', clock_timestamp(), clock_timestamp() + interval '1 day')`, id, user)
	}
	grant(conn, "before")
	hook := scoreboard.Webhook{
		ID: "wh_1", URL: "https://example.com", Types: []scoreboard.WebhookType{scoreboard.WebhookRewardGranted},
	}
	made, err := s.Webhooks.Create(t.Context(), &hook, []byte("secret"), nil)
	if err != nil {
		t.Fatal(err)
	}
	h := &scoreboard.RewardHorizon{}
	wants := func(what string, want ...string) {
		t.Helper()
		if got := tellRewards(t, s, &made, h, len(want)); !slices.Equal(got, want) {
			t.Errorf("%s: told of %v, want %v", what, got, want)
		}
	}
	for begun := false; !begun; { // the webhook has a place in the table
		tellRewards(t, s, &made, h, 0)
		begun = conn.Count(t, `select count(*) from reward_messages`) == 1
	}
	grant(conn, "ada")
	wants("one", "ada")
	wants("again")

	// A transaction that has taken an id ends after one with a higher id.
	slow := backends.Connect(t, conn.URL)
	slow.Do(t, `begin`)
	grant(slow, "slow")
	grant(conn, "fast")
	wants("while an earlier one may come")
	h = &scoreboard.RewardHorizon{} // another process
	wants("by another process")
	slow.Do(t, `commit`)
	wants("after both", "slow", "fast")

	grant(conn, "revoked")
	conn.Do(t, `update reward_grants set revoked_at = clock_timestamp() where user_id = 'revoked'`)
	wants("a revoked one")
	again := &scoreboard.RewardGrant{Board: id, User: "bob", Reward: "2"}
	first, err := s.Rewards.Grant(t.Context(), again, time.Hour, nil)
	if err == nil {
		_, err = s.Rewards.Revoke(t.Context(), first.ID,
			func(*scoreboard.RewardGrant) *scoreboard.AuditEntry { return nil })
	}
	var second scoreboard.RewardGrant
	if err == nil {
		second, err = s.Rewards.Grant(t.Context(), again, time.Hour, nil)
	}
	if err != nil || second.ID <= first.ID {
		t.Fatalf("granted again: got %+v after %+v, %v", second, first, err)
	}
	wants("granted again", "bob")

	conn.Do(t, `insert into reward_grants (board_id, user_id, reward, granted_at, expires_at)
select $1, 'many' || n, '1', clock_timestamp(), clock_timestamp() + interval '1 day' from generate_series(1, 1500) as
    n`, id)
	if got := tellRewards(t, s, &made, h, 1000); len(got) < 1000 || len(got) > 1200 {
		t.Errorf("told of %d at once, want about 1,000", len(got))
	}
	conn.Do(t, `update webhook_deliveries set state = 'delivered', ended_at = now()`)
	rest := tellRewards(t, s, &made, h, 300)
	rows, err := conn.Query(t.Context(), `select message_id from webhook_deliveries order by id`)
	if err != nil {
		t.Fatal(err)
	}
	messages, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(messages) != 1504 || len(rest) < 300 || messages[0] != fmt.Sprint("msg_reward_", 2) {
		t.Errorf("got %d messages, %v, the rest %d, the first %s", len(messages), err, len(rest), messages[0])
	}
}
