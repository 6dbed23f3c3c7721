package ranking_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// spread is a board whose partitions are on each server of a cluster, with 100 users.
type spread struct {
	rig
	cluster *backends.RedisCluster
	board   *scoreboard.Board
	users   []scoreboard.Change // as PostgreSQL has them
}

func newSpread(t *testing.T, replicas int) *spread {
	t.Helper()
	s := &spread{cluster: backends.OwnRedisCluster(t, 3, replicas), board: divided(8)}
	s.rdb = s.cluster.Client()
	s.Ranking = ranking.New(s.rdb)
	s.warm(t, s.board)
	for i := range 100 {
		s.users = append(s.users, change(fmt.Sprintf("user-%02d", i), int64(i), 1, 1))
	}
	s.apply(t, s.users...)
	s.beat(t)
	keys := make([]int, 3)
	for i := range keys {
		keys[i] = len(s.cluster.Node(i).Keys(ctx, "sb:*/8/*").Val())
		if keys[i] < 6 {
			t.Fatalf("the servers have %v keys of 8 partitions, want at least 2 partitions on each", keys)
		}
	}
	return s
}

func (s *spread) beat(t *testing.T) {
	t.Helper()
	beats := []scoreboard.Heartbeat{{Shards: 1, Partitions: 1, AsOf: time.Now()}}
	if err := s.RecordHeartbeats(ctx, beats); err != nil {
		t.Fatal(err)
	}
}

// lost returns what Unhealthy says of the board: "", missing, suspect or unknown.
func (s *spread) lost() string {
	missing, suspect, unknown, _ := s.Unhealthy(ctx, []scoreboard.Board{*s.board})
	switch {
	case len(missing) > 0:
		return "missing"
	case len(suspect) > 0:
		return "suspect"
	case unknown > 0:
		return "unknown"
	}
	return ""
}

func (s *spread) healthy(t *testing.T) {
	t.Helper()
	top := s.top(t)
	if top.State != scoreboard.StateHealthy || top.Total != 100 || len(top.Entries) != 100 ||
		top.Entries[0].User != "user-99" || top.Entries[99].User != "user-00" {
		t.Errorf("%s: %d of %d rows, the first one %v", top.State, len(top.Entries), top.Total, top.Entries[:1])
	}
	if got := s.lost(); got != "" {
		t.Errorf("the board is %s", got)
	}
}

// TestFlushedPartitionIsRebuilt flushes one server: the board is not loaded until it is rebuilt,
// and changes meanwhile neither fail nor make anything of a part of it.
func TestFlushedPartitionIsRebuilt(t *testing.T) {
	t.Parallel()
	s := newSpread(t, 0)
	s.healthy(t)
	for flushed := range 3 {
		if err := s.cluster.Node(flushed).FlushAll(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		for _, r := range []rig{s.rig, s.another()} {
			if top, err := r.Top(ctx, s.board); !errors.Is(err, scoreboard.ErrNotLoaded) {
				t.Errorf("top: %+v, %v; want not loaded", top, err)
			}
			notLoaded, err := r.Apply(ctx, s.users)
			if err != nil || len(notLoaded) != 1 || notLoaded[0] != s.board.ID {
				t.Errorf("apply: %v, %v; want the board as not loaded", notLoaded, err)
			}
		}
		if got := s.lost(); got != "missing" {
			t.Errorf("the board is %q, want missing", got)
		}
		s.rebuild(t, s.board, func() []scoreboard.Change { return s.users })
		s.beat(t)
		s.healthy(t)
	}
}

// TestKilledPrimaryOfPartition kills the primary of some partitions. A replica that may lack
// changes takes over: the board is read with the time up to which it is known to be complete,
// until it is rebuilt.
func TestKilledPrimaryOfPartition(t *testing.T) {
	t.Parallel()
	s := newSpread(t, 3)
	before := s.top(t).AsOf
	victim := s.cluster.Primary(s.PartitionKey(s.board, "user-50"))
	s.cluster.Servers[victim].Stop()
	if _, err := s.Apply(ctx, s.users); err == nil {
		t.Error("changes were applied although a server is down")
	}
	if _, err := s.Page(ctx, s.board, &scoreboard.Position{}, 10); err == nil {
		t.Error("a page was read although a server is down")
	}
	deadline := time.Now().Add(20 * time.Second)
	for s.lost() != "suspect" {
		if time.Now().After(deadline) {
			t.Fatalf("the board is %q, want suspect after a failover", s.lost())
		}
		s.rdb.(*redis.ClusterClient).ReloadState(ctx)
		time.Sleep(50 * time.Millisecond)
	}
	s.apply(t, change("user-00", 500, 2, 2))
	s.users[0] = change("user-00", 0, 3, 3)
	s.apply(t, s.users[0])
	s.beat(t)
	top := s.top(t)
	if top.State != scoreboard.StateCatchingUp || top.AsOf.After(before) {
		t.Errorf("after a failover: %s as of %s, want catching up, not after %s", top.State, top.AsOf, before)
	}
	s.rebuild(t, s.board, func() []scoreboard.Change { return s.users })
	s.beat(t)
	s.healthy(t)
}
