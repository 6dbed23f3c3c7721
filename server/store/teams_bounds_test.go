package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// A team that is full, a team with too many former members, a user with too many memberships
// and a source with too many boards of teams each get one clear error, and nothing is stored.
func TestBoundsOfTeams(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	makeTeamBoards(t, s, conn)
	ctx := t.Context()
	if _, err := s.Teams.Join(ctx, "sum-with", "ants", "ada", nil); err != nil {
		t.Fatal(err)
	}
	full := func(what string, err error, text string) {
		t.Helper()
		if wire.CodeOf(err) != wire.CodeConflict || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: got %v, want a conflict that says %q", what, err, text)
		}
	}
	stored := func() int64 { return conn.Count(t, `select count(*) from team_members`) }

	conn.Do(t, `update teams set members = $1 where team = 'ants'`, scoreboard.MaxTeamMembers)
	before := stored()
	_, err := s.Teams.Join(ctx, "sum-with", "ants", "bob", nil)
	full("one member more", err, "10000 members")
	if _, err := s.Teams.Join(ctx, "sum-with", "ants", "ada", nil); err != nil {
		t.Errorf("a member who joins again: %v", err)
	}
	conn.Do(t, `update teams set members = $1 - 1 where team = 'ants'`, scoreboard.MaxTeamMembers)
	if _, err := s.Teams.Join(ctx, "sum-with", "ants", "bob", nil); err != nil {
		t.Errorf("the last place: %v", err)
	}

	conn.Do(t, `update teams set members = 1, memberships = $1 where team = 'ants'`, scoreboard.MaxTeamMemberships)
	_, err = s.Teams.Join(ctx, "sum-with", "ants", "cyd", nil)
	full("one membership more", err, "50000 memberships")

	conn.Do(t, `insert into team_members (board_id, team, user_id, joined_at, joined_score, left_at, left_score)
select 'sum-with', 'bees', 'dan', now(), 0, now(), 0 from generate_series(1, $1::integer)`,
		scoreboard.MaxUserMemberships)
	_, err = s.Teams.Join(ctx, "sum-with", "bees", "dan", nil)
	full("one membership of a user more", err, "1000 memberships")
	for i := range scoreboard.MaxTeamBoards - 6 { // six are over arena
		makeTeamBoard(t, s, scoreboard.BoardID(fmt.Sprint("more", i)), teamBoards["sum-with"])
	}
	rule := teamBoards["sum-with"]
	_, err = s.Boards.CreateBoard(ctx, &scoreboard.Board{
		ID: "one-more", Team: &rule, Period: scoreboard.PeriodNone, TimeZone: "UTC", WeekStart: time.Monday,
		MinScore: -scoreboard.MaxScore, MaxScore: scoreboard.MaxScore,
	}, nil, &scoreboard.AuditEntry{Actor: "op", Action: "board.create", Target: "board:one-more"})
	if err == nil || !strings.Contains(err.Error(), "10") || wire.CodeOf(err) == wire.CodeInternal {
		t.Errorf("one board of teams more: got %v, want an error that says how many a source can have", err)
	}
	if n := stored(); n != before+1+scoreboard.MaxUserMemberships {
		t.Errorf("%d memberships are stored, want %d", n, before+1+scoreboard.MaxUserMemberships)
	}
}

// A partition of the outbox waits until the teams have its changes, unless nobody has computed
// them for five minutes.
func TestOutboxWaitsForTeams(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	makeTeamBoards(t, s, conn)
	if _, err := s.Teams.Join(t.Context(), "sum-with", "ants", "ada", nil); err != nil {
		t.Fatal(err)
	}
	computeTeams(t, s, conn)
	waits := func() bool {
		t.Helper()
		return conn.Count(t, `select count(*) from pg_inherits as i join pg_class as c on c.oid = i.inhrelid
where i.inhparent = 'outbox_score_updates'::regclass and outbox_partition_waits(c.relname::text)`) > 0
	}
	outcomes, err := s.Increments.Record(t.Context(), []scoreboard.Increment{increment("ada", 5, "e", "arena")})
	if err != nil || outcomes[0].Err != nil {
		t.Fatal(outcomes, err)
	}
	// The relays and the standings are ahead.
	conn.Do(t, `insert into relay_shards (shard, cursor_xid, cursor_id) select 0, '1000000000', 0
on conflict (shard) do update set cursor_xid = '1000000000'`)
	conn.Do(t, `update standings_cursors set cursor_xid = '1000000000'`)
	if !waits() {
		t.Error("the partition does not wait, although the teams lack a change")
	}
	conn.Do(t, `update team_state set passed_at = now() - interval '6 minutes'`)
	if waits() {
		t.Error("the partition waits for teams that nobody has computed for six minutes")
	}
	conn.Do(t, `update team_state set passed_at = now()`)
	for deadline := time.Now().Add(20 * time.Second); waits(); time.Sleep(10 * time.Millisecond) {
		computeTeams(t, s, conn)
		if time.Now().After(deadline) {
			t.Fatal("the partition waits, although the teams have all changes")
		}
	}
}
