package backends

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/redisurl"
	"github.com/scoreboard/scoreboard/server/devstack"
	"github.com/scoreboard/scoreboard/server/devstack/process"
)

const (
	clusterPassword = "of+the/cluster" // it must be encoded in a URL
	clusterTimeout  = 30 * time.Second
	allSlots        = 16384
)

// RedisCluster is a cluster of Redis servers that only one test uses. It replaces a
// primary that died about two seconds later, if it has a replica; without one, the others
// serve their slots all the same.
type RedisCluster struct {
	t       testing.TB
	URL     string
	Servers []*RedisServer // the first ones began as primaries, each with as many slots

	mu    sync.Mutex
	nodes map[int]*redis.Client
}

// OwnRedisCluster starts a cluster, in about three seconds. Primary i has the replica
// i + primaries, if there are as many replicas.
func OwnRedisCluster(t testing.TB, primaries, replicas int) *RedisCluster {
	t.Helper()
	return ownRedisCluster(t, primaries, replicas, nil)
}

// OwnSecureRedisCluster starts a cluster whose servers, at localhost, require TLS and a
// client certificate of each other and of the clients of URL.
func OwnSecureRedisCluster(t testing.TB, primaries int, files *ServerFiles) *RedisCluster {
	t.Helper()
	return ownRedisCluster(t, primaries, 0, files)
}

func ownRedisCluster(t testing.TB, primaries, replicas int, files *ServerFiles) *RedisCluster {
	t.Helper()
	c := &RedisCluster{
		t: t, Servers: make([]*RedisServer, primaries+replicas), nodes: make(map[int]*redis.Client),
	}
	buses := make([]int, len(c.Servers))
	ports := make([]int, len(c.Servers)) // as the servers announce them
	hosts := make([]string, len(c.Servers))
	scheme := "redis+cluster"
	for i := range c.Servers {
		var err error
		if buses[i], err = process.FreePort(t.Context()); err != nil { // the default may lie beyond the last port
			t.Fatal(err)
		}
		config := []string{
			"masterauth " + clusterPassword, "cluster-enabled yes", "cluster-port " + strconv.Itoa(buses[i]),
			"cluster-announce-ip 127.0.0.1", "cluster-node-timeout 1000", "cluster-replica-validity-factor 0",
			"repl-diskless-sync-delay 0", "cluster-require-full-coverage no",
		}
		if files != nil {
			var further []string
			ports[i], further = redisTLS(t, files)
			config = append(append(config, further...), "tls-cluster yes",
				"cluster-announce-hostname localhost", "cluster-preferred-endpoint-type hostname")
			hosts[i], scheme = "localhost:"+strconv.Itoa(ports[i]), "rediss+cluster"
		}
		c.Servers[i] = ownRedis(t, devstack.RedisOptions{Password: clusterPassword, Config: config})
		if files == nil {
			ports[i], hosts[i] = c.Servers[i].Port, c.Servers[i].Host()
		}
	}
	c.URL = scheme + "://:" + strings.NewReplacer("+", "%2B", "/", "%2F").Replace(clusterPassword) + "@" +
		strings.Join(hosts, ",")
	ctx, cancel := context.WithTimeout(t.Context(), clusterTimeout)
	defer cancel()
	first := c.Node(0)
	ids := make([]string, len(c.Servers))
	for i := range c.Servers {
		var err error
		if ids[i], err = c.Node(i).ClusterMyID(ctx).Result(); err != nil {
			t.Fatalf("identify server %d of the cluster: %v", i, err)
		}
		c.must(c.Node(i).Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err())
		if i < primaries {
			c.must(c.Node(i).ClusterAddSlotsRange(ctx, i*allSlots/primaries, (i+1)*allSlots/primaries-1).Err())
		}
		if i > 0 {
			c.must(first.Do(ctx, "CLUSTER", "MEET", "127.0.0.1", ports[i], buses[i]).Err())
		}
	}
	for i := range replicas {
		c.await(ctx, "replicas to join", func() bool {
			return c.Node(primaries+i).ClusterReplicate(ctx, ids[i%primaries]).Err() == nil
		})
	}
	c.AwaitReady(ctx)
	c.await(ctx, "replicas to be in step", func() bool {
		for i := range replicas {
			info, err := c.Node(primaries+i).Info(ctx, "replication").Result()
			if err != nil || !strings.Contains(info, "master_link_status:up") {
				return false
			}
		}
		return true
	})
	return c
}

