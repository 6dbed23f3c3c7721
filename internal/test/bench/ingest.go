package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
)

// ingestBench posts increments in closed loops.
type ingestBench struct{ *rig }

// Ingest posts signed increments in a closed loop, with relay, Kafka, projection
// and Redis running.
func Ingest(ctx context.Context, o Options) error {
	on, err := newRig(ctx, o)
	if err != nil {
		return err
	}
	defer on.stop()
	r := ingestBench{on}
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
		if err := r.measurePosts(ctx, strconv.Itoa(connections), 1, func() (*loopResult, error) {
			return r.post(ctx, connections, r.timed)
		}); err != nil {
			return err
		}
	}
	for _, connections := range []int{1, 8} {
		name := fmt.Sprintf("%d, batches of %d", connections, wire.MaxBatch)
		if err := r.measurePosts(ctx, name, wire.MaxBatch, func() (*loopResult, error) {
			return r.postBatches(ctx, connections, r.timed)
		}); err != nil {
			return err
		}
	}
	return r.check(ctx)
}

// measurePosts prints the line of a closed loop whose requests have so many increments each.
func (r ingestBench) measurePosts(
	ctx context.Context, name string, each int64, loop func() (*loopResult, error),
) error {
	before, compilers := r.cpus(), r.compilers()
	ledger, err := r.queryInt(ctx, `select count(*) from user_score_histories`)
	if err != nil {
		return err
	}
	w, err := loop()
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
		return fmt.Errorf("none of %d increments was recorded", w.requests*each)
	}
	accepted := (w.requests-w.errors)*each - w.refused
	sum := w.cpu
	used := func(i int) float64 {
		d := after[i] - before[i]
		sum += d
		return float64(d.Microseconds()) / n
	}
	daemon, pg, kafka, redis := used(0), used(1), used(2), used(3)
	r.printf(
		"| %s | %.0f | %s | %s | %d | %s | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.1f | %d |\n",
		name, float64(accepted)/w.took.Seconds(), w.p50, w.p99, w.errors, lag.Round(time.Millisecond),
		daemon, pg, kafka, redis, float64(w.cpu.Microseconds())/n, float64(sum.Microseconds())/n, compiled,
		residentOf(r.daemon.Process.Pid),
	)
	// Those of requests whose response was late may be recorded, too.
	if extra := now - ledger - accepted; extra < 0 || extra > 256*each {
		return fmt.Errorf("the client counted %d accepted increments, but the ledger has %d more rows", accepted,
			now-ledger)
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
	return r.postAs(ctx, connections, rate, d, zipfUsers())
}

// postAs posts at most so many increments per second, of the users and boards that next returns.
func (r *rig) postAs(
	ctx context.Context, connections, rate int, d time.Duration, next func() (user, board string),
) (*loopResult, error) {
	f, err := os.CreateTemp(r.dir, "bodies-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	err = errors.Join(r.writeBodies(f, int(d.Seconds()+1)*rate, next), f.Close())
	if err != nil {
		return nil, err
	}
	return r.postBodies(ctx, connections, d, f.Name())
}

// postBatches posts batches of the largest size, signed in the headers.
func (r ingestBench) postBatches(ctx context.Context, connections int, d time.Duration) (*loopResult, error) {
	signer := client.Signer{KeyID: r.key.KeyID, Secret: r.key.Secret}
	next, at := zipfUsers(), time.Now().Add(20*time.Second) // within the accepted clock skew
	requests := make(chan []byte, max(int(d.Seconds()*float64(r.bodyRate))/wire.MaxBatch, 1))
	for range cap(requests) {
		batch := wire.Batch{Items: make([]wire.IncrementRequest, wire.MaxBatch)}
		for i := range batch.Items {
			user, _ := next()
			batch.Items[i] = wire.IncrementRequest{
				UserID: user, Delta: 1 + rand.Int64N(9), EventID: client.NewEventID(),
				Timestamp: at.UTC().Format(time.RFC3339),
			}
		}
		body, err := json.Marshal(batch)
		if err != nil {
			return nil, err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.api+"/v1/scores/increments", nil)
		if err != nil {
			return nil, err
		}
		signer.Headers(req, body, at)
		req.Header.Set("Authorization", "Bearer "+r.token)
		req.Header.Set("Content-Type", "application/json")
		var text bytes.Buffer
		fmt.Fprintf(&text, "POST /v1/scores/increments HTTP/1.1\r\nHost: bench\r\nContent-Length: %d\r\n", len(body))
		if err := req.Header.Write(&text); err != nil {
			return nil, err
		}
		text.WriteString("\r\n")
		text.Write(body)
		requests <- text.Bytes()
	}
	close(requests)
	return readingLoop(ctx, r.api, connections, d, func(b []byte) []byte {
		request, more := <-requests
		if !more {
			return nil
		}
		return append(b, request...)
	}, func(r io.Reader) (int64, error) {
		body, err := io.ReadAll(r)
		return int64(bytes.Count(body, []byte(`"error_code"`))), err
	})
}

// zipfUsers returns users of the benches, by a Zipf distribution, on the default board.
func zipfUsers() func() (user, board string) {
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano()))), skew, 1, users-1)
	return func() (string, string) { return "user-" + strconv.FormatUint(zipf.Uint64(), 10), "" }
}

// writeBodies writes n increments, one per line. Their signatures are valid for a
// minute.
func (r *rig) writeBodies(w io.Writer, n int, next func() (user, board string)) error {
	out := bufio.NewWriterSize(w, 1<<20)
	signer := client.Signer{KeyID: r.key.KeyID, Secret: r.key.Secret}
	at := time.Now().Add(20 * time.Second) // within the accepted clock skew
	for range n {
		user, board := next()
		q := wire.IncrementRequest{UserID: user, Board: board, Delta: 1 + rand.Int64N(9), EventID: client.NewEventID()}
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
