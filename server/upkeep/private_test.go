package upkeep_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/upkeep/repair"
)

// setVisibility changes a user's visibility.
func (r *moderationRig) setVisibility(t testing.TB, user scoreboard.UserID, to scoreboard.Visibility) {
	t.Helper()
	if _, _, err := r.Visibility.Put(ctx, user, to, nil); err != nil {
		t.Fatal(err)
	}
}

// ranked returns the users in the ranking of a board, best first.
func (r *moderationRig) ranked(t testing.TB, board scoreboard.BoardID) (users []scoreboard.UserID) {
	t.Helper()
	r.relay(t)
	top, err := r.ranking.Top(ctx, &scoreboard.Board{ID: board})
	if err != nil {
		t.Fatal(err)
	}
	for i := range top.Entries {
		users = append(users, top.Entries[i].User)
	}
	return users
}

// A private user is on no board whatever is recorded, also on boards that are new to the user,
// and by whichever way. Back on the boards, the user has the same scores and times.
func TestPrivateUserWritesUnseen(t *testing.T) {
	t.Parallel()
	r := newModerationRig(t)
	for i, user := range []scoreboard.UserID{"ada", "bob", "cyd"} {
		if err := record(r, increment(user, int64(9-i), "first", "7", "sum")); err != nil {
			t.Fatal(err)
		}
	}
	r.setVisibility(t, "bob", scoreboard.VisibilityPrivate)
	// First a board that is new to the user: on others, the hidden score alone makes the batch unusual.
	for i, boards := range [][]scoreboard.BoardID{{"other"}, {"sum"}, {"high"}, {"last"}, {"sum", "other"}} {
		event := string(rune('a' + i))
		if err := record(r, increment("bob", 50, event, "7", boards...)); err != nil {
			t.Fatal(err)
		}
	}
	adjustment, _ := scoreboard.ParseEventID("bob", "adjust")
	if _, err := r.Corrections.Adjust(ctx, scoreboard.Adjustment{
		User: "bob", Board: "low", Delta: 3, Event: adjustment,
	}, why()); err != nil {
		t.Fatal(err)
	}
	reversed, _ := scoreboard.ParseEventID("bob", "e")
	if _, _, err := r.Corrections.Reverse(ctx, "bob", reversed, whole, why()); err != nil {
		t.Fatal(err)
	}
	for board := range r.boards {
		if users := r.ranked(t, board); slices.Contains(users, "bob") {
			t.Errorf("board %s ranks %v, with a private user", board, users)
		}
	}
	if n := r.conn.Count(t, `select count(*) from outbox_score_updates as o join private_users as p using (user_id)
where o.recorded_at >= p.since and not o.hidden`); n != 0 {
		t.Errorf("%d changes of a private user are not hidden", n)
	}
	reached := r.conn.Count(t, `select extract(epoch from reached_at) * 1000000 from scores
where user_id = 'bob' and board_id = 'high'`)
	r.checkAll(t)

	// A ban and its end show no private user, nor does a private user who is banned come back.
	because := why()
	if _, err := r.Moderation.Ban(ctx, "bob", because); err != nil {
		t.Fatal(err)
	}
	r.setVisibility(t, "bob", scoreboard.VisibilityPublic)
	if users := r.ranked(t, "sum"); slices.Contains(users, "bob") {
		t.Errorf("a banned user who is not private any more is on the board: %v", users)
	}
	r.setVisibility(t, "bob", scoreboard.VisibilityPrivate)
	if _, err := r.Moderation.Unban(ctx, "bob", because); err != nil {
		t.Fatal(err)
	}
	if users := r.ranked(t, "sum"); slices.Contains(users, "bob") {
		t.Errorf("a private user who is not banned any more is on the board: %v", users)
	}
	r.setVisibility(t, "bob", scoreboard.VisibilityPseudonym)
	if users := r.ranked(t, "sum"); !slices.Equal(users, []scoreboard.UserID{"bob", "ada", "cyd"}) {
		t.Errorf("the board ranks %v once the user is back", users)
	}
	if n := r.conn.Count(t, `select extract(epoch from reached_at) * 1000000 from scores
where user_id = 'bob' and board_id = 'high' and score = 50 and not hidden`); n != reached {
		t.Errorf("the score was reached at %d, want %d as before", n, reached)
	}
	r.checkAll(t)
}

