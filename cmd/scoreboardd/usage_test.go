package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/asynclog"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// discard is a log that nobody reads.
func discard(t *testing.T) *asynclog.Writer {
	t.Helper()
	logs := asynclog.New(io.Discard)
	t.Cleanup(func() { logs.Close(time.Second) })
	return logs
}

// "scoreboardd dev --help" omits the settings, to stay short.
func TestHelpOfDev(t *testing.T) {
	t.Parallel()
	root := newRoot(discard(t))
	var out strings.Builder
	root.SetOut(&out)
	root.SetArgs([]string{"dev", "--help"})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"--data string", "--ephemeral",
		`--addr string       address of the API (default "127.0.0.1:8080")`, "--ops-addr", `see "scoreboardd --help"`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the help lacks %q", want)
		}
	}
	if lines := strings.Count(out.String(), "\n"); lines > 30 || strings.Contains(out.String(), "--ingest-lanes") {
		t.Errorf("the help has %d lines:\n%s", lines, out.String())
	}
}

func TestMisspeltSettings(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, env string
		args      []string
		code      int
		want      string
	}{
		{"command", "", []string{"dve"}, 2, `unknown command "scoreboardd dve"; did you mean dev?`},
		{
			"flag", "",
			[]string{"config", "--ingest-lane", "2"},
			2,
			"unknown flag --ingest-lane; did you mean --ingest-lanes?",
		},
		{
			"variable", "SCOREBOARD_REDIS_ULR=x",
			[]string{"config"},
			0,
			"SCOREBOARD_REDIS_ULR is not a setting and has no effect; did you mean SCOREBOARD_REDIS_URL?",
		},
		{"orchestrator variable", "SCOREBOARD_SERVICE_HOST=10.0.0.1", []string{"config"}, 0, ""},
		{
			"level", "",
			[]string{"dev", "--log-level", "loud"},
			1,
			`setting log.level must be debug, info, warn or error, not "loud"`,
		},
		{
			"level with config", "SCOREBOARD_LOG_LEVEL=loud",
			[]string{"config"},
			1,
			`setting log.level must be debug, info, warn or error, not "loud"`,
		},
		{"correct", "SCOREBOARD_REDIS_URL=redis://x", []string{"config"}, 0, ""},
		{
			"malformed URL of Redis", "SCOREBOARD_REDIS_URL=redis:x",
			[]string{"config"},
			1,
			"setting redis.url cannot be used: the Redis URL is invalid",
		},
		{
			"missing file", "SCOREBOARD_POSTGRES_URL=postgres://x SCOREBOARD_POSTGRES_TLS_CA=/missing.pem",
			[]string{"config"},
			0,
			"settings changed by operators are not shown: postgres.tls_ca: cannot read the file: open /missing.pem",
		},
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], tc.args...)
		cmd.Env = append([]string{asDaemon + "=1", "PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0"},
			strings.Fields(tc.env)...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if got := cmd.ProcessState.ExitCode(); got != tc.code || !strings.Contains(stderr.String(), tc.want) ||
			tc.want == "" && stderr.Len() > 0 {
			t.Errorf("%s: got exit code %d and %q, want %d and %q", tc.name, got, stderr.String(), tc.code, tc.want)
		}
	}
}

// "scoreboardd config" shows the changes of operators with their source, and reports
// when it cannot read them.
func TestConfigShowsChangedSettings(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d := h.start()
	root := h.client(d, "root", auth.ScopeAdmin)
	value := "77"
	if _, err := root.ChangeSetting(t.Context(), "limit.top_per_minute",
		client.SettingRequest{Value: &value, Reason: "a test"}); err != nil {
		t.Fatal(err)
	}
	shown := func(more ...string) (out, warnings string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "config")
		cmd.Env = append(slices.Clone(h.env), more...)
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v\n%s", err, stderr.String())
		}
		return stdout.String(), stderr.String()
	}
	line := func(out, setting string) string {
		for l := range strings.Lines(out) {
			if fields := strings.Fields(l); len(fields) > 0 && fields[0] == setting {
				return strings.Join(fields[1:], " ")
			}
		}
		return ""
	}
	out, warnings := shown()
	if got := line(out, "limit.top_per_minute"); got != "77 store" || warnings != "" {
		t.Errorf("got %q and %q, want the value from the store", got, warnings)
	}
	if got := line(out, "limit.rank_per_minute"); got != "0 environment" {
		t.Errorf("another setting: got %q", got)
	}
	out, warnings = shown("SCOREBOARD_POSTGRES_URL=postgres://user@127.0.0.1:1/none")
	if got := line(out, "limit.top_per_minute"); got != "0 environment" ||
		!strings.Contains(warnings, "settings changed by operators are not shown") {
		t.Errorf("without the store: got %q and %q, want the deployed value and a warning", got, warnings)
	}
}
