package ranking_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestMain(m *testing.M) { backends.Main(m) }

var (
	ctx   = context.Background()
	board = &scoreboard.Board{ID: "global", Order: scoreboard.OrderHighest, Created: time.UnixMicro(1_000_000)}
)

// rig is a ranking and its Redis.
type rig struct {
	*ranking.Ranking
	rdb redis.UniversalClient
}

func connect(t testing.TB, url string) rig {
	t.Helper()
	rdb := backends.RedisClient(t, url)
	return rig{ranking.New(rdb), rdb}
}

// onBoth runs a test on a real Redis and on the stand-in of the development
// stack, with the board loaded and empty.
func onBoth(t *testing.T, do func(t *testing.T, r rig)) {
	t.Parallel()
	backends.EachRedis(t, func(t *testing.T, url string) {
		r := connect(t, url)
		r.warm(t, board)
		do(t, r)
	})
}

// warm rebuilds a board from states.
func (r rig) warm(t testing.TB, b *scoreboard.Board, states ...scoreboard.Change) {
	t.Helper()
	if ok, err := r.Claim(ctx, b, "warm"); !ok || err != nil {
		t.Fatalf("claim: %v, %v", ok, err)
	}
	if len(states) > 0 {
		if err := r.Fill(ctx, b.ID, "warm", states); err != nil {
			t.Fatal(err)
		}
	}
	epoch, err := r.Epoch(ctx, b)
	if err == nil {
		_, err = r.Swap(ctx, b, "warm", snapshot(int64(len(states)), epoch+1))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// snapshot is a snapshot of users, under an epoch.
func snapshot(users, epoch int64) *scoreboard.Snapshot {
	return &scoreboard.Snapshot{Epoch: epoch, Users: users, UpdatedAt: board.Created, AsOf: board.Created}
}

func (r rig) apply(t testing.TB, changes ...scoreboard.Change) {
	t.Helper()
	notLoaded, err := r.Apply(ctx, changes)
	if err != nil || len(notLoaded) > 0 {
		t.Fatalf("apply: not loaded %v, %v", notLoaded, err)
	}
}

func (r rig) top(t testing.TB) *scoreboard.Top {
	t.Helper()
	top, err := r.Top(ctx, board)
	if err != nil {
		t.Fatal(err)
	}
	return top
}

// is compares the merged top of the board with "user:score" in order.
func (r rig) is(t testing.TB, want string) {
	t.Helper()
	if got := show(r.top(t).Entries); got != want {
		t.Errorf("the board is %q, want %q", got, want)
	}
}

func show(entries []scoreboard.Entry) string {
	var rows []string
	for _, e := range entries {
		rows = append(rows, string(e.User)+":"+itoa(int64(e.Score)))
	}
	return strings.Join(rows, " ")
}

// change is a state of a user that was reached at a microsecond.
func change(user string, score, revision, reached int64) scoreboard.Change {
	at := time.UnixMicro(1_800_000_000_000_000 + reached).UTC()
	return scoreboard.Change{
		Type:       scoreboard.ChangeScore,
		Board:      board.ID,
		User:       scoreboard.UserID(user),
		Score:      scoreboard.Score(score),
		Key:        board.Order.Key(scoreboard.Score(score)),
		Version:    revision,
		Revision:   revision,
		ReachedAt:  at,
		RecordedAt: at,
	}
}

func hidden(c scoreboard.Change) scoreboard.Change {
	c.Hidden = true
	return c
}

func TestApplySkipsOldRevisions(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		r.apply(t, change("alice", 5, 1, 1), change("bob", 7, 1, 2))
		r.is(t, "bob:7 alice:5")
		r.apply(t, change("alice", 9, 3, 5))
		r.apply(t, change("alice", 8, 2, 4)) // an inversion
		r.apply(t, change("alice", 5, 1, 1)) // a replay
		r.apply(t, change("alice", 9, 3, 5)) // a duplicate
		r.is(t, "alice:9 bob:7")
		r.apply(t, change("bob", 12, 4, 9), change("bob", 11, 3, 8)) // inverted within one batch
		r.is(t, "bob:12 alice:9")
	})
}

func TestLateEventsCannotRestoreHiddenUser(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		r.apply(t, change("alice", 5, 1, 1), change("bob", 5, 1, 2), change("carol", 4, 1, 3))
		r.apply(t, hidden(change("alice", 5, 3, 1)))
		r.is(t, "bob:5 carol:4")
		r.apply(t, change("alice", 6, 2, 4)) // late
		r.is(t, "bob:5 carol:4")
		if _, err := r.Place(ctx, board, "alice", 0); wire.CodeOf(err) != wire.CodeNotFound {
			t.Errorf("a banned user's place: %v, want not_found", err)
		}
		if got := r.place(t, "carol").Rank; got != 2 {
			t.Errorf("got rank %d for carol, want 2: ranks close up", got)
		}
		r.apply(t, change("alice", 5, 4, 1)) // unbanned: score and time as before
		r.is(t, "alice:5 bob:5 carol:4")
	})
}

