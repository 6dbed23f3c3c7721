package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
)

// Ingest posts signed increments in a closed loop, with relay, Kafka, projection
// and Redis running.
func Ingest(ctx context.Context, o Options) error {
	r, err := newRig(ctx, o)
	if err != nil {
		return err
	}
	defer r.stop()
	if err := r.warmByPosts(ctx); err != nil {
		return err
	}
	r.println(
		"| connections | increments/s | p50 ms | p99 ms | errors | lag at the end | daemon " +
			"| PostgreSQL | Kafka | Redis | client | sum (CPU µs each) | the broker's compilers, % of the machine " +
			"| daemon MiB |",
	)
	r.println("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	for _, connections := range r.connections {
		if err := r.measurePosts(ctx, connections); err != nil {
			return err
		}
	}
	return r.check(ctx)
}

// measurePosts prints the line of a number of connections.
func (r *rig) measurePosts(ctx context.Context, connections int) error {
	before, compilers := r.cpus(), r.compilers()
	ledger, err := r.queryInt(ctx, `select count(*) from user_score_histories`)
	if err != nil {
		return err
	}
	w, err := r.post(ctx, connections, r.timed)
	if err != nil {
		return err
	}
	compiled := shareOf(r.compilers()-compilers, w.took)
	lag, err := r.drain(ctx)
	if err != nil {
		return err
	}
	after := r.cpus()
	now, err := r.queryInt(ctx, `select count(*) from user_score_histories`)
	if err != nil {
		return err
	}
	n := float64(now - ledger)
	if n == 0 {
		return fmt.Errorf("none of %d increments was recorded", w.requests)
	}
	sum := w.cpu
	each := func(i int) float64 {
		d := after[i] - before[i]
		sum += d
		return float64(d.Microseconds()) / n
	}
	daemon, pg, kafka, redis := each(0), each(1), each(2), each(3)
	r.printf(
		"| %d | %.0f | %s | %s | %d | %s | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.1f | %d |\n",
		connections, float64(w.requests)/w.took.Seconds(), w.p50, w.p99, w.errors, lag.Round(time.Millisecond),
		daemon, pg, kafka, redis, float64(w.cpu.Microseconds())/n, float64(sum.Microseconds())/n, compiled,
		residentOf(r.daemon.Process.Pid),
	)
	if extra := now - ledger - w.requests; extra < 0 || extra > int64(connections) {
		return fmt.Errorf("the client counted %d responses, but the ledger has %d more rows", w.requests, now-ledger)
	}
	return nil
}

func (r *rig) cpus() [4]time.Duration {
	return [4]time.Duration{
		cpuOf(r.daemon.Process.Pid), cpuOf(r.Postgres.PID()), cpuOf(r.Kafka.PID()), cpuOf(r.Redis.PID()),
	}
}

// drain waits until the outbox is empty and returns how long that took.
func (r *rig) drain(ctx context.Context) (time.Duration, error) {
	started := time.Now()
	for time.Since(started) < time.Minute {
		left, err := r.queryInt(ctx, `select count(*) from outbox_score_updates o, relay_shards s
where s.shard = o.shard and (o.xid, o.id) > (s.cursor_xid, s.cursor_id)`)
		if err != nil {
			return 0, err
		}
		if left == 0 {
			return time.Since(started), nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return 0, errors.New("the outbox did not drain within a minute")
}

// check compares the ledger, the scores and Redis.
func (r *rig) check(ctx context.Context) error {
	wrong, err := r.queryInt(ctx, `select count(*) from scores s join (
    select user_id, board_id, sum(applied) as sum, count(*) as n, max(version) as version
    from user_score_histories group by 1, 2
) h using (user_id, board_id) where s.score <> h.sum or s.version <> h.n or s.version <> h.version`)
	if err != nil {
		return err
	}
	total, err := r.queryInt(ctx, `select sum(score)::bigint from scores`)
	if err != nil {
		return err
	}
	c, err := client.New(r.api, client.Options{Token: r.token})
	if err != nil {
		return err
	}
	defer c.Close()
	var top client.Top
	agree := false
	for range 100 {
		if top, err = c.Top(ctx, client.TopQuery{Limit: 1}); err != nil {
			return err
		}
		best, err := r.queryInt(ctx, `select max(score) from scores`)
		if err != nil {
			return err
		}
		if agree = len(top.Entries) == 1 && top.Entries[0].Score == best && !top.Degraded; agree {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	r.printf("\nCheck: scores add up to %d, %d users with different ledger and score, Redis agrees on rank 1: %t\n",
		total, wrong, agree)
	if wrong > 0 || !agree {
		return errors.New("ledger, scores and Redis disagree")
	}
	return nil
}

// post posts signed increments in a closed loop, each once.
func (r *rig) post(ctx context.Context, connections int, d time.Duration) (*loopResult, error) {
	rate := r.bodyRate
	if connections == 1 {
		rate = 2000
	}
	path := filepath.Join(r.dir, "bodies")
	if err := r.writeBodies(path, int(d.Seconds()+1)*rate); err != nil {
		return nil, err
	}
	return r.postBodies(ctx, connections, d, path)
}

// writeBodies writes n increments, one per line. Their signatures are valid for a
// minute.
func (r *rig) writeBodies(path string, n int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	out := bufio.NewWriterSize(f, 1<<20)
	signer := client.Signer{KeyID: r.key.KeyID, Secret: r.key.Secret}
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano()))), skew, 1, users-1)
	at := time.Now().Add(20 * time.Second) // within the accepted clock skew
	for range n {
		q := wire.IncrementRequest{
			UserID:  "user-" + strconv.FormatUint(zipf.Uint64(), 10),
			Delta:   1 + rand.Int64N(9),
			EventID: client.NewEventID(),
		}
		signer.Fields(&q, at)
		b, err := json.Marshal(q)
		if err != nil {
			return err
		}
		if _, err := out.Write(append(b, '\n')); err != nil {
			return err
		}
	}
	return out.Flush()
}
