package loadgen

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/instance"
	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/loadgen/report"
)

// dialectWrites are the dialects by the paths of their writes.
var dialectWrites = map[string]string{
	"/v1/scores/update": plan.Highscore, "/delta/v1/score/update": plan.Delta,
	"/api/v1/scores/update": plan.Module, "/scores": plan.Plain,
}

// subject is the user of a token.
func subject(r *http.Request) string {
	parts := strings.Split(r.Header.Get("Authorization"), ".")
	if len(parts) != 3 {
		return ""
	}
	var claims struct{ Sub string }
	_ = json.NewDecoder(base64.NewDecoder(base64.RawURLEncoding, strings.NewReader(parts[1]))).Decode(&claims)
	return claims.Sub
}

// dialectWrite mishandles some writes of the load through a dialect.
func (l *faulty) dialectWrite(w http.ResponseWriter, r *http.Request, dialect string, body []byte) {
	var in struct {
		UserID         string
		ActionID       string
		Action         string `json:"action_id"`
		Score          int64
		NewScore       int64 `json:"new_score"`
		ScoreDelta     int64
		ScoreIncrement int64
	}
	_ = json.Unmarshal(body, &in)
	user := in.UserID
	if user == "" {
		user = subject(r)
	}
	value := in.Score + in.NewScore + in.ScoreDelta + in.ScoreIncrement // one of them
	if !strings.Contains(user, "user-") {
		l.pass(w, r, body)
		return
	}
	n := l.seen.Add(1)
	switch {
	case l.lose > 0 && n%l.lose == 0:
		l.dropped.Add(1)
		_, _ = fmt.Fprintf(w, map[string]string{
			plan.Highscore: `{"success":true,"data":{"score":%d,"last_action_id":"` + in.Action +
				`","update_applied":true}}`,
			plan.Delta: `{"newScore":%d}`, plan.Module: `{"newScore":%d}`, plan.Plain: `{"score":%d}`,
		}[dialect], value)
	case l.double > 0 && n%l.double == 0 && dialect == plan.Highscore: // a score that nobody submitted
		l.pass(w, r, []byte(strings.Replace(string(body), fmt.Sprint(value), fmt.Sprint(value+1<<40), 1)))
	case l.double > 0 && n%l.double == 0:
		l.pass(httptest.NewRecorder(), r.Clone(r.Context()), again(body))
		l.pass(w, r, body)
	case l.keeps:
		answer := httptest.NewRecorder()
		l.pass(answer, r.Clone(r.Context()), body)
		var out struct{ Score int64 }
		_ = json.Unmarshal(answer.Body.Bytes(), &out)
		if out.Score > value {
			native := r.Clone(r.Context())
			native.URL.Path = "/v1/scores/increment"
			native.Header.Set("Authorization", "Bearer "+instance.Token("load", "score:update"))
			l.pass(httptest.NewRecorder(), native, sign(wire.IncrementRequest{
				UserID: user, Delta: value, EventID: r.Header.Get("Idempotency-Key"), Board: plan.Plain,
			}))
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	default:
		l.pass(w, r, body)
	}
}

// again is a write as another event.
func again(body []byte) []byte {
	var in map[string]any
	_ = json.Unmarshal(body, &in)
	if id, ok := in["actionId"].(string); ok && id != "load" {
		in["actionId"] = id + "-again"
	}
	in["timestamp"] = "2026-01-01T00:00:00." + strings.TrimLeft(fmt.Sprint(time.Now().Nanosecond()), "0") + "Z"
	out, _ := json.Marshal(in)
	return out
}

// A correct server is accepted through each dialect, and one that loses a score, counts it
// twice, records one that is not higher or shows a wrong rank is not.
func TestDialectsAreChecked(t *testing.T) {
	t.Parallel()
	backend := instance.New(t, "dialects", strings.Join(plan.Dialects, ","), "ingest-actions", "load:1:100;once=0s",
		"dialect-highscore-action-min", "0s")
	type fault struct {
		name   string
		server *faulty
		must   []string
	}
	for profile, faults := range map[string][]fault{
		"B": {
			{"correct", &faulty{}, nil},
			{"loses some, raises some", &faulty{lose: 10, double: 33}, []string{"lost", "audit.found", "doubled"}},
		},
		"C": {
			{"correct", &faulty{}, nil},
			{"loses some, counts some twice", &faulty{lose: 10, double: 33}, []string{"lost", "doubled"}},
		},
		"D": {
			{"correct", &faulty{}, nil},
			{"loses some, counts some twice", &faulty{lose: 10, double: 33}, []string{"lost", "doubled"}},
		},
		"E": {
			{"correct", &faulty{}, nil},
			{
				"loses some, records what is not higher, shows wrong ranks",
				&faulty{lose: 10, keeps: true, change: onlyOn("/leaderboard/top", `"rank":2,`, `"rank":3,`)},
				[]string{"lost", "rejected.recorded", "top.correct"},
			},
		},
	} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			for i, f := range faults {
				f.server.backend = backend
				r := acceptProfile(t, profile, newFaulty(t, f.server).URL, 100, time.Second, 100, func(o *Options) {
					o.Plan.Prefix = fmt.Sprintf("%s%d-", strings.ToLower(profile), i)
					if profile == "D" {
						o.Plan.Reads = 0
					}
					if f.server.lose > 0 {
						o.Plan.Repeats = 0 // a repeat would compensate for the loss
					}
				})
				got := missed(r)
				for _, want := range f.must {
					if !slices.Contains(got, want) {
						t.Errorf("%s: %s was met: measured %v, errors %v, notes %v",
							f.name, want, r.Measured[want], r.Errors, r.Notes)
					}
				}
				if f.must == nil && (r.Verdict != report.Scaled || len(got) > 0) {
					t.Errorf("%s: got %s, missed %v, errors %v, notes %v, measured %v",
						f.name, r.Verdict, got, r.Errors, r.Notes, r.Measured)
				}
				if f.must != nil && r.Verdict != report.Failed {
					t.Errorf("%s: got %s", f.name, r.Verdict)
				}
				if lost := r.Measured["lost"]; lost != float64(f.server.dropped.Load()) {
					t.Errorf("%s: got %v lost, want %v", f.name, lost, f.server.dropped.Load())
				}
			}
		})
	}
}
