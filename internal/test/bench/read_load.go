package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The mixed load of specification E.
const (
	readRate  = 5000
	writeRate = 600
	topShare  = 70 // percent; 20 more are me, the rest neighbours
	meShare   = 20
)

// latencies are the latencies of one kind of request, in microseconds.
type latencies struct {
	mu     sync.Mutex
	h      *hdrhistogram.Histogram
	failed int64
	last   error
}

func newLatencies() *latencies { return &latencies{h: hdrhistogram.New(1, 60_000_000, 3)} }

func (l *latencies) add(took time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.failed++
		l.last = err
		return
	}
	_ = l.h.RecordValue(max(took.Microseconds(), 1)) // within the range: time-outs are shorter
}

func (l *latencies) ms(quantile float64) float64 {
	return float64(l.h.ValueAtQuantile(quantile)) / 1000
}

// openLoop calls do at a rate, with at most workers calls at a time, and passes the
// scheduled time, from which latency is measured.
func openLoop(
	ctx context.Context, rate, workers int, d time.Duration, do func(ctx context.Context, scheduled time.Time),
) {
	start := time.Now()
	var next atomic.Int64
	total := int64(float64(rate) * d.Seconds())
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for ctx.Err() == nil {
				n := next.Add(1) - 1
				if n >= total {
					return
				}
				scheduled := start.Add(time.Duration(float64(n) / float64(rate) * float64(time.Second)))
				time.Sleep(time.Until(scheduled))
				do(ctx, scheduled)
			}
		})
	}
	all.Wait()
}

// readResponse sends a request and reads the response, which must have status 200.
func readResponse(c *http.Client, req *http.Request, token string) error {
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", req.URL.Path, resp.Status, body)
	}
	return err
}

// mixed sends reads and writes at fixed rates, and reads from Redis directly.
func (r readBench) mixed(ctx context.Context) error {
	tokens := auth.NewTokens(jwtSecret, "scoreboard-dev", "scoreboard", time.Now)
	var known sync.Map // user → token
	tokenOf := func(user string) (string, error) {
		if t, ok := known.Load(user); ok {
			return t.(string), nil
		}
		t, _, err := tokens.Mint(scoreboard.UserID(user), "", time.Hour)
		known.Store(user, t)
		return t, err
	}
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer c.CloseIdleConnections()
	reads, writes, redisReads := newLatencies(), newLatencies(), newLatencies()
	game, err := client.New(r.api, client.Options{
		Token: r.token, KeyID: r.key.KeyID, KeySecret: r.key.Secret, Attempts: 1,
	})
	if err != nil {
		return err
	}
	defer game.Close()
	rdb, err := r.redisClient()
	if err != nil {
		return err
	}
	defer func() { _ = rdb.Close() }()

	before := r.cpus()
	var all sync.WaitGroup
	all.Go(func() {
		openLoop(ctx, writeRate, 64, r.Duration, func(ctx context.Context, scheduled time.Time) {
			user := "user-" + strconv.Itoa(rand.IntN(r.Users))
			_, err := game.Submit(ctx, client.Increment{User: user, Delta: 1 + rand.Int64N(9)})
			writes.add(time.Since(scheduled), err)
		})
	})
	all.Go(func() {
		openLoop(ctx, 100, 4, r.Duration, func(ctx context.Context, scheduled time.Time) {
			at := rand.Int64N(int64(r.Users))
			redisReads.add(time.Since(scheduled), rdb.ZRange(ctx, "sb:{global}:rank", at, at+10).Err())
		})
	})
	var zipfLock sync.Mutex
	zipf := rand.NewZipf(rand.New(rand.NewPCG(3, 5)), skew, 1, uint64(r.Users-1))
	began := time.Now()
	openLoop(ctx, readRate, 64, r.Duration, func(ctx context.Context, scheduled time.Time) {
		zipfLock.Lock()
		user := "user-" + strconv.FormatUint(zipf.Uint64(), 10)
		zipfLock.Unlock()
		token, err := tokenOf(user)
		path := "/v1/leaderboard/top"
		switch share := rand.IntN(100); {
		case share >= topShare+meShare:
			path = "/v1/leaderboard/me?k=5"
		case share >= topShare:
			path = "/v1/leaderboard/me"
		}
		if err == nil {
			var req *http.Request
			if req, err = http.NewRequestWithContext(ctx, http.MethodGet, r.api+path, nil); err == nil {
				err = readResponse(c, req, token)
			}
		}
		reads.add(time.Since(scheduled), err)
	})
	took := time.Since(began)
	all.Wait()
	after := r.cpus()
	r.println(
		"\n| fixed rates, latency from scheduled time | target/s | achieved/s " +
			"| p50 ms | p95 ms | p99 ms | errors | goal |",
	)
	r.println("|---|---|---|---|---|---|---|---|")
	for _, line := range []struct {
		name   string
		target int
		l      *latencies
		goal   string
	}{
		{"reads: 70 % top 10, 20 % me, 10 % with neighbours", readRate, reads, "p95 ≤ 5, p99 ≤ 20"},
		{"writes at the same time", writeRate, writes, ""},
		{"11 rows directly from Redis", 100, redisReads, "p95 < 10"},
	} {
		r.printf(
			"| %s | %d | %.0f | %.2f | %.2f | %.2f | %d | %s |\n",
			line.name, line.target, float64(line.l.h.TotalCount())/took.Seconds(), line.l.ms(50), line.l.ms(95),
			line.l.ms(99), line.l.failed, line.goal,
		)
	}
	cores := func(i int) float64 { return (after[i] - before[i]).Seconds() / took.Seconds() }
	r.printf("\nCPU over these %s: daemon %.2f, PostgreSQL %.2f, Kafka %.2f, Redis %.2f of a core; daemon %d MiB\n",
		took.Round(time.Second), cores(0), cores(1), cores(2), cores(3), residentOf(r.daemon.Process.Pid))
	return errors.Join(reads.last, writes.last, redisReads.last)
}

