package limit

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/breaker"
)

//go:embed take.lua
var luaTake string

// A request waits so long for Redis, and after so many failures in a row it no
// longer does.
const (
	askBudget = 50 * time.Millisecond
	failures  = 3
	pause     = time.Second
)

// Limiter is what the buckets of a process share.
type Limiter struct {
	rdb     redis.Scripter
	take    *redis.Script
	breaker *breaker.Breaker
	now     func() time.Time
	start   time.Time

	refused *prometheus.CounterVec
	alone   prometheus.Counter
	open    prometheus.GaugeFunc
}

// New uses rdb, which the caller closes and which must heed the deadlines of
// contexts.
func New(rdb redis.Scripter, now func() time.Time) *Limiter {
	l := &Limiter{
		rdb: rdb, take: redis.NewScript(luaTake), breaker: breaker.New(failures, pause, now), now: now, start: now(),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "scoreboard_limit_refused_total", Help: "What was refused, by limit.",
		}, []string{"limit"}),
		alone: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_limit_alone_total", Help: "Decisions of this node alone, because Redis did not answer in time.",
		}),
	}
	l.open = prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "scoreboard_limit_breaker_open", Help: "1 while limits are kept without Redis.",
	}, func() float64 {
		if l.breaker.Open() {
			return 1
		}
		return 0
	})
	return l
}

// Collectors are what the root registers.
func (l *Limiter) Collectors() []prometheus.Collector {
	return []prometheus.Collector{l.refused, l.alone, l.open}
}

// sinceStart is the time of the buckets: it does not jump with the wall clock.
func (l *Limiter) sinceStart() time.Duration { return l.now().Sub(l.start) }

// grant is the answer of Redis: tokens that were taken, and how long until the
// bucket is full.
type grant struct {
	taken int64
	ahead time.Duration
}

// ask takes up to want tokens of a key out of its bucket in Redis.
func (l *Limiter) ask(ctx context.Context, b *Bucket, key string, want int64) (grant, error) {
	// The braces are the hash tag: in a cluster a key has one home.
	keys := []string{"sb:limit:{" + b.name + ":" + key + "}"}
	answer, err := l.take.Run(ctx, l.rdb, keys, b.interval.Microseconds(), b.burst, want).Int64Slice()
	if err != nil {
		return grant{}, fmt.Errorf("take %d tokens of %s from Redis: %w", want, b.name, err)
	}
	if len(answer) != 2 {
		return grant{}, fmt.Errorf("take %d tokens of %s from Redis: the answer has %d fields", want, b.name, len(answer))
	}
	return grant{answer[0], time.Duration(answer[1]) * time.Microsecond}, nil
}
