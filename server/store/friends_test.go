package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// friendNames lists the users that are to user what state says.
func friendNames(
	t *testing.T, s *store.Store, user scoreboard.UserID, state scoreboard.FriendState,
) (names []scoreboard.UserID) {
	t.Helper()
	for after := scoreboard.UserID(""); ; {
		page, err := s.Friends.List(t.Context(), user, state, after, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range page {
			if f.State != state || f.Since.IsZero() {
				t.Errorf("%s of %s: got %+v", state, user, f)
			}
			names = append(names, f.User)
		}
		if len(page) < 3 {
			return names
		}
		after = page[2].User
	}
}

// Changes at a time, each pair's in a known order, have the result of a model.
func TestFriendsAgainstModel(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	const users, workers, changes = 9, 6, 60
	name := func(i int) scoreboard.UserID { return scoreboard.UserID(fmt.Sprintf("u%d", i)) }
	var asked [users][users]bool
	var locks [users][users]sync.Mutex // of pairs, by the lower user first
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(7, uint64(w)))
			for range changes {
				i, j := random.IntN(users), random.IntN(users-1)
				if j >= i {
					j++
				}
				pair := &locks[min(i, j)][max(i, j)]
				pair.Lock()
				var err error
				switch random.IntN(5) {
				case 0:
					err = s.Friends.Remove(t.Context(), name(i), name(j))
					asked[i][j], asked[j][i] = false, false
				case 1:
					were := asked[i][j] && asked[j][i]
					var made int
					made, err = s.Friends.Import(t.Context(), [][2]scoreboard.UserID{
						{name(i), name(j)}, {name(j), name(i)},
					}, nil)
					if err == nil && (made == 0) != were {
						t.Errorf("imported %d pairs; friends before: %t", made, were)
					}
					asked[i][j], asked[j][i] = true, true
				default:
					var f scoreboard.Friend
					f, err = s.Friends.Ask(t.Context(), name(i), name(j))
					asked[i][j] = true
					if err == nil && (f.User != name(j) || (f.State == scoreboard.FriendMutual) != asked[j][i]) {
						t.Errorf("%s asked %s: got %+v; asked by the other: %t", name(i), name(j), f, asked[j][i])
					}
				}
				if err != nil {
					t.Error(err)
				}
				pair.Unlock()
			}
		})
	}
	all.Wait()
	for i := range users {
		want := map[scoreboard.FriendState][]scoreboard.UserID{}
		for j := range users {
			switch {
			case asked[i][j] && asked[j][i]:
				want[scoreboard.FriendMutual] = append(want[scoreboard.FriendMutual], name(j))
			case asked[i][j]:
				want[scoreboard.FriendRequested] = append(want[scoreboard.FriendRequested], name(j))
			case asked[j][i]:
				want[scoreboard.FriendReceived] = append(want[scoreboard.FriendReceived], name(j))
			}
		}
		for _, state := range []scoreboard.FriendState{
			scoreboard.FriendMutual, scoreboard.FriendRequested, scoreboard.FriendReceived,
		} {
			if got := friendNames(t, s, name(i), state); !slices.Equal(got, want[state]) {
				t.Errorf("%s of %s: got %v, want %v", state, name(i), got, want[state])
			}
		}
	}
	if n := conn.Count(t, `select count(*) from users`); n != 0 {
		t.Errorf("%d users without a score were stored", n)
	}
}

// A user has room for a number of friends and requests, also with requests at a time.
func TestFriendsAreLimited(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	conn.Do(t, `insert into friends (user_id, friend_user_id)
select 'ada', 'f' || i from generate_series(1, $1) i`, scoreboard.MaxFriends-1)
	results := make([]error, 8)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() {
			_, results[i] = s.Friends.Ask(t.Context(), "ada", scoreboard.UserID(fmt.Sprintf("late%d", i)))
		})
	}
	all.Wait()
	made := 0
	for _, err := range results {
		if err == nil {
			made++
		} else if wire.CodeOf(err) != wire.CodeConflict {
			t.Errorf("a request beyond the limit: %v, want a conflict", err)
		}
	}
	if made != 1 {
		t.Errorf("%d of %d requests were stored, want 1", made, len(results))
	}
	if _, err := s.Friends.Import(t.Context(), [][2]scoreboard.UserID{
		{"bob", "carol"}, {"dan", "ada"},
	}, nil); wire.CodeOf(err) != wire.CodeConflict {
		t.Errorf("an import beyond the limit: %v, want a conflict", err)
	}
	if n := conn.Count(t, `select count(*) from friends`); n != scoreboard.MaxFriends {
		t.Errorf("%d rows, want %d: a rejected import is stored in part", n, scoreboard.MaxFriends)
	}
	if f, err := s.Friends.Ask(t.Context(), "ada", "f1"); err != nil || f.State != scoreboard.FriendRequested {
		t.Errorf("a repeated request: %+v, %v", f, err)
	}
}

