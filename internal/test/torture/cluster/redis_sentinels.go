package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// sentinelName is what the sentinels call the primary.
const sentinelName = "main"

// startSentinels starts a primary, a replica and three sentinels. These replace a primary that they do
// not reach about two seconds later. They and the servers reach each server through one proxy, so that
// a server can be separated from them, and not from a node.
func (s *redisSet) startSentinels(ctx context.Context) error {
	var first string
	for _, name := range []string{string(Redis), "redis-2"} {
		one, err := s.newServer(ctx, name, "masterauth "+redisPassword, "repl-diskless-sync-delay 0",
			"repl-timeout 5")
		if err != nil {
			return err
		}
		s.servers = append(s.servers, one)
		if one.peers, err = Listen(ctx, one.addr()); err != nil {
			return err
		}
		_, port, _ := net.SplitHostPort(one.known()) // it is one
		one.o.Config = append(one.o.Config, "replica-announce-ip 127.0.0.1", "replica-announce-port "+port)
		if first == "" {
			first = "127.0.0.1 " + port
		} else {
			one.o.Config = append(one.o.Config, "replicaof "+first)
		}
		if err := one.start(ctx); err != nil {
			return err
		}
	}
	for i := range 3 {
		one, err := s.newServer(ctx, fmt.Sprint("sentinel-", i+1),
			"sentinel monitor "+sentinelName+" "+first+" 2",
			"sentinel auth-pass "+sentinelName+" "+redisPassword,
			"sentinel sentinel-pass "+redisPassword,
			"sentinel down-after-milliseconds "+sentinelName+" 1000",
			"sentinel failover-timeout "+sentinelName+" 5000",
		)
		if err != nil {
			return err
		}
		one.o.Sentinel = true
		s.sentinels = append(s.sentinels, one)
		if err := one.start(ctx); err != nil {
			return err
		}
	}
	if err := onRedis(s.servers[1].URL(), awaitLink); err != nil {
		return err
	}
	return s.awaitSentinels(ctx)
}

// awaitSentinels returns when the sentinels know each other and the replica: before, none replaces the
// primary.
func (s *redisSet) awaitSentinels(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, one := range s.sentinels {
		for {
			var state map[string]string
			err := onSentinel(one, func(ctx context.Context, rdb *redis.SentinelClient) (err error) {
				state, err = rdb.Master(ctx, sentinelName).Result()
				return err
			})
			if err == nil && state["num-other-sentinels"] == "2" && state["num-slaves"] == "1" {
				break
			}
			if ctx.Err() != nil {
				return fmt.Errorf("wait for the sentinels: %w, the last state is %v", ctx.Err(), state)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	return nil
}

func onSentinel(one *redisServer, do func(context.Context, *redis.SentinelClient) error) error {
	rdb := redis.NewSentinelClient(&redis.Options{Addr: one.addr(), Password: redisPassword})
	defer func() { _ = rdb.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return do(ctx, rdb)
}

// monitored is the server that the sentinels call the primary.
func (s *redisSet) monitored() (*redisServer, error) {
	var addr string
	err := onSentinel(s.sentinels[0], func(ctx context.Context, rdb *redis.SentinelClient) error {
		found, err := rdb.GetMasterAddrByName(ctx, sentinelName).Result()
		if err == nil && len(found) == 2 {
			addr = net.JoinHostPort(found[0], found[1])
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ask a sentinel for the primary: %w", err)
	}
	for _, one := range s.servers {
		if one.known() == addr {
			return one, nil
		}
	}
	return nil, fmt.Errorf("the sentinels name %s, which is no server", addr)
}

// monitors reports whether the sentinels call a server the primary.
func (s *redisSet) monitors(one *redisServer) bool {
	now, err := s.monitored()
	return err == nil && now == one
}

// failOverSentinels has the sentinels promote the replica. What the primary takes until it is told of
// it is lost.
func (s *redisSet) failOverSentinels() error {
	before, err := s.monitored()
	if err != nil {
		return err
	}
	err = onSentinel(s.sentinels[0], func(ctx context.Context, rdb *redis.SentinelClient) error {
		return rdb.Failover(ctx, sentinelName).Err()
	})
	if err != nil {
		return fmt.Errorf("have the sentinels fail over: %w", err)
	}
	return s.awaitOther(before)
}

var errSamePrimary = errors.New("the sentinels did not replace the primary")

// awaitOther returns when the sentinels name another primary.
func (s *redisSet) awaitOther(before *redisServer) error {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		if now, err := s.monitored(); err == nil && now != before {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return errSamePrimary
}

// PartitionZone separates a node and the primary of Redis from all others, and returns when these have
// another primary. The node goes on with the old one; it reaches PostgreSQL, as all do.
func (c *Cluster) PartitionZone(n *Node) (heal func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	primary, err := c.redis.monitored()
	if err != nil {
		return nil, err
	}
	cut := Proxies{primary.peers}
	for i, one := range c.redis.servers {
		for _, other := range c.Nodes {
			if (other == n) != (one == primary) {
				cut = append(cut, other.redis[i])
			}
		}
	}
	cut = append(cut, n.redis[len(c.redis.servers):]...) // the sentinels
	cut.Set(Fault{Refuse: true})
	cut.Reset()
	return func() { cut.Set(Fault{}) }, c.redis.awaitOther(primary)
}
