package ranking_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// node is a process whose client follows a failover when the test says so.
type node struct {
	rig
	at atomic.Pointer[backends.RedisServer]
}

func newNode(t *testing.T, at *backends.RedisServer) *node {
	t.Helper()
	n := &node{}
	n.at.Store(at)
	n.rdb = backends.RedisClient(t, at.URL, func(o *redis.Options) {
		o.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, n.at.Load().Host())
		}
		o.OnConnect = func(ctx context.Context, conn *redis.Conn) error { return n.Connected(ctx, conn) }
	})
	n.Ranking = ranking.New(n.rdb)
	return n
}

// follow moves the node to another server.
func (n *node) follow(t *testing.T, next *backends.RedisServer) {
	t.Helper()
	before := backends.RedisClient(t, n.at.Load().URL)
	n.at.Store(next)
	if err := before.ClientKillByFilter(ctx, "TYPE", "normal").Err(); err != nil {
		t.Fatal(err)
	}
	if err := n.rdb.Ping(ctx).Err(); err != nil {
		t.Fatal(err)
	}
}

// beatOf records the heartbeat of a node's own partition, of two.
func (n *node) beatOf(t *testing.T, partition int) {
	t.Helper()
	err := n.RecordHeartbeats(ctx, []scoreboard.Heartbeat{{
		Shards: 1, Partition: partition, Partitions: 2, AsOf: time.Now().Truncate(time.Microsecond),
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// expectState checks a board as its readers and the rebuilder see it.
func (r rig) expectState(t *testing.T, why string, b *scoreboard.Board, want scoreboard.BoardState) {
	t.Helper()
	time.Sleep(110 * time.Millisecond) // the freshness that was read before is no longer cached
	top, err := r.Top(ctx, b)
	if err != nil || top.State != want {
		t.Errorf("%s: the board is %+v, %v; want it %s", why, top, err, want)
	}
	missing, suspect, unknown, err := r.Unhealthy(ctx, []scoreboard.Board{*b})
	healthy := len(missing)+len(suspect)+unknown == 0
	if err != nil || healthy != (want == scoreboard.StateHealthy) {
		t.Errorf("%s: missing %v, suspect %v, unknown %d, %v", why, missing, suspect, unknown, err)
	}
	if status, err := r.Status(ctx, b.ID); err != nil || status.State != want {
		t.Errorf("%s: the status is %+v, %v; want %s", why, status, err, want)
	}
}

// failOver makes nodes of a primary and its replica, promotes the replica, and moves the first
// node. Boards are rebuilt there.
func failOver(t *testing.T, b *scoreboard.Board) (first, second *node, next *backends.RedisServer) {
	t.Helper()
	old := backends.OwnRedis(t)
	next = old.Replica()
	first, second = newNode(t, old), newNode(t, old)
	first.warm(t, b)
	first.apply(t, onBoard(b, change("alice", 5, 1, 1)))
	second.apply(t, onBoard(b, change("bob", 3, 1, 1)))
	first.beatOf(t, 0)
	second.beatOf(t, 1)
	promoted := backends.RedisClient(t, next.URL)
	waitFor(t, "the replica", func() bool {
		fields, err := promoted.HLen(ctx, "sb:fresh").Result()
		return err == nil && fields >= 5
	})
	if err := promoted.ReplicaOf(ctx, "NO", "ONE").Err(); err != nil {
		t.Fatal(err)
	}
	first.follow(t, next)
	first.beatOf(t, 0)
	first.expectState(t, "before the rebuild", b, scoreboard.StateCatchingUp)
	first.warm(t, b, onBoard(b, change("alice", 5, 1, 1)), onBoard(b, change("bob", 3, 1, 1)))
	return first, second, next
}

func onBoard(b *scoreboard.Board, c scoreboard.Change) scoreboard.Change {
	c.Board = b.ID
	return c
}

func waitFor(t *testing.T, what string, ready func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ready(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s in time", what)
		}
	}
}

// eachLayout runs a test on a board in one piece, and on one in partitions.
func eachLayout(t *testing.T, do func(t *testing.T, b *scoreboard.Board)) {
	t.Parallel()
	for name, partitions := range map[string]int{"whole": 1, "partitions": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := *board
			b.Partitions = partitions
			do(t, &b)
		})
	}
}

// A node applies a change to the old primary after another one has rebuilt the board on the new
// one, then follows. The change is on neither board.
func TestLateWriterDoubtsRebuiltBoards(t *testing.T) {
	eachLayout(t, func(t *testing.T, b *scoreboard.Board) {
		first, second, next := failOver(t, b)
		second.apply(t, onBoard(b, change("bob", 9, 2, 2)))
		second.follow(t, next)
		second.beatOf(t, 1)
		first.beatOf(t, 0)
		first.expectState(t, "with the late writer", b, scoreboard.StateCatchingUp)
		first.warm(t, b, onBoard(b, change("alice", 5, 1, 1)), onBoard(b, change("bob", 9, 2, 2)))
		first.beatOf(t, 0)
		second.beatOf(t, 1)
		first.expectState(t, "rebuilt again", b, scoreboard.StateHealthy)
	})
}

// A node that has written nothing to the old primary since costs no second rebuild.
func TestFollowingLateDoubtsNothing(t *testing.T) {
	eachLayout(t, func(t *testing.T, b *scoreboard.Board) {
		first, second, next := failOver(t, b)
		second.follow(t, next)
		second.beatOf(t, 1)
		first.beatOf(t, 0)
		first.expectState(t, "with both", b, scoreboard.StateHealthy)
	})
}

// The node that writes to the old primary ends before it has followed: the node that takes its partition
// over cannot know what it wrote.
func TestSuccessorOfLateWriterDoubtsBoards(t *testing.T) {
	eachLayout(t, func(t *testing.T, b *scoreboard.Board) {
		first, second, _ := failOver(t, b)
		second.apply(t, onBoard(b, change("bob", 9, 2, 2)))
		first.beatOf(t, 0)
		first.beatOf(t, 1)
		first.expectState(t, "after the takeover", b, scoreboard.StateCatchingUp)
	})
}

// A node is led to the new primary and back to the old one between two heartbeats. What it wrote meanwhile is
// not on the old one.
func TestShortVisitDoubtsBoards(t *testing.T) {
	eachLayout(t, func(t *testing.T, b *scoreboard.Board) {
		old := backends.OwnRedis(t)
		other := old.Replica()
		n := newNode(t, old)
		n.warm(t, b)
		n.apply(t, onBoard(b, change("alice", 5, 1, 1)))
		n.beatOf(t, 0)
		n.beatOf(t, 1)
		n.expectState(t, "before", b, scoreboard.StateHealthy)
		promoted := backends.RedisClient(t, other.URL)
		waitFor(t, "the replica", func() bool {
			fields, err := promoted.HLen(ctx, "sb:fresh").Result()
			return err == nil && fields >= 5
		})
		if err := promoted.ReplicaOf(ctx, "NO", "ONE").Err(); err != nil {
			t.Fatal(err)
		}
		n.follow(t, other)
		n.apply(t, onBoard(b, change("alice", 9, 2, 2)))
		n.follow(t, old)
		n.beatOf(t, 0)
		n.beatOf(t, 1)
		n.expectState(t, "after the visit", b, scoreboard.StateCatchingUp)
		n.warm(t, b, onBoard(b, change("alice", 9, 2, 2)))
		n.beatOf(t, 0)
		n.beatOf(t, 1)
		n.expectState(t, "rebuilt", b, scoreboard.StateHealthy)
	})
}

// What a relay published to a stream of the old primary is lost as well.
func TestLatePublisherDoubtsRebuiltBoards(t *testing.T) {
	eachLayout(t, func(t *testing.T, b *scoreboard.Board) {
		first, second, next := failOver(t, b)
		end, err := second.Publishing(ctx)
		if err != nil {
			t.Fatal(err)
		}
		end()
		second.follow(t, next)
		if err := second.BeforeHeartbeat(ctx, scoreboard.Heartbeat{Shards: 1, AsOf: time.Now()}); err != nil {
			t.Fatal(err)
		}
		first.expectState(t, "with the late publisher", b, scoreboard.StateCatchingUp)
	})
}
