package ranking_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// TestScriptsUseOneClusterSlot runs every script on a Redis in cluster mode, which
// rejects a script that uses keys of two slots or undeclared keys.
func TestScriptsUseOneClusterSlot(t *testing.T) {
	t.Parallel()
	r := rig{rdb: backends.OwnRedisCluster(t, 1, 0).Client()}
	r.Ranking = ranking.New(r.rdb)
	other := &scoreboard.Board{ID: "daily:2026-11-21", Order: scoreboard.OrderHighest, Created: board.Created}
	for _, b := range []*scoreboard.Board{board, other} {
		r.warm(t, b, change("bob", 3, 1, 1))
	}
	theirs := change("bob", 4, 2, 2)
	theirs.Board = other.ID
	r.apply(t, change("alice", 5, 1, 1), theirs)
	if ok, err := r.Claim(ctx, board, "beside"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	r.apply(t, change("alice", 6, 2, 2)) // live and shadow
	if err := r.Fence(ctx, board.ID, "beside", time.UnixMicro(1)); err != nil {
		t.Error(err)
	}
	if err := r.Release(ctx, board.ID, "beside"); err != nil {
		t.Fatal(err)
	}
	if err := r.OrphanedMembers(
		ctx, board.ID, func(s []scoreboard.OrphanedMember) error { t.Errorf("orphans: %v", s); return nil },
	); err != nil {
		t.Error(err)
	}
	r.is(t, "alice:6 bob:3")
	if p := r.place(t, "bob"); p.Rank != 2 {
		t.Errorf("got rank %d for bob, want 2", p.Rank)
	}
	users := []scoreboard.UserID{"alice", "bob"}
	if ranks, err := r.Ranks(ctx, board, users, make([]*scoreboard.Pair, 2)); err != nil || *ranks[0] != 1 {
		t.Errorf("ranks: %v", err)
	}
	states, err := r.States(ctx, board.ID, users)
	if err != nil {
		t.Fatal(err)
	}
	current := change("alice", 1, 2, 2)
	if repaired, err := r.Repair(ctx, &current, states[0]); !repaired || err != nil {
		t.Errorf("repaired: %t, %v", repaired, err)
	}
	r.is(t, "bob:3 alice:1")
	if err := r.RecordHeartbeats(
		ctx,
		[]scoreboard.Heartbeat{{Shards: 1, Partitions: 1, AsOf: time.Now()}},
	); err != nil {
		t.Error(err)
	}
	if c, err := r.Status(ctx, other.ID); err != nil || c.Members != 1 {
		t.Errorf("status: %+v, %v", c, err)
	}
}

// sharded is a cluster with boards on each of its primaries.
type sharded struct {
	rig
	cluster *backends.RedisCluster
	boards  []scoreboard.Board
	server  []int // that has the board
}

func newSharded(t *testing.T, primaries int) *sharded {
	t.Helper()
	s := &sharded{cluster: backends.OwnRedisCluster(t, primaries, 0)}
	s.rdb = s.cluster.Client()
	s.Ranking = ranking.New(s.rdb)
	for i := range 12 {
		b := scoreboard.Board{
			ID: scoreboard.BoardID(fmt.Sprintf("board-%d", i)), Order: scoreboard.OrderHighest, Created: board.Created,
		}
		s.boards = append(s.boards, b)
		s.warm(t, &b)
	}
	s.applyAll(t, 1)
	for _, b := range s.boards {
		keys := 0
		for i := range primaries {
			found := s.cluster.Node(i).Keys(ctx, "sb:{*}:*:"+string(b.ID)).Val()
			if len(found) > 0 {
				s.server = append(s.server, i)
			}
			keys += len(found)
		}
		if keys != 3 {
			t.Fatalf("board %s has %d keys, want 3 on one server", b.ID, keys)
		}
	}
	if len(s.server) != len(s.boards) {
		t.Fatalf("boards are on several servers: %v", s.server)
	}
	return s
}

// applyAll gives alice a score on each board, in one call, and records a heartbeat.
func (s *sharded) applyAll(t *testing.T, revision int64) {
	t.Helper()
	changes := make([]scoreboard.Change, len(s.boards))
	for i := range s.boards {
		changes[i] = change("alice", 10*revision, revision, revision)
		changes[i].Board = s.boards[i].ID
	}
	s.apply(t, changes...)
	beats := []scoreboard.Heartbeat{{Shards: 1, Partitions: 1, AsOf: time.Now()}}
	if err := s.RecordHeartbeats(ctx, beats); err != nil {
		t.Fatal(err)
	}
}

// TestBoardsSpreadOverCluster applies, reads and lists boards of all servers at once.
func TestBoardsSpreadOverCluster(t *testing.T) {
	t.Parallel()
	s := newSharded(t, 3)
	count := make([]int, 3)
	for _, i := range s.server {
		count[i]++
	}
	if count[0] == 0 || count[1] == 0 || count[2] == 0 {
		t.Errorf("%v boards on each server, want some on each", count)
	}
	began := time.Now()
	s.applyAll(t, 2)
	for _, b := range s.boards {
		top, err := s.Top(ctx, &b)
		if err != nil {
			t.Fatal(err)
		}
		if show(top.Entries) != "alice:20" || top.State != scoreboard.StateHealthy || top.AsOf.Before(began) {
			t.Errorf("%s: %s, %s as of %s, want alice:20, healthy since %s",
				b.ID, show(top.Entries), top.State, top.AsOf, began)
		}
	}
	missing, suspect, unknown, err := s.Unhealthy(ctx, s.boards)
	if err != nil || len(missing)+len(suspect)+unknown != 0 {
		t.Errorf("lost: %v, %v, %d, %v; want none", missing, suspect, unknown, err)
	}
	if err := s.Ping(ctx); err != nil {
		t.Error(err)
	}
	// Each 64th of the slots has a bucket.
	for i, tag := range ranking.Tags() {
		slot := s.rdb.ClusterKeySlot(ctx, fmt.Sprintf("sb:{%d}:fresh", tag)).Val()
		if slot*64/16384 != int64(i) {
			t.Errorf("tag %d is in slot %d, not in part %d", tag, slot, i)
		}
	}
}

// TestLostShardIsSuspectAlone flushes a server, stops another one, and restarts it.
func TestLostShardIsSuspectAlone(t *testing.T) {
	t.Parallel()
	s := newSharded(t, 3)
	check := func(what string, want func(i int) scoreboard.BoardState, down int) {
		t.Helper()
		missing, suspect, unknown, err := s.Unhealthy(ctx, s.boards)
		if (err != nil) != (down > 0) || unknown != down {
			t.Errorf("%s: %d boards unknown (%v), want %d", what, unknown, err, down)
		}
		state := make(map[scoreboard.BoardID]scoreboard.BoardState)
		for _, b := range missing {
			state[b.ID] = scoreboard.StateRebuilding
		}
		for _, b := range suspect {
			state[b.ID] = scoreboard.StateCatchingUp
		}
		for i, b := range s.boards {
			if got := state[b.ID]; got != want(i) {
				t.Errorf("%s: %s on server %d is %q, want %q", what, b.ID, s.server[i], got, want(i))
			}
		}
	}
	if err := s.cluster.Node(0).FlushAll(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	check("after a flush", func(i int) scoreboard.BoardState {
		if s.server[i] == 0 {
			return scoreboard.StateRebuilding
		}
		return ""
	}, 0)
	for i := range s.boards {
		if s.server[i] == 0 {
			s.warm(t, &s.boards[i])
		}
	}
	s.cluster.Servers[1].Stop()
	down := 0
	for i := range s.boards {
		if s.server[i] == 1 {
			down++
		}
	}
	check("while a server is down", func(int) scoreboard.BoardState { return "" }, down)
	if err := s.Ping(ctx); err == nil {
		t.Error("the cluster answers although a server is down")
	}
	s.cluster.Servers[1].Start()
	s.cluster.AwaitReady(ctx)
	s.rdb.(*redis.ClusterClient).ReloadState(ctx)
	check("after a restart", func(i int) scoreboard.BoardState {
		if s.server[i] == 1 {
			return scoreboard.StateCatchingUp
		}
		return ""
	}, 0)
	s.applyAll(t, 3)
	for i, b := range s.boards {
		top, err := s.Top(ctx, &b)
		want := scoreboard.StateHealthy
		if s.server[i] == 1 {
			want = scoreboard.StateCatchingUp
		}
		if err != nil || top.State != want || show(top.Entries) != "alice:30" {
			t.Errorf("%s on server %d: %+v, %v; want alice:30 and %s", b.ID, s.server[i], top, err, want)
		}
	}
}
