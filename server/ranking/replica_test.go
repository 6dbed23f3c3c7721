package ranking_test

import (
	"context"
	"net"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/redisurl"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

var readScripts = regexp.MustCompile(`cmdstat_eval(?:sha)?_ro:calls=(\d+)`)

// scriptsRead is how many scripts that only read a server has run.
func scriptsRead(t *testing.T, server *redis.Client) (n int) {
	t.Helper()
	stats, err := server.Info(ctx, "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range readScripts.FindAllStringSubmatch(stats, -1) {
		calls, err := strconv.Atoi(found[1])
		if err != nil {
			t.Fatal(err)
		}
		n += calls
	}
	return n
}

// readAll reads everything of a replica until it has what was applied.
func readAll(t *testing.T, r *ranking.Ranking) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		top, err := r.Top(ctx, board)
		if err == nil && len(top.Entries) == 2 && top.State == scoreboard.StateHealthy && !top.AsOf.IsZero() {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("got %+v, %v", top, err)
		}
	}
	users := []scoreboard.UserID{"alice", "bob"}
	if p, err := r.Place(ctx, board, "bob", 1); err != nil || p.Rank != 2 || len(p.Neighbours) != 2 {
		t.Errorf("place: got %+v, %v", p, err)
	}
	if p, err := r.Page(ctx, board, &scoreboard.Position{Key: -5, User: "alice"}, 5); err != nil ||
		len(p.Entries) == 0 {
		t.Errorf("page: got %+v, %v", p, err)
	}
	if l, err := r.List(ctx, board, users); err != nil || len(l.Entries) != 2 {
		t.Errorf("list: got %+v, %v", l, err)
	}
	if ranks, err := r.Ranks(ctx, board, users, make([]*scoreboard.Pair, 2)); err != nil || *ranks[1] != 2 {
		t.Errorf("ranks: got %v, %v", ranks, err)
	}
}

func beat(t *testing.T, r *ranking.Ranking, asOf time.Time) {
	t.Helper()
	err := r.RecordHeartbeats(ctx, []scoreboard.Heartbeat{{Shards: 1, Partitions: 1, AsOf: asOf}})
	if err != nil {
		t.Fatal(err)
	}
}