func TestFriendsByStatus(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	for _, status := range []string{
		scoreboard.UserActive, scoreboard.UserFrozen, scoreboard.UserBanned, scoreboard.UserErased,
	} {
		conn.Do(t, `insert into users (user_id, status) values ($1, $1)`, status)
	}
	for user, want := range map[scoreboard.UserID]wire.Code{
		"active": "", "frozen": wire.CodeForbidden, "banned": wire.CodeForbidden,
		"erased": wire.CodeGone,
	} {
		if _, err := s.Friends.Ask(t.Context(), user, "bob"); err != nil && wire.CodeOf(err) != want ||
			err == nil && want != "" {
			t.Errorf("a request of an %s user: %v, want %q", user, err, want)
		}
		// The response must not tell what the other user is, nor whether it exists.
		if f, err := s.Friends.Ask(t.Context(), "carol", user); err != nil || f.State != scoreboard.FriendRequested ||
			f.User != user || f.Since.IsZero() {
			t.Errorf("a request to an %s user: %+v, %v", user, f, err)
		}
		if err := s.Friends.Remove(t.Context(), user, "carol"); err != nil {
			t.Errorf("the removal by an %s user: %v", user, err)
		}
	}
	_, err := s.Friends.Import(t.Context(), [][2]scoreboard.UserID{{"active", "erased"}}, nil)
	if wire.CodeOf(err) != wire.CodeGone {
		t.Errorf("an import of an erased user: %v, want gone", err)
	}
	if got := friendNames(t, s, "active", scoreboard.FriendRequested); !slices.Equal(got, []scoreboard.UserID{"bob"}) {
		t.Errorf("requests of the active user: %v, want bob", got)
	}
	if n := conn.Count(t, `select count(*) from friends where 'erased' in (user_id, friend_user_id)`); n != 0 {
		t.Errorf("%d rows name an erased user", n)
	}
}

// Every answer about a request to an erased user is that of one to a name that nobody has:
// the request, its repeats, the lists, the limit and the removal.
func TestErasedUserLooksUnused(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	conn.Do(t, `insert into users (user_id, status) values ('erased', 'erased')`)
	requested := func(user scoreboard.UserID) []scoreboard.Friend {
		list, err := s.Friends.List(t.Context(), user, scoreboard.FriendRequested, "", 10)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for _, other := range []scoreboard.UserID{"nobody", "erased"} {
		first, err := s.Friends.Ask(t.Context(), "carol", other)
		if err != nil {
			t.Fatal(err)
		}
		again, err := s.Friends.Ask(t.Context(), "carol", other)
		if err != nil || again != first {
			t.Errorf("a repeated request to %s: %+v, %v; want %+v", other, again, err, first)
		}
		if got := requested("carol"); !slices.Contains(got, first) {
			t.Errorf("requests of carol after one to %s: %+v, want %+v", other, got, first)
		}
		if err := s.Friends.Remove(t.Context(), "carol", other); err != nil {
			t.Error(err)
		}
		if got := requested("carol"); len(got) != 0 {
			t.Errorf("requests of carol after the removal of %s: %+v", other, got)
		}
		user := "full-" + other // has no room for one more
		conn.Do(t, `insert into friends (user_id, friend_user_id)
select $1, 'f' || i from generate_series(1, $2) i`, user, scoreboard.MaxFriends)
		if _, err := s.Friends.Ask(t.Context(), user, other); wire.CodeOf(err) != wire.CodeConflict {
			t.Errorf("a request to %s beyond the limit: %v, want a conflict", other, err)
		}
	}
}

// An erasure leaves no row of the user, also if requests to and from the user run at the
// time. What others ask afterwards is stored as for a name that nobody has.
func TestErasureRemovesFriends(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	for round := range 25 {
		user := scoreboard.UserID(fmt.Sprintf("erased%d", round))
		if _, err := s.Friends.Ask(t.Context(), user, "bob"); err != nil { // without it nobody knows the user
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for i := range 4 {
			other := scoreboard.UserID(fmt.Sprintf("o%d", i))
			all.Go(func() {
				if _, err := s.Friends.Ask(t.Context(), other, user); err != nil {
					t.Error(err)
				}
			})
			all.Go(func() {
				_, err := s.Friends.Ask(t.Context(), user, other)
				if code := wire.CodeOf(err); err != nil && code != wire.CodeGone {
					t.Error(err)
				}
			})
		}
		all.Go(func() {
			if _, err := s.Privacy.BeginErasure(t.Context(), user, &scoreboard.AuditEntry{
				Actor: "root", Action: "user.erase", Target: scoreboard.AuditUser(user), Reason: "asked",
			}); err != nil {
				t.Error(err)
			}
		})
		all.Wait()
		if n := conn.Count(t, `select count(*) from friends as f, users as u where u.user_id = $1
and (f.user_id = $1 or f.friend_user_id = $1 and f.created_at < u.erased_at)`, user); n != 0 {
			t.Fatalf("round %d: %d rows are from before the erasure", round, n)
		}
	}
	if got := friendNames(t, s, "bob", scoreboard.FriendReceived); len(got) != 0 {
		t.Errorf("bob has requests of erased users: %v", got)
	}
}
