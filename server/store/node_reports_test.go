package store_test

import (
	"fmt"
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// PostgreSQL keeps the last report of each node for a minute.
func TestNodeReports(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	conn.Do(t, `insert into node_reports (node, roles, reaches, sequence, reported_at)
values ('gone', '{}', '{}', 1, clock_timestamp() - interval '2 minutes'),
    ('ahead', '{}', '{}', 1, clock_timestamp() + interval '2 minutes')`)
	exchange := func(own *scoreboard.NodeReport, want string) {
		t.Helper()
		all, err := s.NodeReports.Exchange(t.Context(), own)
		if got := fmt.Sprint(all); err != nil || got != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
	a := &scoreboard.NodeReport{Node: "a", Roles: []string{"api"}, Reaches: []string{"postgres", "redis"}, Sequence: 1}
	exchange(a, "[{a [api] [postgres redis] 1}]")
	a.Sequence = 2
	exchange(a, "[{a [api] [postgres redis] 2}]")
	exchange(nil, "[{a [api] [postgres redis] 2}]")
	worker := &scoreboard.NodeReport{Node: "b", Roles: []string{}, Reaches: []string{"postgres"}, Sequence: 1}
	exchange(worker, "[{a [api] [postgres redis] 2} {b [] [postgres] 1}]")
}
