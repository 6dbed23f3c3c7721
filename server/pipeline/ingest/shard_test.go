package ingest

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The lane of a user is the shard that Citus gives a user, by PostgreSQL's own hash and division.
func TestLanesFollowShards(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), backends.Postgres(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	rng := rand.New(rand.NewPCG(1, 2))
	users := []string{"", "a", "ada", "0123456789a", "0123456789ab", "0123456789abc", "Ünïcode-名前", "eu:ada"}
	for range 2000 {
		b := make([]byte, rng.IntN(64))
		for i := range b {
			b[i] = byte(33 + rng.IntN(94))
		}
		users = append(users, string(b))
	}
	for _, lanes := range []int{1, 2, 3, 8, 12, 32, 100} {
		rows, err := conn.Query(t.Context(), `select least(
    (hashtext(u)::bigint + 2147483648) / (4294967296 / $2::bigint), $2::bigint - 1)
from unnest($1::text[]) with ordinality as x(u, n) order by n`, users, lanes)
		if err != nil {
			t.Fatal(err)
		}
		want, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			t.Fatal(err)
		}
		used := make(map[int]bool)
		for i, user := range users {
			got := laneOf(scoreboard.UserID(user), lanes)
			if int64(got) != want[i] {
				t.Fatalf("%q has lane %d of %d, want %d", user, got, lanes, want[i])
			}
			used[got] = true
		}
		if len(used) != lanes {
			t.Errorf("%d users are in %d of %d lanes", len(users), len(used), lanes)
		}
	}
}

// With as many lanes as shards, no batch has users of two shards, and batches gather all the same.
func TestBatchIsOfOneShard(t *testing.T) {
	t.Parallel()
	const shards, users = 12, 6000
	var mu sync.Mutex
	batches := 0
	o := Options{Lanes: shards, Batch: 500, Queue: users, Wait: time.Minute}
	in := New(o, record(func(batch []scoreboard.Increment) {
		mu.Lock()
		defer mu.Unlock()
		batches++
		for _, inc := range batch[1:] {
			if a, b := laneOf(batch[0].User, shards), laneOf(inc.User, shards); a != b {
				t.Errorf("%s of shard %d and %s of shard %d are in one batch", batch[0].User, a, inc.User, b)
			}
		}
	}), noRanks{}, func() {}, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = in.Run(ctx) })
	incs := make([]scoreboard.Increment, users)
	for i := range incs {
		incs[i].User = scoreboard.UserID("user-" + strconv.Itoa(i))
	}
	for i, o := range in.SubmitAll(t.Context(), incs) {
		if o.Err != nil {
			t.Fatalf("increment %d: %v", i, o.Err)
		}
	}
	stop()
	running.Wait()
	if batches < shards || batches > users/10 {
		t.Errorf("%d increments were in %d batches", users, batches)
	}
}

type record func([]scoreboard.Increment)

func (r record) Record(_ context.Context, batch []scoreboard.Increment) ([]scoreboard.Outcome, error) {
	time.Sleep(time.Millisecond)
	r(batch)
	return make([]scoreboard.Outcome, len(batch)), nil
}

type noRanks struct{}

func (noRanks) Rank(context.Context, []*scoreboard.Receipt) {}

func BenchmarkLaneOf(b *testing.B) {
	for b.Loop() {
		laneOf("player-0123456789", 8)
	}
}