func TestReplicaOfOneServer(t *testing.T) {
	t.Parallel()
	primary := backends.OwnRedis(t)
	follower := primary.Replica()
	r := rig{rdb: backends.RedisClient(t, primary.URL)}
	r.Ranking = ranking.New(r.rdb)
	r.warm(t, board, change("alice", 5, 1, 1), change("bob", 3, 1, 1))
	beat(t, r.Ranking, time.Now())
	rdb := backends.RedisClient(t, follower.URL)
	replica := ranking.NewReplica(rdb)
	readAll(t, replica)

	// Cut off, it says of when its answers are, at once and without a cache.
	if err := rdb.Do(ctx, "replicaof", "127.0.0.1", "1").Err(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(follower.Kill) // Valkey 8.1 does not always end on SIGTERM while it looks for its primary
	before, err := replica.Top(ctx, board)
	if err != nil {
		t.Fatal(err)
	}
	r.apply(t, change("bob", 9, 2, 2))
	now := time.Now()
	beat(t, r.Ranking, now)
	after, err := replica.Top(ctx, board)
	if err != nil || !after.AsOf.Equal(before.AsOf) || show(after.Entries) != "alice:5 bob:3" {
		t.Errorf("got %+v, %v, want what it had", after, err)
	}
	main, err := r.Progress(ctx)
	if err != nil || main.Replica || main.AsOf.Before(now.Truncate(time.Microsecond)) {
		t.Errorf("primary: got %+v, %v", main, err)
	}
	if p, err := replica.Progress(ctx); err != nil || !p.Replica || !p.AsOf.Equal(after.AsOf) || p.ID != main.ID {
		t.Errorf("replica: got %+v, %v", p, err)
	}
	if n := scriptsRead(t, backends.RedisClient(t, primary.URL)); n != 0 {
		t.Errorf("the primary ran %d scripts for the replica", n)
	}
}

// TestReplicasDifferInAge reads two replicas by turns through one client, as behind a service
// with several servers: the time of an answer is that of the server that it came from.
func TestReplicasDifferInAge(t *testing.T) {
	t.Parallel()
	primary := backends.OwnRedis(t)
	servers := []*backends.RedisServer{primary.Replica(), primary.Replica()}
	r := rig{rdb: backends.RedisClient(t, primary.URL)}
	r.Ranking = ranking.New(r.rdb)
	r.warm(t, board, change("alice", 5, 1, 1), change("bob", 3, 1, 1))
	beat(t, r.Ranking, time.Now())
	for _, server := range servers {
		readAll(t, ranking.NewReplica(backends.RedisClient(t, server.URL)))
	}
	if err := backends.RedisClient(t, servers[1].URL).Do(ctx, "replicaof", "127.0.0.1", "1").Err(); err != nil {
		t.Fatal(err)
	}
	r.apply(t, change("bob", 9, 2, 2))
	changed := time.Now().Truncate(time.Microsecond)
	beat(t, r.Ranking, changed)
	turn := 0
	both := ranking.NewReplica(backends.RedisClient(t, servers[0].URL, func(o *redis.Options) {
		o.ConnMaxLifetime, o.PoolSize = time.Nanosecond, 1 // each call has a connection of its own
		o.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
			turn++
			return new(net.Dialer).DialContext(ctx, network, servers[turn%2].Host())
		}
	}))
	seen := make(map[string]int)
	// Long enough for a cache of freshness, if there were one, to be filled by each.
	for end := time.Now().Add(10 * time.Second); len(seen) < 2 || seen["bob:9 alice:5"] < 500; {
		top, err := both.Top(ctx, board)
		if err != nil {
			t.Fatal(err)
		}
		rows := show(top.Entries)
		if seen[rows]++; rows == "alice:5 bob:3" && !top.AsOf.Before(changed) {
			t.Fatalf("%s as of %s, after the change at %s", rows, top.AsOf, changed)
		}
		if time.Now().After(end) {
			t.Fatalf("got only %v", seen)
		}
	}
}

func TestReplicasOfACluster(t *testing.T) {
	t.Parallel()
	cluster := backends.OwnRedisCluster(t, 3, 3)
	o, err := redisurl.Parse(cluster.URL)
	if err != nil {
		t.Fatal(err)
	}
	r := rig{rdb: cluster.Client()}
	r.Ranking = ranking.New(r.rdb)
	rdb := o.OpenReplica()
	t.Cleanup(func() { _ = rdb.Close() })
	replica := ranking.NewReplica(rdb)
	r.warm(t, board, change("alice", 5, 1, 1), change("bob", 3, 1, 1))
	beat(t, r.Ranking, time.Now())
	readAll(t, replica)
	if p, err := replica.Progress(ctx); err != nil || !p.Replica || p.AsOf.IsZero() {
		t.Errorf("got %+v, %v", p, err)
	}
	// A client learns of replicas when it reads the map of the slots again.
	counts := make([]int, 6)
	count := func() (primaries, replicas int) {
		for i := range counts {
			counts[i] = scriptsRead(t, cluster.Node(i))
		}
		return counts[0] + counts[1] + counts[2], counts[3] + counts[4] + counts[5]
	}
	for _, partitions := range []int{1, 4} {
		b := *board
		b.Partitions = partitions
		r.warm(t, &b, change("alice", 5, 1, 1), change("bob", 3, 1, 1))
		beat(t, r.Ranking, time.Now())
		readAll(t, replica) // learns how the board is laid out
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Millisecond) {
			before, had := count()
			readAll(t, replica)
			if after, has := count(); after == before && has > had {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%d partitions: scripts that read, by server: %v; want them on the replicas, 3 to 5",
					partitions, counts)
			}
		}
	}
}
