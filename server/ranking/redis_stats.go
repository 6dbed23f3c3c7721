package ranking

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/metric"
	"github.com/scoreboard/scoreboard/server/ranking/piece"
)

// redisStatsInterval is how often Redis is measured: as often as metrics are
// usually scraped.
const redisStatsInterval = 5 * time.Second

// RedisStats measures, for alerts, how old the ranking is, and the Redis server: how
// full and busy it is, and whether it persists.
type RedisStats struct {
	ranking *Ranking
	log     *slog.Logger

	age                                *metric.Expiring
	used, limit, connections, replicas *metric.Expiring
	failed, saved, evicted, cpu        *metric.Expiring
}

// NewRedisStats returns a RedisStats; Run measures.
func NewRedisStats(r *Ranking, log *slog.Logger) *RedisStats {
	opts := func(name, help string) prometheus.GaugeOpts {
		return prometheus.GaugeOpts{Name: "scoreboard_redis_" + name, Help: help}
	}
	gauge := func(name, help string, labels ...string) *metric.Expiring {
		return metric.NewGauge(opts(name, help), append([]string{"node"}, labels...)...)
	}
	counter := func(name, help string) *metric.Expiring {
		return metric.NewCounter(prometheus.CounterOpts(opts(name, help)), "node")
	}
	return &RedisStats{
		ranking: r, log: log,
		age: metric.NewGauge(prometheus.GaugeOpts{
			Name: "scoreboard_ranking_age_seconds", Help: "How far the ranking is behind the ledger.",
		}),
		used: gauge("memory_used_bytes", "Memory that Redis uses."),
		limit: gauge("memory_limit_bytes",
			"Memory limit of Redis: its maxmemory, else the memory of its host."),
		connections: gauge("server_connections", "Connections to the Redis server, from all its clients."),
		replicas:    gauge("replicas", "Replicas that are connected to Redis."),
		failed: gauge("persistence_failed",
			"1 if the last write of an RDB snapshot (rdb) or of the append-only file (aof) failed.", "kind"),
		saved: gauge("snapshot_age_seconds",
			"Time since the last successful RDB snapshot; if there is none, since Redis started."),
		evicted: counter("evicted_keys_total", "Keys that Redis evicted to free memory. Rankings must not be evicted."),
		cpu:     counter("cpu_seconds_total", "CPU time that Redis has used, system and user."),
	}
}

// Collectors returns the metrics of v.
func (v *RedisStats) Collectors() []prometheus.Collector {
	return []prometheus.Collector{
		v.age, v.used, v.limit, v.connections, v.replicas, v.failed, v.saved, v.evicted, v.cpu,
	}
}

// Run measures until ctx ends.
func (v *RedisStats) Run(ctx context.Context) error {
	tick := time.NewTicker(redisStatsInterval)
	defer tick.Stop()
	for {
		if err := v.once(ctx); err != nil && ctx.Err() == nil {
			v.log.Warn("Redis statistics not read", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (v *RedisStats) once(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redisStatsInterval)
	defer cancel()
	// Without a heartbeat the age is unknown; a ranking that was lost is rebuilt within
	// seconds.
	at, err := v.ranking.AsOf(ctx)
	if err != nil {
		return err
	}
	if !at.IsZero() {
		v.age.Set(max(time.Since(at), 0).Seconds())
	}
	if err := v.ranking.conn.EachServer(ctx, v.server); err != nil {
		return piece.Translate(fmt.Errorf("read the statistics of Redis: %w", err))
	}
	return nil
}

// server measures one server.
func (v *RedisStats) server(ctx context.Context, server *redis.Client) error {
	node := server.Options().Addr
	text, err := server.Info(ctx).Result()
	if err != nil {
		return err
	}
	if !strings.Contains(text, "used_memory:") {
		return nil // a stand-in
	}
	info := parseInfo(text)
	number := func(name string) float64 {
		n, _ := strconv.ParseFloat(info[name], 64) // 0 for what this version does not report
		return n
	}
	used, limit := memoryOf(info)
	v.used.Set(used, node)
	v.limit.Set(limit, node)
	v.connections.Set(number("connected_clients"), node)
	v.replicas.Set(number("connected_slaves"), node)
	for kind, field := range map[string]string{"rdb": "rdb_last_bgsave_status", "aof": "aof_last_write_status"} {
		failed := 0.0
		if status := info[field]; status != "" && status != "ok" {
			failed = 1
		}
		v.failed.Set(failed, node, kind)
	}
	if at := int64(number("rdb_last_save_time")); at > 0 {
		v.saved.Set(max(time.Since(time.Unix(at, 0)), 0).Seconds(), node)
	}
	v.evicted.Set(number("evicted_keys"), node)
	v.cpu.Set(number("used_cpu_sys")+number("used_cpu_user"), node)
	return nil
}

// parseInfo returns the fields of INFO.
func parseInfo(text string) map[string]string {
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}
