package history_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// rankSample is the ranks of a board at an hour: users from rank 1.
type rankSample struct {
	hour     time.Time
	users    []scoreboard.UserID
	ranks    []int64 // nil: from 1
	repeated bool    // the board had not changed
}

func (s *rankSample) rank(user scoreboard.UserID) int64 {
	i := slices.Index(s.users, user)
	if i >= 0 && s.ranks != nil {
		return s.ranks[i]
	}
	return 1 + int64(i)
}

// allTimeOf computes the statistics of samples, one after the other.
func allTimeOf(samples []rankSample, user scoreboard.UserID) *scoreboard.AllTimeRanks {
	k := &scoreboard.AllTimeRanks{Since: samples[0].hour}
	days := make(map[string]bool)
	var before *rankSample
	for i := range samples {
		s := &samples[i]
		rank := s.rank(user)
		if rank > 0 && rank <= 10 {
			days[s.hour.Format(time.DateOnly)] = true
		}
		if s.repeated {
			continue
		}
		if rank > 0 && (k.BestRank == 0 || rank < k.BestRank) {
			k.BestRank, k.BestRankAt = rank, s.hour
		}
		if rank > 0 && before != nil && before.rank(user) > 0 {
			if ranks := before.rank(user) - rank; ranks > 0 && (k.Climb == nil || ranks > k.Climb.Ranks) {
				k.Climb = &scoreboard.RankClimb{Began: before.hour, Ended: s.hour, Ranks: ranks}
			}
		}
		before = s
	}
	if k.DaysInTop10 = int64(len(days)); k.BestRank == 0 {
		return nil
	}
	return k
}

func checkMarks(
	t *testing.T, s *store.Store, board scoreboard.BoardID, samples []rankSample, users []scoreboard.UserID,
) {
	t.Helper()
	for _, u := range users {
		got, err := s.PastBoards.AllTimeRanks(t.Context(), board, u)
		if err != nil {
			t.Fatal(err)
		}
		if want := allTimeOf(samples, u); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s on %s after %d samples:\n got %+v\nwant %+v", u, board, len(samples), got, want)
		}
	}
}

func someUsers(t *testing.T, s *store.Store, n int) (users []scoreboard.UserID) {
	t.Helper()
	for i := range n {
		users = append(users, scoreboard.UserID(fmt.Sprintf("u%02d", i)))
		submit(t, s, users[i], 1, "global")
	}
	return users
}

// All-time ranks are those of all samples of random ranks: with users who come and go, hours without a
// sample, hours without a change, and midnights. A repeated or late pass of another process counts
// nothing.
func TestMarksOfRandomRanks(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	other := storetest.Open(t, conn.URL)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	users := someUsers(t, s, 25)
	var samples []rankSample
	hour := time.Date(2026, 1, 30, 21, 0, 0, 0, time.UTC)
	add := func(node *store.Store, hour time.Time, ranks []scoreboard.UserID) {
		t.Helper()
		if err := node.PastBoards.AddRanks(t.Context(), "x", hour, ranks); err != nil {
			t.Fatal(err)
		}
	}
	for range 80 {
		ranks := slices.Clone(users)
		rng.Shuffle(len(ranks), func(i, j int) { ranks[i], ranks[j] = ranks[j], ranks[i] })
		ranks = ranks[:rng.IntN(len(ranks)+1)]
		last := hour
		hour = hour.Add(time.Duration(1+rng.IntN(9)) * time.Hour)
		if len(samples) > 0 && rng.IntN(3) == 0 {
			if err := s.PastBoards.RepeatRanks(t.Context(), "x", hour); err != nil {
				t.Fatal(err)
			}
			samples = append(samples, rankSample{hour: hour, users: samples[len(samples)-1].users, repeated: true})
		} else {
			add(s, hour, ranks)
			samples = append(samples, rankSample{hour: hour, users: ranks})
		}
		slices.Reverse(users)
		add(other, hour, users)
		add(other, last, users)
		if err := other.PastBoards.RepeatRanks(t.Context(), "x", hour); err != nil {
			t.Fatal(err)
		}
		checkMarks(t, s, "x", samples, users)
	}
}

