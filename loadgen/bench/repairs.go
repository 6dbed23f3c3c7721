package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/client"
)

// benchRebuild rebuilds the board while somebody reads it all the time.
func (r *rig) benchRebuild(ctx context.Context, of size) error {
	if err := r.flush(ctx); err != nil { // the board was built before it had users
		return err
	}
	c, err := r.all(ctx, of)
	if err != nil {
		return err
	}
	defer c.Close()
	reading, stop := context.WithCancel(ctx)
	var reads, degraded, failed int
	var worst time.Duration
	var all sync.WaitGroup
	all.Go(func() {
		for reading.Err() == nil {
			began := time.Now()
			top, err := c.Top(reading, client.TopQuery{})
			if reading.Err() != nil {
				return
			}
			worst = max(worst, time.Since(began))
			reads++
			if err != nil {
				failed++
			} else if top.Degraded {
				degraded++
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	done, err := c.Rebuild(ctx, client.JobRequest{Board: "global"}, func(client.JobLine) {})
	stop()
	all.Wait()
	if err != nil {
		return err
	}
	took := time.Duration(done.Rebuilt[0].TookMS) * time.Millisecond
	fmt.Printf("- rebuild of %d users: %s (%.0f users/s); meanwhile %d reads of the top, %d degraded, %d failed, the slowest %s\n",
		done.Rebuilt[0].Users, took, float64(done.Rebuilt[0].Users)/took.Seconds(), reads, degraded, failed, worst.Round(time.Millisecond))
	return nil
}

// benchVerify adds up the whole ledger.
func (r *rig) benchVerify(ctx context.Context, _ size) error {
	c, err := client.New(r.api, client.Options{Token: r.token, KeyID: r.key.KeyID, KeySecret: r.key.Secret})
	if err != nil {
		return err
	}
	defer c.Close()
	done, err := c.Verify(ctx, client.JobRequest{Board: "global"}, func(client.JobLine) {})
	if err != nil {
		return err
	}
	v := done.Verified
	took := time.Duration(v.TookMS) * time.Millisecond
	fmt.Printf("- verify of %d users and %d ledger rows: %s, %.0f rows/s, %d differences, daemon %d MiB\n",
		v.Users, v.Rows, took, float64(v.Rows)/took.Seconds(), v.Wrong, residentOf(r.daemon.Process.Pid))
	return nil
}

// benchBytes weighs the board beside a plain sorted set of the same users.
func (r *rig) benchBytes(ctx context.Context, of size) error {
	c, err := client.New(r.api, client.Options{Token: r.token})
	if err != nil {
		return err
	}
	defer c.Close()
	k, err := c.Condition(ctx, "global")
	if err != nil {
		return err
	}
	rdb, err := r.connect()
	if err != nil {
		return err
	}
	defer func() { _ = rdb.Close() }()
	const plain, chunk = "bench:plain", 1000
	for at := int64(1); at <= of.users; at += chunk {
		members := make([]redis.Z, 0, chunk)
		for i := at; i < min(at+chunk, of.users+1); i++ {
			members = append(members, redis.Z{Score: float64(i * 7919 % 1_000_000), Member: fmt.Sprint("bench-", i)})
		}
		if err := rdb.ZAdd(ctx, plain, members...).Err(); err != nil {
			return err
		}
	}
	bytes, err := rdb.MemoryUsage(ctx, plain, 0).Result()
	if err != nil {
		return err
	}
	if err := rdb.Del(ctx, plain).Err(); err != nil {
		return err
	}
	fmt.Printf("- Redis: %d bytes a ranked user, a plain sorted set %d\n", k.Bytes/max(k.Members, 1), bytes/of.users)
	return nil
}

// benchReplay brings the events of the run before into a ranking that was
// rebuilt from the database, which has none of them.
func (r *rig) benchReplay(ctx context.Context, of size) error {
	r.stopDaemon()
	if err := r.flush(ctx); err != nil {
		return err
	}
	c, err := r.all(ctx, of)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, what := range []string{"that the ranking has lost", "that it has"} {
		done, err := c.Replay(ctx, client.ReplayRequest{FromTime: &r.filled}, func(client.JobLine) {})
		if err != nil {
			return err
		}
		took := time.Duration(done.TookMS) * time.Millisecond
		fmt.Printf("- replay of %d records %s: %s, %.0f/s, %d changed\n", done.Records, what, took, float64(done.Records)/took.Seconds(), done.Changed)
	}
	return nil
}

func (r *rig) connect() (*redis.Client, error) {
	o, err := redis.ParseURL(r.redis.URL())
	if err != nil {
		return nil, err
	}
	return redis.NewClient(o), nil
}

func (r *rig) flush(ctx context.Context) error {
	rdb, err := r.connect()
	if err != nil {
		return err
	}
	defer func() { _ = rdb.Close() }()
	return rdb.FlushAll(ctx).Err()
}
