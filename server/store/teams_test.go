package store_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// teamBoards are the boards of teams in the tests, by name: every aggregate with every rule
// for moves, over a board in mode increment, and two over one where the lowest is the best.
var teamBoards = map[scoreboard.BoardID]scoreboard.TeamRule{
	"sum-now":   {Source: "arena", Aggregate: scoreboard.AggregateSum, Moves: scoreboard.MovesFromNow},
	"sum-with":  {Source: "arena", Aggregate: scoreboard.AggregateSum, Moves: scoreboard.MovesWithPoints},
	"avg-now":   {Source: "arena", Aggregate: scoreboard.AggregateAverage, Moves: scoreboard.MovesFromNow},
	"avg-with":  {Source: "arena", Aggregate: scoreboard.AggregateAverage, Moves: scoreboard.MovesWithPoints},
	"best-now":  {Source: "arena", Aggregate: scoreboard.AggregateBest, Best: 2, Moves: scoreboard.MovesFromNow},
	"best-with": {Source: "arena", Aggregate: scoreboard.AggregateBest, Best: 2, Moves: scoreboard.MovesWithPoints},
	"best-low":  {Source: "race", Aggregate: scoreboard.AggregateBest, Best: 2, Moves: scoreboard.MovesWithPoints},
	"avg-low":   {Source: "race", Aggregate: scoreboard.AggregateAverage, Moves: scoreboard.MovesWithPoints},
}

// makeTeamBoards creates teamBoards and their sources.
func makeTeamBoards(t testing.TB, s *store.Store, conn *backends.Conn) {
	t.Helper()
	createBoard(t, conn, "arena", "increment", "highest", -1000, 1000)
	createBoard(t, conn, "race", "best", "lowest", 0, 1000)
	for id, rule := range teamBoards {
		makeTeamBoard(t, s, id, rule)
	}
}

func makeTeamBoard(
	t testing.TB, s *store.Store, id scoreboard.BoardID, rule scoreboard.TeamRule,
) *scoreboard.Board {
	t.Helper()
	board, err := s.Boards.CreateBoard(t.Context(), &scoreboard.Board{
		ID: id, Team: &rule, Period: scoreboard.PeriodNone, TimeZone: "UTC", WeekStart: time.Monday, Public: true,
		MinScore: -scoreboard.MaxScore, MaxScore: scoreboard.MaxScore,
	}, nil, &scoreboard.AuditEntry{Actor: "op", Action: "board.create", Target: "board:" + string(id)})
	if err != nil {
		t.Fatal(err)
	}
	return board
}

func goOn(context.Context) error { return nil }

// computeTeams makes passes until everything that was committed before is in the scores.
func computeTeams(t testing.TB, s *store.Store, conn *backends.Conn) {
	t.Helper()
	// Transactions of other tests hold the horizon back.
	var began uint64
	row := conn.QueryRow(t.Context(), `select pg_snapshot_xmax(pg_current_snapshot())`)
	if err := row.Scan(&began); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		if _, err := s.Teams.Update(t.Context(), goOn); err != nil {
			t.Fatal(err)
		}
		if conn.Count(t, `select count(*) from team_state where cursor_xid >= $1::text::xid8
and not exists (select from team_changes)`, strconv.FormatUint(began, 10)) == 1 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("teams are behind after 20 s")
		}
	}
}

// modelUser is a user of the model: the scores on the two sources, and the memberships.
type modelUser struct {
	arena, race int64
	plays, runs bool // has a score on them
	banned      bool
	events      []string // that may be reversed
	deltas      map[string]int64
	stints      map[scoreboard.BoardID][]stint
}

type stint struct {
	team        scoreboard.Team
	joined, end int64
	open        bool
}

