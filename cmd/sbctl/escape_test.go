package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
)

// hostile drives a terminal, and reads as another text. unsafe are its characters.
const (
	hostile = "a\x1b[2J\u009b1m\u202eb\r\nforged\x7f\u2066d\x00\u200b"
	unsafe  = "\x1b\u009b\u202e\r\x7f\u2066\x00\u200b"
)

func TestJSONEscaper(t *testing.T) {
	t.Parallel()
	const text = "a\u202e\x7f\u009b\U000e0041\u30a2 Zo\u00eb"
	var b bytes.Buffer
	e := &jsonEscaper{w: &b}
	encoded, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	for i := range encoded { // also between the bytes of a character
		if _, err := e.Write(encoded[i : i+1]); err != nil {
			t.Fatal(err)
		}
	}
	var back string
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || back != text {
		t.Errorf("got %q (%v), want %q", back, err, text)
	}
	if want := `"a\u202e\u007f\u009b\udb40\udc41` + "\u30a2 Zo\u00eb" + `"`; b.String() != want {
		t.Errorf("got %s, want %s", b.String(), want)
	}
}

// Nothing that a server sends reaches the terminal unescaped: not in tables, JSON,
// messages or errors.
func TestServerTextIsEscaped(t *testing.T) {
	t.Parallel()
	for _, failing := range []bool{false, true} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if failing {
				w.WriteHeader(http.StatusConflict)
				_ = json.NewEncoder(w).Encode(wire.Error{
					ErrorCode: string(wire.CodeConflict), Message: hostile, Field: hostile, EventID: hostile,
					RequestID: hostile,
				})
				return
			}
			entry := client.Entry{Rank: 1, UserID: hostile, DisplayName: hostile}
			answers := map[string]any{
				"/v1/leaderboard/top": wire.Top{
					Board: hostile, Entries: []wire.Entry{entry}, DegradedReason: hostile,
				},
				"/v1/boards": wire.Boards{Boards: []wire.Board{{
					Board: hostile, Mode: hostile, Order: hostile, Status: hostile, Region: hostile, Period: hostile,
				}}},
				"/v1/admin/keys": wire.Keys{Keys: []wire.Key{{KeyID: hostile, Name: hostile}}},
				"/v1/admin/flags": wire.Flags{Flags: []wire.Flag{{
					UserID: hostile, Rule: hostile, Detail: hostile,
				}}},
				"/v1/admin/audit": wire.AuditEntries{Entries: []wire.AuditEntry{{
					Who: hostile, Action: hostile, Reason: hostile, Detail: json.RawMessage(`{"x":"\u001b[2J\u202e"}`),
				}}},
				"/v1/admin/settings": wire.Settings{Settings: []wire.Setting{{Name: hostile, Value: hostile}}},
				"/v1/admin/outbox": wire.Outbox{
					Halted: hostile, Shards: []wire.OutboxShard{{Owner: hostile, LastError: hostile}},
				},
				"/v1/admin/users/alice": wire.User{
					UserID: hostile, Status: hostile, By: hostile, Reason: hostile,
					Scores: []wire.UserScore{{Board: hostile}},
				},
				"/v1/users/alice/statement": wire.Statement{Entries: []wire.StatementEntry{{
					EventID: hostile, Board: hostile, Action: hostile, KeyID: hostile,
				}}},
				"/v1/admin/voids": wire.Voids{Voids: []wire.Void{{
					State: hostile, KeyID: hostile, Who: hostile, Reason: hostile,
				}}},
				"/v1/admin/dead-letters": wire.DeadLetters{Letters: []wire.DeadLetter{{
					Topic: hostile, Reason: hostile,
				}}},
			}
			answer, known := answers[r.URL.Path]
			if !known {
				t.Errorf("unexpected request %s", r.URL)
			}
			_ = json.NewEncoder(w).Encode(answer)
		}))
		t.Cleanup(server.Close)
		for _, command := range []string{
			"top", "board list", "key list", "flag list", "audit list", "settings list", "outbox status",
			"user show alice", "score statement alice", "event voids", "dlq list",
		} {
			for _, output := range []string{"table", "json", "ndjson", "csv", "yaml", "template={{.}}"} {
				var out bytes.Buffer
				args := append(strings.Fields(command), "--output", output, "--server", server.URL)
				env := []string{"SBCTL_TOKEN=t", "HOME=" + t.TempDir()}
				code := run(t.Context(), args, strings.NewReader(""), &out, &out, env)
				if want := map[bool]int{false: exitOK, true: exitError}[failing]; code != want {
					t.Errorf("sbctl %s: got exit code %d, want %d:\n%s", command, code, want, out.String())
				}
				if strings.ContainsAny(out.String(), unsafe) {
					t.Errorf("sbctl %s --output %s (failing: %t) prints %q", command, output, failing, out.String())
				}
				if output != "json" && strings.Contains(out.String(), "\nforged") {
					t.Errorf("sbctl %s (failing: %t): a line is the server's:\n%s", command, failing, out.String())
				}
				if output == "json" && !failing && !json.Valid(jsonOf(out.Bytes())) {
					t.Errorf("sbctl %s: not JSON:\n%s", command, out.String())
				}
			}
		}
	}
}

// What a server sends reaches the shell escaped when it completes a word, too.
func TestCompletionsAreEscaped(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answers := map[string]any{
			"/v1/leaderboard/top": wire.Top{Entries: []wire.Entry{{UserID: hostile}}},
			"/v1/boards":          wire.Boards{Boards: []wire.Board{{Board: hostile}}},
			"/v1/admin/keys":      wire.Keys{Keys: []wire.Key{{KeyID: hostile, Name: hostile}}},
			"/v1/admin/audit":     wire.AuditEntries{Entries: []wire.AuditEntry{{ID: 7, Action: hostile}}},
			"/v1/admin/settings":  wire.Settings{Settings: []wire.Setting{{Name: hostile, Live: true}}},
		}
		_ = json.NewEncoder(w).Encode(answers[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	for _, command := range []string{
		"rank", "board show", "key revoke", "audit show", "audit list --action", "settings set",
	} {
		var out, errs bytes.Buffer
		args := append(append([]string{"__complete"}, strings.Fields(command)...), "")
		env := []string{"SBCTL_SERVER=" + server.URL, "SBCTL_TOKEN=t", "HOME=" + t.TempDir()}
		if code := run(t.Context(), args, strings.NewReader(""), &out, &errs, env); code != exitOK {
			t.Errorf("%s: exit code %d", command, code)
		}
		if lines := strings.Count(out.String(), "\n"); lines != 2 || strings.ContainsAny(out.String(), unsafe) {
			t.Errorf("%s: got %q, want one escaped word", command, out.String())
		}
	}
}

// jsonOf is the JSON in an output that has messages before it.
func jsonOf(out []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(out[max(bytes.IndexByte(out, '{'), 0):]))
	var v json.RawMessage
	if err := d.Decode(&v); err != nil && err != io.EOF {
		return out
	}
	return v
}

// A server's name must not pass as a hint of the shell.
func TestCompletionsAreNoHints(t *testing.T) {
	t.Parallel()
	got := matching([]string{"_activeHelp_ run rm -rf", "arena", "daily"}, "")
	if strings.Join(got, ",") != "arena,daily" {
		t.Errorf("got %q", got)
	}
}
