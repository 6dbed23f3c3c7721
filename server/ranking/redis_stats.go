package ranking

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// redisStatsInterval is how often Redis is asked how it is: as often as metrics are
// usually read.
const redisStatsInterval = 5 * time.Second

// RedisStats measures what alerts are about: how old the ranking is that all
// gateways show, and how full Redis is.
type RedisStats struct {
	ranking          *Ranking
	log              *slog.Logger
	age, used, limit prometheus.Gauge
}

// NewRedisStats makes the measurement; Run starts it.
func NewRedisStats(r *Ranking, log *slog.Logger) *RedisStats {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "scoreboard_" + name, Help: help})
	}
	return &RedisStats{
		ranking: r, log: log,
		age:   gauge("ranking_age_seconds", "How far what the ranking shows is behind the ledger."),
		used:  gauge("redis_memory_used_bytes", "Memory that Redis uses."),
		limit: gauge("redis_memory_limit_bytes", "Memory that Redis may use: its maxmemory, else that of its machine."),
	}
}

// Collectors are what the root registers.
func (v *RedisStats) Collectors() []prometheus.Collector {
	return []prometheus.Collector{v.age, v.used, v.limit}
}

// Run measures until ctx ends.
func (v *RedisStats) Run(ctx context.Context) error {
	tick := time.NewTicker(redisStatsInterval)
	defer tick.Stop()
	for {
		if err := v.once(ctx); err != nil && ctx.Err() == nil {
			v.log.Warn("Redis not measured", "err", err)
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
	fresh, err := v.ranking.rdb.HGetAll(ctx, freshKey).Result()
	if err != nil {
		return fmt.Errorf("read how fresh the ranking is: %w", err)
	}
	// Without a heartbeat there is no age, and so no alert: the keeper fills a
	// ranking that was lost within seconds.
	if at := asOf(fresh); !at.IsZero() {
		v.age.Set(max(time.Since(at), 0).Seconds())
	}
	info, err := v.ranking.rdb.Info(ctx, "memory").Result()
	if err != nil && strings.Contains(err.Error(), "is not supported") {
		return nil // a stand-in
	}
	if err != nil {
		return fmt.Errorf("ask Redis for its memory: %w", err)
	}
	used, limit := memory(info)
	v.used.Set(used)
	v.limit.Set(limit)
	return nil
}

// memory reads what INFO memory says.
func memory(info string) (used, limit float64) {
	machine := 0.0
	for line := range strings.Lines(info) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), ":")
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			continue
		}
		switch name {
		case "used_memory":
			used = n
		case "maxmemory":
			limit = n
		case "total_system_memory":
			machine = n
		}
	}
	if limit == 0 {
		limit = machine
	}
	return used, limit
}