// Each return rewrites all scores of the user and leaves a period, so users have a limit; operators
// have none, and nobody waits to become private.
func TestReturnsFromPrivateAreLimited(t *testing.T) {
	t.Parallel()
	r := newModerationRig(t)
	for range 6 {
		r.setVisibility(t, "bob", scoreboard.VisibilityPrivate)
		r.setVisibility(t, "bob", scoreboard.VisibilityPublic)
	}
	r.setVisibility(t, "bob", scoreboard.VisibilityPrivate)
	_, _, err := r.Visibility.Put(ctx, "bob", scoreboard.VisibilityPublic, nil)
	var e *scoreboard.Error
	if !errors.As(err, &e) || e.Code != wire.CodeRateLimited || e.RetryAfter < 50*time.Minute ||
		e.RetryAfter > time.Hour {
		t.Errorf("the seventh return within an hour: %+v, want rate_limited for almost an hour", err)
	}
	if p, err := r.Visibility.Get(ctx, "bob"); err != nil || p.Visibility != scoreboard.VisibilityPrivate {
		t.Errorf("got %+v, %v; want still private", p, err)
	}
	if _, _, err := r.Visibility.Put(ctx, "bob", scoreboard.VisibilityPublic, why()); err != nil {
		t.Errorf("an operator: %v", err)
	}
	r.setVisibility(t, "bob", scoreboard.VisibilityPrivate)
	r.conn.Do(t, `update user_privacy set returns = array(select t - interval '59 minutes 50 seconds'
from unnest(returns) as t)`)
	_, _, err = r.Visibility.Put(ctx, "bob", scoreboard.VisibilityPseudonym, nil)
	if !errors.As(err, &e) || e.Code != wire.CodeRateLimited || e.RetryAfter > 10*time.Second {
		t.Errorf("almost an hour later: %+v, want rate_limited for seconds", err)
	}
	r.conn.Do(t, `update user_privacy set returns = array(select t - interval '1 minute' from unnest(returns) as t)`)
	if _, _, err := r.Visibility.Put(ctx, "bob", scoreboard.VisibilityPseudonym, nil); err != nil {
		t.Errorf("an hour later: %v", err)
	}
	if n := r.conn.Count(t, `select cardinality(returns) from user_privacy where user_id = 'bob'`); n != 1 {
		t.Errorf("%d returns are kept, want the last hour's", n)
	}
}

// A public phase of less than a minute counts as private; a longer one does not.
func TestShortPublicPhaseCountsAsPrivate(t *testing.T) {
	t.Parallel()
	r := newModerationRig(t)
	later := func(by string) {
		r.conn.Do(t, `update private_users set since = since - $1::interval, until = until - $1::interval`, by)
	}
	again := func(periods int64) {
		t.Helper()
		r.setVisibility(t, "bob", scoreboard.VisibilityPublic)
		later("50 seconds")
		r.setVisibility(t, "bob", scoreboard.VisibilityPrivate)
		if n := r.conn.Count(t, `select count(*) from private_users where merged_at is not null`); n != 1 {
			t.Errorf("%d periods are merged, want one", n)
		}
		if n := r.conn.Count(t, `select count(*) from private_users`); n != periods {
			t.Errorf("%d periods, want %d", n, periods)
		}
	}
	r.setVisibility(t, "bob", scoreboard.VisibilityPrivate)
	again(1)
	again(1)
	r.setVisibility(t, "bob", scoreboard.VisibilityPublic)
	later("70 seconds")
	r.setVisibility(t, "bob", scoreboard.VisibilityPrivate)
	if n := r.conn.Count(t, `select count(*) from private_users`); n != 2 {
		t.Errorf("%d periods after a minute in public, want two", n)
	}
}

