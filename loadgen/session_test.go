package loadgen

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/deploy"
	"github.com/scoreboard/scoreboard/internal/test/instance"
	"github.com/scoreboard/scoreboard/loadgen/report"
)

// A run may be longer than its token's lifetime if the server renews it.
func TestTokenIsRenewed(t *testing.T) {
	t.Parallel()
	r := accept(t, newFaulty(t, &faulty{}).URL, 50, 6*time.Second, func(o *Options) {
		o.Server.Token = instance.TokenFor("root", "score:update score:admin", 5*time.Second)
	})
	if r.Verdict != report.Scaled || len(missed(r)) > 0 {
		t.Errorf("got %s, missed %v, errors %v, notes %v", r.Verdict, missed(r), r.Errors, r.Notes)
	}
}

// A failed renewal is retried unless it was rejected.
func TestRenewalIsRetried(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err      error
		requests int
		token    string
	}{
		"no response": {&client.Error{}, 2, "new"},
		"unavailable": {&client.Error{Status: 503}, 2, "new"},
		"forbidden":   {&client.Error{Status: 403}, 1, ""},
	} {
		requests := 0
		given := instance.TokenFor("u", "score:update", time.Minute)
		l := newRenewingToken(given, func(context.Context, string, client.TokenRequest) (client.Token, error) {
			if requests++; requests == 1 {
				return client.Token{}, c.err
			}
			return client.Token{Token: "new", ExpiresAt: time.Now().Add(time.Hour)}, nil
		})
		for range 3 {
			if !l.renewAt.IsZero() && requests < 2 {
				l.renewAt = time.Now().Add(-time.Second) // now
			}
			if _, err := l.Token(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if want := cmp.Or(c.token, given); l.token != want || requests != c.requests {
			t.Errorf("%s: got the token %q after %d requests", name, l.token, requests)
		}
	}
}

// Without an issuer, an expired token ends the run with one error.
func TestExpiredTokenEndsTheRun(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	o := load(t, s.URL, "400/1h", nil)
	const leeway = 30 * time.Second // for which the server accepts an expired token
	o.Server.Token = instance.TokenFor("load", "score:update", 2*time.Second-leeway)
	_, err := Run(t.Context(), o)
	if err == nil ||
		!strings.Contains(err.Error(), "increments were all rejected with 401 unauthorized: check token and key") {
		t.Errorf("got %v", err)
	}
}

// After a few invalid signatures a server responds with 429, which must not hide
// the wrong key.
func TestWrongKeyEndsTheRunDespite429(t *testing.T) {
	t.Parallel()
	var rejected atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, code := http.StatusUnauthorized, "invalid_signature"
		switch {
		case strings.HasSuffix(r.URL.Path, "/tokens"):
			status, code = http.StatusForbidden, "forbidden"
		case rejected.Add(1) > 10:
			status, code = http.StatusTooManyRequests, "rate_limited"
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"error_code":"`+code+`","message":"no","request_id":"r"}`)
	}))
	defer server.Close()
	_, err := Run(t.Context(), load(t, server.URL, "400/20s", nil))
	if err == nil ||
		!strings.Contains(err.Error(), "increments were all rejected with 401 invalid_signature: check token and key") {
		t.Errorf("got %v", err)
	}
}

func TestAlertsAreCheckedInPrometheus(t *testing.T) {
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
		"all loaded": {rules, 100, 200},
		"one broken": {
			append([]string{strings.Replace(rules[0], "ok", "err", 1)}, rules[1:]...),
			100 * float64(len(rules)-1) / float64(len(rules)), 200,
		},
		"none":        {nil, 0, 200},
		"no response": {nil, -1, 500},
	} {
		prometheus := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/api/v1/rules" {
				t.Errorf("got a request for %s", r.URL)
			}
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(`{"data":{"groups":[{"rules":[` + strings.Join(c.rules, ",") + `]}]}}`))
		}))
		o := Options{Prometheus: prometheus.URL, Settle: 10 * time.Millisecond}
		r := newRun(o, &session{web: prometheus.Client()})
		(&acceptance{run: r}).alerts(t.Context())
		got, measured := r.ending.Measured["alerts.loaded"]
		if measured != (c.share >= 0) || measured && got != c.share {
			t.Errorf("%s: got %v, %v; notes %v", name, got, measured, r.ending.Notes)
		}
		prometheus.Close()
	}
	r := newRun(Options{}, nil)
	(&acceptance{run: r}).alerts(t.Context())
	if r.ending.Skipped["alerts.loaded"] == "" {
		t.Error("without a Prometheus, the criterion is not skipped")
	}
}

// Parallel repeats and cut requests must not change what counts.
func TestChaos(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]*faulty{"correct": {}, "counts repeats": {replay: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := accept(t, newFaulty(t, l).URL, 100, 3*time.Second, func(o *Options) {
				o.Plan.Parallel, o.Plan.Cut = 0.1, 0.05
				o.Faults = []string{"true", "exit 0"}
				if err := o.Scenario.Correctness(); err != nil {
					t.Fatal(err)
				}
			})
			if r.CutOff < 3 || r.Measured["faults.done"] != 100 || len(r.Criteria) < 10 {
				t.Errorf("got %d cut off, faults %v, %d criteria", r.CutOff, r.Measured["faults.done"], len(r.Criteria))
			}
			if correct := !l.replay; correct != (r.Verdict == report.Scaled) {
				t.Errorf("got %s: missed %v, errors %v, notes %v", r.Verdict, missed(r), r.Errors, r.Notes)
			}
		})
	}
}

func TestFailedFaultIsReported(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	o := load(t, s.URL, "20/1s", nil)
	o.Faults = []string{"true", "echo broken pipe; exit 3"}
	r := play(t, t.Context(), o)
	if r.Measured["faults.done"] != 50 || len(r.Notes) != 2 || !strings.Contains(r.Notes[1], "broken pipe") {
		t.Errorf("got %v, %v", r.Measured["faults.done"], r.Notes)
	}
}