func (r rig) place(t testing.TB, user scoreboard.UserID) *scoreboard.Place {
	t.Helper()
	p, err := r.Place(ctx, board, user, 0)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestVersionRisesOnlyIfTop100Changes(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		var all []scoreboard.Change
		for i := range int64(120) {
			all = append(all, change(name(i), 1000-i, 1, i))
		}
		r.apply(t, all...)
		version := r.top(t).Version
		step := func(why string, rises bool, changes ...scoreboard.Change) {
			t.Helper()
			r.apply(t, changes...)
			want := version
			if rises {
				want++
			}
			version = r.top(t).Version
			if version != want {
				t.Errorf("%s: version %d, want %d", why, version, want)
			}
			version = want
		}
		step("a score far below the top", false, change(name(110), 891, 2, 200))
		step("a new user far below the top", false, change("zoe", 1, 1, 201))
		step("a repeat", false, change(name(5), 995, 1, 5))
		step("a score within the top", true, change(name(5), 995+1000, 2, 202))
		step("a user enters the top", true, change(name(110), 950, 3, 203))
		step("a user leaves the top", true, hidden(change(name(0), 1000, 2, 0)))
		step("up and down within a batch: only reached_at differs", false, change(name(40), 960, 3, 999))
	})
}

func name(i int64) string { return "user" + itoa(1000+i) }

func TestUpdatedAtNeverGoesBack(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		r.apply(t, change("alice", 5, 1, 500))
		r.apply(t, change("bob", 5, 1, 100)) // another user's, late
		if got, want := r.top(t).UpdatedAt, change("alice", 5, 1, 500).RecordedAt; !got.Equal(want) {
			t.Errorf("updated at %v, want %v", got, want)
		}
	})
}

func TestFlushedBoardIsNotLoadedUntilRebuilt(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		r.apply(t, change("alice", 5, 1, 1))
		if err := r.rdb.FlushAll(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		notLoaded, err := r.Apply(ctx, []scoreboard.Change{change("alice", 6, 2, 2)})
		if err != nil || !slices.Equal(notLoaded, []scoreboard.BoardID{board.ID}) {
			t.Errorf("apply returned %v, %v; want the board as not loaded", notLoaded, err)
		}
		_, topErr := r.Top(ctx, board)
		_, placeErr := r.Place(ctx, board, "alice", 3)
		_, ranksErr := r.Ranks(ctx, board, []scoreboard.UserID{"alice"}, []*scoreboard.Pair{nil})
		for what, err := range map[string]error{"top": topErr, "place": placeErr, "ranks": ranksErr} {
			if !isNotLoaded(err) {
				t.Errorf("%s of a notLoaded board: %v, want scoreboard.ErrNotLoaded", what, err)
			}
		}
		if keys := r.keys(t); len(keys) > 0 {
			t.Errorf("found keys %q: only a rebuild creates a board", keys)
		}
		missing, suspect, _, err := r.Unhealthy(ctx, []scoreboard.Board{*board})
		if err != nil || len(missing) != 1 || len(suspect) != 0 {
			t.Errorf("missing: %v, suspect: %v, %v; want one board", missing, suspect, err)
		}
		r.warm(t, board, change("alice", 6, 2, 2))
		r.is(t, "alice:6")
	})
}

func (r rig) keys(t testing.TB) []string {
	t.Helper()
	keys, err := r.rdb.Keys(ctx, "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestApplyToSeveralBoards(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		other := &scoreboard.Board{ID: "daily:2026-11-21", Order: scoreboard.OrderLowest, Created: board.Created}
		r.warm(t, other)
		low := change("bob", 3, 1, 1)
		low.Board, low.Key = other.ID, 3
		lost := change("bob", 3, 1, 1)
		lost.Board = "nowhere"
		notLoaded, err := r.Apply(ctx, []scoreboard.Change{lost, change("alice", 5, 1, 1), low})
		if err != nil || !slices.Equal(notLoaded, []scoreboard.BoardID{"nowhere"}) {
			t.Fatalf("apply returned %v, %v; want nowhere as not loaded", notLoaded, err)
		}
		r.is(t, "alice:5")
		if top, err := r.Top(ctx, other); err != nil || show(top.Entries) != "bob:3" {
			t.Errorf("the other board: %v, %v", top, err)
		}
	})
}

func TestApplyBatchBeyondLuaArgumentLimit(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		var all []scoreboard.Change
		for i := range int64(9000) {
			all = append(all, change(name(i), i, 1, i))
		}
		r.apply(t, all...)
		if got := r.top(t).Total; got != 9000 {
			t.Errorf("got %d ranked users, want 9000", got)
		}
	})
}