// Beyond the bound the oldest public phases count as private, and no private one as public.
func TestPrivatePeriodsAreBounded(t *testing.T) {
	t.Parallel()
	r := newModerationRig(t)
	if n := r.Visibility.MaxPeriods; n != 64 { // as docs/privacy.md and docs/threats.md say
		t.Errorf("a user has at most %d periods, want 64", n)
	}
	r.Visibility.MinPublic, r.Visibility.MaxPeriods = 0, 4
	put := func(to scoreboard.Visibility) {
		t.Helper()
		if _, _, err := r.Visibility.Put(ctx, "bob", to, why()); err != nil {
			t.Fatal(err)
		}
	}
	var private, public []time.Time // moments
	clock := func() (at time.Time) {
		t.Helper()
		if err := r.conn.QueryRow(ctx, `select clock_timestamp()`).Scan(&at); err != nil {
			t.Fatal(err)
		}
		return at
	}
	for range 10 {
		put(scoreboard.VisibilityPrivate)
		private = append(private, clock())
		put(scoreboard.VisibilityPublic)
		public = append(public, clock())
	}
	if n := r.conn.Count(t, `select count(*) from private_users`); n != 4 {
		t.Errorf("%d periods, want 4", n)
	}
	covered := func(at time.Time) bool {
		return r.conn.Count(t, `select count(*) from private_users
where since <= $1 and coalesce(until, 'infinity') > $1`, at) == 1
	}
	for i := range private {
		if !covered(private[i]) {
			t.Errorf("private phase %d counts as public", i)
		}
		if got, want := covered(public[i]), i < 6; got != want {
			t.Errorf("public phase %d counts as private: %t, want %t", i, got, want)
		}
	}
}

// A private user who is shown, as after a change by hand in the database, is reported by verify, and hidden
// again by verify with repair.
func TestExposedUserIsHiddenAgain(t *testing.T) {
	t.Parallel()
	r := newModerationRig(t)
	board := r.boards["sum"]
	for _, user := range []scoreboard.UserID{"ada", "bob"} {
		if err := record(r, increment(user, 5, "first", "7", "sum")); err != nil {
			t.Fatal(err)
		}
	}
	r.setVisibility(t, "bob", scoreboard.VisibilityPrivate)
	verify := func(fix bool) *repair.VerifyResult {
		t.Helper()
		r.relay(t)
		check := repair.Check{
			Store: r.Recovery, Ranking: r.ranking, CheckLedger: true, Repair: fix,
			Progress: func(*repair.VerifyResult) {},
		}
		v, err := check.Run(ctx, []scoreboard.Board{board})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	r.conn.Do(t, `with s as (
    update scores set hidden = false, revision = revision + 1, recorded_at = clock_timestamp()
    where user_id = 'bob' and board_id = 'sum' returning *
), u as (
    update users set last_recorded_at = clock_timestamp() where user_id = 'bob'
)
insert into outbox_score_updates (shard, event_id, user_id, board_id, score, previous_score, delta, order_key, version,
    revision, reached_at, recorded_at)
select 0, gen_random_uuid(), user_id, board_id, score, score, 0, order_key, version, revision, reached_at, recorded_at
from s`)
	if users := r.ranked(t, "sum"); len(users) != 2 {
		t.Fatalf("the board ranks %v; want the private user shown", users)
	}
	if v := verify(false); v.DifferenceCount != 1 || v.Differences[0].Kind != "exposed" ||
		v.Differences[0].User != "bob" {
		t.Errorf("verify found %+v, want the user exposed", v.Differences)
	}
	verify(true)
	if users := r.ranked(t, "sum"); !slices.Equal(users, []scoreboard.UserID{"ada"}) {
		t.Errorf("the board ranks %v, want no private user", users)
	}
	if v := verify(false); v.DifferenceCount != 0 {
		t.Errorf("verify found %+v after the repair", v.Differences)
	}
}
