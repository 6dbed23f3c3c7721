package ranking

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/ranking/piece"
)

// CheckServers describes how a server can lose rankings, "" if none can, and returns the
// used share of the memory of the server that is closest to its limit; 0 if unknown.
func (r *servers) CheckServers(ctx context.Context) (problem string, used float64, err error) {
	var mu sync.Mutex // eachServer asks the servers of a cluster at once
	err = r.EachServer(ctx, func(ctx context.Context, server *redis.Client) error {
		text, err := server.Info(ctx).Result()
		if err != nil {
			return err
		}
		info := parseInfo(text)
		found := cmp.Or(evictionRisk(info), persistenceRisk(ctx, server, info))
		if found != "" && r.Keys.Clustered {
			found = server.Options().Addr + ": " + found
		}
		mu.Lock()
		defer mu.Unlock()
		problem = cmp.Or(problem, found)
		if bytes, limit := memoryOf(info); limit > 0 {
			used = max(used, bytes/limit)
		}
		return nil
	})
	if err != nil {
		return "", 0, piece.Translate(fmt.Errorf("read the state of Redis: %w", err))
	}
	return problem, used, nil
}

// memoryOf returns the memory that a server uses and its limit in bytes: maxmemory, else
// the memory of its host; 0 for what it does not report.
func memoryOf(info map[string]string) (used, limit float64) {
	used, _ = strconv.ParseFloat(info["used_memory"], 64)
	if limit, _ = strconv.ParseFloat(info["maxmemory"], 64); limit == 0 {
		limit, _ = strconv.ParseFloat(info["total_system_memory"], 64)
	}
	return used, limit
}

func evictionRisk(info map[string]string) string {
	policy, limit := info["maxmemory_policy"], info["maxmemory"]
	if limit == "" || limit == "0" || policy == "noeviction" {
		return ""
	}
	return "maxmemory-policy is " + policy + ": at the memory limit it evicts rankings"
}

func persistenceRisk(ctx context.Context, server *redis.Client, info map[string]string) string {
	switch {
	case info["aof_enabled"] == "": // a stand-in
		return ""
	case info["aof_last_write_status"] != "ok":
		return "the last write of the append-only file failed"
	case info["rdb_last_bgsave_status"] != "ok":
		return "the last snapshot failed"
	case info["aof_enabled"] == "1":
		return ""
	}
	// A managed Redis may forbid the question; then its owner takes care of this.
	if save, err := server.ConfigGet(ctx, "save").Result(); err == nil && save["save"] == "" {
		return "it has neither an append-only file nor snapshots: after a restart every ranking is rebuilt"
	}
	return ""
}
