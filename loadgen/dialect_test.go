package loadgen

import (
	"net/http"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/instance"
	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/loadgen/report"
)

// A load through a dialect uses its paths, tokens of its users and action tokens where it
// needs them, and all its requests succeed. It needs no key, and no other part of the
// native API than tokens.
func TestRunThroughDialects(t *testing.T) {
	t.Parallel()
	s := instance.New(t, "dialects", strings.Join(plan.Dialects, ","), "ingest-actions", "load:1:100;once=0s",
		"dialect-highscore-action-min", "0s",
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
			if strings.HasPrefix(r.Path, "/v1/boards") || strings.HasPrefix(r.Path, "/v1/scores/increment") {
				t.Errorf("got the native request %s %s", r.Method, r.Path)
			}
		}
		for dialect, path := range writes {
			want := 42
			if dialect == plan.Delta || dialect == plan.Module {
				want += 2 // the probe, and one with a token that is rejected
			}
			if seen[path] != want {
				t.Errorf("%s: got %d requests to %s, want %d", dialect, seen[path], path, want)
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
			o.Server.Token = instance.Token("load", "score:update score:admin")
			o.Server.KeyID, o.Server.KeySecret = "", ""
			r := play(t, t.Context(), o)
			if r.Verdict != report.Passed || r.Succeeded != r.Sent {
				t.Errorf("got the verdict %s, %d of %d, %+v", r.Verdict, r.Succeeded, r.Sent, r.Criteria)
			}
			if r.Parameters["dialect"] != dialect {
				t.Errorf("the report names the dialect %v", r.Parameters["dialect"])
			}
		})
	}
	other := instance.New(t, "dialects", plan.Module)
	server := instance.Token("load", "score:update")
	for name, tt := range map[string]struct{ url, dialect, token, want string }{
		"not enabled": {other.URL, plan.Delta, server, "does not serve the dialect delta"},
		"no action":   {other.URL, plan.Module, server, "ingest.actions"},
		"no scope":    {s.URL, plan.Delta, instance.Token("load", ""), "answered 401 the token is not for user"},
		"no token":    {s.URL, plan.Module, "wrong", "the dialect module answered 401"},
		"mints none":  {s.URL, plan.Plain, server, "does not mint tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := load(t, tt.url, "1", func(p *plan.Plan) { p.Dialect = tt.dialect })
			o.Server.Token = tt.token
			if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
