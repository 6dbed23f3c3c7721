package metric

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
)

// redisHook measures the calls of a Redis client.
type redisHook struct{ calls *Calls }

// MeasureRedis measures the calls and connections of a client, and returns the metrics.
func MeasureRedis(rdb redis.UniversalClient) []prometheus.Collector {
	h := redisHook{NewCalls("scoreboard_redis_call",
		"of calls to Redis, by command; a script is evalsha, several commands at once a pipeline", "call")}
	h.calls.Declare(callPipeline)
	rdb.AddHook(h)
	return append(h.calls.Collectors(), newRedisPool(rdb))
}

const callPipeline = "pipeline"

// waits are commands that wait for data, so their duration says nothing.
var waits = map[string]bool{"xread": true}

func (h redisHook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (h redisHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		began := time.Now()
		err := next(ctx, cmd)
		if name := cmd.Name(); !waits[name] {
			h.calls.Observe(name, began, redisFailed(err))
		}
		return err
	}
}

func (h redisHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		began := time.Now()
		err := next(ctx, cmds)
		h.calls.Observe(callPipeline, began, redisFailed(err))
		return err
	}
}

// redisFailed reports an error of Redis or the connection to it, rather than a missing
// key, a script that is not loaded yet, or a caller that has gone.
func redisFailed(err error) bool {
	return err != nil && !errors.Is(err, redis.Nil) && !errors.Is(err, context.Canceled) &&
		!redis.HasErrorPrefix(err, "NOSCRIPT") && !redis.HasErrorPrefix(err, "NOGROUP") &&
		!redis.HasErrorPrefix(err, "BUSYGROUP")
}

// redisPool reads the connections of a client when they are collected.
type redisPool struct {
	rdb                           redis.UniversalClient
	connections, misses, timeouts *prometheus.Desc
}

func newRedisPool(rdb redis.UniversalClient) *redisPool {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("scoreboard_redis_pool_"+name, help, labels, nil)
	}
	return &redisPool{
		rdb:         rdb,
		connections: desc("connections", "Connections to Redis of this process, by state.", "state"),
		misses:      desc("misses_total", "Calls for which no connection was idle."),
		timeouts:    desc("timeouts_total", "Calls that waited for a connection for too long and failed."),
	}
}

// Describe implements prometheus.Collector.
func (p *redisPool) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{p.connections, p.misses, p.timeouts} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (p *redisPool) Collect(to chan<- prometheus.Metric) {
	s := p.rdb.PoolStats()
	inUse := float64(s.TotalConns) - float64(s.IdleConns)
	to <- prometheus.MustNewConstMetric(p.connections, prometheus.GaugeValue, max(inUse, 0), "in_use")
	to <- prometheus.MustNewConstMetric(p.connections, prometheus.GaugeValue, float64(s.IdleConns), "idle")
	to <- prometheus.MustNewConstMetric(p.misses, prometheus.CounterValue, float64(s.Misses))
	to <- prometheus.MustNewConstMetric(p.timeouts, prometheus.CounterValue, float64(s.Timeouts))
}
