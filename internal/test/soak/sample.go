package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// series are what is sampled, in the order of the report. Growth is what a series may grow by after the
// first third of the run, as a share of its mean, or floor in its own unit: what a small series varies
// by anyway. A series without bounds is shown only.
var series = []struct {
	name, unit    string
	growth, floor float64
}{
	{"resident", "MiB", 0.2, 24}, // of the first node, which is not restarted after the second hour
	{"descriptors", "", 0.2, 30},
	{"goroutines", "", 0.2, 50},
	{"redis", "MiB", 0.1, 2},
	{"tables", "MiB", 0.2, 8}, // users, scores and standings with their indexes: dead rows are in it
	{"outbox", "MiB", 0.5, 16},
	{"outbox partitions", "", 0.5, 4},
	{"ledger", "MiB", 0, 0}, // grows by what was written
}

// of the tables that a constant number of players fills, whatever they write
const constantTables = `select coalesce(sum(pg_total_relation_size(oid)), 0)::bigint from pg_class
where relkind = 'r' and relname in ('users', 'scores', 'standings', 'relay_shards')`

// sample samples all series until ctx ends.
func (s *run) sample(ctx context.Context) error {
	every := max(s.o.duration/120, time.Second)
	o, err := redis.ParseURL(s.nodes.RedisURL())
	if err != nil {
		return err
	}
	rdb := redis.NewClient(o)
	defer func() { _ = rdb.Close() }()
	for began := time.Now(); ; {
		values, err := s.values(ctx, rdb)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && s.alone.Load():
			return fmt.Errorf("sample: %w", err)
		case err == nil:
			s.report.add(time.Since(began), values)
		}
		if pauseUntil(ctx, time.Now().Add(every)); ctx.Err() != nil {
			return nil
		}
	}
}

// values are those of one time, by series.
func (s *run) values(ctx context.Context, rdb *redis.Client) ([]float64, error) {
	node, err := metrics(ctx, s.nodes.Nodes[0].OpsURL(),
		"process_resident_memory_bytes", "process_open_fds", "go_goroutines")
	if err != nil {
		return nil, err
	}
	info, err := rdb.InfoMap(ctx, "memory").Result()
	if err != nil {
		return nil, err
	}
	used, err := strconv.ParseFloat(info["Memory"]["used_memory"], 64)
	if err != nil {
		return nil, err
	}
	const mib = 1 << 20
	values := []float64{node[0] / mib, node[1], node[2], used / mib}
	for _, q := range []struct {
		query string
		unit  float64
	}{
		{constantTables, mib},
		{`select coalesce(sum(pg_total_relation_size(oid)), 0)::bigint from pg_class
where relkind = 'r' and relname like 'outbox_score_updates%'`, mib},
		{`select count(*) from pg_inherits where inhparent = 'outbox_score_updates'::regclass`, 1},
		{`select coalesce(sum(pg_total_relation_size(oid)), 0)::bigint from pg_class
where relkind = 'r' and relname like 'user_score_histories%'`, mib},
	} {
		n, err := s.number(ctx, q.query)
		if err != nil {
			return nil, err
		}
		values = append(values, float64(n)/q.unit)
	}
	return values, nil
}

// metrics reads metrics without labels.
func metrics(ctx context.Context, url string, names ...string) ([]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	values := make([]float64, len(names))
	found := 0
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), " ")
		for i := range names {
			if names[i] != name {
				continue
			}
			if values[i], err = strconv.ParseFloat(text, 64); err != nil {
				return nil, err
			}
			found++
		}
	}
	if found != len(names) {
		return nil, fmt.Errorf("%s has %d of the metrics %q", url, found, names)
	}
	return values, nil
}