// fallback stops Redis and reads ranks from PostgreSQL, with a few callers in a
// closed loop. Each read is for another user, so that no cache answers it.
func (r readBench) fallback(ctx context.Context) error {
	r.Redis.Kill()
	// Until the breaker has opened, reads wait for Redis first.
	time.Sleep(2 * time.Second)
	for range 20 {
		if err := r.read(ctx, "/v1/users/user-"+strconv.Itoa(rand.IntN(r.Users))+"/rank?k=5"); err != nil {
			return err
		}
	}
	r.println("\n| Redis stopped, 4 callers, closed loop | reads/s | p50 ms | p95 ms | p99 ms | errors | goal |")
	r.println("|---|---|---|---|---|---|---|")
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer c.CloseIdleConnections()
	var errs []error
	for _, line := range []struct{ name, path, goal string }{
		{"rank", "/v1/users/user-{n}/score", "p95 ≤ 50"},
		{"rank with 5 neighbours above and below", "/v1/users/user-{n}/rank?k=5", "p95 ≤ 50"},
		{"rank with 50", "/v1/users/user-{n}/rank?k=50", ""},
		{"top 10, cached for 250 ms", "/v1/leaderboard/top", ""},
	} {
		l := newLatencies()
		var all sync.WaitGroup
		began := time.Now()
		for range 4 {
			all.Go(func() {
				for time.Since(began) < r.Duration && ctx.Err() == nil {
					sent := time.Now()
					url := r.api + strings.Replace(line.path, "{n}", strconv.Itoa(rand.IntN(r.Users)), 1)
					req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
					if err == nil {
						err = readResponse(c, req, r.token)
					}
					l.add(time.Since(sent), err)
				}
			})
		}
		all.Wait()
		r.printf(
			"| %s | %.0f | %.2f | %.2f | %.2f | %d | %s |\n",
			line.name, float64(l.h.TotalCount())/time.Since(began).Seconds(), l.ms(50), l.ms(95), l.ms(99),
			l.failed, line.goal,
		)
		errs = append(errs, l.last)
	}
	return errors.Join(errs...)
}
