package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/config"
)

// A ranking that was built on another Redis than the present one may lack changes. Every API says so: in
// reads, in streams, and as the dialects can.
func TestBoardInDoubtIsSaidEverywhere(t *testing.T) {
	t.Parallel()
	h, n := dialectNode(t)
	player := bearer(h.token("ada", "", time.Hour))
	action := n.startAction(t, "ada", `{"action_id":"m1"}`)
	for path, body := range map[string]string{
		"/scores": `{"score":5}`,
		"/v1/scores/update": fmt.Sprintf(
			`{"action_id":"m1","action_token":%q,"new_score":5,"timestamp":"2026-02-02T10:30:00Z"}`, action),
	} {
		if status, _, answer := request(t, http.MethodPost, n.URL+path, body, player); status != http.StatusOK {
			t.Fatal(status, answer)
		}
	}
	h.ranked(n, "plain", "ada", 5)
	h.ranked(n, "highscore", "ada", 5)
	n.stop() // so that nothing rebuilds the boards
	rdb := backends.RedisClient(t, h.redis.URL)
	for _, board := range []string{"plain", "highscore:" + time.Now().UTC().Format("2006-01")} {
		if err := rdb.HSet(t.Context(), "sb:{"+board+"}:meta", "server", "another/one").Err(); err != nil {
			t.Fatal(err)
		}
	}
	n = h.start("read,gateway", "dialects", strings.Join(config.DialectNames, ","))
	stream := bearer(h.token("ada", "", time.Hour))
	stream.Set("Accept", "text/event-stream")
	const doubt = `"board_state":"CATCHING_UP"`
	for path, want := range map[string]string{
		"/v1/leaderboard/top?board=plain":    `"degraded":false,` + doubt,
		"/v1/leaderboard/me?board=plain&k=1": `"degraded":false,` + doubt,
		"/v1/leaderboard":                    `"degraded":true,"board_state":"DEGRADED_REBUILDING"`,
		"/v1/scores/me/rank":                 `"degraded":true,"board_state":"DEGRADED_REBUILDING"`,
		"/leaderboard/top":                   `"userId":"ada"`,
		"/leaderboard/ada":                   `"userId":"ada"`,
	} {
		status, header, body := request(t, http.MethodGet, n.URL+path, "", player)
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: got %d %s, want %s", path, status, body, want)
		}
		if strings.HasPrefix(path, "/leaderboard") &&
			(header.Get("Warning") == "" || header.Get("X-Scoreboard-Degraded") != "catching_up") {
			t.Errorf("%s: got the headers %v, want a warning", path, header)
		}
	}
	if status, frame := h.get(t, n.URL+"/v1/realtime/leaderboard?board=plain", stream); status != http.StatusOK ||
		!strings.Contains(frame, doubt) || !strings.Contains(frame, "id: 0:0") {
		t.Errorf("the stream: got %d %s, want %s", status, frame, doubt)
	}
}
