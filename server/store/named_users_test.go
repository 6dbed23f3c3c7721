package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

func createHook(t *testing.T, s *store.Store, id string, kind scoreboard.WebhookType) scoreboard.Webhook {
	t.Helper()
	hook := scoreboard.Webhook{ID: id, URL: "https://example.com", Types: []scoreboard.WebhookType{kind}}
	made, err := s.Webhooks.Create(t.Context(), &hook, []byte("secret"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// payloads are what is queued for webhooks.
func payloads(t *testing.T, conn *backends.Conn) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `select payload from webhook_deliveries order by id`)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A user who is erased, banned or made private after a message was made, and before it is stored, is named in none: by
// no type of message, nor in what tops are compared with. Messages about others are not lost.
func TestMessagesNameNobodyWhoHasLeft(t *testing.T) {
	t.Parallel()
	leaves := map[string]func(*testing.T, *store.Store) error{
		"erased": func(t *testing.T, s *store.Store) error {
			_, err := s.Privacy.BeginErasure(t.Context(), "gone-user", because("user.erase", "gone-user"))
			return err
		},
		"banned": func(t *testing.T, s *store.Store) error {
			_, err := s.Moderation.Ban(t.Context(), "gone-user", because("user.ban", "gone-user"))
			return err
		},
		"private": func(t *testing.T, s *store.Store) error {
			_, _, err := s.Visibility.Put(t.Context(), "gone-user", scoreboard.VisibilityPrivate, nil)
			return err
		},
	}
	about := func(user scoreboard.UserID) string { return fmt.Sprintf(`{"user_id":"%s"}`, user) }
	message := func(user scoreboard.UserID, hooks ...string) scoreboard.WebhookUserMessage {
		return scoreboard.WebhookUserMessage{
			ID: scoreboard.NewWebhookMessageID(), Payload: about(user), User: user, Webhooks: hooks,
		}
	}
	// Each reads what it makes messages of, has the user leave, and stores them until that is done.
	queues := map[scoreboard.WebhookType]func(*testing.T, *store.Store, *backends.Conn, func()){
		scoreboard.WebhookRankReached: func(t *testing.T, s *store.Store, conn *backends.Conn, leave func()) {
			users := []scoreboard.UserID{"gone-user", "bob", "team:ants"}
			messages := []scoreboard.WebhookUserMessage{message("gone-user"), message("bob")}
			leave()
			saved, err := s.Webhooks.SaveTop(t.Context(), "wh_1", "global", nil, users, messages)
			if err == nil && !saved { // the next comparison finds the top without the user
				saved, err = s.Webhooks.SaveTop(t.Context(), "wh_1", "global", nil, users[1:], messages[1:])
			}
			if err != nil || !saved {
				t.Errorf("saved %t, %v", saved, err)
			}
			if n := conn.Count(t, `select count(*) from webhook_tops, users where user_id = any (users)
and status = 'erased'`); n > 0 {
				t.Error("an erased user is in a top")
			}
		},
		scoreboard.WebhookTierUpdated: func(t *testing.T, s *store.Store, conn *backends.Conn, leave func()) {
			passTiers(t, s, conn)
			moves := readTiers(t, s, conn)
			leave()
			err := s.Webhooks.SaveTierMoves(t.Context(), &moves, []scoreboard.WebhookUserMessage{
				message("gone-user", "wh_1"), message("bob", "wh_1"),
			})
			if err != nil {
				t.Error(err)
			}
		},
		scoreboard.WebhookLeagueMoved: func(t *testing.T, s *store.Store, conn *backends.Conn, leave func()) {
			period := createLeague(t, s, "told", scoreboard.League{
				Divisions: 3, CohortSize: 5, Min: 1, Promote: 2,
			})
			record(t, s, increment("gone-user", 3, "l1", "told"), increment("bob", 2, "l2", "told"))
			nextSeason(t, s, "told", 2)
			sealCup(t, s, period)
			if _, err := s.Leagues.DecideLeague(t.Context(), period, 100, anyTime); err != nil {
				t.Fatal(err)
			}
			for n := range 2 {
				runs, err := s.Webhooks.LeagueMoves(t.Context(), 20, 100)
				if n == 0 {
					leave()
				}
				for i := 0; err == nil && i < len(runs); i++ {
					var text []string
					for _, m := range runs[i].Moves {
						text = append(text, about(m.User))
					}
					err = s.Webhooks.SaveLeagueMoves(t.Context(), &runs[i], scoreboard.NewWebhookMessageID(),
						strings.Join(text, ","), []string{"wh_1"})
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if n := conn.Count(t, `select count(*) from league_runs where sent_at is null`); n > 0 {
				t.Error("the moves are not told")
			}
		},
		scoreboard.WebhookSeasonClosed: func(t *testing.T, s *store.Store, conn *backends.Conn, leave func()) {
			conn.Do(t, `insert into webhook_messages (type, board_id) values ('season.closed', 'global')`)
			found, err := s.Webhooks.Messages(t.Context(), []scoreboard.WebhookType{scoreboard.WebhookSeasonClosed}, 10)
			if err != nil || len(found) != 1 {
				t.Fatal(found, err)
			}
			leave()
			err = s.Webhooks.Deliver(t.Context(), &found[0], "msg_1", about("gone-user")+about("bob"),
				[]scoreboard.UserID{"gone-user", "bob"}, []string{"wh_1"})
			if err == nil {
				err = s.Webhooks.Deliver(t.Context(), &found[0], "msg_1", about("bob"), []scoreboard.UserID{"bob"},
					[]string{"wh_1"})
			}
			if err != nil {
				t.Error(err)
			}
		},
		scoreboard.WebhookRewardGranted: func(t *testing.T, s *store.Store, conn *backends.Conn, leave func()) {
			hook := createHook(t, s, "wh_2", scoreboard.WebhookRewardGranted)
			h := &scoreboard.RewardHorizon{}
			conn.Do(t, `insert into reward_tables (board_id, since, private, expires_seconds)
values ('cup', now(), false, 60)`)
			conn.Do(t, `insert into reward_bands (table_id, band, first_rank, last_rank, reward)
values (1, 1, 1, 9, '1')`)
			conn.Do(t, `insert into reward_grants (board_id, user_id, reward, granted_at, expires_at)
values ('cup:one', 'earlier', '1', now() - interval '1 hour', now() + interval '1 hour')`)
			for begun := false; !begun; {
				tellRewards(t, s, &hook, h, 0)
				begun = conn.Count(t, `select count(*) from reward_messages`) == 1
			}
			conn.Do(t, `insert into reward_grants (board_id, user_id, rank, table_id, band, revision, granted_at,
    expires_at)
select 'cup:one', u, 1, 1, 1, 1, clock_timestamp(), now() + interval '1 hour' from unnest('{gone-user,bob}'::text[]) as
    u`)
			leave()
			if told := tellRewards(t, s, &hook, h, 1); !slices.Equal(told, []string{"bob"}) {
				t.Errorf("told of %v", told)
			}
			conn.Do(t, `update webhook_deliveries set payload = '{"user_id":"bob"}'`)
		},
	}
	for how, leave := range leaves {
		for kind, run := range queues {
			t.Run(fmt.Sprint(kind, " ", how), func(t *testing.T) {
				t.Parallel()
				s, conn := storetest.New(t)
				record(t, s, increment("gone-user", 5, "one"), increment("bob", 4, "two"))
				createHook(t, s, "wh_1", kind)
				run(t, s, conn, func() {
					if err := leave(t, s); err != nil {
						t.Fatal(err)
					}
				})
				if all := payloads(t, conn); len(all) != 1 || all[0] != about("bob") {
					t.Errorf("queued %q, want a message about bob", all)
				}
			})
		}
	}
}

// An erasure that commits while rewards are being queued is waited for, and one that begins then finds the message.
func TestErasureWhileRewardsAreQueued(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	record(t, s, increment("gone-user", 5, "one"), increment("later", 4, "two"))
	hook := createHook(t, s, "wh_1", scoreboard.WebhookRewardGranted)
	grant := func(user string) {
		conn.Do(t, `insert into reward_grants (board_id, user_id, reward, granted_at, expires_at)
values ('cup:one', $1, '1', clock_timestamp(), clock_timestamp() + interval '1 hour')`, user)
	}
	grant("first")
	h := &scoreboard.RewardHorizon{}
	tellRewards(t, s, &hook, h, 1)
	grant("gone-user")
	grant("later")
	safe := conn.Count(t, `select max(grant_id) from reward_grants`)

	other := backends.Connect(t, conn.URL) // as an erasure
	other.Do(t, `begin`)
	other.Do(t, `update users set status = 'erased', erased_as = 'erased-x' where user_id = 'gone-user'`)
	other.Do(t, `delete from reward_grants where user_id = 'gone-user'`)
	erased := make(chan error, 1)
	ended := make(chan error, 1)
	go func() {
		_, err := s.Webhooks.QueueRewards(t.Context(), &hook, safe, func(g *scoreboard.RewardGrant) (string, error) {
			if g.User == "later" { // begins while its row is locked
				go func() {
					_, err := s.Privacy.BeginErasure(t.Context(), "later", because("user.erase", "later"))
					erased <- err
				}()
				time.Sleep(50 * time.Millisecond)
			}
			return fmt.Sprintf(`{"user_id":"%s"}`, g.User), nil
		})
		ended <- err
	}()
	for end := time.Now().Add(20 * time.Second); len(ended) == 0 && time.Now().Before(end); {
		if conn.Count(t, `select count(*) from pg_locks as l join pg_stat_activity using (pid)
where not granted and datname = current_database()`) > 0 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	other.Do(t, `commit`)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := <-erased; err != nil {
		t.Fatal(err)
	}
	all := payloads(t, conn)
	for _, p := range all {
		if strings.Contains(p, "gone-user") || strings.Contains(p, `"later"`) {
			t.Errorf("queued %s", p)
		}
	}
	if len(all) != 2 { // the first, and the anonymous one
		t.Errorf("got %q, want two", all)
	}
}

// A webhook for one board reads the grants of this board, whatever others have.
func TestRewardsOfOneBoardAreFound(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t, func(o *store.Options) { o.MaxConns = 1 })
	conn.Do(t, `insert into reward_grants (board_id, user_id, reward, granted_at, expires_at)
select 'others:one', 'old' || n, '1', now() - interval '1 day', now() + interval '1 hour'
from generate_series(1, 20000) as n`)
	hook := createHook(t, s, "wh_1", scoreboard.WebhookRewardGranted)
	hook.Boards = []scoreboard.BoardID{"mine", "yours"}
	h := &scoreboard.RewardHorizon{}
	for begun := false; !begun; {
		tellRewards(t, s, &hook, h, 0)
		begun = conn.Count(t, `select count(*) from reward_messages`) == 1
	}
	conn.Do(t, `insert into reward_grants (board_id, user_id, reward, granted_at, expires_at)
select case n % 5000 when 7 then 'mine:one' when 8 then 'yours' else 'others:two' end, 'u' || n, '1', clock_timestamp(),
    now() + interval '1 hour' from generate_series(1, 20000) as n`)
	want := []string{"u7", "u8", "u5007", "u5008", "u10007", "u10008", "u15007", "u15008"}
	if got := tellRewards(t, s, &hook, h, len(want)); !slices.Equal(got, want) {
		t.Errorf("told of %v, want %v", got, want)
	}
	s.Close()
	found := storetest.TableReads(t, conn)["reward_grants"]
	t.Logf("%+v", found)
	if found.Scanned > 0 || found.Indexed > 2000 {
		t.Errorf("%d rows by scans and %d by indexes, for 8 of 40,000 grants", found.Scanned, found.Indexed)
	}
}
