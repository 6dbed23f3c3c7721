package ranking_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/backendtest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// TestRedisOrdersExactlyAsPostgreSQL plays random histories, with ties to the
// microsecond and ids that sort by bytes only, into both: the final states
// into PostgreSQL, all states, shuffled and twice, into Redis. Head, ranks,
// neighbours and totals must agree to the last place.
func TestRedisOrdersExactlyAsPostgreSQL(t *testing.T) {
	t.Parallel()
	url := backendtest.Postgres(t, migrations.Up)
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) })
	truth, err := store.Open(ctx, store.Options{URL: url, MaxConns: 2, Shards: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(truth.Close)
	r := connect(t, backendtest.Redis(t))

	users := []string{"a", "a.", "a:", "A", "ab", "b", "B-1", "_", "-", "0", "9", "zz", "z", "@x", "y"}
	rapid.Check(t, func(rt *rapid.T) {
		b := &scoreboard.Board{ID: "either", Family: "either", Order: rapid.SampledFrom([]scoreboard.Order{
			scoreboard.OrderHighest, scoreboard.OrderLowest,
		}).Draw(rt, "order"), Created: time.UnixMicro(1)}
		must := func(err error) {
			if err != nil {
				rt.Fatal(err)
			}
		}
		must(r.rdb.FlushAll(ctx).Err())
		_, err := conn.Exec(ctx, "truncate scores")
		must(err)
		r.warm(t, b)

		var history []scoreboard.Change
		last := map[scoreboard.UserID]scoreboard.Change{}
		for range rapid.IntRange(1, 60).Draw(rt, "events") {
			c := change(rapid.SampledFrom(users).Draw(rt, "user"), rapid.Int64Range(-3, 3).Draw(rt, "score"), 0, rapid.Int64Range(0, 3).Draw(rt, "reached"))
			c.Board, c.Key, c.Hidden = b.ID, b.Order.Key(c.Score), rapid.IntRange(0, 9).Draw(rt, "hidden") == 0
			c.Revision = last[c.User].Revision + 1
			c.Version = c.Revision
			last[c.User] = c
			history = append(history, c, c)
		}
		for _, c := range last {
			_, err := conn.Exec(ctx, `insert into scores (user_id, board_id, score, order_key, version, revision, reached_at, recorded_at, hidden)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, c.User, b.ID, c.Score, c.Key, c.Version, c.Revision, c.ReachedAt, c.RecordedAt, c.Hidden)
			must(err)
		}
		shuffled := rapid.Permutation(history).Draw(rt, "arrival")
		for batch := range slices.Chunk(shuffled, rapid.IntRange(1, 20).Draw(rt, "batch")) {
			_, err := r.Apply(ctx, batch)
			must(err)
		}

		want, err := truth.Top(ctx, b, scoreboard.TopSize)
		must(err)
		got, err := r.Top(ctx, b.ID)
		must(err)
		if !reflect.DeepEqual(got.Entries, want.Entries) || got.Total != want.Total {
			rt.Fatalf("Redis has %q of %d, PostgreSQL %q of %d", show(got.Entries), got.Total, show(want.Entries), want.Total)
		}
		k := rapid.IntRange(0, 4).Draw(rt, "k")
		for user := range last {
			want, wantErr := truth.Place(ctx, b, user, k)
			got, gotErr := r.Place(ctx, b.ID, user, k)
			if scoreboard.CodeOf(wantErr) != scoreboard.CodeOf(gotErr) {
				rt.Fatalf("%s: Redis says %v, PostgreSQL %v", user, gotErr, wantErr)
			}
			if wantErr != nil {
				continue
			}
			if got.Rank != want.Rank || got.Score != want.Score || got.Total != want.Total || !got.UpdatedAt.Equal(want.UpdatedAt) ||
				!reflect.DeepEqual(got.Neighbours, want.Neighbours) {
				rt.Fatalf("%s: Redis has %+v, PostgreSQL %+v", user, *got, *want)
			}
			ranks, err := r.Ranks(ctx, b, []scoreboard.UserID{user}, []*scoreboard.Score{nil})
			must(err)
			if *ranks[0] != want.Rank {
				rt.Fatalf("%s: ranks says %d, PostgreSQL %d", user, *ranks[0], want.Rank)
			}
		}
	})
}
