package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
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

// tournament creates a board with a season, called one, that users join; it begins in before, or has begun.
func tournament(
	t testing.TB, s *store.Store, name scoreboard.BoardID, before time.Duration, rule scoreboard.JoinRule,
) scoreboard.BoardID {
	t.Helper()
	start := time.Now().Add(before)
	rule.Required = true
	_, err := s.Boards.CreateBoard(t.Context(), &scoreboard.Board{
		ID: name, Mode: scoreboard.ModeBest, Order: scoreboard.OrderHighest, Period: scoreboard.PeriodSeason,
		TimeZone: "UTC", WeekStart: time.Monday, MaxDelta: 1000, MaxScore: scoreboard.MaxScore, Public: true,
		Join: rule,
	}, &scoreboard.Span{Name: "one", Start: start, End: start.Add(2 * time.Hour)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return name + ":one"
}

// checkPlayers fails the test unless the count of a period is that of its players, and returns it.
func checkPlayers(t testing.TB, conn *backends.Conn, id scoreboard.BoardID) int64 {
	t.Helper()
	n := conn.Count(t, `select count(*) from board_players where board_id = $1`, id)
	if c := conn.Count(t, `select coalesce(sum(players), 0) from board_player_counts where board_id = $1`, id); c != n {
		t.Errorf("%s has %d players and counts %d", id, n, c)
	}
	return n
}

func joinCode(t *testing.T, s *store.Store, name scoreboard.BoardID, user scoreboard.UserID) wire.Code {
	t.Helper()
	_, err := s.Players.Join(t.Context(), name, user, nil)
	return wire.CodeOf(err)
}

// Several hundred users join at once through two nodes, each twice: as many as there are places have joined, and each
// of
// them knows.
func TestTournamentTakesItsMaximum(t *testing.T) {
	t.Parallel()
	one, conn := storetest.New(t)
	stores := []*store.Store{one, storetest.Open(t, conn.URL)}
	id := tournament(t, one, "cup", time.Hour, scoreboard.JoinRule{MaxPlayers: 100})
	var joined sync.Map
	var full atomic.Int64
	var all sync.WaitGroup
	for n := range 800 {
		all.Go(func() {
			user := scoreboard.UserID(fmt.Sprint("u", n/2))
			p, err := stores[n%2].Players.Join(t.Context(), []scoreboard.BoardID{"cup", id}[n/2%2], user, nil)
			switch code := wire.CodeOf(err); {
			case code == wire.CodeTournamentFull:
				full.Add(1)
			case err != nil:
				t.Errorf("%s: %v", user, err)
			case p.Board.ID != id || p.Joined.IsZero() || p.Players > 100:
				t.Errorf("%s: %+v", user, p)
			default:
				joined.Store(user, true)
			}
		})
	}
	all.Wait()
	n := 0
	joined.Range(func(any, any) bool { n++; return true })
	if got := checkPlayers(t, conn, id); got != 100 || n != 100 || full.Load() != 600 {
		t.Errorf("%d have joined, %d know, %d were rejected; want 100, 100 and 600", got, n, full.Load())
	}
	if got := conn.Count(t, `select count(*) from users where user_id like 'u%'`); got != 100 {
		t.Errorf("%d users are stored, want those who have joined", got)
	}
	// A smaller maximum removes nobody, and lets nobody in.
	change := &scoreboard.BoardChange{Join: &scoreboard.JoinChange{MaxPlayers: new(int64(50))}}
	if _, err := one.Boards.ChangeBoard(t.Context(), "cup", change, nil); err != nil {
		t.Fatal(err)
	}
	leave := func(user any, _ any) bool {
		if _, err := one.Players.Leave(t.Context(), "cup", user.(scoreboard.UserID), nil); err != nil {
			t.Error(err)
		}
		n--
		if code := joinCode(t, one, "cup", "new"); (n >= 50) != (code == wire.CodeTournamentFull) {
			t.Errorf("a join beside %d players: %q", n, code)
		}
		return n >= 50
	}
	joined.Range(leave)
	if got := checkPlayers(t, conn, id); got != 50 {
		t.Errorf("%d players, want 50", got)
	}
}

// Ten thousand users join within moments, while others submit to another board.
func TestTenThousandJoins(t *testing.T) {
	t.Parallel()
	users, places := 10_000, int64(9_000)
	if testing.Short() {
		users, places = 1_000, 900
	}
	one, conn := storetest.New(t)
	stores := []*store.Store{one, storetest.Open(t, conn.URL)}
	id := tournament(t, one, "cup", time.Hour, scoreboard.JoinRule{MaxPlayers: places})
	done := make(chan struct{})
	var submitting sync.WaitGroup
	var slowest atomic.Int64 // submission
	submitting.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			default:
			}
			began := time.Now()
			record(t, one, increment("eve", 1, fmt.Sprint("e", n)))
			slowest.Store(max(slowest.Load(), int64(time.Since(began))))
		}
	})
	waits := make([]time.Duration, users)
	var full atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for n := range users {
		all.Go(func() {
			_, err := stores[n%2].Players.Join(t.Context(), "cup", scoreboard.UserID(fmt.Sprint("u", n)), nil)
			waits[n] = time.Since(began)
			if wire.CodeOf(err) == wire.CodeTournamentFull {
				full.Add(1)
			} else if err != nil {
				t.Errorf("join: %v", err)
			}
		})
	}
	all.Wait()
	close(done)
	submitting.Wait()
	slices.Sort(waits)
	t.Logf("%d joins: p50 %s, p99 %s, last %s; slowest submission meanwhile %s", users, waits[users/2],
		waits[users*99/100], waits[users-1], time.Duration(slowest.Load()))
	if got := checkPlayers(t, conn, id); got != places || full.Load() != int64(users)-places {
		t.Errorf("%d have joined and %d were rejected, want %d and %d", got, full.Load(), places, int64(users)-places)
	}
}

