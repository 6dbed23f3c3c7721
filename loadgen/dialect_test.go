package loadgen

import (
	"net/http"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/client/clienttest"
	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/loadgen/report"
)

// A load through a dialect uses its paths, tokens of its users and action tokens where it
// needs them, and all its requests succeed.
func TestRunThroughDialects(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t, "dialects", strings.Join(plan.Dialects, ","), "ingest-actions", "load:1:100",
		"limit-updates-per-minute", "0", "limit-top-per-minute", "0", "limit-rank-per-minute", "0")
	writes := map[string]string{
		plan.Highscore: "/v1/scores/update", plan.Delta: "/delta/v1/score/update", plan.Module: "/api/v1/scores/update",
		plan.Plain: "/scores",
	}
	t.Cleanup(func() { // after the subtests
		seen := map[string]int{}
		for _, r := range s.Seen() {
			if r.Method == http.MethodPost {
				seen[r.Path]++
			}
		}
		for dialect, path := range writes {
			if seen[path] != 42 {
				t.Errorf("%s: got %d requests to %s, want 42", dialect, seen[path], path)
			}
		}
		if seen["/v1/actions"] != 42 {
			t.Errorf("got %d actions, want 42", seen["/v1/actions"])
		}
	})
	for _, dialect := range plan.Dialects {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			o := load(t, s.URL, "40", func(p *plan.Plan) {
				p.Dialect, p.Prefix, p.Users, p.Repeats = dialect, dialect+"-", 5, 0.1
				if dialect != plan.Module {
					p.Reads = 1
				}
			})
			o.Server.Token = clienttest.Token("load", "score:update score:admin")
			r := play(t, t.Context(), o)
			if r.Verdict != report.Passed || r.Succeeded != r.Sent {
				t.Errorf("got the verdict %s, %d of %d, %+v", r.Verdict, r.Succeeded, r.Sent, r.Criteria)
			}
			if r.Parameters["dialect"] != dialect {
				t.Errorf("the report names the dialect %v", r.Parameters["dialect"])
			}
		})
	}
	t.Run("not enabled", func(t *testing.T) {
		t.Parallel()
		native := clienttest.New(t)
		_, err := Run(t.Context(), load(t, native.URL, "1", func(p *plan.Plan) { p.Dialect = plan.Delta }))
		if err == nil || !strings.Contains(err.Error(), "does not serve the dialect delta") {
			t.Errorf("got %v", err)
		}
	})
}