// Of two processes that sample the same hour at once, one counts.
func TestTwoProcessesSampleOnce(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	nodes := []*store.Store{s, storetest.Open(t, conn.URL)}
	users := someUsers(t, s, 12)
	reversed := slices.Clone(users)
	slices.Reverse(reversed)
	hour := time.Date(2026, 1, 30, 21, 0, 0, 0, time.UTC)
	var samples []rankSample
	for range 20 {
		hour = hour.Add(time.Hour)
		var both sync.WaitGroup
		for i, ranks := range [][]scoreboard.UserID{users, reversed} {
			both.Go(func() {
				if err := nodes[i].PastBoards.AddRanks(t.Context(), "x", hour, ranks); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		counted := users
		if conn.Count(t, `select last_rank from rank_marks where board_id = 'x' and user_id = $1`, users[0]) != 1 {
			counted = reversed
		}
		samples = append(samples, rankSample{hour: hour, users: counted})
		checkMarks(t, s, "x", samples, users)
	}
}

// A sample is the board at its moment, whatever was submitted, reversed, banned, hidden or erased:
// without those who are hidden then or now. Erased users have no all-time ranks.
func TestSampleIsTheBoardThen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	samples := make(map[scoreboard.BoardID][]rankSample)
	day := now(t, w.s).UTC().Truncate(24 * time.Hour)
	for i := range 240 {
		w.step()
		if i%100 == 60 {
			w.erase()
		}
		if i%6 != 0 {
			continue
		}
		_, at, err := w.s.PastBoards.Count(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if at = at.UTC(); !at.Truncate(24 * time.Hour).Equal(day) {
			break // boards without a change have a sample on the new day
		}
		due, err := w.s.PastBoards.Unsampled(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		for _, board := range due {
			masked := scoreboard.PastTime{At: at, Masked: true}
			top, err := w.s.PastBoards.Top(t.Context(), w.board(board), masked, nil, 1000)
			if err != nil {
				t.Fatal(err)
			}
			sample := rankSample{hour: at}
			for _, e := range top.Entries {
				sample.users, sample.ranks = append(sample.users, e.User), append(sample.ranks, e.Rank)
			}
			samples[board] = append(samples[board], sample)
			if err := w.s.PastBoards.Sample(t.Context(), board, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, board := range w.boards[:2] { // which never end
		if len(samples[board]) < 2 {
			t.Errorf("board %s has %d samples, want at least 2", board, len(samples[board]))
		}
	}
	for board, all := range samples {
		for i := range 14 {
			if u := scoreboard.UserID(fmt.Sprintf("u%02d", i)); !w.erased[u] {
				checkMarks(t, w.s, board, all, []scoreboard.UserID{u})
			}
		}
	}
	if n := w.conn.Count(t, `select count(*) from rank_marks join users using (user_id)
where status = 'erased'`); n != 0 {
		t.Errorf("%d all-time ranks of erased users", n)
	}
}

// Only boards that changed are read. One that did not counts its ranks on the next day, and none
// of users who are hidden by then. One that has ended is not sampled.
func TestUnchangedBoardCountsDays(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	users := someUsers(t, s, 3)
	sample := func() (due []scoreboard.BoardID) {
		t.Helper()
		_, at, err := s.PastBoards.Count(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if due, err = s.PastBoards.Unsampled(t.Context(), at); err != nil {
			t.Fatal(err)
		}
		for _, board := range due {
			if err := s.PastBoards.Sample(t.Context(), board, at); err != nil {
				t.Fatal(err)
			}
		}
		return due
	}
	days := func(want ...int64) {
		t.Helper()
		for i, u := range users {
			k, err := s.PastBoards.AllTimeRanks(t.Context(), "global", u)
			if err != nil || k == nil || k.DaysInTop10 != want[i] || k.BestRank != int64(i+1) || k.Climb != nil {
				t.Errorf("%s: got %+v, %v, want rank %d and %d days", u, k, err, i+1, want[i])
			}
		}
	}
	if due := sample(); len(due) != 1 {
		t.Errorf("%v are due, want the board with scores", due)
	}
	checkpoint(t, s)
	sample() // the checkpoint is later than the sample
	days(1, 1, 1)
	for _, sql := range []string{ // all of this was a day ago
		`update rank_samples set hour = hour - interval '1 day', sampled_at = sampled_at - interval '1 day'`,
		`update checkpoints set at = at - interval '1 day'`,
		`update rank_marks set last_at = last_at - interval '1 day', last_top_10 = last_top_10 - 1`,
		`update rank_marks set last_rank = 11 where user_id = 'u01'`,
	} {
		conn.Do(t, sql)
	}
	if _, err := s.Moderation.Ban(t.Context(), "u02", because("user.ban")); err != nil {
		t.Fatal(err)
	}
	if due := sample(); len(due) != 1 {
		t.Errorf("on the next day %v are due, want the board", due)
	}
	days(2, 1, 1)
	if due := sample(); len(due) != 0 {
		t.Errorf("after the day was counted %v are due", due)
	}
	submit(t, s, "u00", 1, "global")
	conn.Do(t, `update boards set status = 'frozen', closed_at = clock_timestamp() where board_id = 'global'`)
	if due := sample(); len(due) != 0 {
		t.Errorf("%v are due after the end", due)
	}
}

// Users who are banned, private or erased when a sample is read are not in it.
func TestHiddenUsersAreNotSampled(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	users := someUsers(t, s, 4)
	_, at, err := s.PastBoards.Count(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Moderation.Ban(t.Context(), "u00", because("user.ban")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Visibility.Put(t.Context(), "u01", scoreboard.VisibilityPrivate, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Privacy.BeginErasure(t.Context(), "u02", because("user.erase")); err != nil {
		t.Fatal(err)
	}
	if err := s.PastBoards.Sample(t.Context(), "global", at); err != nil {
		t.Fatal(err)
	}
	checkMarks(t, s, "global", []rankSample{{hour: at.UTC(), users: users[3:]}}, users)
	// An erasure between the read and the write leaves none either.
	if err := s.PastBoards.AddRanks(t.Context(), "global", at.Add(time.Hour), users[2:]); err != nil {
		t.Fatal(err)
	}
	if n := conn.Count(t, `select count(*) from rank_marks where user_id = 'u02'`); n != 0 {
		t.Errorf("%d all-time ranks of the erased user", n)
	}
}
