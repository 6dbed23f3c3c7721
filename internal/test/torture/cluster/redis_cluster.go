package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/devstack/process"
)

const (
	clusterPrimaries = 3
	clusterReplicas  = 1 // of each
	clusterTimeout   = time.Minute
)

// startCluster starts the servers of a cluster. A replica takes over about two seconds after its primary
// died.
func (s *redisSet) startCluster(ctx context.Context) error {
	create := []string{"create"}
	for i := range clusterPrimaries * (1 + clusterReplicas) {
		name := string(Redis)
		if i > 0 {
			name += "-" + strconv.Itoa(i+1)
		}
		bus, err := process.FreePort(ctx) // the default may lie beyond the last port
		if err != nil {
			return err
		}
		one, err := s.newServer(ctx, name, "masterauth "+redisPassword, "cluster-enabled yes",
			"cluster-port "+strconv.Itoa(bus), "cluster-announce-ip 127.0.0.1", "cluster-node-timeout 1000",
			"cluster-replica-validity-factor 0", "repl-diskless-sync-delay 0", "cluster-require-full-coverage no")
		if err != nil {
			return err
		}
		s.servers = append(s.servers, one)
		if err := one.start(ctx); err != nil {
			return err
		}
		create = append(create, one.addr())
	}
	create = append(create, "--cluster-replicas", strconv.Itoa(clusterReplicas))
	if err := redisCLI(ctx, create...); err != nil {
		return err
	}
	return s.awaitCluster(ctx)
}

// redisCLI runs a command of the tool that operators change a cluster with.
func redisCLI(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "redis-cli", append([]string{"--cluster"}, append(args, "--cluster-yes")...)...)
	cmd.Env = append(cmd.Environ(), "REDISCLI_AUTH="+redisPassword)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("redis-cli --cluster %s: %w\n%s", args[0], err, out[max(0, len(out)-1000):])
	}
	return nil
}

// awaitCluster returns when every server that runs sees all slots served, no primary is left that was
// replaced, and the replicas are in step.
func (s *redisSet) awaitCluster(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	for _, one := range s.servers {
		if !running(one.Process) {
			continue
		}
		for {
			var state, replication string
			err := onRedis(one.URL(), func(ctx context.Context, rdb *redis.Client) (err error) {
				if state, err = rdb.ClusterInfo(ctx).Result(); err == nil {
					replication, err = rdb.Info(ctx, "replication").Result()
				}
				return err
			})
			if err == nil && strings.Contains(state, "cluster_state:ok") &&
				strings.Contains(state, "cluster_slots_ok:16384") && len(s.primaries()) == clusterPrimaries &&
				!strings.Contains(replication, "master_link_status:down") {
				break
			}
			if ctx.Err() != nil {
				return fmt.Errorf("wait for the cluster: %w, %s says %s", ctx.Err(), one.name, state)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	return nil
}

// takeOver has a replica take the slots of its primary without asking it, as an operator does in a
// disaster. What the primary takes until it is told of it is lost.
func (s *redisSet) takeOver(rng *rand.Rand) error {
	drawn := rng.Uint64()
	primaries := s.primaries()
	var replicas []*redisServer
	for _, one := range s.servers {
		isPrimary := false
		for _, other := range primaries {
			isPrimary = isPrimary || one == other
		}
		if !isPrimary && running(one.Process) {
			replicas = append(replicas, one)
		}
	}
	if len(replicas) == 0 {
		return errors.New("take over: the cluster has no replica")
	}
	return onRedis(replicas[drawn%uint64(len(replicas))].URL(), func(ctx context.Context, rdb *redis.Client) error {
		return rdb.Do(ctx, "CLUSTER", "FAILOVER", "TAKEOVER").Err()
	})
}

// MoveSlots moves slots from the primary with the most of them to another one, with all their keys.
func (c *Cluster) MoveSlots(ctx context.Context, rng *rand.Rand, slots int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.redis.awaitCluster(ctx); err != nil {
		return err
	}
	entry := c.redis.servers[0]
	var from, to string
	err := onRedis(entry.URL(), func(ctx context.Context, rdb *redis.Client) error {
		shards, err := rdb.ClusterShards(ctx).Result()
		if err != nil {
			return err
		}
		count := make(map[string]int64)
		for _, shard := range shards {
			for _, node := range shard.Nodes {
				for _, r := range shard.Slots {
					if node.Role == "master" {
						count[node.ID] += r.End - r.Start + 1
					}
				}
			}
		}
		ids := slices.SortedFunc(maps.Keys(count), func(x, y string) int { return cmp.Compare(count[y], count[x]) })
		if len(ids) < 2 {
			return errors.New("the cluster has one primary")
		}
		from, to = ids[0], ids[1+rng.IntN(len(ids)-1)]
		return nil
	})
	if err != nil {
		return fmt.Errorf("move slots: %w", err)
	}
	return redisCLI(ctx, "reshard", entry.addr(), "--cluster-from", from, "--cluster-to", to,
		"--cluster-slots", strconv.Itoa(slots))
}