// Host returns host:port of a server.
func (s *RedisServer) Host() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port)) }

// Node returns a client of one server, which is closed when the test ends.
func (c *RedisCluster) Node(i int) *redis.Client {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.nodes[i] == nil {
		c.nodes[i] = RedisClient(c.t, c.Servers[i].URL)
	}
	return c.nodes[i]
}

// Client opens a client of the cluster until the test ends.
func (c *RedisCluster) Client() *redis.ClusterClient {
	c.t.Helper()
	o, err := redisurl.Parse(c.URL)
	if err != nil {
		c.t.Fatal(err)
	}
	rdb := o.Open().(*redis.ClusterClient)
	c.t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// AwaitReady returns when every server that runs sees every slot served.
func (c *RedisCluster) AwaitReady(ctx context.Context) {
	c.t.Helper()
	for i, s := range c.Servers {
		if !s.Running() {
			continue
		}
		node := c.Node(i)
		c.await(ctx, "the cluster", func() bool {
			info, err := node.ClusterInfo(ctx).Result()
			if err != nil || !strings.Contains(info, "cluster_state:ok") {
				return false
			}
			known, err := node.ClusterNodes(ctx).Result()
			return err == nil && strings.Count(known, "\n") == len(c.Servers) && !strings.Contains(known, "handshake")
		})
	}
}

// Primary returns the index of the server that has the slot of a key.
func (c *RedisCluster) Primary(key string) int {
	c.t.Helper()
	rdb := c.Client()
	rdb.ReloadState(c.t.Context())
	node, err := rdb.MasterForKey(c.t.Context(), key)
	if err != nil {
		c.t.Fatal(err)
	}
	for i, s := range c.Servers {
		if s.Host() == node.Options().Addr {
			return i
		}
	}
	c.t.Fatalf("no server of the cluster has the address %s", node.Options().Addr)
	return 0
}

// MoveSlots moves slots from one server to another, as redis-cli --cluster reshard does.
func (c *RedisCluster) MoveSlots(from, to, first, last int) {
	c.t.Helper()
	for slot := first; slot <= last; slot++ {
		c.BeginMove(from, to, slot)()
	}
}

// BeginMove begins to move a slot, and moves some of its keys. The function that it
// returns moves the others and ends the move.
func (c *RedisCluster) BeginMove(from, to, slot int, keys ...string) (end func()) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), clusterTimeout)
	source, target := c.Node(from), c.Node(to)
	sourceID, err := source.ClusterMyID(ctx).Result()
	c.must(err)
	targetID, err := target.ClusterMyID(ctx).Result()
	c.must(err)
	c.must(target.Do(ctx, "CLUSTER", "SETSLOT", slot, "IMPORTING", sourceID).Err())
	c.must(source.Do(ctx, "CLUSTER", "SETSLOT", slot, "MIGRATING", targetID).Err())
	move := func(keys []string) {
		args := []any{"MIGRATE", "127.0.0.1", c.Servers[to].Port, "", 0, 5000, "AUTH", clusterPassword, "KEYS"}
		for _, key := range keys {
			args = append(args, key)
		}
		if err := source.Do(ctx, args...).Err(); err != nil {
			c.t.Errorf("move %d keys: %v", len(keys), err)
		}
	}
	if len(keys) > 0 {
		move(keys)
	}
	return func() {
		defer cancel()
		for {
			keys, err := source.ClusterGetKeysInSlot(ctx, slot, 10).Result()
			if err != nil {
				c.t.Errorf("list the keys of slot %d: %v", slot, err)
			}
			if len(keys) == 0 {
				break
			}
			move(keys)
		}
		for _, node := range []*redis.Client{target, source} {
			if err := node.Do(ctx, "CLUSTER", "SETSLOT", slot, "NODE", targetID).Err(); err != nil {
				c.t.Errorf("end the move of slot %d: %v", slot, err)
			}
		}
	}
}

