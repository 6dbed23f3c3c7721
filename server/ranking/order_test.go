package ranking_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// history draws a history of a board of some mode: few different scores and times,
// so that ties to the microsecond are common, and users who are hidden and shown
// again. It returns the changes for the ranking and the final state of each user.
func history(
	rt *rapid.T,
	b *scoreboard.Board,
	users []string,
) (changes []scoreboard.Change, last map[scoreboard.UserID]scoreboard.Change) {
	last = map[scoreboard.UserID]scoreboard.Change{}
	for range rapid.IntRange(1, 60).Draw(rt, "events") {
		user := scoreboard.UserID(rapid.SampledFrom(users).Draw(rt, "user"))
		c, had := last[user]
		if had && rapid.IntRange(0, 9).Draw(rt, "what") == 0 {
			c.Hidden = !c.Hidden
		} else {
			was := scoreboard.Pair{Score: c.Score, Subscore: c.Subscore}
			submitted := scoreboard.Pair{Score: scoreboard.Score(rapid.Int64Range(-3, 3).Draw(rt, "delta"))}
			if b.HasSubscores() {
				submitted.Subscore = scoreboard.Score(rapid.Int64Range(-2, 2).Draw(rt, "subscore"))
			}
			next, err := b.Next(was, had, submitted)
			if err != nil {
				rt.Fatal(err)
			}
			version := c.Version + 1
			if had && next == was { // an event that changes nothing is not relayed
				c.Version = version
				last[user] = c
				continue
			}
			revision, hidden := c.Revision, c.Hidden
			c = change(string(user), int64(next.Score), 0, rapid.Int64Range(0, 3).Draw(rt, "reached"))
			c.Subscore = next.Subscore
			c.Key, c.SubKey = b.Keys(next)
			c.Board, c.Version, c.Revision, c.Hidden = b.ID, version, revision, hidden
		}
		c.Revision++
		last[user] = c
		changes = append(changes, c, c)
	}
	return changes, last
}

// TestRedisOrdersLikePostgreSQL stores random histories, with ties to the
// microsecond and ids that sort by bytes only, on boards of all modes and both
// orders, in one piece and in partitions: the final states in PostgreSQL; all states,
// shuffled and repeated, in Redis, from several appliers at once. Head, pages from any
// position, ranks, percentiles, neighbours, lists and totals must be equal, and ranks those that are
// counted one by one, on boards whose ties share one, too. Of each layout there are 25
// histories, or 100 with SCOREBOARD_PROOF=1.
func TestRedisOrdersLikePostgreSQL(t *testing.T) {
	t.Parallel()
	one := connect(t, backends.Redis(t))
	cluster := rig{rdb: backends.OwnRedisCluster(t, 3, 3).Client()}
	cluster.Ranking = ranking.New(cluster.rdb)
	for _, at := range []struct {
		name string
		rig  rig
	}{{"server", one}, {"cluster", cluster}} {
		for _, partitions := range []int{1, 3, 8} {
			t.Run(fmt.Sprintf("%s-%d", at.name, partitions), func(t *testing.T) {
				ordersLikePostgreSQL(t, at.rig, partitions)
			})
		}
	}
}

