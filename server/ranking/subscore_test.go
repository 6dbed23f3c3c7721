package ranking_test

import (
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// goals is the board of these tests with subscores, in a number of partitions.
func goals(partitions int) *scoreboard.Board {
	b := divided(partitions)
	b.Subscore = scoreboard.OrderHighest
	return b
}

// pair is a state with a subscore.
func pair(b *scoreboard.Board, user string, score, subscore, revision, reached int64) scoreboard.Change {
	c := change(user, score, revision, reached)
	c.Subscore = scoreboard.Score(subscore)
	c.Key, c.SubKey = b.Keys(scoreboard.Pair{Score: c.Score, Subscore: c.Subscore})
	return c
}

// rows shows entries as "rank user score.subscore".
func rows(entries []scoreboard.Entry) string {
	var all []string
	for _, e := range entries {
		all = append(all, itoa(e.Rank)+" "+string(e.User)+" "+itoa(int64(e.Score))+"."+itoa(int64(e.Subscore)))
	}
	return strings.Join(all, ", ")
}

// onGoals runs a test on the board with subscores in one piece and in partitions, on a real Redis
// and on the stand-in.
func onGoals(t *testing.T, do func(t *testing.T, r rig, b *scoreboard.Board)) {
	t.Parallel()
	backends.EachRedis(t, func(t *testing.T, url string) {
		for _, partitions := range []int{1, 3} {
			r := connect(t, url)
			b := goals(partitions)
			t.Run(itoa(int64(partitions)), func(t *testing.T) {
				r.flush(t)
				r.warm(t, b)
				do(t, r, b)
			})
		}
	})
}

func TestSubscoreDecidesBeforeTime(t *testing.T) {
	onGoals(t, func(t *testing.T, r rig, b *scoreboard.Board) {
		const most = scoreboard.MaxScore
		r.apply(t,
			pair(b, "ada", 3, 0, 1, 1), pair(b, "bob", 3, 2, 1, 9), pair(b, "cy", 3, -1, 1, 0),
			pair(b, "dot", 2, most, 1, 0),
			pair(b, "eve", 3, most, 1, 9), pair(b, "fay", 3, -most, 1, 0), pair(b, "gus", 3, 2, 1, 3),
		)
		want := "1 eve 3.9007199254740991, 2 gus 3.2, 3 bob 3.2, 4 ada 3.0, 5 cy 3.-1, 6 fay 3.-9007199254740991, " +
			"7 dot 2.9007199254740991"
		top, err := r.Top(ctx, b)
		if err != nil || rows(top.Entries) != want || !top.Subscores {
			t.Fatalf("the board is %v, %v; want %q", top, err, want)
		}
		p, err := r.Place(ctx, b, "ada", 1)
		if err != nil || p.Rank != 4 || p.Subscore != 0 || rows(p.Neighbours) != "3 bob 3.2, 4 ada 3.0, 5 cy 3.-1" {
			t.Errorf("a place: %+v, %v", p, err)
		}
		at := b.PositionOf(scoreboard.Pair{Score: 3, Subscore: 1}, change("", 0, 0, 5).ReachedAt, "zoe")
		around, err := r.Around(ctx, b, &at, 1, 1)
		if err != nil || rows(around.Entries) != "3 bob 3.2, 4 ada 3.0" {
			t.Errorf("around 3.1: %v, %v", around, err)
		}
		version := top.Version
		r.apply(t, pair(b, "ada", 3, 1, 2, 20)) // the order stays, and a row does not
		if top, err = r.Top(ctx, b); err != nil || top.Version != version+1 || top.Entries[3].Subscore != 1 {
			t.Errorf("a subscore of the top: %+v, %v, want version %d", top, err, version+1)
		}
		if !top.Reached[3].Equal(pair(b, "", 0, 0, 0, 20).ReachedAt) {
			t.Errorf("reached at %v", top.Reached[3])
		}
		r.apply(t, hidden(pair(b, "gus", 3, 2, 2, 3)))
		if list, err := r.List(ctx, b, []scoreboard.UserID{"ada", "gus", "fay"}); err != nil ||
			rows(list.Entries) != "3 ada 3.1, 5 fay 3.-9007199254740991" || len(list.Missing) != 1 {
			t.Errorf("the list: %+v, %v", list, err)
		}
	})
}

func TestSubscoresOfReceiptsAndTies(t *testing.T) {
	onGoals(t, func(t *testing.T, r rig, b *scoreboard.Board) {
		r.apply(t,
			pair(b, "ada", 5, 1, 1, 1), pair(b, "bob", 4, 3, 1, 2), pair(b, "cy", 4, 3, 1, 3),
			pair(b, "dot", 4, -2, 1, 4),
			hidden(pair(b, "eve", 4, 9, 1, 1)),
		)
		for _, c := range []struct {
			why            string
			user           scoreboard.UserID
			pair           *scoreboard.Pair
			unique, shared int64 // 0: none
		}{
			{"already applied", "bob", &scoreboard.Pair{Score: 4, Subscore: 3}, 2, 2},
			{"already applied, second of a tie", "cy", &scoreboard.Pair{Score: 4, Subscore: 3}, 3, 2},
			{"pending, only the subscore rises", "dot", &scoreboard.Pair{Score: 4, Subscore: 4}, 2, 2},
			{"pending, into a tie", "dot", &scoreboard.Pair{Score: 4, Subscore: 3}, 4, 2},
			{"pending, between two subscores", "zoe", &scoreboard.Pair{Score: 4, Subscore: 0}, 4, 4},
			{"pending, only the subscore falls: its old entry is not counted", "bob", &scoreboard.Pair{Score: 4}, 3, 3},
			{"pending, falls into a tie", "bob", &scoreboard.Pair{Score: 4, Subscore: -2}, 4, 3},
			{"pending, last", "zoe", &scoreboard.Pair{Score: 4, Subscore: -3}, 5, 5},
			{"pending after an unban", "eve", &scoreboard.Pair{Score: 5, Subscore: 2}, 1, 1},
			{"current", "dot", nil, 4, 4},
			{"current, of a tie", "cy", nil, 3, 2},
			{"current, of a hidden user", "eve", nil, 0, 0},
		} {
			for ties, want := range map[scoreboard.Ties]int64{"": c.unique, scoreboard.TiesShared: c.shared} {
				of := *b
				of.Ties = ties
				got, err := r.Ranks(ctx, &of, []scoreboard.UserID{c.user}, []*scoreboard.Pair{c.pair})
				if err != nil {
					t.Fatal(err)
				}
				if have := got[0]; have == nil && want != 0 || have != nil && *have != want {
					t.Errorf("%s, ties %q: rank %v for %s, want %d", c.why, ties, deref(have), c.user, want)
				}
			}
		}
		of := *b
		of.Ties = scoreboard.TiesShared
		want := "1 ada 5.1, 2 bob 4.3, 2 cy 4.3, 4 dot 4.-2"
		if top, err := r.Top(ctx, &of); err != nil || rows(top.Entries) != want {
			t.Errorf("shared ranks: %v, %v", top, err)
		}
	})
}

func TestRepairOfSubscores(t *testing.T) {
	onGoals(t, func(t *testing.T, r rig, b *scoreboard.Board) {
		right := pair(b, "ada", 5, -7, 3, 1)
		r.apply(t, pair(b, "ada", 5, 2, 3, 1), pair(b, "bob", 5, 0, 1, 1))
		states, err := r.States(ctx, b.ID, []scoreboard.UserID{"ada", "bob", "zoe"})
		if err != nil {
			t.Fatal(err)
		}
		bob := pair(b, "bob", 5, 0, 1, 1)
		if states[0].SubKey != -2 || !states[0].Ranked || states[0].Agrees(&right) || !states[1].Agrees(&bob) {
			t.Errorf("states %+v", states)
		}
		if repaired, err := r.Repair(ctx, &right, states[0]); err != nil || !repaired {
			t.Fatalf("repair: %v, %v", repaired, err)
		}
		if top, err := r.Top(ctx, b); err != nil || rows(top.Entries) != "1 bob 5.0, 2 ada 5.-7" || top.Total != 2 {
			t.Errorf("the board is %v, %v", top, err)
		}
		if states, err = r.States(ctx, b.ID, []scoreboard.UserID{"ada"}); err != nil || !states[0].Agrees(&right) {
			t.Errorf("the repaired state: %+v, %v", states, err)
		}
		orphans := func() (found []scoreboard.OrphanedMember) {
			t.Helper()
			if err := r.OrphanedMembers(ctx, b.ID, func(some []scoreboard.OrphanedMember) error {
				found = append(found, some...)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			return found
		}
		if found := orphans(); found != nil {
			t.Errorf("orphaned members %+v, want none", found)
		}
		// A member of ada with another subscore.
		set := r.keyOf(b, "ada", "rank")
		own, err := r.rdb.ZRange(ctx, set, 0, -1).Result()
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(own, func(m string) bool { return strings.HasSuffix(m, "ada") })
		stray := own[i][:7] + "\x63" + own[i][8:]
		if err := r.rdb.ZAdd(ctx, set, redis.Z{Score: -5, Member: stray}).Err(); err != nil {
			t.Fatal(err)
		}
		found := orphans()
		if len(found) != 1 || found[0].User != "ada" || found[0].Member != stray {
			t.Fatalf("orphaned members %+v, want %q of ada", found, stray)
		}
		if removed, err := r.Remove(ctx, b.ID, found[0]); err != nil || !removed || orphans() != nil {
			t.Errorf("remove: %v, %v", removed, err)
		}
	})
}

// One call applies changes of boards with and without subscores, and a rebuild of both begins and
// ends while they are written.
func TestSubscoresBesideBoardsWithout(t *testing.T) {
	onGoals(t, func(t *testing.T, r rig, b *scoreboard.Board) {
		plain := &scoreboard.Board{ID: "plain", Order: scoreboard.OrderHighest, Created: board.Created}
		r.warm(t, plain)
		both := func(user string, subscore, revision int64) []scoreboard.Change {
			return []scoreboard.Change{
				pair(b, user, 5, subscore, revision, revision), onBoard(plain, change(user, 5, revision, revision)),
			}
		}
		expect := func(want, wantPlain string) {
			t.Helper()
			if top, err := r.Top(ctx, b); err != nil || rows(top.Entries) != want {
				t.Errorf("the board is %v, %v, want %q", top, err, want)
			}
			if top, err := r.Top(ctx, plain); err != nil || rows(top.Entries) != wantPlain || top.Subscores {
				t.Errorf("the board without subscores is %v, %v, want %q", top, err, wantPlain)
			}
		}
		r.apply(t, slices.Concat(both("ada", 0, 1), both("bob", 3, 2))...)
		expect("1 bob 5.3, 2 ada 5.0", "1 ada 5.0, 2 bob 5.0")
		for _, of := range []*scoreboard.Board{b, plain} {
			r.rebuild(t, of, func() []scoreboard.Change {
				r.apply(t, both("ada", 4, 3+int64(len(of.ID)))...)
				if of == b {
					return []scoreboard.Change{pair(b, "ada", 5, 0, 1, 1), pair(b, "bob", 5, 3, 2, 2)}
				}
				return []scoreboard.Change{
					onBoard(plain, change("ada", 5, 1, 1)), onBoard(plain, change("bob", 5, 2, 2)),
				}
			})
		}
		expect("1 ada 5.4, 2 bob 5.3", "1 bob 5.0, 2 ada 5.0")
	})
}

func TestNoticesHaveSubscores(t *testing.T) {
	onGoals(t, func(t *testing.T, r rig, b *scoreboard.Board) {
		next := follow(t, r)
		r.apply(t, pair(b, "ada", 5, -3, 1, 1))
		n := next()
		if n.Top == nil || !n.Subscores || !n.Top.Subscores || rows(n.Top.Entries) != "1 ada 5.-3" {
			t.Errorf("got %+v with top %+v", n, n.Top)
		}
		if len(n.Moved) != 1 || n.Moved[0].Score != 5 || n.Moved[0].Subscore != -3 || n.Moved[0].Revision != 1 {
			t.Errorf("moved %+v", n.Moved)
		}
		r.apply(t, pair(b, "ada", 5, 0, 2, 2))
		if n = next(); n.Top == nil || rows(n.Top.Entries) != "1 ada 5.0" || n.Moved[0].Subscore != 0 {
			t.Errorf("got %+v with top %+v", n, n.Top)
		}
	})
}

// TestBoardsWithoutSubscoresKeepTheirFormat spells out what Redis has of a board without
// subscores, byte for byte: builds that know no subscores read and write the same.
func TestBoardsWithoutSubscoresKeepTheirFormat(t *testing.T) {
	t.Parallel()
	r := connect(t, backends.OwnRedis(t).URL)
	r.warm(t, board)
	r.apply(t, change("ada", 5, 3, 1), hidden(change("bob", 7, 1, 2)))
	prefix := "0006651728988001" // 1,800,000,000,000,001 µs
	members, err := r.rdb.ZRangeWithScores(ctx, "sb:{global}:rank", 0, -1).Result()
	if err != nil || len(members) != 1 || members[0].Score != -5 {
		t.Fatalf("members %v, %v", members, err)
	}
	if got := hex.EncodeToString([]byte(members[0].Member.(string))); got != prefix+hex.EncodeToString([]byte("ada")) {
		t.Errorf("the member is %s", got)
	}
	state, err := r.rdb.HGet(ctx, "sb:{global}:users", "ada").Result()
	if err != nil || hex.EncodeToString([]byte(state)) != prefix+hex.EncodeToString([]byte("-5 3 3 0")) {
		t.Errorf("the state is %q, %v", state, err)
	}
	facts, err := r.rdb.HGetAll(ctx, "sb:{global}:meta").Result()
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields("asof built epoch marked members order server states top updated version")
	if got := slices.Sorted(maps.Keys(facts)); !slices.Equal(got, names) {
		t.Errorf("the facts are %q, want %q", got, names)
	}
	if facts["order"] != "highest" || facts["members"] != "1" || facts["states"] != "2" || facts["top"] != "3 -5 ada" {
		t.Errorf("the facts are %q", facts)
	}
	notices := r.rdb.Subscribe(ctx, "sb:notices")
	defer notices.Close()
	if _, err := notices.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	r.apply(t, change("ada", 6, 4, 9))
	m, err := notices.ReceiveTimeout(ctx, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	want := "global 1 3 1800000000000009 highest 1 8\n3 -6 adaada 6 4 4 "
	if notice, ok := m.(*redis.Message); !ok || !strings.HasPrefix(notice.Payload, want) {
		t.Errorf("the notice is %+v, want %q", m, want)
	}
}

// TestSubscoresCostNoCommands counts the commands of the scripts: those of a change are as many with
// a subscore as without.
func TestSubscoresCostNoCommands(t *testing.T) {
	t.Parallel()
	counted := func(b *scoreboard.Board, c scoreboard.Change) string {
		r := connect(t, backends.OwnRedis(t).URL)
		r.warm(t, b, pair(b, "ada", 1, 0, 1, 1))
		r.apply(t, pair(b, "bob", 1, 0, 1, 1)) // the scripts are loaded
		if err := r.rdb.ConfigResetStat(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		r.apply(t, c)
		text, err := r.rdb.Info(ctx, "commandstats").Result()
		if err != nil {
			t.Fatal(err)
		}
		var calls []string
		for line := range strings.Lines(text) {
			if name, rest, ok := strings.Cut(line, ":calls="); ok {
				n, _, _ := strings.Cut(rest, ",")
				calls = append(calls, strings.TrimPrefix(name, "cmdstat_")+" "+n)
			}
		}
		slices.Sort(calls)
		return strings.Join(calls, ", ")
	}
	without, with := counted(board, change("ada", 2, 2, 2)), counted(goals(1), pair(goals(1), "ada", 1, 5, 2, 2))
	if without != with {
		t.Errorf("a change costs %q, and with a subscore %q", without, with)
	}
}

// A board in Redis without the subscores that it has is not read, but rebuilt.
func TestBoardBuiltWithoutSubscores(t *testing.T) {
	onGoals(t, func(t *testing.T, r rig, b *scoreboard.Board) {
		r.apply(t, pair(b, "ada", 5, 2, 1, 1), pair(b, "bob", 5, 0, 1, 0))
		old := *b
		old.Subscore = ""
		r.expectNotLoadedTo(t, &old)
		r.rebuild(t, &old, func() []scoreboard.Change {
			return []scoreboard.Change{change("ada", 5, 1, 1), change("bob", 5, 1, 0)}
		})
		r.expectNotLoadedTo(t, b)
		missing, suspect, unknown, err := r.Unhealthy(ctx, []scoreboard.Board{*b})
		if err != nil || len(missing) != 1 || len(suspect)+unknown != 0 {
			t.Errorf("missing %v, suspect %v, unknown %d, %v; want the board missing", missing, suspect, unknown, err)
		}
		notLoaded, err := r.Apply(ctx, []scoreboard.Change{pair(b, "ada", 6, 1, 2, 2)})
		if err != nil || len(notLoaded) != 1 {
			t.Errorf("apply: not loaded %v, %v, want the board", notLoaded, err)
		}
		r.rebuild(t, b, func() []scoreboard.Change {
			return []scoreboard.Change{pair(b, "ada", 6, 1, 2, 2), pair(b, "bob", 6, 3, 2, 3)}
		})
		if top, err := r.Top(ctx, b); err != nil || rows(top.Entries) != "1 bob 6.3, 2 ada 6.1" {
			t.Errorf("after the rebuild: %v, %v", top, err)
		}
		if missing, suspect, unknown, err = r.Unhealthy(ctx, []scoreboard.Board{*b}); err != nil ||
			len(missing)+len(suspect)+unknown != 0 {
			t.Errorf("missing %v, suspect %v, unknown %d, %v; want none", missing, suspect, unknown, err)
		}
		status, err := r.Status(ctx, b.ID)
		if err != nil || status.State == scoreboard.StateRebuilding || status.Members != 2 {
			t.Errorf("status %+v, %v", status, err)
		}
	})
}

// expectNotLoadedTo checks that reads as b do not get the board.
func (r rig) expectNotLoadedTo(t *testing.T, b *scoreboard.Board) {
	t.Helper()
	users := []scoreboard.UserID{"ada"}
	_, topErr := r.Top(ctx, b)
	_, placeErr := r.Place(ctx, b, "ada", 1)
	_, listErr := r.List(ctx, b, users)
	_, pageErr := r.Page(ctx, b, &scoreboard.Position{Key: -1 << 53}, 10)
	_, ranksErr := r.Ranks(ctx, b, users, make([]*scoreboard.Pair, 1))
	for name, err := range map[string]error{
		"top": topErr, "place": placeErr, "list": listErr, "page": pageErr, "ranks": ranksErr,
	} {
		if !isNotLoaded(err) {
			t.Errorf("%s: got %v, want not loaded", name, err)
		}
	}
}
