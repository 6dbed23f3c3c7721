package api_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/http/api"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// A rejected token is logged at level debug and counted by its reason, which its sender
// learns, too. The log has no part of the token.
func TestRejectedTokensHaveReasons(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r := newRig(t, 100)
	r.with(func(o *api.Options) {
		o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	others := r.token(auth.NewTokens(secret, "iss", "others", r.clock), "alice", "")
	elsewhere := r.token(auth.NewTokens("another "+secret, "iss", "aud", r.clock), "alice", "")
	counted := prometheus.NewRegistry()
	counted.MustRegister(r.Collectors()...)
	for _, test := range []struct{ token, reason, text string }{
		{others, auth.ReasonAudience, "auth.audience"},
		{elsewhere, auth.ReasonSignature, "signature"},
		{r.token(r.past, "alice", ""), auth.ReasonExpired, "expired"},
		{"x", auth.ReasonMalformed, "not a JWT"},
		{"", auth.ReasonMissing, "required"},
	} {
		log.Reset()
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/leaderboard/top", http.NoBody)
		if test.token != "" {
			req.Header.Set("Authorization", "Bearer "+test.token)
		}
		w := httptest.NewRecorder()
		r.ServeHTTP(w, req)
		if w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), test.text) {
			t.Errorf("%s: got %d %s, want 401 with its reason", test.reason, w.Code, w.Body)
		}
		want := ` reason=` + test.reason
		if line := log.String(); !strings.Contains(line, want) ||
			!strings.Contains(line, `msg="token rejected" request_id=`+w.Header().Get("X-Request-Id")) ||
			len(test.token) > 1 && strings.Contains(line, test.token[strings.LastIndex(test.token, ".")+1:]) {
			t.Errorf("got the log %s, want %s", line, want)
		}
		if n := countOf(t, counted, test.reason); n != 1 {
			t.Errorf("%s is counted %v times, want once", test.reason, n)
		}
	}
}

// countOf returns how many tokens were rejected for a reason.
func countOf(t *testing.T, from prometheus.Gatherer, reason string) float64 {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "scoreboard_api_tokens_rejected_total" && m.GetLabel()[0].GetValue() == reason {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}