func (c *RedisCluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *RedisCluster) await(ctx context.Context, what string, ready func() bool) {
	c.t.Helper()
	for !ready() {
		select {
		case <-ctx.Done():
			c.t.Fatalf("waited for %s: %v", what, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// RedisSentinels is a primary with replicas, watched by three sentinels, that only one
// test uses. It replaces a primary that died about two seconds later.
type RedisSentinels struct {
	t         testing.TB
	URL       string
	Servers   []*RedisServer // the first one began as primary
	Sentinels []*RedisServer
}

const sentinelPassword = "of&the=sentinels" // likewise

// OwnRedisSentinels starts a primary, replicas and three sentinels.
func OwnRedisSentinels(t testing.TB, replicas int) *RedisSentinels {
	t.Helper()
	return ownRedisSentinels(t, replicas, nil)
}

// OwnSecureRedisSentinels starts a primary and three sentinels, at localhost, that require
// TLS and a client certificate of each other and of the clients of URL.
func OwnSecureRedisSentinels(t testing.TB, files *ServerFiles) *RedisSentinels {
	t.Helper()
	return ownRedisSentinels(t, 0, files)
}

func ownRedisSentinels(t testing.TB, replicas int, files *ServerFiles) *RedisSentinels {
	t.Helper()
	s := &RedisSentinels{t: t}
	scheme, primary := "redis+sentinel", ""
	for i := range 1 + replicas {
		config := []string{"masterauth " + clusterPassword, "repl-diskless-sync-delay 0"}
		if i > 0 {
			config = append(config, fmt.Sprintf("replicaof 127.0.0.1 %d", s.Servers[0].Port))
		}
		if files != nil {
			port, further := redisTLS(t, files)
			config = append(config, further...)
			scheme, primary = "rediss+sentinel", fmt.Sprint("localhost ", port)
		}
		s.Servers = append(s.Servers, ownRedis(t, devstack.RedisOptions{Password: clusterPassword, Config: config}))
	}
	if files == nil {
		primary = fmt.Sprint("127.0.0.1 ", s.Servers[0].Port)
	}
	hosts := make([]string, 3)
	for i := range hosts {
		var config []string
		if files != nil {
			var port int
			port, config = redisTLS(t, files)
			config = append(config, "tls-replication yes",
				"sentinel resolve-hostnames yes", "sentinel announce-hostnames yes", "sentinel announce-ip localhost")
			hosts[i] = fmt.Sprint("localhost:", port)
		}
		sentinel := ownRedis(t, devstack.RedisOptions{
			Password: sentinelPassword, Sentinel: true, Config: append(config,
				"sentinel monitor main "+primary+" 2",
				"sentinel auth-pass main "+clusterPassword,
				"sentinel sentinel-pass "+sentinelPassword,
				"sentinel down-after-milliseconds main 1000",
				"sentinel failover-timeout main 5000",
			),
		})
		s.Sentinels = append(s.Sentinels, sentinel)
		if files == nil {
			hosts[i] = sentinel.Host()
		}
	}
	s.URL = scheme + "://:of%2Bthe%2Fcluster@" + strings.Join(hosts, ",") +
		"/main?sentinel_password=of%26the%3Dsentinels"
	return s
}

// AwaitPrimary returns when the sentinels have made a server the primary.
func (s *RedisSentinels) AwaitPrimary(i int) {
	s.t.Helper()
	node := RedisClient(s.t, s.Servers[i].URL)
	for deadline := time.Now().Add(clusterTimeout); ; time.Sleep(20 * time.Millisecond) {
		info, err := node.Info(context.Background(), "replication").Result()
		if err == nil && strings.Contains(info, "role:master") {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("server %d is not the primary: %v", i, err)
		}
	}
}
