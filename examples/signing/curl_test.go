package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/instance"
)

// receipts are the script's two lines of output.
type receipts struct {
	NewScore int64 `json:"new_score"`
	Replayed bool  `json:"replayed"`
	Results  []struct {
		Receipt *receipts `json:"receipt"`
	} `json:"results"`
}

// submit runs the script with a POSIX shell.
func submit(t *testing.T, s *instance.Server, secret string, arguments ...string) (string, error) {
	t.Helper()
	for _, program := range []string{"curl", "openssl"} {
		backends.Program(t, program)
	}
	arguments = append([]string{"submit.sh"}, arguments...)
	cmd := exec.CommandContext(t.Context(), backends.Program(t, "sh"), arguments...)
	cmd.Dir = "../curl"
	cmd.Env = append(os.Environ(), "SBCTL_SERVER="+s.URL, "SBCTL_TOKEN="+instance.Token("game", "score:update"),
		"SBCTL_KEY_ID="+instance.KeyID, "SBCTL_KEY_SECRET="+secret)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestScriptCountsOnce(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	for run := range 2 {
		out, err := submit(t, s, instance.Secret, "ada", "5", "round-17")
		if err != nil {
			t.Fatalf("got %v: %s", err, out)
		}
		lines := strings.Split(strings.TrimSpace(out), "\n")
		var one, batch receipts
		if len(lines) != 2 ||
			json.Unmarshal([]byte(lines[0]), &one) != nil || json.Unmarshal([]byte(lines[1]), &batch) != nil ||
			len(batch.Results) != 1 || batch.Results[0].Receipt == nil {
			t.Fatalf("got %s", out)
		}
		bonus := batch.Results[0].Receipt
		if one.NewScore != 5 || bonus.NewScore != 6 || one.Replayed != (run > 0) || bonus.Replayed != (run > 0) {
			t.Errorf("run %d: got %s", run, out)
		}
	}
}

func TestScriptRetries(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	s.Fail(2, 503, "overloaded", 0)
	if out, err := submit(t, s, instance.Secret, "ada", "5", "round-18"); err != nil ||
		!strings.Contains(out, `"new_score":6`) {
		t.Errorf("got %v: %s", err, out)
	}
}

func TestScriptReportsErrors(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	cases := []struct {
		name, secret, user, delta, want string
	}{
		{"wrong secret", "sk_wrong", "ada", "5", "invalid_signature"},
		{"no number", instance.Secret, "ada", "5.5", "must be a number"},
		{"quotes", instance.Secret, `a","delta":9,"x":"`, "5", "ids have only"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			out, err := submit(t, s, tc.secret, tc.user, tc.delta, "round-19")
			if err == nil || !strings.Contains(out, tc.want) {
				t.Errorf("got %v: %s, want %s", err, out, tc.want)
			}
		})
	}
}
