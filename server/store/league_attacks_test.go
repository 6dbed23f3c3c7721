package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func smallLeague(t *testing.T) scoreboard.League {
	t.Helper()
	return scoreboard.League{Divisions: 3, CohortSize: 5, Min: 3, Promote: 1, Relegate: 1}
}

// A reversal before the end counts in the sealed standings already.
func TestAttackReversalBeforeTheEnd(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	period := createLeague(t, s, "early", smallLeague(t))
	for i, user := range []scoreboard.UserID{"a", "b", "c"} {
		record(t, s, increment(user, int64(30-10*i), fmt.Sprint("e", i), "early"))
	}
	if _, _, err := s.Corrections.Reverse(t.Context(), "c", increment("c", 10, "e2", "early").Event,
		scoreboard.Reversing{}, because("event.reverse", "c")); err != nil {
		t.Fatal(err)
	}
	nextSeason(t, s, "early", 2)
	sealCup(t, s, period)
	if _, err := s.Leagues.DecideLeague(t.Context(), period, 100, anyTime); err != nil {
		t.Fatal(err)
	}
	t.Log("decided", newestOutcomes(t, conn, period))
	b, err := s.Boards.FindBoard(t.Context(), period)
	if err != nil {
		t.Fatal(err)
	}
	found, _, err := s.Leagues.RecomputeLeague(t.Context(), b, 0, nil)
	t.Logf("differ: %+v %v", found, err)
	if len(found) > 0 {
		t.Errorf("%d differ though nothing was voided after the end", len(found))
	}
}

// After the undo window the correction must stay.
func TestAttackAfterTheUndoWindow(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	period := createLeague(t, s, "late", smallLeague(t))
	for i, user := range []scoreboard.UserID{"a", "b", "c", "d"} {
		record(t, s, increment(user, int64(40-10*i), fmt.Sprint("e", i), "late"))
	}
	nextSeason(t, s, "late", 2)
	sealCup(t, s, period)
	if _, err := s.Leagues.DecideLeague(t.Context(), period, 100, anyTime); err != nil {
		t.Fatal(err)
	}
	conn.Do(t, `with v as (insert into voids (key_id, starts, ends, reason, who, state, done_at)
    values ('k', now() - interval '1 hour', now(), 'a test', 'root', 'done', now()) returning id)
insert into void_events (void_id, user_id, event_id, state)
select v.id, user_id, event_id, 'skipped' from v, user_score_histories where user_id = 'a'`)
	why := &scoreboard.AuditEntry{
		Actor: "root", Action: "league.recompute", Target: "board:" + string(period),
		Reason: "x",
	}
	t.Log("decided", newestOutcomes(t, conn, period), divisionsOf(t, conn, "late"))
	recomputeAll(t, s, period, why)
	t.Log("corrected", newestOutcomes(t, conn, period), divisionsOf(t, conn, "late"))
	conn.Do(t, `update voids set done_at = now() - interval '31 days'`)
	if err := s.Corrections.DeleteOldVoidEvents(t.Context()); err != nil {
		t.Fatal(err)
	}
	n := recomputeAll(t, s, period, why)
	t.Log("31 days later", n, newestOutcomes(t, conn, period), divisionsOf(t, conn, "late"))
	if n > 0 {
		t.Errorf("%d outcomes are corrected back", n)
	}
}

