package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/devstack"
)

// RedisURL is the address of Redis, past all proxies.
func (c *Cluster) RedisURL() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.redis.URL()
}

// OnRedis calls do with a connection past all proxies, for at most five seconds.
func (c *Cluster) OnRedis(do func(context.Context, *redis.Client) error) error {
	return onRedis(c.RedisURL(), do)
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

// FailOverRedis promotes a replica that lacks what was written in the last lost, and
// ends the primary.
func (c *Cluster) FailOverRedis(ctx context.Context, lost time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.redis
	dir := filepath.Join(c.o.Dir, "redis-"+strconv.Itoa(old.Port)) // a name that is not in use
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the folder of a replica: %w", err)
	}
	conf, err := os.ReadFile(filepath.Join(c.dirs[Redis], "redis.conf")) // both have one password
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "redis.conf"), conf, 0o600) //nolint:gosec // in the run's folder
	}
	if err != nil {
		return fmt.Errorf("configure a replica: %w", err)
	}
	// A primary waits for further replicas before it sends the data, by default 5 s.
	if err := onRedis(old.URL(), func(ctx context.Context, rdb *redis.Client) error {
		return rdb.ConfigSet(ctx, "repl-diskless-sync-delay", "0").Err()
	}); err != nil {
		return fmt.Errorf("prepare the primary for a replica: %w", err)
	}
	replica, err := devstack.StartRedis(ctx, devstack.RedisOptions{Dir: dir})
	if err != nil {
		return err
	}
	err = onRedis(replica.URL(), func(ctx context.Context, rdb *redis.Client) error {
		o, err := redis.ParseURL(old.URL())
		if err != nil {
			return err
		}
		if err := rdb.ConfigSet(ctx, "masterauth", o.Password).Err(); err != nil {
			return err
		}
		if err := rdb.ReplicaOf(ctx, "127.0.0.1", strconv.Itoa(old.Port)).Err(); err != nil {
			return err
		}
		for {
			info, err := rdb.Info(ctx, "replication").Result()
			if err != nil {
				return err
			}
			if strings.Contains(info, "master_link_status:up") {
				return rdb.ReplicaOf(ctx, "NO", "ONE").Err()
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
	if err != nil {
		replica.Kill()
		return fmt.Errorf("replicate Redis: %w", err)
	}
	time.Sleep(lost)
	old.Kill()
	if err := os.RemoveAll(c.dirs[Redis]); err != nil {
		return fmt.Errorf("clear the folder of the ended Redis: %w", err)
	}
	c.redis, c.dirs[Redis] = replica, dir
	c.retarget((*Node).RedisNet, replica.URL())
	return nil
}
