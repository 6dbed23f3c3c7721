package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/client"
)

// rebuildUnderReads rebuilds the board during continuous reads.
func (r pipelineBench) rebuildUnderReads(ctx context.Context, size pipelineSize) error {
	if err := r.flush(ctx); err != nil { // the ranking was built before the users were seeded
		return err
	}
	c, err := r.startComplete(ctx, size)
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
	r.printf(
		"- rebuild of %d users: %s (%.0f users/s); meanwhile %d reads of the top, %d degraded, %d failed, max %s\n",
		done.Rebuilt[0].Users, took, float64(done.Rebuilt[0].Users)/took.Seconds(), reads, degraded, failed,
		worst.Round(time.Millisecond),
	)
	return nil
}

// verifyLedger verifies the whole ledger.
func (r pipelineBench) verifyLedger(ctx context.Context, _ pipelineSize) error {
	c, err := r.newClient()
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
	r.printf("- verify of %d users and %d ledger rows: %s, %.0f rows/s, %d differences, daemon %d MiB\n",
		v.Users, v.Rows, took, float64(v.Rows)/took.Seconds(), v.Wrong, residentOf(r.daemon.Process.Pid))
	return nil
}

// redisMemory compares the memory of the board with a plain sorted set of the same
// users.
func (r pipelineBench) redisMemory(ctx context.Context, size pipelineSize) error {
	c, err := client.New(r.api, client.Options{Token: r.token})
	if err != nil {
		return err
	}
	defer c.Close()
	k, err := c.RankingStatus(ctx, "global")
	if err != nil {
		return err
	}
	rdb, err := r.redisClient()
	if err != nil {
		return err
	}
	defer func() { _ = rdb.Close() }()
	const plain, chunk = "bench:plain", 1000
	for at := int64(1); at <= size.users; at += chunk {
		members := make([]redis.Z, 0, chunk)
		for i := at; i < min(at+chunk, size.users+1); i++ {
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
	r.printf("- Redis: %d bytes per ranked user, a plain sorted set %d\n", k.Bytes/max(k.Members, 1), bytes/size.users)
	return nil
}

// replay replays the events of projectBacklog into a ranking that was rebuilt from
// the database, which has none of them.
func (r pipelineBench) replay(ctx context.Context, size pipelineSize) error {
	r.stopDaemon()
	if err := r.flush(ctx); err != nil {
		return err
	}
	c, err := r.startComplete(ctx, size)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, what := range []string{"missing from the ranking", "already in it"} {
		done, err := c.Replay(ctx, client.ReplayRequest{FromTime: &r.filled}, func(client.JobLine) {})
		if err != nil {
			return err
		}
		took := time.Duration(done.TookMS) * time.Millisecond
		r.printf("- replay of %d records %s: %s, %.0f/s, %d changed\n",
			done.Records, what, took, float64(done.Records)/took.Seconds(), done.Changed)
	}
	return nil
}
