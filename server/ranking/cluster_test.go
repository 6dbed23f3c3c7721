package ranking_test

import (
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// TestScriptsUseOneClusterSlot runs every script on a Redis in cluster mode, which
// rejects a script that uses keys of two slots or undeclared keys.
func TestScriptsUseOneClusterSlot(t *testing.T) {
	t.Parallel()
	r := rig{rdb: cluster(t)}
	r.Ranking = ranking.New(r.rdb)
	other := &scoreboard.Board{ID: "daily:2026-11-21", Order: scoreboard.OrderHighest, Created: board.Created}
	for _, b := range []*scoreboard.Board{board, other} {
		r.warm(t, b, change("bob", 3, 1, 1))
	}
	theirs := change("bob", 4, 2, 2)
	theirs.Board = other.ID
	r.apply(t, change("alice", 5, 1, 1), theirs)
	if ok, err := r.Mark(ctx, board.ID, "beside"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	r.apply(t, change("alice", 6, 2, 2)) // live and shadow
	if err := r.Fence(ctx, board.ID, "beside", time.UnixMicro(1)); err != nil {
		t.Error(err)
	}
	if err := r.Unmark(ctx, board.ID, "beside"); err != nil {
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
	if ranks, err := r.Ranks(ctx, board, users, make([]*scoreboard.Score, 2)); err != nil || *ranks[0] != 1 {
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

// cluster starts a cluster of one node that owns every slot.
func cluster(t *testing.T) *redis.ClusterClient {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("cluster test skipped: redis-server is not installed")
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	bus := n - 10000 // the default, above, may lie beyond the last port
	if bus < 1024 {
		bus = n + 10000
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	server := exec.CommandContext(
		t.Context(), "redis-server", "--port", port, "--bind", "127.0.0.1", "--cluster-enabled", "yes",
		"--cluster-port", strconv.Itoa(bus), "--cluster-announce-ip", "127.0.0.1", "--save", "", "--dir",
		t.TempDir(),
	)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Wait() }) // it is killed with the test's context
	node := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = node.Close() })
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if err = node.ClusterAddSlotsRange(ctx, 0, 16383).
			Err(); err == nil ||
			strings.Contains(err.Error(), "already busy") {
			info, infoErr := node.ClusterInfo(ctx).Result()
			if infoErr == nil && strings.Contains(info, "cluster_state:ok") {
				break
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("no cluster after 10 s: %v", err)
		}
	}
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{addr}})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}
