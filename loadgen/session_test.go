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
	"github.com/scoreboard/scoreboard/client/clienttest"
	"github.com/scoreboard/scoreboard/deploy"
	"github.com/scoreboard/scoreboard/loadgen/record"
	"github.com/scoreboard/scoreboard/loadgen/report"
)

// A run outlives the token that it was given, where the server renews it.
func TestARunOutlivesItsToken(t *testing.T) {
	t.Parallel()
	r := accept(t, newLiar(t, &liar{}).URL, 50, 6*time.Second, func(o *Options) {
		o.Server.Token = clienttest.TokenFor("root", "score:update score:admin", 5*time.Second)
	})
	if r.Verdict != report.Scaled || len(missed(r)) > 0 {
		t.Errorf("got %s, missed %v, errors %v, notes %v", r.Verdict, missed(r), r.Errors, r.Notes)
	}
}

// A renewal that broke is tried again; one that was refused is not.
func TestARenewalIsTriedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		broke error
		asked int
		token string
	}{
		"broke":          {&client.Error{}, 2, "new"},
		"overloaded":     {&client.Error{Status: 503}, 2, "new"},
		"not ours to do": {&client.Error{Status: 403}, 1, ""},
	} {
		asked := 0
		l := newLasting(clienttest.TokenFor("u", "score:update", time.Minute), func(context.Context, string, client.TokenRequest) (client.Token, error) {
			if asked++; asked == 1 {
				return client.Token{}, c.broke
			}
			return client.Token{Token: "new", ExpiresAt: time.Now().Add(time.Hour)}, nil
		})
		first := l.token
		for range 3 {
			if !l.renewAt.IsZero() && asked < 2 {
				l.renewAt = time.Now().Add(-time.Second) // its time has come
			}
			if _, err := l.Token(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if want := cmp.Or(c.token, first); l.token != want || asked != c.asked {
			t.Errorf("%s: asked %d times, got %q", name, asked, l.token)
		}
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