func ordersLikePostgreSQL(t *testing.T, r rig, partitions int) {
	t.Parallel()
	pg, conn := storetest.New(t, func(o *store.Options) { o.MaxConns = 2 })
	users := []string{"a", "a.", "a:", "A", "ab", "b", "B-1", "_", "-", "0", "9", "zz", "z", "@x", "y"}
	run, failed := 0, false
	rapid.Check(t, func(rt *rapid.T) {
		if run++; run > 25 && !failed && os.Getenv("SCOREBOARD_PROOF") != "1" {
			return
		}
		defer func() { failed = failed || rt.Failed() }() // and is made smaller
		b := &scoreboard.Board{
			// The store's user count of a board outlives a run, and Redis is shared.
			ID: scoreboard.BoardID(fmt.Sprintf("either-%d-%d", partitions, run)),
			Mode: rapid.SampledFrom([]scoreboard.Mode{
				scoreboard.ModeIncrement, scoreboard.ModeBest, scoreboard.ModeLatest,
			}).Draw(rt, "mode"),
			Order: rapid.SampledFrom([]scoreboard.Order{scoreboard.OrderHighest, scoreboard.OrderLowest}).
				Draw(rt, "order"),
			MinScore:   -1 << 53,
			MaxScore:   1 << 53,
			Created:    time.UnixMicro(1),
			Partitions: partitions,
			Ties:       rapid.SampledFrom([]scoreboard.Ties{"", scoreboard.TiesShared}).Draw(rt, "ties"),
			Subscore: rapid.SampledFrom([]scoreboard.Order{"", scoreboard.OrderHighest, scoreboard.OrderLowest}).
				Draw(rt, "subscores"),
		}
		must := func(err error) {
			rt.Helper()
			if err != nil {
				rt.Fatal(err)
			}
		}
		r.warm(t, b)
		changes, last := history(rt, b, users)
		for _, c := range last {
			_, err := conn.Exec(
				ctx,
				`insert into scores (user_id, board_id, score, order_key, version, revision,
  reached_at, recorded_at, hidden, subscore, sub_key)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
				c.User,
				b.ID,
				c.Score,
				c.Key,
				c.Version,
				c.Revision,
				c.ReachedAt,
				c.RecordedAt,
				c.Hidden,
				c.Subscore,
				c.SubKey,
			)
			must(err)
		}
		storetest.CopyScores(t, pg, conn)
		if len(changes) > 0 {
			shuffled := rapid.Permutation(changes).Draw(rt, "arrival")
			var appliers errgroup.Group
			for batch := range slices.Chunk(shuffled, rapid.IntRange(1, 20).Draw(rt, "batch")) {
				appliers.Go(func() error {
					_, err := r.Apply(ctx, batch)
					return err
				})
			}
			must(appliers.Wait())
		}
		samePages(rt, r.Ranking, pg, b)
		samePlaces(rt, r.Ranking, pg, b, last)
		countedRanks(rt, r.Ranking, b, last)
		must(r.Drop(ctx, b))
	})
}

// countedRanks compares the ranks in all reads with 1 + the users who are ahead.
func countedRanks(
	rt *rapid.T, r *ranking.Ranking, b *scoreboard.Board, last map[scoreboard.UserID]scoreboard.Change,
) {
	want := make(map[scoreboard.UserID]int64)
	for user, c := range last {
		if c.Hidden {
			continue
		}
		want[user] = 1
		own := at(&c)
		for _, o := range last {
			p := at(&o)
			better := b.Better(pairOf(&o), pairOf(&c))
			if !o.Hidden && (better || b.Ties == "" && p.Compare(&own) < 0) {
				want[user]++
			}
		}
	}
	check := func(what string, rows []scoreboard.Entry) {
		for _, e := range rows {
			if e.Rank != want[e.User] {
				rt.Fatalf("%s: %s has rank %d, want %d", what, e.User, e.Rank, want[e.User])
			}
		}
	}
	top, err := r.Top(ctx, b)
	if err != nil || len(top.Entries) != len(want) {
		rt.Fatalf("top: %d rows, %v, want %d", len(top.Entries), err, len(want))
	}
	check("top", top.Entries)
	for i := range top.Entries {
		at := top.Position(i, b)
		before, behind := rapid.IntRange(0, 3).Draw(rt, "before"), rapid.IntRange(0, 3).Draw(rt, "behind")
		page, err := r.Around(ctx, b, &at, before, behind)
		if err != nil {
			rt.Fatal(err)
		}
		check("around", page.Entries)
		for j := range page.Entries {
			if got := page.Ordinal(j); top.Entries[got-1].User != page.Entries[j].User {
				rt.Fatalf("around: row %d is not number %d of the board", j, got)
			}
		}
	}
	for user, rank := range want {
		p, err := r.Place(ctx, b, user, 2)
		if err != nil || p.Rank != rank {
			rt.Fatalf("%s: %+v, %v, want rank %d", user, p, err, rank)
		}
		check("neighbours", p.Neighbours)
	}
	recorded := drawPair(rt, b, "recorded")
	for user, c := range last {
		rank := int64(1)
		for other, o := range last {
			ahead := b.Better(pairOf(&o), recorded) || b.Ties == "" && pairOf(&o) == recorded
			if other != user && !o.Hidden && ahead {
				rank++
			}
		}
		if !c.Hidden && pairOf(&c) == recorded {
			rank = want[user]
		}
		ranks, err := r.Ranks(ctx, b, []scoreboard.UserID{user}, []*scoreboard.Pair{&recorded})
		if err != nil || *ranks[0] != rank {
			rt.Fatalf("%s with a recorded %v: rank %d, %v, want %d", user, recorded, *ranks[0], err, rank)
		}
	}
}

func pairOf(c *scoreboard.Change) scoreboard.Pair {
	return scoreboard.Pair{Score: c.Score, Subscore: c.Subscore}
}

// drawPair draws a score, and a subscore on a board that has them.
func drawPair(rt *rapid.T, b *scoreboard.Board, name string) (p scoreboard.Pair) {
	p.Score = scoreboard.Score(rapid.Int64Range(-6, 6).Draw(rt, name))
	if b.HasSubscores() {
		p.Subscore = scoreboard.Score(rapid.Int64Range(-4, 4).Draw(rt, "subscore "+name))
	}
	return p
}

func same(rt *rapid.T, what string, got, want *scoreboard.Top) {
	if !slices.Equal(got.Entries, want.Entries) || !slices.EqualFunc(got.Reached, want.Reached, time.Time.Equal) ||
		got.Total != want.Total {
		rt.Fatalf(
			"%s: Redis has %q of %d, PostgreSQL %q of %d",
			what, show(got.Entries), got.Total, show(want.Entries), want.Total,
		)
	}
}

// samePages compares the merged top, consecutive pages, and a page behind a position that
// need not be taken.
func samePages(rt *rapid.T, r *ranking.Ranking, pg *store.Store, b *scoreboard.Board) {
	limit := rapid.IntRange(1, 5).Draw(rt, "limit")
	top, err := r.Top(ctx, b)
	if err != nil {
		rt.Fatal(err)
	}
	slow, err := pg.Reads.Page(ctx, b, nil, scoreboard.TopSize)
	if err != nil {
		rt.Fatal(err)
	}
	same(rt, "top", top, slow)
	page := func(after scoreboard.Position) *scoreboard.Top {
		got, err := r.Page(ctx, b, &after, limit)
		if err != nil {
			rt.Fatal(err)
		}
		want, err := pg.Reads.Page(ctx, b, &after, limit)
		if err != nil {
			rt.Fatal(err)
		}
		same(rt, fmt.Sprintf("page behind %+v", after), got, want)
		return got
	}
	all := top.Entries[:min(limit, len(top.Entries))]
	for len(all) > 0 && len(all) < len(top.Entries) {
		next := page(top.Position(len(all)-1, b))
		if len(next.Entries) == 0 {
			break
		}
		all = append(all, next.Entries...)
	}
	if !slices.Equal(all, top.Entries) {
		rt.Fatalf("pages of %d make %q, the board is %q", limit, show(all), show(top.Entries))
	}
	page(b.PositionOf(
		drawPair(rt, b, "position"), change("x", 0, 0, rapid.Int64Range(0, 3).Draw(rt, "at")).ReachedAt,
		scoreboard.UserID(rapid.SampledFrom([]string{"", "a", "a-", "aa", "Z", "~"}).Draw(rt, "user")),
	))
}

// samePlaces compares the place of each user, the list of all users, and the rank of
// any score.
func samePlaces(
	rt *rapid.T,
	r *ranking.Ranking,
	pg *store.Store,
	b *scoreboard.Board,
	last map[scoreboard.UserID]scoreboard.Change,
) {
	k := rapid.IntRange(0, 4).Draw(rt, "k")
	users := append(slices.Sorted(maps.Keys(last)), "unknown")
	for _, user := range users {
		want, wantErr := pg.Reads.Place(ctx, b, user, k)
		got, gotErr := r.Place(ctx, b, user, k)
		if wire.CodeOf(wantErr) != wire.CodeOf(gotErr) {
			rt.Fatalf("%s: Redis returns %v, PostgreSQL %v", user, gotErr, wantErr)
		}
		if wantErr != nil {
			continue
		}
		if got.Rank != want.Rank || got.Score != want.Score || got.Subscore != want.Subscore ||
			got.Total != want.Total ||
			got.Percentile() != want.Percentile() ||
			!got.UpdatedAt.Equal(want.UpdatedAt) ||
			got.Revision != want.Revision ||
			!slices.Equal(got.Neighbours, want.Neighbours) {
			rt.Fatalf("%s: Redis has %+v, PostgreSQL %+v", user, *got, *want)
		}
		ranks, err := r.Ranks(ctx, b, []scoreboard.UserID{user}, []*scoreboard.Pair{nil})
		if err != nil || *ranks[0] != want.Rank {
			rt.Fatalf("%s: Ranks returns %d, %v, PostgreSQL %d", user, *ranks[0], err, want.Rank)
		}
	}
	got, err := r.List(ctx, b, users)
	if err != nil {
		rt.Fatal(err)
	}
	want, err := pg.Reads.List(ctx, b, users)
	if err != nil {
		rt.Fatal(err)
	}
	if !slices.Equal(got.Entries, want.Entries) || !slices.Equal(got.Missing, want.Missing) || got.Total != want.Total {
		rt.Fatalf(
			"list: Redis has %q without %q, PostgreSQL %q without %q",
			show(got.Entries), got.Missing, show(want.Entries), want.Missing,
		)
	}
	pair := drawPair(rt, b, "score")
	ranks, err := r.Ranks(ctx, b, []scoreboard.UserID{"unknown"}, []*scoreboard.Pair{&pair})
	if err != nil {
		rt.Fatal(err)
	}
	if rank, err := pg.Reads.RankOf(ctx, b, pair); err != nil || *ranks[0] != rank {
		rt.Fatalf("%v: Redis ranks it %d, PostgreSQL %d, %v", pair, *ranks[0], rank, err)
	}
}
