package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/http/auth"
)

// What a client sends cannot begin a line of the log, nor end one early.
func TestClientsCannotForgeLogLines(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "transport", "direct", "log-level", "debug")
	forged := `{"level":"ERROR","msg":"forged"}`
	for _, escaped := range []string{"%0A", "%0D", "%0D%0A", "%E2%80%A8", "%00"} {
		for _, path := range []string{
			"/v1/users/" + escaped + forged + "/rank", "/v1/leaderboard/top?board=" + escaped + forged,
			"/" + escaped + forged, "/v1/events/" + escaped + forged, "/b/" + escaped + forged,
		} {
			request(t, http.MethodGet, n.URL+strings.NewReplacer(`"`, "%22", "{", "%7B", "}", "%7D").Replace(path), "",
				http.Header{
					"Authorization": {"Bearer " + h.token("ada", auth.ScopeOperate, time.Hour)},
					"X-Request-Id":  {"a\t" + forged}, "User-Agent": {"u\t" + forged}, "Traceparent": {"\t" + forged},
				})
		}
	}
	body := `{"user_id":"a\n` + strings.ReplaceAll(forged, `"`, `\"`) + `"}`
	request(t, http.MethodPost, n.URL+"/v1/scores/increment", body, bearer(h.token("ada", "", time.Hour)))
	lines := strings.Split(strings.TrimSpace(n.Log()), "\n")
	requests := 0
	for _, line := range lines {
		var l struct{ Time, Level, Msg string }
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.Time == "" || l.Msg == "" || l.Msg == "forged" {
			t.Errorf("a line of the log is %q", line)
		}
		if l.Msg == "request" {
			requests++
		}
	}
	if requests < 15 { // those of routes
		t.Errorf("only %d requests are in the log", requests)
	}
}

// No path or parameter names a file of the server, however it is written.
func TestNoRequestNamesAFile(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "transport", "direct", "web-boards", "*", "reads-anonymous", "true")
	ups := []string{"../", "..%2F", "%2e%2e/", "%2e%2e%2f", `..\`, "..%5C", "....//", "..%252f", "..;/"}
	for _, base := range []string{
		n.URL + "/docs/", n.URL + "/assets/", n.URL + "/b/", n.URL + "/embed/", n.URL + "/", n.URL + "/v1/boards/",
		n.Ops + "/console/", n.Ops + "/console/assets/", n.Ops + "/",
	} {
		for _, up := range ups {
			for _, file := range []string{"etc/passwd", "proc/self/environ", "go.mod"} {
				url := base + strings.Repeat(up, 8) + file
				status, _, body := request(t, http.MethodGet, url, "", nil)
				if strings.Contains(body, "root:") || strings.Contains(body, "PATH=") ||
					strings.Contains(body, "\nmodule ") {
					t.Errorf("%s: %d %.200s", url, status, body)
				}
				if status == http.StatusOK && strings.Contains(base, "assets") {
					t.Errorf("%s is served: %.100s", url, body)
				}
			}
		}
	}
}
