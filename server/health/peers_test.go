package health

import (
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// exchanges plays what a node of the role api reads, at a time that the test sets.
type exchanges struct {
	*peers
	at time.Time
}

func newExchanges() *exchanges {
	e := &exchanges{peers: newPeers("a", []string{"api"}), at: time.Unix(1_800_000_000, 0)}
	e.now = func() time.Time { return e.at }
	return e
}

// next is one exchange, after which b has reported this sequence.
func (e *exchanges) next(sequence int64, roles []string, reaches []string, failing ...string) {
	e.at = e.at.Add(reportInterval)
	if len(failing) == 0 {
		e.answered(whole)
	}
	e.fail(failing)
	e.note("postgres", []scoreboard.NodeReport{
		{Node: "a", Roles: []string{"api"}, Reaches: []string{"kafka", "postgres", "redis"}, Sequence: sequence},
		{Node: "b", Roles: roles, Reaches: reaches, Sequence: sequence},
	})
}

var (
	api      = []string{"api"}
	whole    = []string{"kafka", "postgres", "redis"}
	noRedis  = []string{"kafka", "postgres"}
	noBroker = []string{"postgres", "redis"}
)

// A report counts only if it was begun after the failure here: one from before an outage
// of all nodes takes none of them away.
func TestReportsFromBeforeTheFailure(t *testing.T) {
	t.Parallel()
	e := newExchanges()
	e.next(7, api, whole)
	for _, step := range []struct {
		sequence int64
		want     string
	}{{8, ""}, {9, ""}, {10, "b"}, {10, "b"}} {
		e.next(step.sequence, api, whole, "redis")
		if node, _ := e.takesOver(noRedis, []string{"redis"}); node != step.want {
			t.Errorf("report %d: got %q, want %q", step.sequence, node, step.want)
		}
	}
	e.at = e.at.Add(reportFor + time.Second)
	if node, _ := e.takesOver(noRedis, []string{"redis"}); node != "" {
		t.Errorf("%s after the last report: got %q, want nobody", reportFor, node)
	}
	e.next(11, api, whole)
	e.next(12, api, whole, "redis")
	if node, _ := e.takesOver(noRedis, []string{"redis"}); node != "" {
		t.Errorf("in another failure: got %q, want nobody yet", node)
	}
}

// A node leaves for another one only if that serves and reaches all that it does, and more.
func TestNodesThatCannotTakeOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		roles, reaches []string
		want           string
	}{
		"all that this one does":                  {api, whole, "b"},
		"another role as well":                    {[]string{"api", "read"}, whole, "b"},
		"another role":                            {[]string{"read"}, whole, ""},
		"it reaches no broker, this one no Redis": {api, noBroker, ""},
		"it does not reach Redis either":          {api, noRedis, ""},
	} {
		e := newExchanges()
		for sequence := range int64(4) {
			e.next(sequence, c.roles, c.reaches, "redis")
		}
		node, backend := e.takesOver(noRedis, []string{"redis"})
		if node != c.want || backend != "redis" && node != "" {
			t.Errorf("%s: got %q for %q, want %q", name, node, backend, c.want)
		}
	}
}

// A report that one store has had for long is no news where the other store has more.
func TestReportsOfTwoStores(t *testing.T) {
	t.Parallel()
	e := newExchanges()
	e.fail([]string{"kafka"})
	e.note("redis", []scoreboard.NodeReport{{Node: "b", Roles: api, Reaches: whole, Sequence: 3}})
	e.note("postgres", []scoreboard.NodeReport{{Node: "b", Roles: api, Reaches: whole, Sequence: 90}})
	if node, _ := e.takesOver(noBroker, []string{"kafka"}); node != "" {
		t.Errorf("got %q, want nobody: report 90 may be from before the failure", node)
	}
}
