package api

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A preflight allows the headers of tracing libraries, and one from an origin that is not
// listed is named in the log, at most once in a while.
func TestPreflight(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	a := everything(&trail{}, func(o *Options) {
		o.Origins, o.Log = []string{"https://game.example"}, slog.New(slog.NewTextHandler(&log, nil))
	})
	ask := func(origin string) http.Header {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodOptions, pathTop, http.NoBody)
		r.Header.Set("Origin", origin)
		r.Header.Set("Access-Control-Request-Method", "GET")
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		return w.Header()
	}
	allowed := ", " + strings.ToLower(ask("https://game.example").Get("Access-Control-Allow-Headers")) + ","
	for _, name := range []string{"baggage", "sentry-trace", "traceparent", "tracestate"} {
		if !strings.Contains(allowed, ", "+name+",") {
			t.Errorf("%s is not in %s", name, allowed)
		}
	}
	if log.Len() > 0 {
		t.Errorf("an allowed origin is logged: %s", &log)
	}
	for range 3 {
		if got := ask("https://other.example").Get("Access-Control-Allow-Origin"); got != "" {
			t.Errorf("another origin is allowed: %s", got)
		}
	}
	if n := strings.Count(log.String(), "origin=https://other.example"); n != 1 {
		t.Errorf("the origin is logged %d times, want once: %s", n, &log)
	}
}

// event-source-polyfill sends lastEventId, of which a 400 would stop it for ever.
func TestLastEventIDOfPolyfills(t *testing.T) {
	t.Parallel()
	found := 0
	for _, r := range everything(&trail{}).handlers.routes() {
		if r.query.checkQuery("last_event_id=1:2", maxParameter) == nil && r.stream != nil {
			found++
			if err := r.query.checkQuery("lastEventId=1%3A2", maxParameter); err != nil {
				t.Errorf("%s: %v", r.path, err)
			}
		}
	}
	if found == 0 {
		t.Error("no route is a stream")
	}
}