// What a player may do before the start, after it and after the end, by the name of the board and of the period.
func TestJoinsAndLeaves(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	id := tournament(t, s, "cup", time.Hour, scoreboard.JoinRule{})
	next := time.Now().Add(5 * time.Hour)
	later := scoreboard.Span{Name: "two", Start: next, End: next.Add(time.Hour)}
	if _, err := s.Boards.BeginSeason(t.Context(), "cup", later, false, nil); err != nil {
		t.Fatal(err)
	}
	join := func(what string, name scoreboard.BoardID, user scoreboard.UserID, want wire.Code,
		period scoreboard.BoardID,
	) {
		t.Helper()
		p, err := s.Players.Join(t.Context(), name, user, nil)
		if got := wire.CodeOf(err); got != want || err == nil && p.Board.ID != period {
			t.Errorf("%s: got %+v, %v, want %q of %s", what, p, err, want, period)
		}
	}
	leave := func(what string, name scoreboard.BoardID, user scoreboard.UserID, want wire.Code) {
		t.Helper()
		p, err := s.Players.Leave(t.Context(), name, user, nil)
		if got := wire.CodeOf(err); got != want || err == nil && !p.Joined.IsZero() {
			t.Errorf("%s: got %+v, %v, want %q", what, p, err, want)
		}
	}
	submit := func(what string, user scoreboard.UserID, want wire.Code) {
		t.Helper()
		if o := record(t, s, increment(user, 5, what, "cup"))[0]; wire.CodeOf(o.Err) != want {
			t.Errorf("%s: got %v, want %q", what, o.Err, want)
		}
	}
	record(t, s, increment("ban", 1, "e"), increment("ice", 1, "e"))
	if _, err := s.Moderation.Ban(t.Context(), "ban", because("user.ban", "ban")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Moderation.Freeze(t.Context(), "ice", because("user.freeze", "ice")); err != nil {
		t.Fatal(err)
	}
	join("before the start", "cup", "ada", "", id)
	join("again", id, "ada", "", id)
	join("the next period", "cup:two", "ada", "", "cup:two")
	join("a banned user", "cup", "ban", wire.CodeForbidden, "")
	join("a frozen user", "cup", "ice", wire.CodeForbidden, "")
	join("no such period", "cup:three", "ada", wire.CodeNotFound, "")
	join("no such board", "none", "ada", wire.CodeNotFound, "")
	join("a board without periods", "global", "ada", wire.CodeRuleViolated, "")
	join("one who leaves", "cup", "bob", "", id)
	leave("before the start", "cup", "bob", "")
	leave("again", id, "bob", "")
	leave("a stranger", "cup", "nobody", "")
	leave("a board without periods", "global", "bob", wire.CodeRuleViolated)
	submit("e0", "ada", wire.CodeBoardClosed)
	for _, user := range []scoreboard.UserID{"cy", "dan"} {
		join("a player", "cup", user, "", id)
	}

	conn.Do(t, `update boards set period_start = clock_timestamp() - interval '1 s' where board_id = $1`, id)
	join("after the start", id, "eve", wire.CodeJoinClosed, "")
	join("a repeat after the start", id, "ada", "", id)
	join("after the start, by the board's name", "cup", "eve", "", "cup:two")
	leave("after the start", id, "ada", wire.CodeJoinClosed)
	submit("e1", "ada", "")
	submit("e2", "eve", wire.CodeNotJoined)
	submit("e3", "nobody", wire.CodeNotJoined)
	if n := conn.Count(t, `select count(*) from users where user_id = 'nobody'`); n != 0 {
		t.Error("a rejected user is stored")
	}
	add := func(what string, user scoreboard.UserID, want wire.Code) {
		t.Helper()
		if _, err := s.Players.Add(t.Context(), id, user, because("player.add", user)); wire.CodeOf(err) != want {
			t.Errorf("%s: got %v, want %q", what, err, want)
		}
	}
	add("by an operator", "eve", "")
	add("again", "eve", "")
	add("a banned user", "ban", wire.CodeForbidden)
	submit("e4", "eve", "")
	if _, err := s.Players.Remove(t.Context(), id, "ada", because("player.remove", "ada")); err != nil {
		t.Error(err)
	}
	_, err := s.Players.Remove(t.Context(), id, "ada", because("player.remove", "ada"))
	if wire.CodeOf(err) != wire.CodeNotFound {
		t.Errorf("removed again: %v", err)
	}
	submit("e5", "ada", wire.CodeNotJoined)
	submit("e1", "ada", "") // a repeat
	late := &scoreboard.BoardChange{Join: &scoreboard.JoinChange{Late: new(true)}}
	if _, err := s.Boards.ChangeBoard(t.Context(), "cup", late, nil); err != nil {
		t.Fatal(err)
	}
	join("late", "cup", "ada", "", id)
	submit("e5", "ada", "")

	// An erasure frees the place.
	if _, err := s.Privacy.BeginErasure(t.Context(), "cy", because("user.erase", "cy")); err != nil {
		t.Fatal(err)
	}
	join("an erased user", "cup", "cy", wire.CodeGone, "")
	var players []scoreboard.UserID
	for after := scoreboard.UserID(""); ; {
		page, err := s.Players.List(t.Context(), id, after, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, p := range page {
			players = append(players, p.User)
		}
		after = page[len(page)-1].User
	}
	if want := []scoreboard.UserID{"ada", "dan", "eve"}; !slices.Equal(players, want) {
		t.Errorf("players are %v, want %v", players, want)
	}
	if p, err := s.Players.Participation(t.Context(), "cup", "dan"); err != nil || p.Players != 3 || p.Joined.IsZero() {
		t.Errorf("got %+v, %v, want dan among 3", p, err)
	}

	// A period that has ended is frozen soon afterwards. That makes no difference.
	conn.Do(t, `update boards set status = 'frozen', period_end = clock_timestamp() where board_id = $1`, id)
	join("after the end", id, "fay", wire.CodeJoinClosed, "")
	conn.Do(t, `update boards set status = 'active', period_end = now() + interval '1 h' where board_id = $1`, id)

	// A rule applies to periods that begin later.
	open := &scoreboard.BoardChange{Join: &scoreboard.JoinChange{Required: new(false)}}
	if _, err := s.Boards.ChangeBoard(t.Context(), "cup", open, nil); err != nil {
		t.Fatal(err)
	}
	submit("e6", "nobody", wire.CodeNotJoined)
	join("an open period", "cup:two", "dan", wire.CodeRuleViolated, "")
	if _, err := s.Boards.FreezeBoard(t.Context(), "cup", nil); err != nil {
		t.Fatal(err)
	}
	join("a frozen board", id, "fay", wire.CodeBoardClosed, "")
	checkPlayers(t, conn, id)
	checkPlayers(t, conn, "cup:two")
}

// Users and operators do everything at random through two nodes. Each user's outcomes are those of a model that knows
// who has joined, and no period has more players than its maximum, less than its count, or a free place at the end.
func TestTournamentsMatchAModel(t *testing.T) {
	t.Parallel()
	one, conn := storetest.New(t)
	stores := []*store.Store{one, storetest.Open(t, conn.URL)}
	const places = 12
	coming := tournament(t, one, "coming", time.Hour, scoreboard.JoinRule{MaxPlayers: places})
	running := tournament(t, one, "running", -time.Minute, scoreboard.JoinRule{MaxPlayers: places, Late: true})
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			for _, id := range []scoreboard.BoardID{coming, running} {
				if n := conn.Count(t, `select count(*) from board_players where board_id = $1`, id); n > places {
					t.Errorf("%s has %d players", id, n)
				}
			}
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
	var all sync.WaitGroup
	for n := range 30 {
		all.Go(func() {
			u := &modelPlayer{t: t, stores: stores, user: scoreboard.UserID(fmt.Sprint("u", n)), dice: rand.New(
				rand.NewPCG(uint64(n), 7))}
			for step := 0; step < 25 && !u.erased; step++ {
				u.step(coming, running, step)
			}
		})
	}
	all.Wait()
	close(stop)
	watching.Wait()
	for _, id := range []scoreboard.BoardID{coming, running} {
		had := checkPlayers(t, conn, id)
		for n := range places + 1 {
			user := scoreboard.UserID(fmt.Sprint("last", n))
			want := wire.Code("")
			if had+int64(n) >= places {
				want = wire.CodeTournamentFull
			}
			if code := joinCode(t, one, id, user); code != want {
				t.Errorf("%s: join %d beside %d: got %q, want %q", id, n, had, code, want)
			}
		}
		if n := checkPlayers(t, conn, id); n != places {
			t.Errorf("%s has %d players, want %d", id, n, places)
		}
	}
}

// modelPlayer is a user of TestTournamentsMatchAModel, who acts alone.
type modelPlayer struct {
	t              *testing.T
	stores         []*store.Store
	user           scoreboard.UserID
	dice           *rand.Rand
	joined         map[scoreboard.BoardID]bool
	banned, erased bool
}

func (u *modelPlayer) step(coming, running scoreboard.BoardID, step int) {
	if u.joined == nil {
		u.joined = make(map[scoreboard.BoardID]bool)
	}
	t, s := u.t, u.stores[u.dice.IntN(2)]
	id := []scoreboard.BoardID{coming, running}[u.dice.IntN(2)]
	want := func(what string, err error, allowed ...wire.Code) bool {
		code := wire.CodeOf(err)
		if !slices.Contains(allowed, code) {
			t.Errorf("%s, step %d: %s %s: got %v, want one of %q", u.user, step, what, id, err, allowed)
		}
		return code == ""
	}
	why := because("test", u.user)
	switch u.dice.IntN(12) {
	case 0, 1, 2, 3:
		_, err := s.Players.Join(t.Context(), []scoreboard.BoardID{id, id.Family()}[u.dice.IntN(2)], u.user, nil)
		switch {
		case u.joined[id]:
			want("join", err, "")
		case u.banned:
			want("join", err, wire.CodeForbidden)
		default:
			u.joined[id] = want("join", err, "", wire.CodeTournamentFull)
		}
	case 4, 5:
		_, err := s.Players.Leave(t.Context(), id, u.user, nil)
		if id == running {
			want("leave", err, wire.CodeJoinClosed)
		} else if want("leave", err, "") {
			u.joined[id] = false
		}
	case 6, 7, 8:
		o := recordUntilDone(t, s, []scoreboard.Increment{increment(u.user, 5, fmt.Sprint("e", step), "running")})
		switch {
		case u.banned:
			want("submit", o[0].Err, wire.CodeForbidden)
		case u.joined[running]:
			want("submit", o[0].Err, "")
		default:
			want("submit", o[0].Err, wire.CodeNotJoined)
		}
	case 9:
		_, err := s.Players.Remove(t.Context(), id, u.user, why)
		if u.joined[id] {
			want("remove", err, "")
		} else {
			want("remove", err, wire.CodeNotFound)
		}
		u.joined[id] = false
	case 10:
		do := s.Moderation.Ban
		if u.banned {
			do = s.Moderation.Unban
		}
		_, err := do(t.Context(), u.user, why)
		var e *scoreboard.Error
		if err == nil {
			u.banned = !u.banned
		} else if !errors.As(err, &e) || e.Code != wire.CodeNotFound { // nothing is stored about the user
			t.Errorf("%s: %v", u.user, err)
		}
	case 11:
		if step < 15 {
			return
		}
		_, err := s.Privacy.BeginErasure(t.Context(), u.user, why)
		if want("erase", err, "", wire.CodeNotFound) {
			u.erased, u.joined = true, nil
			_, err = s.Players.Join(t.Context(), id, u.user, nil)
			want("join once erased", err, wire.CodeGone)
		}
	}
}

// Nothing is read about players for boards that everybody may submit to.
func TestOpenBoardsReadNoPlayers(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t, func(o *store.Options) { o.MaxConns = 1 })
	cup(t, s, "cup", scoreboard.OrderHighest, nil, nil)
	for n := range 20 {
		event := fmt.Sprint("e", n)
		for _, o := range record(t, s, increment("ada", 5, event, "cup"), increment("bob", 1, event)) {
			if o.Err != nil {
				t.Fatal(o.Err)
			}
		}
	}
	s.Close()
	for _, table := range []string{"board_players", "board_player_counts"} {
		if got := storetest.TableReads(t, conn)[table]; got.Scanned+got.Indexed > 0 {
			t.Errorf("%s: read %+v", table, got)
		}
	}
}
