package ranking_test

import (
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/ranking"
)

func TestCheckServers(t *testing.T) {
	t.Parallel()
	rdb := backends.RedisClient(t, backends.OwnRedis(t).URL)
	r := ranking.New(rdb)
	set := func(name, value string) {
		t.Helper()
		if err := rdb.ConfigSet(t.Context(), name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	check := func(wantProblem string, wantUsed bool) {
		t.Helper()
		problem, used, err := r.CheckServers(t.Context())
		if err != nil || wantProblem == "" && problem != "" || !strings.Contains(problem, wantProblem) {
			t.Errorf("got %q, %v; want %q", problem, err, wantProblem)
		}
		if used <= 0 || (used > 0.5) != wantUsed {
			t.Errorf("used %f, want more than half: %v", used, wantUsed)
		}
	}
	check("", false)
	set("appendonly", "no")
	check("neither", false)
	set("save", "300 1")
	check("", false)
	set("maxmemory", "1500000") // an empty Redis uses about one million bytes
	check("", true)
	set("maxmemory-policy", "allkeys-lru")
	check("allkeys-lru", true)
}
