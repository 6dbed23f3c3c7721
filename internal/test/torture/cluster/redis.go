package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/devstack"
	"github.com/scoreboard/scoreboard/server/devstack/process"
)

// RedisKind is how the servers of Redis belong together.
type RedisKind string

// The kinds.
const (
	SingleRedis  RedisKind = ""
	Sentinels    RedisKind = "sentinels" // a primary and a replica, watched by three sentinels
	RedisCluster RedisKind = "cluster"   // three primaries, each with a replica
)

// redisPassword is that of all servers and sentinels.
const redisPassword = "of-the-torture-test"

// redisSet is the Redis servers of an installation.
type redisSet struct {
	kind      RedisKind
	dir       string
	servers   []*redisServer
	sentinels []*redisServer
}

// redisServer is one server or sentinel, which may be killed and started again.
type redisServer struct {
	*devstack.Redis
	name Backend
	o    devstack.RedisOptions
	// peers is what the other servers and the sentinels reach it by, and the address under which
	// they know it; nil: its own.
	peers *Proxy
}

// addr is where a server listens.
func (s *redisServer) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.o.Port)) }

// known is the address under which the others know a server.
func (s *redisServer) known() string {
	if s.peers != nil {
		return s.peers.Addr()
	}
	return s.addr()
}

// start starts a server on its data and port. It does nothing for one that runs.
func (s *redisServer) start(ctx context.Context) error {
	if s.Redis != nil && running(s.Process) {
		return nil
	}
	r, err := devstack.StartRedis(ctx, s.o)
	if err == nil {
		s.Redis = r
	}
	return err
}

func running(p *process.Process) bool {
	select {
	case <-p.Done():
		return false
	default:
		return true
	}
}

// newServer describes a server, which is not started.
func (s *redisSet) newServer(ctx context.Context, name string, config ...string) (*redisServer, error) {
	port, err := process.FreePort(ctx)
	if err != nil {
		return nil, err
	}
	return &redisServer{
		name: Backend(name),
		o: devstack.RedisOptions{
			Dir: filepath.Join(s.dir, name), Port: port, Password: redisPassword, Config: config,
		},
	}, nil
}

func (s *redisSet) start(ctx context.Context) error {
	switch s.kind {
	case Sentinels:
		return s.startSentinels(ctx)
	case RedisCluster:
		return s.startCluster(ctx)
	}
	one, err := s.newServer(ctx, string(Redis))
	if err != nil {
		return err
	}
	s.servers = append(s.servers, one)
	return one.start(ctx)
}

func (s *redisSet) close() {
	for _, one := range append(s.sentinels, s.servers...) {
		if one.Redis != nil {
			one.Kill()
		}
		if one.peers != nil {
			one.peers.Close()
		}
	}
}

// find returns a server by its name, nil if there is none.
func (s *redisSet) find(name Backend) *redisServer {
	for _, one := range s.servers {
		if one.name == name {
			return one
		}
	}
	return nil
}

// primaries are the servers that say that they are one.
func (s *redisSet) primaries() (found []*redisServer) {
	for _, one := range s.servers {
		if !running(one.Process) {
			continue
		}
		var info string
		err := onRedis(one.URL(), func(ctx context.Context, rdb *redis.Client) (err error) {
			info, err = rdb.Info(ctx, "replication").Result()
			return err
		})
		if err == nil && strings.Contains(info, "role:master") {
			found = append(found, one)
		}
	}
	return found
}

// nodeURL is the setting of a node, whose proxies are those of the servers, then of the sentinels.
func (s *redisSet) nodeURL(proxies Proxies) string {
	var hosts []string
	for _, p := range proxies {
		hosts = append(hosts, p.Addr())
	}
	login := "default:" + redisPassword + "@"
	switch s.kind {
	case Sentinels:
		return "redis+sentinel://" + login + strings.Join(hosts[len(s.servers):], ",") + "/" + sentinelName +
			"?sentinel_password=" + redisPassword
	case RedisCluster:
		return "redis+cluster://" + login + strings.Join(hosts, ",")
	}
	return "redis://" + login + hosts[0] + "/0"
}

// proxiesOf makes the proxies of a node, which listen on a host: to every server, then to every sentinel.
// What these say of the servers' addresses names the proxies of this node.
func (s *redisSet) proxiesOf(ctx context.Context, host string) (Proxies, error) {
	var all Proxies
	names := make(map[string]string)
	for _, one := range append(append([]*redisServer(nil), s.servers...), s.sentinels...) {
		p, err := listenOn(ctx, host, one.addr())
		if err != nil {
			return all, err
		}
		all = append(all, p)
		names[one.known()] = p.Addr()
	}
	if s.kind != SingleRedis {
		for _, p := range all {
			if err := p.Rename(names); err != nil {
				return all, err
			}
		}
	}
	return all, nil
}

