package leaderboard_test

import (
	"context"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/leaderboard"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
	"github.com/scoreboard/scoreboard/server/upkeep"
	"github.com/scoreboard/scoreboard/server/upkeep/repair"
)

func TestMain(m *testing.M) { backends.Main(m) }

var ctx = context.Background()

// rig is a leaderboard over real backends, with the rebuilder of the ranking.
type rig struct {
	*leaderboard.Leaderboard
	ranker *leaderboard.Ranker
	store  *store.Store
	redis  *backends.RedisServer
	rdb    *redis.Client
}

func open(t *testing.T) *rig {
	t.Helper()
	s := storetest.Open(
		t, backends.Postgres(t, migrations.Up),
		func(o *store.Options) { o.MaxConns, o.LockWait = 4, time.Second },
	)
	r := &rig{store: s, redis: backends.OwnRedis(t)}
	r.rdb = backends.RedisClient(
		t, r.redis.URL, func(o *redis.Options) { o.DialTimeout, o.MaxRetries = 200*time.Millisecond, -1 },
	)
	quiet := slog.New(slog.DiscardHandler)
	catalog, rank := store.NewCatalog(s.Boards, slog.New(slog.DiscardHandler)), ranking.New(r.rdb)
	rebuilder := repair.NewRebuilder(catalog, s.Recovery, rank, upkeep.NewRunner("test", s.Leases, quiet), quiet)
	backends.Run(t, rebuilder.Run)
	r.Leaderboard = leaderboard.New(leaderboard.Options{
		Catalog:        catalog,
		Ranking:        rank,
		Fallback:       s.Reads,
		TriggerRebuild: rebuilder.Trigger,
		UserCache:      250 * time.Millisecond,
		Log:            quiet,
	})
	r.ranker = leaderboard.NewRanker(r.Leaderboard)
	return r
}

// record writes an increment to the store; nothing relays it.
func (r *rig) record(t *testing.T, user string, delta int64) *scoreboard.Receipt {
	t.Helper()
	event, err := scoreboard.ParseEventID(
		scoreboard.UserID(user),
		"event-"+strconv.FormatInt(time.Now().UnixNano(), 36),
	)
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.store.Increments.Record(ctx, []scoreboard.Increment{
		{
			User:   scoreboard.UserID(user),
			Delta:  delta,
			Event:  event,
			Boards: []scoreboard.BoardID{"global"},
			Source: scoreboard.SourceAPI,
		},
	})
	if err != nil || out[0].Err != nil {
		t.Fatal(err, out)
	}
	return &out[0].Receipts[0]
}

// healthy waits until the board is read from the ranking.
func (r *rig) healthy(t *testing.T) *scoreboard.Top {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		top, err := r.ReadTop(ctx, "global")
		if err == nil && top.Degraded == "" {
			return top
		}
		if time.Now().After(deadline) {
			t.Fatalf("after 10 s: %+v, %v", top, err)
		}
	}
}

