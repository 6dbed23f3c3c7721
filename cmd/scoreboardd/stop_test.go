package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/migrations"
)

// A daemon ends within the grace of its orchestrator, drain.delay aside, while any of its backends
// hangs, or all of them do.
func TestStopsWhileBackendsHang(t *testing.T) {
	t.Parallel()
	const limit = 20 * time.Second
	h := newHarness(t)
	postgres, kafka := backends.OwnPostgres(t, migrations.Up), backends.OwnKafka(t)
	h.env = append(h.env, "SCOREBOARD_POSTGRES_URL="+postgres.URL, "SCOREBOARD_KAFKA_BROKERS="+kafka.Brokers[0])
	all := map[string]func() func(){"postgres": postgres.Hang, "redis": h.redis.Hang, "kafka": kafka.Hang}
	for _, hung := range append(slices.Sorted(maps.Keys(all)), "all") {
		d := h.start()
		var resume []func()
		for name, hang := range all {
			if name == hung || hung == "all" {
				resume = append(resume, hang())
			}
		}
		time.Sleep(3 * time.Second) // calls of every component hang
		began := time.Now()
		d.stopsIn(limit)
		t.Logf("%s: ended after %s: %s", hung, time.Since(began).Round(10*time.Millisecond),
			strings.Join(regexp.MustCompile(`msg="[^"]*in time"[^\n]*`).FindAllString(d.logs.String(), -1), "\n"))
		for _, resume := range resume {
			resume()
		}
	}
}
