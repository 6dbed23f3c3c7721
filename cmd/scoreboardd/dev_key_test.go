package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
)

// startDev runs "scoreboardd dev" on the backends of the test, and returns the settings that it
// writes for sbctl.
func (h *harness) startDev() (d *daemon, settings map[string]string) {
	h.t.Helper()
	h.env = slices.DeleteFunc(h.env, func(v string) bool { return strings.HasPrefix(v, "SCOREBOARD_INGEST_ACTIONS=") })
	h.env = append(h.env, "SCOREBOARD_POSTGRES_DIRECT_URL="+backends.Owner(h.postgres))
	dir := h.t.TempDir()
	d = h.start("dev", "--data", dir, "--ephemeral")
	settings = make(map[string]string)
	text, err := os.ReadFile(filepath.Join(dir, "sbctl.env"))
	if err != nil {
		h.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		settings[name] = value
	}
	return d, settings
}

// Under "scoreboardd dev" a client of each dialect writes and reads as its specification says,
// without a key, an action of ours or any other preparation.
func TestDevServesEveryDialect(t *testing.T) {
	t.Parallel()
	d, settings := newHarness(t).startDev()
	send := func(what, method, path, body string, player bool, want int) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, d.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if player {
			r.Header.Set("Authorization", "Bearer "+settings["SBCTL_TOKEN"])
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		answer, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != want {
			t.Errorf("%s: got %d %s, %v, want %d", what, response.StatusCode, answer, err, want)
		}
		return string(answer)
	}
	write := func(what, path, body string, want int) {
		t.Helper()
		send(what, http.MethodPost, path, body, true, want)
	}
	var started struct {
		ActionToken string `json:"action_token"`
	}
	answer := send("start of an action", http.MethodPost, "/v1/actions", `{"action_id":"m1"}`, true, http.StatusCreated)
	if err := json.Unmarshal([]byte(answer), &started); err != nil {
		t.Fatal(err)
	}
	const at = `"timestamp":"2026-11-21T12:00:00Z"}`
	write("module", "/api/v1/scores/update", `{"userId":"dev","actionId":"quest","scoreIncrement":5,`+at, http.StatusOK)
	write("delta", "/delta/v1/score/update", `{"userId":"dev","scoreDelta":5,"actionId":"a1",`+at, http.StatusOK)
	write("plain", "/scores", `{"score":4500}`, http.StatusOK)
	const path = "/v1/scores/update"
	body := fmt.Sprintf(`{"action_id":"m1","action_token":%q,"new_score":12345,%s`, started.ActionToken, at)
	time.Sleep(time.Second) // the minimum of an action
	write("highscore", path, body, http.StatusOK)
	send("the top of highscore, anonymous", http.MethodGet, "/v1/leaderboard", "", false, http.StatusOK)
	send("the top of delta, anonymous", http.MethodGet, "/delta/v1/leaderboard/top", "", false, http.StatusOK)
	send("the native top, anonymous", http.MethodGet, "/v1/leaderboard/top", "", false, http.StatusUnauthorized)
}

// Under "scoreboardd dev" a request whose signature names no key, such as the exact body of
// specification A, is verified with the generated key, and with no other.
func TestDevVerifiesWithItsKey(t *testing.T) {
	t.Parallel()
	d, settings := newHarness(t).startDev()
	submit := func(event, secret, more string) (int, map[string]any) {
		at := time.Now().UTC().Format(time.RFC3339)
		mac := hmac.New(sha256.New, []byte(secret))
		fmt.Fprintf(mac, "dev|5|%s|%s", event, at)
		body := fmt.Sprintf(`{"user_id":"dev","delta":5,"event_id":%q,"timestamp":%q,"signature":%q%s}`, event, at,
			hex.EncodeToString(mac.Sum(nil)), more)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.url+"/v1/scores/increment",
			bytes.NewBufferString(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+settings["SBCTL_TOKEN"])
		r.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		answer := make(map[string]any)
		if b, err := io.ReadAll(response.Body); err != nil || json.Unmarshal(b, &answer) != nil {
			t.Fatalf("got %s, %v", b, err)
		}
		return response.StatusCode, answer
	}
	if status, answer := submit("e1", settings["SBCTL_KEY_SECRET"], ""); status != http.StatusOK ||
		answer["new_score"] != 5.0 {
		t.Errorf("with the generated key: got %d %v, want 5 points", status, answer)
	}
	for name, c := range map[string]struct{ secret, more string }{
		"another secret":  {"sk_0123456789abcdef0123456789abcdef", ""},
		"another key":     {settings["SBCTL_KEY_SECRET"], `,"key_id":"another"`},
		"an empty secret": {"", ""},
	} {
		if status, answer := submit("e2", c.secret, c.more); status != http.StatusUnauthorized ||
			answer["error_code"] != "invalid_signature" {
			t.Errorf("with %s: got %d %v, want invalid_signature", name, status, answer)
		}
	}
}
