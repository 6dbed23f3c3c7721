package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The mixed load of specification E.
const (
	readRate  = 5000
	writeRate = 600
	topShare  = 70 // percent; 20 more are me, the rest neighbours
	meShare   = 20
)

// latencies are those of one kind of question, in microseconds.
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
	_ = l.h.RecordValue(max(took.Microseconds(), 1)) // nothing takes longer than a minute
}

func (l *latencies) ms(quantile float64) float64 {
	return float64(l.h.ValueAtQuantile(quantile)) / 1000
}

// openLoop calls do at a rate, with so many at once at most, and gives it the
// time when it was due: what could not begin in time is late, not left out.
func openLoop(ctx context.Context, rate, workers int, lasts time.Duration, do func(ctx context.Context, n int, due time.Time)) {
	began := time.Now()
	var next atomic.Int64
	total := int64(float64(rate) * lasts.Seconds())
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for ctx.Err() == nil {
				n := next.Add(1) - 1
				if n >= total {
					return
				}
				due := began.Add(time.Duration(float64(n) / float64(rate) * float64(time.Second)))
				time.Sleep(time.Until(due))
				do(ctx, int(n), due)
			}
		})
	}
	all.Wait()
}

// readAnswer sends a request and reads a 200 to its end.
func readAnswer(c *http.Client, req *http.Request, token string) error {
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

// mixed plays reads and writes at fixed rates and asks Redis beside them.
func (r *rig) mixed(ctx context.Context, size readSize) error {
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
	game, err := client.New(r.api, client.Options{Token: r.token, KeyID: r.key.KeyID, KeySecret: r.key.Secret, Attempts: 1})
	if err != nil {
		return err
	}
	defer game.Close()
	o, err := redis.ParseURL(r.redis.URL())
	if err != nil {
		return err
	}
	rdb := redis.NewClient(o)
	defer func() { _ = rdb.Close() }()

	before := r.cpus()
	var all sync.WaitGroup
	all.Go(func() {
		openLoop(ctx, writeRate, 64, size.timed, func(ctx context.Context, _ int, due time.Time) {
			_, err := game.Submit(ctx, client.Increment{User: "user-" + strconv.Itoa(rand.IntN(size.users)), Delta: 1 + rand.Int64N(9)})
			writes.add(time.Since(due), err)
		})
	})
	all.Go(func() {
		openLoop(ctx, 100, 4, size.timed, func(ctx context.Context, _ int, due time.Time) {
			at := rand.Int64N(int64(size.users))
			redisReads.add(time.Since(due), rdb.ZRange(ctx, "sb:{global}:rank", at, at+10).Err())
		})
	})
	var zipfLock sync.Mutex
	zipf := rand.NewZipf(rand.New(rand.NewPCG(3, 5)), skew, 1, uint64(size.users-1))
	began := time.Now()
	openLoop(ctx, readRate, 64, size.timed, func(ctx context.Context, _ int, due time.Time) {
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
				err = readAnswer(c, req, token)
			}
		}
		reads.add(time.Since(due), err)
	})
	took := time.Since(began)
	all.Wait()
	after := r.cpus()
	fmt.Println("\n| fixed rates, latency from when due | asked/s | achieved/s | p50 ms | p95 ms | p99 ms | errors | goal |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	for _, line := range []struct {
		name  string
		asked int
		l     *latencies
		goal  string
	}{
		{"reads: 70 % top 10, 20 % me, 10 % with neighbours", readRate, reads, "p95 ≤ 5, p99 ≤ 20"},
		{"writes beside them", writeRate, writes, ""},
		{"11 rows from Redis itself", 100, redisReads, "p95 < 10"},
	} {
		fmt.Printf("| %s | %d | %.0f | %.2f | %.2f | %.2f | %d | %s |\n", line.name, line.asked, float64(line.l.h.TotalCount())/took.Seconds(),
			line.l.ms(50), line.l.ms(95), line.l.ms(99), line.l.failed, line.goal)
	}
	fmt.Printf("\nCPU over these %s: daemon %.2f, PostgreSQL %.2f, Kafka %.2f, Redis %.2f of a core; daemon %d MiB\n", took.Round(time.Second),
		(after[0]-before[0]).Seconds()/took.Seconds(), (after[1]-before[1]).Seconds()/took.Seconds(),
		(after[2]-before[2]).Seconds()/took.Seconds(), (after[3]-before[3]).Seconds()/took.Seconds(), residentOf(r.daemon.Process.Pid))
	return errors.Join(reads.last, writes.last, redisReads.last)
}

// fallback stops Redis and asks PostgreSQL for places, from a few callers who
// wait for their answers. What is measured is not told from memory: each asks
// for another user.
func (r *rig) fallback(ctx context.Context, size readSize) error {
	r.redis.Kill()
	// Until the breaker has opened, reads wait for Redis first.
	time.Sleep(2 * time.Second)
	for range 20 {
		if err := r.read(ctx, "/v1/users/user-"+strconv.Itoa(rand.IntN(size.users))+"/rank?k=5"); err != nil {
			return err
		}
	}
	fmt.Println("\n| Redis stopped, 4 callers, closed loop | reads/s | p50 ms | p95 ms | p99 ms | errors | goal |")
	fmt.Println("|---|---|---|---|---|---|---|")
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer c.CloseIdleConnections()
	var errs []error
	for _, line := range []struct{ name, path, goal string }{
		{"rank", "/v1/users/user-%d/score", "p95 ≤ 50"},
		{"rank with 5 neighbours above and below", "/v1/users/user-%d/rank?k=5", "p95 ≤ 50"},
		{"rank with 50", "/v1/users/user-%d/rank?k=50", ""},
		{"top 10, from memory every 250 ms anew", "/v1/leaderboard/top?_=%d", ""},
	} {
		l := newLatencies()
		var all sync.WaitGroup
		began := time.Now()
		for range 4 {
			all.Go(func() {
				for time.Since(began) < size.timed && ctx.Err() == nil {
					asked := time.Now()
					req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.api+fmt.Sprintf(line.path, rand.IntN(size.users)), nil)
					if err == nil {
						err = readAnswer(c, req, r.token)
					}
					l.add(time.Since(asked), err)
				}
			})
		}
		all.Wait()
		fmt.Printf("| %s | %.0f | %.2f | %.2f | %.2f | %d | %s |\n", line.name, float64(l.h.TotalCount())/time.Since(began).Seconds(),
			l.ms(50), l.ms(95), l.ms(99), l.failed, line.goal)
		errs = append(errs, l.last)
	}
	return errors.Join(errs...)
}
