package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestMisspelt(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, env string
		args      []string
		code      int
		want      string
	}{
		{"command", "", []string{"dve"}, 2, `there is no command "scoreboardd dve"; did you mean dev?`},
		{"flag", "", []string{"config", "--ingest-lane", "2"}, 2, "there is no flag --ingest-lane; did you mean --ingest-lanes?"},
		{"variable", "SCOREBOARD_REDIS_ULR=x", []string{"config"}, 0, "SCOREBOARD_REDIS_ULR is not a knob and does nothing; did you mean SCOREBOARD_REDIS_URL?"},
		{"an orchestrator's", "SCOREBOARD_SERVICE_HOST=10.0.0.1", []string{"config"}, 0, ""},
		{"right", "SCOREBOARD_REDIS_URL=redis://x", []string{"config"}, 0, ""},
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], tc.args...)
		cmd.Env = append([]string{asDaemon + "=1", "PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0"}, strings.Fields(tc.env)...)
		var said strings.Builder
		cmd.Stderr = &said
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if got := cmd.ProcessState.ExitCode(); got != tc.code || !strings.Contains(said.String(), tc.want) || tc.want == "" && said.Len() > 0 {
			t.Errorf("%s: got exit code %d and %q, want %d and %q", tc.name, got, said.String(), tc.code, tc.want)
		}
	}
}
