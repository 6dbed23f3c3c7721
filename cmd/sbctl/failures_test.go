package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/instance"
)

// offlineCommands do not need a server, tolerate an unreachable one, or read another
// system first.
var offlineCommands = []string{
	"sbctl completion", "sbctl doctor", "sbctl help", "sbctl profile", "sbctl version", "sbctl migrate",
	"sbctl load", "sbctl accept", "sbctl open", "sbctl sign", "sbctl size", "sbctl watch",
	"sbctl import",
}

// For every server error, each command's first example ends with exit code 1, one JSON
// error with code and next step on stderr, and empty stdout.
func TestEveryCommandReportsErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		status int
		code   wire.Code
		next   string
	}{
		{"unauthorized", 401, wire.CodeUnauthorized, "SBCTL_TOKEN"},
		{"conflict", 409, wire.CodeConflict, ""},
		{"rate limited", 429, wire.CodeRateLimited, "try again in 1m0s"},
		{"unreachable", 0, wire.CodeUnavailable, "check that a server runs"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "60")
				w.WriteHeader(tc.status)
				_ = json.NewEncoder(w).Encode(wire.Error{ErrorCode: string(tc.code), Message: "simulated failure"})
			}))
			defer s.Close()
			if tc.status == 0 {
				s.Close()
			}
			env := []string{
				"SBCTL_SERVER=" + s.URL, "SBCTL_TOKEN=" + instance.Token("alice", "score:update score:admin"),
				"SBCTL_KEY_ID=" + instance.KeyID, "SBCTL_KEY_SECRET=" + instance.Secret, "HOME=" + t.TempDir(),
			}
			rules := filepath.Join(t.TempDir(), "rules.json")
			if err := os.WriteFile(rules, []byte(`{"max_delta":100}`), 0o600); err != nil {
				t.Fatal(err)
			}
			commands := 0
			var all sync.WaitGroup // not subtests, which would wait for each other's retries
			forEachCommand(newRootCmd(newProgram(&process{})), func(cmd *cobra.Command) {
				path := cmd.CommandPath()
				if cmd.HasSubCommands() ||
					slices.ContainsFunc(offlineCommands,
						func(own string) bool { return strings.HasPrefix(path, own) }) {
					return
				}
				commands++
				all.Go(func() {
					var out, errs bytes.Buffer
					format := "json"
					if strings.HasPrefix(path, "sbctl export") {
						format = "ndjson"
					}
					args := append(firstExample(cmd), "--yes", "--quiet", "--output", format)
					if i := slices.Index(args, "rules.json"); i >= 0 {
						args[i] = rules
					}
					code := run(t.Context(), args, nil, &out, &errs, env)
					var f failure
					if err := json.Unmarshal(errs.Bytes(), &f); err != nil || code != exitError || out.Len() > 0 {
						t.Errorf("%q: exit code %d, stdout %q, stderr %q: %v", args, code, out.String(),
							errs.String(), err)
					} else if f.ErrorCode != string(tc.code) || f.Message == "" ||
						!strings.Contains(f.NextStep, tc.next) {
						t.Errorf("%q: got %+v, want %s and the step %q", args, f, tc.code, tc.next)
					}
				})
			})
			all.Wait()
			if commands < 20 {
				t.Errorf("only %d commands were tested", commands)
			}
		})
	}
}

// firstExample splits the command line of a command's first example like a shell.
func firstExample(cmd *cobra.Command) []string {
	line, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
	_, line, _ = strings.Cut(line, "sbctl ")
	return shellWords(line)
}
