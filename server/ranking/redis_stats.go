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

// redisStatsInterval is how often Redis is measured: as often as metrics are
// usually scraped.
const redisStatsInterval = 5 * time.Second

// RedisStats measures, for alerts, how old the ranking is and how full Redis is.
type RedisStats struct {
	ranking          *Ranking
	log              *slog.Logger
	age, used, limit prometheus.Gauge
}

// NewRedisStats returns a RedisStats; Run measures.
func NewRedisStats(r *Ranking, log *slog.Logger) *RedisStats {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "scoreboard_" + name, Help: help})
	}
	return &RedisStats{
		ranking: r, log: log,
		age:   gauge("ranking_age_seconds", "How far the ranking is behind the ledger."),
		used:  gauge("redis_memory_used_bytes", "Memory that Redis uses."),
		limit: gauge("redis_memory_limit_bytes", "Memory limit of Redis: its maxmemory, else the memory of its host."),
	}
}

// Collectors returns the metrics of v.
func (v *RedisStats) Collectors() []prometheus.Collector {
	return []prometheus.Collector{v.age, v.used, v.limit}
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
	fresh, err := v.ranking.rdb.HGetAll(ctx, freshKey).Result()
	if err != nil {
		return translate(fmt.Errorf("read how fresh the ranking is: %w", err))
	}
	// Without a heartbeat the age is unknown and no alert fires; a ranking that was
	// lost is rebuilt within seconds.
	if at := earliest(fresh); !at.IsZero() {
		v.age.Set(max(time.Since(at), 0).Seconds())
	}
	info, err := v.ranking.rdb.Info(ctx, "memory").Result()
	if err != nil && strings.Contains(err.Error(), "is not supported") {
		return nil // a stand-in
	}
	if err != nil {
		return translate(fmt.Errorf("read the memory of Redis: %w", err))
	}
	used, limit := memory(info)
	v.used.Set(used)
	v.limit.Set(limit)
	return nil
}

// memory parses INFO memory.
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
