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
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
)

// Under "scoreboardd dev" a request whose signature names no key, such as the exact body of
// specification A, is verified with the generated key, and with no other.
func TestDevVerifiesWithItsKey(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.env = append(h.env, "SCOREBOARD_POSTGRES_DIRECT_URL="+backends.Owner(h.postgres))
	dir := t.TempDir()
	d := h.start("dev", "--data", dir, "--ephemeral")
	settings := make(map[string]string)
	text, err := os.ReadFile(filepath.Join(dir, "sbctl.env"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		settings[name] = value
	}
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
