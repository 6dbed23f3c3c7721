package loadgen

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/clienttest"
	"github.com/scoreboard/scoreboard/deploy"
	"github.com/scoreboard/scoreboard/loadgen/record"
	"github.com/scoreboard/scoreboard/loadgen/report"
)

// A run outlives the token that it was given, where the server renews it.
func TestATokenThatEndsInTheMiddleIsRenewed(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	o := load(t, s.URL, "20/6s", nil)
	o.Server.Token = clienttest.TokenFor("root", "score:update score:admin", 4*time.Second)
	session, err := newSession(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	defer session.close()
	first, err := session.given.Token(t.Context())
	if err != nil || first != o.Server.Token {
		t.Fatalf("got another token at once, %v", err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for {
		now, err := session.given.Token(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if now != first {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it was never renewed")
		}
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(time.Until(time.Now().Add(2 * time.Second))) // the first has ended
	var tick record.Tick
	if session.look(t.Context(), &tick); session.given.ends.Before(time.Now().Add(time.Minute)) {
		t.Errorf("the new one ends at %v", session.given.ends)
	}
}

// Without an issuer the token is used for as long as it lasts, and one line says
// why it went wrong.
func TestATokenThatNobodyRenewsEndsTheRunWithOneLine(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	o := load(t, s.URL, "400/1h", nil)
	o.Server.Token = clienttest.TokenFor("load", "score:update", 2*time.Second)
	_, err := Run(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "increments were all refused, 401 unauthorized: check token and key") {
		t.Errorf("got %v", err)
	}
}

// A server that has refused a few bad signatures answers the rest of the address
// 429, which must not hide that the key is wrong.
func TestAWrongKeyEndsTheRunWhereTheAddressIsLimited(t *testing.T) {
	t.Parallel()
	var refused atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, code := http.StatusUnauthorized, "invalid_signature"
		switch {
		case strings.HasSuffix(r.URL.Path, "/tokens"):
			status, code = http.StatusForbidden, "forbidden"
		case refused.Add(1) > 10:
			status, code = http.StatusTooManyRequests, "rate_limited"
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"error_code":"`+code+`","message":"no","request_id":"r"}`)
	}))
	defer server.Close()
	_, err := Run(t.Context(), load(t, server.URL, "400/20s", nil))
	if err == nil || !strings.Contains(err.Error(), "increments were all refused, 401 invalid_signature: check token and key") {
		t.Errorf("got %v", err)
	}
}

func TestAlertsAreJudgedWhereAPrometheusIsNamed(t *testing.T) {
	t.Parallel()
	alerts, err := deploy.Alerts()
	if err != nil {
		t.Fatal(err)
	}
	var rules []string
	for _, a := range alerts {
		rules = append(rules, `{"name":"`+a.Name+`","health":"ok"}`)
	}
	for name, c := range map[string]struct {
		rules  []string
		share  float64
		status int
	}{
		"all there":  {rules, 100, 200},
		"one broken": {append([]string{strings.Replace(rules[0], "ok", "err", 1)}, rules[1:]...), 100 * float64(len(rules)-1) / float64(len(rules)), 200},
		"none":       {nil, 0, 200},
		"no answer":  {nil, -1, 500},
	} {
		prometheus := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/api/v1/rules" {
				t.Errorf("asked for %s", r.URL)
			}
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(`{"data":{"groups":[{"rules":[` + strings.Join(c.rules, ",") + `]}]}}`))
		}))
		r := &run{
			Options: Options{Prometheus: prometheus.URL, Settle: 10 * time.Millisecond}, session: &session{web: prometheus.Client()},
			ending: record.Ending{Measured: record.Measured{}, Skipped: map[string]string{}},
		}
		(&acceptance{run: r}).alerts(t.Context())
		got, measured := r.ending.Measured["alerts.loaded"]
		if measured != (c.share >= 0) || measured && got != c.share {
			t.Errorf("%s: got %v, %v; notes %v", name, got, measured, r.ending.Notes)
		}
		prometheus.Close()
	}
	r := &run{ending: record.Ending{Measured: record.Measured{}, Skipped: map[string]string{}}}
	(&acceptance{run: r}).alerts(t.Context())
	if r.ending.Skipped["alerts.loaded"] == "" {
		t.Error("nobody named one, and it does not say so")
	}
}

// Parallel repeats and requests that are cut off must not show in what counts.
func TestChaosIsSurvivedByAnHonestServerAlone(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]*liar{"honest": {}, "counts repeats anew": {replay: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := accept(t, newLiar(t, l).URL, 100, 3*time.Second, func(o *Options) {
				o.Plan.Parallel, o.Plan.Cut = 0.1, 0.05
				o.Faults = []string{"true", "exit 0"}
				if err := o.Scenario.Correctness(); err != nil {
					t.Fatal(err)
				}
			})
			if r.CutOff < 3 || r.Measured["faults.done"] != 100 || len(r.Criteria) < 10 {
				t.Errorf("got %d cut off, faults %v, %d criteria", r.CutOff, r.Measured["faults.done"], len(r.Criteria))
			}
			if honest := !l.replay; honest != (r.Verdict == report.Scaled) {
				t.Errorf("got %s: missed %v, errors %v, notes %v", r.Verdict, missed(r), r.Errors, r.Notes)
			}
		})
	}
}

func TestAFaultThatDidNotHappenFails(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	o := load(t, s.URL, "20/1s", nil)
	o.Faults = []string{"true", "echo so it is; exit 3"}
	r := play(t, t.Context(), o)
	if r.Measured["faults.done"] != 50 || len(r.Notes) != 2 || !strings.Contains(r.Notes[1], "so it is") {
		t.Errorf("got %v, %v", r.Measured["faults.done"], r.Notes)
	}
}