// naive is the score that a team should have, straight from the definition.
func naive(id scoreboard.BoardID, team scoreboard.Team, users []*modelUser) (score int64, ok bool) {
	rule := teamBoards[id]
	var all []int64
	for _, u := range users {
		score, has := u.arena, u.plays
		if rule.Source == "race" {
			score, has = u.race, u.runs
		}
		if !has || u.banned {
			continue
		}
		points, counts := int64(0), false
		for _, s := range u.stints[id] {
			switch {
			case s.team != team:
			case rule.Moves == scoreboard.MovesWithPoints && s.open:
				points, counts = score, true
			case rule.Moves == scoreboard.MovesFromNow && s.open:
				points, counts = points+score-s.joined, true
			case rule.Moves == scoreboard.MovesFromNow:
				points, counts = points+s.end-s.joined, true
			}
		}
		if counts {
			all = append(all, points)
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	slices.Sort(all)
	if rule.Source == "arena" {
		slices.Reverse(all)
	}
	if rule.Aggregate == scoreboard.AggregateBest {
		if rule.Source == "race" && len(all) < rule.Best {
			return 0, false
		}
		all = all[:min(rule.Best, len(all))]
	}
	for _, p := range all {
		score += p
	}
	if rule.Aggregate == scoreboard.AggregateAverage {
		score = int64(math.Round(float64(score) / float64(len(all))))
	}
	return score, true
}

// checkTeams compares all teams with the model, and the ledger with the scores.
func checkTeams(t *testing.T, s *store.Store, conn *backends.Conn, teams []scoreboard.Team, users []*modelUser) {
	t.Helper()
	for id := range teamBoards {
		for _, team := range teams {
			want, ok := naive(id, team, users)
			got := conn.Count(t, `select coalesce((select score from scores
where user_id = $1 and board_id = $2 and not empty), -999999)`, team.User(), id)
			if ok && got != want || !ok && got != -999999 {
				t.Errorf("board %s, team %s: got %d, want %d (%t)", id, team, got, want, ok)
			}
		}
		board, err := s.Boards.FindBoard(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if found, _, err := s.Teams.Differences(t.Context(), board, "", 1000); err != nil || len(found) > 0 {
			t.Errorf("board %s: got %+v, %v, want no differences", id, found, err)
		}
	}
	for what, sql := range map[string]string{
		"scores that differ from their ledger": `select count(*) from scores as s where score <> (
select coalesce(sum(applied), 0) from user_score_histories as h where h.user_id = s.user_id and h.board_id = s.board_id)
or version <> (select count(*) from user_score_histories as h where h.user_id = s.user_id and h.board_id = s.board_id)`,
		"teams with a wrong number of members": `select count(*) from teams as t where members <> (select count(*)
from team_members as m where m.board_id = t.board_id and m.team = t.team and left_at is null)
or memberships < (select count(*) from team_members as m where m.board_id = t.board_id and m.team = t.team)`,
		"overlapping memberships": `select count(*) from team_members as a join team_members as b
on a.user_id = b.user_id and a.board_id = b.board_id and a.membership_id < b.membership_id
where a.left_at is null or a.left_at > b.joined_at`,
		"outbox rows without the last score": `select count(*) from scores as s where revision <> (
select max(revision) from outbox_score_updates as o where o.user_id = s.user_id and o.board_id = s.board_id)`,
	} {
		if n := conn.Count(t, sql); n != 0 {
			t.Errorf("%d %s", n, what)
		}
	}
}

// teamSeed is the seed of the test, from the environment for another one.
func teamSeed(t *testing.T) uint64 {
	seed, err := strconv.ParseUint(os.Getenv("TEAMS_SEED"), 10, 64)
	if err != nil {
		return 1
	}
	t.Logf("seed %d", seed)
	return seed
}

// Users submit, join, leave, move, are banned and corrected, all at a time, while two
// processes compute the teams, and connections are lost at any message. Then every team has
// what a naive model says: no point is lost or counted twice.
func TestTeamsAgainstModelUnderFaults(t *testing.T) {
	t.Parallel()
	s, conn, p := behindProxy(t, func(o *store.Options) { o.MaxConns = 12 })
	makeTeamBoards(t, s, conn)
	const actors, perActor, changes = 6, 3, 45
	teams := []scoreboard.Team{"ants", "bees", "cats"}
	users := make([]*modelUser, actors*perActor)
	for i := range users {
		users[i] = &modelUser{deltas: map[string]int64{}, stints: map[scoreboard.BoardID][]stint{}}
	}
	seed := teamSeed(t)
	var messages, lost atomic.Int64
	faults := rand.New(rand.NewPCG(seed, 99))
	var guard sync.Mutex
	p.watch(func(m message) effect {
		messages.Add(1)
		guard.Lock()
		defer guard.Unlock()
		switch faults.IntN(400) {
		case 0:
			lost.Add(1)
			return effect{cut: true}
		case 1:
			if !m.answer && m.commit {
				lost.Add(1)
				return effect{late: time.After(20 * time.Millisecond)}
			}
		}
		return effect{}
	})
	ctx, stop := context.WithCancel(t.Context())
	var computing, all sync.WaitGroup
	var passes, recorded atomic.Int64
	for range 2 {
		computing.Go(func() {
			for ctx.Err() == nil {
				pass, err := s.Teams.Update(ctx, goOn)
				if err == nil {
					passes.Add(1)
				}
				recorded.Add(int64(pass.Recorded))
				time.Sleep(time.Millisecond)
			}
		})
	}
	var done atomic.Int64
	for w := range actors {
		all.Go(func() {
			a := &teamActor{t: t, s: s, random: rand.New(rand.NewPCG(seed, uint64(w)))}
			for n := range changes {
				i := w*perActor + a.random.IntN(perActor)
				a.change(scoreboard.UserID(fmt.Sprintf("u%d", i)), users[i], fmt.Sprintf("e%d", n), teams)
				done.Add(1)
			}
		})
	}
	all.Wait()
	stop()
	computing.Wait()
	p.watch(nil)
	computeTeams(t, s, conn)
	checkTeams(t, s, conn, teams, users)
	t.Logf("seed %d: %d changes, %d passes, %d scores of teams recorded while they ran, %d of %d messages lost",
		seed, done.Load(), passes.Load(), recorded.Load(), lost.Load(), messages.Load())
	if lost.Load() < 5 || passes.Load() < 5 || recorded.Load() == 0 {
		t.Error("too few faults or passes: the test is vacuous")
	}
	// Nothing changes when it is computed again, from nothing.
	before := conn.Count(t, `select count(*) from user_score_histories`)
	conn.Do(t, `update team_state set cluster = null`)
	computeTeams(t, s, conn)
	if after := conn.Count(t, `select count(*) from user_score_histories`); after != before {
		t.Errorf("%d rows were recorded again", after-before)
	}
}

// teamActor changes some users, one change after the other.
type teamActor struct {
	t      *testing.T
	s      *store.Store
	random *rand.Rand
}

// until repeats do, as a client does, until it is known to be done.
func (a *teamActor) until(do func() error) {
	for range 200 {
		err := do()
		if err == nil {
			return
		}
		if code := wire.CodeOf(err); code != wire.CodeUnavailable && code != wire.CodeOverloaded {
			a.t.Errorf("change: %v", err)
			return
		}
	}
	a.t.Error("a change was not made after 200 attempts")
}

func (a *teamActor) change(user scoreboard.UserID, u *modelUser, event string, teams []scoreboard.Team) {
	ctx := a.t.Context()
	why := func() *scoreboard.AuditEntry {
		return &scoreboard.AuditEntry{Actor: "op", Action: "user.test", Target: "user:" + string(user)}
	}
	switch kind := a.random.IntN(22); {
	case kind < 8:
		if u.banned {
			return
		}
		delta := a.random.Int64N(60) - 9
		if delta == 0 {
			delta = 1
		}
		a.submit(increment(user, delta, event, "arena"))
		u.arena, u.plays, u.deltas[event] = u.arena+delta, true, delta
		u.events = append(u.events, event)
	case kind < 10:
		if u.banned {
			return
		}
		score := a.random.Int64N(1000)
		a.submit(increment(user, score, event+"-race", "race"))
		if !u.runs || score < u.race {
			u.race = score
		}
		u.runs = true
	case kind < 15:
		board, team := a.board(), teams[a.random.IntN(len(teams))]
		a.until(func() error {
			_, err := a.s.Teams.Join(ctx, board, team, user, nil)
			return err
		})
		u.move(board, team)
	case kind < 17:
		board, team := a.board(), teams[a.random.IntN(len(teams))]
		a.until(func() error {
			_, err := a.s.Teams.Leave(ctx, board, team, user, nil)
			if wire.CodeOf(err) == wire.CodeNotFound {
				return nil
			}
			return err
		})
		if open := u.open(board); open != nil && open.team == team {
			u.move(board, "")
		}
	case kind < 18:
		if !u.plays && !u.runs {
			return
		}
		change := a.s.Moderation.Ban
		if u.banned {
			change = a.s.Moderation.Unban
		}
		a.until(func() error {
			_, err := change(ctx, user, why())
			return err
		})
		u.banned = !u.banned
	case kind < 19:
		if len(u.events) == 0 {
			return
		}
		event := u.events[0]
		u.events = u.events[1:]
		id, _ := scoreboard.ParseEventID(user, event)
		a.until(func() error {
			_, _, err := a.s.Corrections.Reverse(ctx, user, id, scoreboard.Reversing{}, why())
			return err
		})
		u.arena -= u.deltas[event]
	case kind > 19: // private users count
		to := []scoreboard.Visibility{scoreboard.VisibilityPublic, scoreboard.VisibilityPrivate}[kind-20]
		a.until(func() error {
			_, _, err := a.s.Visibility.Put(ctx, user, to, why())
			return err
		})
	default:
		if !u.plays {
			return
		}
		id, _ := scoreboard.ParseEventID(user, event+"-adjust")
		a.until(func() error {
			_, err := a.s.Corrections.Adjust(ctx, scoreboard.Adjustment{
				User: user, Board: "arena", Delta: 7, Event: id,
			}, why())
			return err
		})
		u.arena += 7
	}
}

func (a *teamActor) submit(in scoreboard.Increment) {
	a.until(func() error {
		outcomes, err := a.s.Increments.Record(a.t.Context(), []scoreboard.Increment{in})
		if err == nil && errors.Is(outcomes[0].Err, scoreboard.ErrUserLocked) {
			return scoreboard.Errorf(wire.CodeUnavailable, "locked")
		}
		if err == nil {
			err = outcomes[0].Err
		}
		return err
	})
}

func (a *teamActor) board() scoreboard.BoardID {
	names := make([]scoreboard.BoardID, 0, len(teamBoards))
	for id := range teamBoards {
		names = append(names, id)
	}
	slices.Sort(names)
	return names[a.random.IntN(len(names))]
}

// open is the membership of a board that has not ended; nil if there is none.
func (u *modelUser) open(board scoreboard.BoardID) *stint {
	stints := u.stints[board]
	if n := len(stints); n > 0 && stints[n-1].open {
		return &stints[n-1]
	}
	return nil
}

// move ends the membership of another team, and begins that of a team, unless it is "".
func (u *modelUser) move(board scoreboard.BoardID, to scoreboard.Team) {
	score := u.arena
	if teamBoards[board].Source == "race" {
		score = u.race
	}
	if s := u.open(board); s != nil {
		if s.team == to {
			return
		}
		s.open, s.end = false, score
	}
	if to != "" {
		u.stints[board] = append(u.stints[board], stint{team: to, joined: score, open: true})
	}
}

// A member's increment that commits after a pass has read later ones is in the next pass: the
// cursor stays below the oldest running transaction.
func TestTeamsCountIncrementsThatCommitLate(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	createBoard(t, conn, "arena", "increment", "highest", 1, 1000)
	board := makeTeamBoard(t, s, "clans", scoreboard.TeamRule{
		Source: "arena", Aggregate: scoreboard.AggregateSum, Moves: scoreboard.MovesWithPoints,
	})
	record(t, s, increment("ada", 10, "e1", "arena"), increment("bob", 1, "e2", "arena"))
	for _, user := range []scoreboard.UserID{"ada", "bob"} {
		if _, err := s.Teams.Join(t.Context(), "clans", "red", user, nil); err != nil {
			t.Fatal(err)
		}
	}
	computeTeams(t, s, conn)
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		`insert into outbox_score_updates (shard, event_id, user_id, board_id, score, delta, order_key, version,
    revision, reached_at, recorded_at)
select shard, gen_random_uuid(), user_id, board_id, score + 5, 5, order_key - 5, version + 1, revision + 1, reached_at,
    recorded_at from outbox_score_updates where user_id = 'ada' and board_id = 'arena'`,
		`update scores set score = score + 5, order_key = order_key - 5, version = version + 1, revision = revision + 1
where user_id = 'ada' and board_id = 'arena'`,
	} {
		if _, err := tx.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	record(t, s, increment("bob", 1, "e3", "arena"))
	for range 2 {
		if _, err := s.Teams.Update(t.Context(), goOn); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	computeTeams(t, s, conn)
	if got := conn.Count(t, `select score from scores where user_id = 'team:red' and board_id = 'clans'`); got != 17 {
		t.Errorf("team red has %d points, want 17", got)
	}
	if found, _, err := s.Teams.Differences(t.Context(), board, "", 10); err != nil || len(found) > 0 {
		t.Errorf("got %+v, %v, want no differences", found, err)
	}
}

// A member who left before the first score counts for the average with it: a member more, who
// gained nothing.
func TestTeamsCountFirstScoreOfFormerMember(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	createBoard(t, conn, "arena", "increment", "highest", 1, 1000)
	makeTeamBoard(t, s, "clans", scoreboard.TeamRule{
		Source: "arena", Aggregate: scoreboard.AggregateAverage, Moves: scoreboard.MovesFromNow,
	})
	for _, user := range []scoreboard.UserID{"ada", "bob"} {
		if _, err := s.Teams.Join(t.Context(), "clans", "red", user, nil); err != nil {
			t.Fatal(err)
		}
	}
	record(t, s, increment("ada", 90, "e1", "arena"))
	if _, err := s.Teams.Leave(t.Context(), "clans", "red", "bob", nil); err != nil {
		t.Fatal(err)
	}
	computeTeams(t, s, conn)
	const score = `select score from scores where user_id = 'team:red' and board_id = 'clans'`
	if got := conn.Count(t, score); got != 90 {
		t.Errorf("before the first score of bob: got %d, want 90", got)
	}
	record(t, s, increment("bob", 5, "e2", "arena"))
	computeTeams(t, s, conn)
	if got := conn.Count(t, score); got != 45 {
		t.Errorf("after the first score of bob: got %d, want 45", got)
	}
}

// A private user counts for a team until they are banned, and again afterwards, although neither
// hides or shows a score.
func TestBansOfPrivateUsersReachTheirTeams(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	makeTeamBoards(t, s, conn)
	const board = scoreboard.BoardID("sum-with")
	for user, delta := range map[scoreboard.UserID]int64{"ada": 30, "bob": 15} {
		if _, err := s.Teams.Join(t.Context(), board, "cats", user, nil); err != nil {
			t.Fatal(err)
		}
		record(t, s, increment(user, delta, "e", "arena"))
	}
	why := &scoreboard.AuditEntry{Actor: "op", Action: "user.test", Target: "user:bob"}
	if _, _, err := s.Visibility.Put(t.Context(), "bob", scoreboard.VisibilityPrivate, why); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change func(context.Context, scoreboard.UserID, *scoreboard.AuditEntry) (*scoreboard.UserState, error)
		want   int64
	}{{nil, 45}, {s.Moderation.Ban, 30}, {s.Moderation.Unban, 45}} {
		if c.change != nil {
			if _, err := c.change(t.Context(), "bob", why); err != nil {
				t.Fatal(err)
			}
		}
		computeTeams(t, s, conn)
		got := conn.Count(t, `select score from scores where user_id = 'team:cats' and board_id = $1`, board)
		if got != c.want {
			t.Errorf("got %d, want %d", got, c.want)
		}
	}
}