// An erasure after the decision takes nobody's promotion.
func TestAttackErasureAndRecompute(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	period := createLeague(t, s, "gone", smallLeague(t))
	for i, user := range []scoreboard.UserID{"a", "b", "c"} {
		record(t, s, increment(user, int64(30-10*i), fmt.Sprint("e", i), "gone"))
		if user == "c" {
			record(t, s, increment(user, 1, "e9", "gone"))
		}
	}
	nextSeason(t, s, "gone", 2)
	sealCup(t, s, period)
	if _, err := s.Leagues.DecideLeague(t.Context(), period, 100, anyTime); err != nil {
		t.Fatal(err)
	}
	t.Log("decided", newestOutcomes(t, conn, period), divisionsOf(t, conn, "gone"))
	if _, err := s.Privacy.BeginErasure(t.Context(), "b", because("user.erase", "b")); err != nil {
		t.Fatal(err)
	}
	conn.Do(t, `with v as (insert into voids (key_id, starts, ends, reason, who, state, done_at)
    values ('k', now() - interval '1 hour', now(), 'a test', 'root', 'done', now()) returning id)
insert into void_events (void_id, user_id, event_id, state)
select v.id, user_id, event_id, 'skipped' from v, user_score_histories where user_id = 'c' and delta = 1`)
	why := &scoreboard.AuditEntry{
		Actor: "root", Action: "league.recompute", Target: "board:" + string(period),
		Reason: "x",
	}
	n := recomputeAll(t, s, period, why)
	t.Log("recomputed", n, newestOutcomes(t, conn, period), divisionsOf(t, conn, "gone"))
	if divisionsOf(t, conn, "gone")["a"] != 2 {
		t.Errorf("a lost the promotion by an erasure of b")
	}
}

// Rewards while the webhook is disabled between the list and the queue.
func TestAttackRewardsOfADisabledWebhook(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	id := cup(t, s, "cup", scoreboard.OrderHighest, nil, map[scoreboard.UserID]int64{"ada": 5, "bob": 4})
	endCup(t, s, conn, id)
	hook := scoreboard.Webhook{
		ID: "wh_1", URL: "https://example.com", Types: []scoreboard.WebhookType{scoreboard.WebhookRewardGranted},
	}
	made, err := s.Webhooks.Create(t.Context(), &hook, []byte("secret"), nil)
	if err != nil {
		t.Fatal(err)
	}
	h := &scoreboard.RewardHorizon{}
	conn.Do(t, `insert into reward_grants (board_id, user_id, reward, granted_at, expires_at)
values ($1, 'x', '1', clock_timestamp() - interval '1 hour', clock_timestamp() + interval '1 day')`, id)
	for begun := false; !begun; {
		tellRewards(t, s, &made, h, 0)
		begun = conn.Count(t, `select count(*) from reward_messages`) == 1
	}
	conn.Do(t, `insert into reward_grants (board_id, user_id, reward, granted_at, expires_at)
values ($1, 'ada', '1', clock_timestamp(), clock_timestamp() + interval '1 day')`, id)
	if err := s.Webhooks.Disable(t.Context(), "wh_1", "410", nil); err != nil {
		t.Fatal(err)
	}
	t.Log("told while disabled (the worker's list is older)", tellRewards(t, s, &made, h, 1))
	if _, err := s.Webhooks.Enable(t.Context(), "wh_1", because("webhook.enable", "x")); err != nil {
		t.Fatal(err)
	}
	tellRewards(t, s, &made, h, 0)
	if n := conn.Count(t, `select count(*) from webhook_deliveries`); n != 1 {
		t.Errorf("%d messages after the webhook was enabled, want 1", n)
	}
}

