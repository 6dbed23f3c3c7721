package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/instance"
)

// doctor names a missing schema and the command that creates it.
func TestDoctorNamesTheMissingSchema(t *testing.T) {
	t.Parallel()
	n := instance.StartNode(t, backends.Postgres(t, nil), backends.Redis(t))
	environ := []string{
		"HOME=" + t.TempDir(), "SBCTL_SERVER=" + n.URL, "SBCTL_OPS_SERVER=" + n.Ops,
		"SBCTL_TOKEN=" + instance.Token("root", "score:admin"),
	}
	var out string
	eventually(t, "the node to wait for its schema", func() error {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), []string{"doctor"}, nil, &stdout, &stderr, environ)
		out = stdout.String()
		if code != exitCheckFailed || !strings.Contains(out, "no schema") {
			return exitCode(code)
		}
		return nil
	})
	lines := strings.Split(out, "\n")
	for i, line := range lines {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		switch fields[0] {
		case "ready":
			if fields[1] != checkFail || !strings.HasSuffix(line, "the database has no schema") ||
				strings.TrimSpace(lines[i+1]) != `→ run "sbctl migrate up"` {
				t.Errorf("got %q and %q, want the reason and the command", line, lines[i+1])
			}
		case "token":
			if fields[1] != checkSkipped {
				t.Errorf("got %q, want a token that was not verified", line)
			}
		}
	}
}
