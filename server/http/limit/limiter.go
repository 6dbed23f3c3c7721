package limit

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/retry"
)

//go:embed take.lua
var luaTake string

// A request waits at most redisTimeout for Redis. After maxFailures in a row the
// breaker opens for pause, and requests no longer wait.
const (
	redisTimeout = 50 * time.Millisecond
	maxFailures  = 3
	pause        = time.Second
)

// Limiter is shared by the buckets of a process.
type Limiter struct {
	rdb     redis.Cmdable
	take    *redis.Script
	breaker *retry.Breaker
	now     func() time.Time
	start   time.Time

	rejected *prometheus.CounterVec
	local    prometheus.Counter
	open     prometheus.GaugeFunc
}

// New uses rdb, which the caller closes and which must respect context deadlines.
func New(rdb redis.Cmdable, now func() time.Time) *Limiter {
	l := &Limiter{
		rdb: rdb, take: redis.NewScript(luaTake), breaker: retry.NewBreaker(maxFailures, pause, now),
		now: now, start: now(),
		rejected: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "scoreboard_limit_rejected_total", Help: "Rejected requests, by limit.",
		}, []string{"limit"}),
		local: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_limit_local_decisions_total",
			Help: "Decisions made without Redis, because it did not answer in time.",
		}),
	}
	l.open = prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "scoreboard_limit_breaker_open", Help: "1 while limits are enforced without Redis.",
	}, func() float64 {
		if l.breaker.Open() {
			return 1
		}
		return 0
	})
	return l
}

// Collectors returns the metrics for the registry of package server.
func (l *Limiter) Collectors() []prometheus.Collector {
	return []prometheus.Collector{l.rejected, l.local, l.open}
}

// sinceStart is the clock of the buckets, which does not jump with the wall clock.
func (l *Limiter) sinceStart() time.Duration { return l.now().Sub(l.start) }

// grant is the answer of Redis: the tokens taken, and the time until the bucket is
// full.
type grant struct {
	taken int64
	ahead time.Duration
}

// lease takes up to want tokens of a key from its bucket in Redis.
func (l *Limiter) lease(ctx context.Context, b *Bucket, key string, want int64) (grant, error) {
	// The braces are the hash tag, which pins the key to one slot of a cluster.
	keys := []string{"sb:limit:{" + b.name + ":" + key + "}"}
	answer, err := l.take.Run(ctx, l.rdb, keys, b.interval.Microseconds(), b.burst, want).Int64Slice()
	if err != nil {
		return grant{}, fmt.Errorf("take %d tokens of %s from Redis: %w", want, b.name, err)
	}
	if len(answer) != 2 {
		return grant{}, fmt.Errorf("take %d tokens of %s from Redis: got %d fields, want 2", want, b.name, len(answer))
	}
	return grant{answer[0], time.Duration(answer[1]) * time.Microsecond}, nil
}
