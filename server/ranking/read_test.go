package ranking_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func itoa(n int64) string        { return strconv.FormatInt(n, 10) }
func isNotLoaded(err error) bool { return errors.Is(err, scoreboard.ErrNotLoaded) }

func TestRanksOfReceipts(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		r.apply(
			t, change("alice", 50, 1, 1), change("bob", 40, 1, 2), change("carol", 40, 1, 3),
			change("dave", 30, 1, 4), change("eve", 90, 1, 5), hidden(change("eve", 90, 2, 5)),
		)
		score := func(n int64) *scoreboard.Pair { return &scoreboard.Pair{Score: scoreboard.Score(n)} }
		for _, c := range []struct {
			why  string
			user scoreboard.UserID
			pair *scoreboard.Pair
			want int64 // 0: none
		}{
			{"already applied", "bob", score(40), 2},
			{"already applied, second of a tie", "carol", score(40), 3},
			{"pending, rises to the top", "dave", score(60), 1},
			{"pending, rises into a tie: ranks last of it", "dave", score(40), 4},
			{"pending, a negative delta: its old entry is not counted", "alice", score(35), 3},
			{"pending, a negative delta into a tie", "alice", score(40), 3},
			{"pending, falls to the end", "alice", score(1), 4},
			{"pending, new", "zoe", score(45), 2},
			{"pending, new and last", "zoe", score(0), 5},
			{"pending after an unban: its old entry is not in the set", "eve", score(20), 5},
			{"current", "carol", nil, 3},
			{"current, of an unknown user", "zoe", nil, 0},
			{"current, of a banned user", "eve", nil, 0},
		} {
			got, err := r.Ranks(ctx, board, []scoreboard.UserID{c.user}, []*scoreboard.Pair{c.pair})
			if err != nil {
				t.Fatal(err)
			}
			if have := got[0]; have == nil && c.want != 0 || have != nil && *have != c.want {
				t.Errorf("%s: got rank %[3]v for %[2]s, want %[4]d", c.why, c.user, deref(have), c.want)
			}
		}
	})
}

func deref(n *int64) any {
	if n == nil {
		return nil
	}
	return *n
}

func TestScoresAreExactToTheBounds(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		const maxScore = 1<<53 - 1
		r.apply(t, change("max", maxScore, 1, 1), change("almost", maxScore-1, 1, 1), change("zero", 0, 1, 1),
			change("round", 1_000_000_000, 1, 1), change("min", -maxScore, 1, 1))
		r.is(t, "max:9007199254740991 almost:9007199254740990 round:1000000000 zero:0 min:-9007199254740991")
		if got := r.place(t, "round"); got.Score != 1_000_000_000 || got.Rank != 3 {
			t.Errorf("got score %d at rank %d, want 1000000000 at 3", got.Score, got.Rank)
		}
	})
}

func TestAsOfIsTheMinimumOfAllPartitions(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		at := time.Now().Add(-time.Hour).Truncate(time.Microsecond).UTC()
		fresh := func(shard, partition int, seconds time.Duration) {
			t.Helper()
			beat := scoreboard.Heartbeat{
				Shard:      shard,
				Shards:     2,
				Partition:  partition,
				Partitions: 2,
				AsOf:       at.Add(seconds * time.Second),
			}
			if err := r.RecordHeartbeats(ctx, []scoreboard.Heartbeat{beat}); err != nil {
				t.Fatal(err)
			}
		}
		is := func(want time.Time) {
			t.Helper()
			if got := r.top(t).AsOf; !got.Equal(want) {
				t.Errorf("as of %v, want %v", got, want)
			}
		}
		fresh(0, 0, 10)
		fresh(0, 1, 11)
		fresh(1, 0, 12)
		is(board.Created) // one partition has not reported: as its snapshot
		fresh(1, 1, 5)
		is(at.Add(5 * time.Second))
		fresh(1, 1, 20)
		is(at.Add(10 * time.Second))
		fresh(0, 0, 3) // a replay
		is(at.Add(10 * time.Second))
		fresh(0, 0, 30)
		is(at.Add(11 * time.Second))
		// Fewer shards than before: the report of the removed one no longer counts.
		for partition := range 2 {
			beat := scoreboard.Heartbeat{
				Shard:      0,
				Shards:     1,
				Partition:  partition,
				Partitions: 2,
				AsOf:       at.Add(time.Minute),
			}
			if err := r.RecordHeartbeats(ctx, []scoreboard.Heartbeat{beat}); err != nil {
				t.Fatal(err)
			}
		}
		is(at.Add(time.Minute))
	})
}
