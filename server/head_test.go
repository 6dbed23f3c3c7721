package server_test

import (
	"net/http"
	"testing"
	"time"
)

// HEAD is GET without the body, on routes of the API and on pages. Streams have no HEAD: it
// would never end.
func TestHead(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start("api,relay,projector,gateway,maintenance", "web-boards", "global")
	token, _, err := h.tokens.Mint("alice", "", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{"Authorization": {"Bearer " + token}}
	for _, path := range []string{
		"/", "/b/", "/b/global", "/docs", "/openapi.json", "/v1/leaderboard/top", "/v1/boards",
		"/v1/users/nobody/score",
	} {
		want, get, _ := request(t, http.MethodGet, n.URL+path, "", header)
		got, head, body := request(t, http.MethodHead, n.URL+path, "", header)
		if kind := get.Get("Content-Type"); got != want || head.Get("Content-Type") != kind || body != "" {
			t.Errorf("HEAD %s: got %d %s %q, want %d %s without a body", path, got,
				head.Get("Content-Type"), body, want, kind)
		}
	}
	if status, _, _ := request(t, http.MethodHead, n.URL+"/v1/realtime/leaderboard", "", header); status != 405 {
		t.Errorf("HEAD of a stream: got %d, want 405", status)
	}
}