// RedisURL is the address of a single Redis, past all proxies.
func (c *Cluster) RedisURL() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.redis.servers[0].URL()
}

// AnyRedis draws a server: more often than not a primary.
func (c *Cluster) AnyRedis(rng *rand.Rand) Backend {
	c.mu.Lock()
	defer c.mu.Unlock()
	drawn, all := rng.Uint64(), rng.IntN(4) == 0
	from := c.redis.servers
	if found := c.redis.primaries(); len(found) > 0 && !all {
		from = found
	}
	return from[drawn%uint64(len(from))].name
}

// OnRedis calls do with a connection to every primary, past all proxies, for at most five seconds.
func (c *Cluster) OnRedis(do func(context.Context, *redis.Client) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.redis.primaries() {
		if err := onRedis(one.URL(), do); err != nil {
			return err
		}
	}
	return nil
}

func onRedis(address string, do func(context.Context, *redis.Client) error) error {
	o, err := redis.ParseURL(address)
	if err != nil {
		return fmt.Errorf("parse the address of Redis: %w", err)
	}
	rdb := redis.NewClient(o)
	defer func() { _ = rdb.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return do(ctx, rdb)
}

// AwaitPrimaries returns when no server takes writes that a failover loses: each one that was replaced has
// become a replica.
func (c *Cluster) AwaitPrimaries(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.redis.kind == RedisCluster {
		return c.redis.awaitCluster(ctx)
	}
	for {
		found := c.redis.primaries()
		if len(found) == 1 && (c.redis.kind == SingleRedis || c.redis.monitors(found[0])) {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("wait for a single primary: %w, there are %d", ctx.Err(), len(found))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// FailOverRedis makes a replica the primary, which lacks what the one before took lately: with a
// single server, in the last lost.
func (c *Cluster) FailOverRedis(ctx context.Context, rng *rand.Rand, lost time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.redis.kind {
	case Sentinels:
		return c.redis.failOverSentinels()
	case RedisCluster:
		return c.redis.takeOver(rng)
	}
	old := c.redis.servers[0]
	replica, err := c.redis.promoteReplica(ctx, old)
	if err != nil {
		return err
	}
	time.Sleep(lost)
	old.Kill()
	if err := os.RemoveAll(old.o.Dir); err != nil {
		return fmt.Errorf("clear the folder of the ended Redis: %w", err)
	}
	c.redis.servers[0], c.dirs[Redis] = replica, replica.o.Dir
	retarget(c.Nodes, (*Node).redisNet, replica.addr())
	return nil
}

// LeaveRedis has all nodes use a replica that lacks what the server took in the last lost. The
// returned function has them use the server again, as it was left.
func (c *Cluster) LeaveRedis(ctx context.Context, lost time.Duration) (back func() error, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.redis.servers[0]
	replica, err := c.redis.promoteReplica(ctx, old)
	if err != nil {
		return nil, err
	}
	time.Sleep(lost)
	retarget(c.Nodes, (*Node).redisNet, replica.addr())
	return func() error {
		retarget(c.Nodes, (*Node).redisNet, old.addr())
		replica.Kill()
		return os.RemoveAll(replica.o.Dir)
	}, nil
}

// promoteReplica starts a replica of a server, and separates them when they are in step.
func (s *redisSet) promoteReplica(ctx context.Context, old *redisServer) (*redisServer, error) {
	replica, err := s.newServer(ctx, "redis-"+strconv.Itoa(old.o.Port)) // a name that is not in use
	if err != nil {
		return nil, err
	}
	replica.name = Redis
	// A primary waits for further replicas before it sends the data, by default 5 s.
	if err := onRedis(old.URL(), func(ctx context.Context, rdb *redis.Client) error {
		return rdb.ConfigSet(ctx, "repl-diskless-sync-delay", "0").Err()
	}); err != nil {
		return nil, fmt.Errorf("prepare the primary for a replica: %w", err)
	}
	if err := replica.start(ctx); err != nil {
		return nil, err
	}
	err = onRedis(replica.URL(), func(ctx context.Context, rdb *redis.Client) error {
		if err := rdb.ConfigSet(ctx, "masterauth", redisPassword).Err(); err != nil {
			return err
		}
		if err := rdb.ReplicaOf(ctx, "127.0.0.1", strconv.Itoa(old.o.Port)).Err(); err != nil {
			return err
		}
		if err := awaitLink(ctx, rdb); err != nil {
			return err
		}
		return rdb.ReplicaOf(ctx, "NO", "ONE").Err()
	})
	if err != nil {
		replica.Kill()
		return nil, fmt.Errorf("replicate Redis: %w", err)
	}
	return replica, nil
}

// awaitLink returns when a replica is in step with its primary.
func awaitLink(ctx context.Context, rdb *redis.Client) error {
	for {
		info, err := rdb.Info(ctx, "replication").Result()
		if err != nil {
			return err
		}
		if strings.Contains(info, "master_link_status:up") {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
}
