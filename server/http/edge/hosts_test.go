package edge_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/scoreboard/scoreboard/server/http/edge"
)

// Profiles are for clients on the same machine, whatever a header says.
func TestLocalClients(t *testing.T) {
	t.Parallel()
	h := edge.LocalClients(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
	}))
	for from, want := range map[string]int{
		"127.0.0.1:4711": http.StatusOK, "[::1]:4711": http.StatusOK, "[::ffff:127.0.0.1]:4711": http.StatusOK,
		"10.1.2.3:4711": http.StatusForbidden, "[fe80::1%eth0]:4711": http.StatusForbidden,
		"[::ffff:10.1.2.3]:1": http.StatusForbidden, "": http.StatusForbidden, "@": http.StatusForbidden,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/debug/pprof/", http.NoBody)
		r.RemoteAddr = from
		r.Header.Set("X-Forwarded-For", "127.0.0.1")
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("from %q: got %d, want %d", from, w.Code, want)
		}
	}
}