func (r *rig) degraded(t *testing.T, reason string) {
	t.Helper()
	storetest.UpdateStandings(t, r.store)
	top, err := r.ReadTop(ctx, "global")
	if err != nil {
		t.Fatal(err)
	}
	place, err := r.Place(ctx, global, "alice", 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if top.Degraded != reason || top.Epoch != 0 || top.Version != 0 || place.Degraded != reason {
		t.Errorf(
			"top is degraded by %q with epoch %d version %d, the place by %q; want %q without",
			top.Degraded, top.Epoch, top.Version, place.Degraded, reason,
		)
	}
	if len(top.Entries) != 2 || top.Entries[0].User != "bob" || place.Rank != 2 || len(place.Neighbours) != 2 {
		t.Errorf("from the store: %+v and %+v", top.Entries, place)
	}
	if top.AsOf.IsZero() {
		t.Error("a read of the store has no as_of")
	}
}

func TestReadsFallBackAndRecover(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.record(t, "alice", 5)
	r.record(t, "bob", 7)
	if err := r.rdb.FlushAll(ctx).Err(); err != nil { // built before the scores were recorded
		t.Fatal(err)
	}
	before := r.healthy(t)
	if len(before.Entries) != 2 || before.Entries[0].User != "bob" {
		t.Fatalf("got %+v", before.Entries)
	}

	t.Run("flushed", func(t *testing.T) {
		// Until the rebuild, reads come from the store. The rebuild may be fast, so the
		// flush is repeated until a read came first.
		for deadline := time.Now().Add(10 * time.Second); ; {
			if err := r.rdb.FlushAll(ctx).Err(); err != nil {
				t.Fatal(err)
			}
			top, err := r.ReadTop(ctx, "global")
			if err != nil {
				t.Fatal(err)
			}
			if top.Degraded == "rebuilding" {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("no read was degraded after a flush")
			}
		}
		after := r.healthy(t)
		if after.Epoch <= before.Epoch {
			t.Errorf("epoch %d after %d: a rebuilt board needs a new one", after.Epoch, before.Epoch)
		}
		before = after
	})

	t.Run("stopped", func(t *testing.T) {
		r.redis.Stop()
		r.degraded(t, "ranking_unavailable")
		receipt := r.record(t, "alice", 1)
		r.ranker.Rank(ctx, []*scoreboard.Receipt{receipt})
		if receipt.Rank != nil && *receipt.Rank != 2 {
			t.Errorf("got rank %d in a receipt, want 2, or none if the time ran out", *receipt.Rank)
		}
		r.redis.Start()
		if err := r.rdb.FlushAll(ctx).Err(); err != nil { // Redis is back without its data
			t.Fatal(err)
		}
		after := r.healthy(t)
		if after.Epoch <= before.Epoch || after.Entries[1].Score != 6 {
			t.Errorf("epoch %d with %+v", after.Epoch, after.Entries)
		}
	})
}

func TestBoardIsRebuiltOnlineAfterRedisRestart(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.record(t, "alice", 5)
	if err := r.rdb.FlushAll(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	before := r.healthy(t)
	// Redis does not get what is recorded now, as if it had lost it.
	r.record(t, "bob", 7)
	r.redis.Stop()
	r.redis.Start()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		top, err := r.ReadTop(ctx, "global")
		if err == nil && top.Degraded == "" && top.Epoch > before.Epoch {
			if len(top.Entries) != 2 {
				t.Errorf("rebuilt as %+v", top.Entries)
			}
			return
		}
		if err == nil && top.Degraded == "rebuilding" {
			t.Error("the live board was dropped, although Redis had kept it")
		}
		if time.Now().After(deadline) {
			t.Fatalf("after 10 s: %+v, %v", top, err)
		}
	}
}

func TestUnrankedScoreIsReadFromStore(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.healthy(t)
	receipt := r.record(t, "late", 5)
	place, err := r.Place(ctx, global, "late", 0, 0)
	if err != nil || place.Degraded != "not_ranked_yet" || place.Score != 5 || place.Rank != 1 {
		t.Errorf("got %+v, %v", place, err)
	}
	r.ranker.Rank(ctx, []*scoreboard.Receipt{receipt})
	if receipt.Rank == nil || *receipt.Rank != 1 {
		t.Errorf("got rank %v in its receipt, want 1", receipt.Rank)
	}
	// The store gets 20 ms for a rank, which it may miss on a busy machine.
	receipt.Rank, receipt.Replayed = nil, true
	deadline := time.Now().Add(10 * time.Second)
	for ; receipt.Rank == nil && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		hidden := scoreboard.Receipt{User: "hidden", Board: "global", Replayed: true}
		r.ranker.Rank(ctx, []*scoreboard.Receipt{&hidden, receipt})
		if hidden.Rank != nil {
			t.Fatalf("got rank %d for a hidden user, want none", *hidden.Rank)
		}
	}
	if receipt.Rank == nil || *receipt.Rank != 1 {
		t.Errorf("got rank %v for an immediate repeat, want 1", receipt.Rank)
	}
	if _, err := r.Place(ctx, global, "unknown", 0, 0); wire.CodeOf(err) != wire.CodeNotFound {
		t.Errorf("an unknown user: %v, want not_found", err)
	}
	if _, err := r.ReadTop(ctx, "nowhere"); wire.CodeOf(err) != wire.CodeNotFound {
		t.Errorf("an unknown board: %v, want not_found", err)
	}
}