// A message about a league that was read before an erasure names the user after it.
func TestAttackLeagueMessageAfterErasure(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	period := createLeague(t, s, "told", smallLeague(t))
	for i, user := range []scoreboard.UserID{"a-person", "b", "c"} {
		record(t, s, increment(user, int64(30-10*i), fmt.Sprint("e", i), "told"))
	}
	hook := scoreboard.Webhook{
		ID: "wh_2", URL: "https://example.com",
		Types: []scoreboard.WebhookType{scoreboard.WebhookLeagueMoved},
	}
	if _, err := s.Webhooks.Create(t.Context(), &hook, []byte("secret"), nil); err != nil {
		t.Fatal(err)
	}
	nextSeason(t, s, "told", 2)
	sealCup(t, s, period)
	if _, err := s.Leagues.DecideLeague(t.Context(), period, 100,
		func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	runs, err := s.Webhooks.LeagueMoves(t.Context(), 20, 100)
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	if _, err := s.Privacy.BeginErasure(t.Context(), "a-person", because("user.erase", "a-person")); err != nil {
		t.Fatal(err)
	}
	payload := fmt.Sprintf(`{"user_id":"%s"}`, runs[0].Moves[0].User)
	if err := s.Webhooks.SaveLeagueMoves(t.Context(), &runs[0], "msg_x", payload, []string{"wh_2"}); err != nil {
		t.Fatal(err)
	}
	rows, _ := conn.Query(t.Context(), `select payload from webhook_deliveries`)
	for rows.Next() {
		var p string
		_ = rows.Scan(&p)
		if strings.Contains(p, "a-person") {
			t.Errorf("queued after the erasure: %s", p)
		}
	}
}

// An erasure that waits for a transaction that fills the cohort of the user.
func TestAttackErasureWhileACohortFills(t *testing.T) {
	t.Parallel()
	for _, size := range []int{2, 3} {
		s, conn := storetest.New(t)
		name := scoreboard.BoardID(fmt.Sprint("fill", size))
		period := createLeague(t, s, name, scoreboard.League{Divisions: 2, CohortSize: size, Min: 1, Promote: 1})
		record(t, s, increment("u1", 1, "e1", name))
		slow := backends.Connect(t, conn.URL)
		slow.Do(t, `begin`)
		slow.Do(t, `select league_join(array['u2'], array[$1::text], array[''])`, string(period))
		done := make(chan error)
		go func() {
			_, err := s.Privacy.BeginErasure(context.Background(), "u1", because("user.erase", "u1"))
			done <- err
		}()
		time.Sleep(60 * time.Millisecond)
		slow.Do(t, `commit`)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		rows, _ := conn.Query(t.Context(), `select places, is_full, (select count(*) from league_members as m
where m.cohort_id = c.cohort_id) from league_cohorts as c`)
		for rows.Next() {
			var places, members int
			var full bool
			_ = rows.Scan(&places, &full, &members)
			t.Logf("size %d: %d places, full %t, %d members", size, places, full, members)
		}
		checkCohorts(t, conn, period, size)
	}
}

// A correction that the lowest division has absorbed is undone in full.
func TestAttackUndoOfAClampedCorrection(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	l := smallLeague(t)
	l.IdleRelegated = true
	period := createLeague(t, s, "clamp", l)
	for i, user := range []scoreboard.UserID{"a", "b", "c"} {
		record(t, s, increment(user, int64(30-10*i), fmt.Sprint("e", i), "clamp"))
	}
	second := nextSeason(t, s, "clamp", 2)
	sealCup(t, s, period)
	if _, err := s.Leagues.DecideLeague(t.Context(), period, 100, anyTime); err != nil {
		t.Fatal(err)
	}
	nextSeason(t, s, "clamp", 3)
	sealCup(t, s, second)
	if _, err := s.Leagues.DecideLeague(t.Context(), second, 100, anyTime); err != nil {
		t.Fatal(err)
	}
	before := fmt.Sprint(divisionsOf(t, conn, "clamp"))
	conn.Do(t, `with v as (insert into voids (key_id, starts, ends, reason, who, state, done_at)
    values ('k', now() - interval '1 hour', now(), 'a test', 'root', 'done', now()) returning id)
insert into void_events (void_id, user_id, event_id, state)
select v.id, user_id, event_id, 'skipped' from v, user_score_histories where user_id = 'a'`)
	why := &scoreboard.AuditEntry{
		Actor: "root", Action: "league.recompute", Target: "board:" + string(period),
		Reason: "x",
	}
	recomputeAll(t, s, period, why)
	t.Log("before", before, "corrected", divisionsOf(t, conn, "clamp"))
	conn.Do(t, `update voids set state = 'undone'`)
	recomputeAll(t, s, period, why)
	if after := fmt.Sprint(divisionsOf(t, conn, "clamp")); after != before {
		t.Errorf("after the undo divisions are %s, were %s", after, before)
	}
}
