package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// The command of docker-compose.yml generates secrets that the daemon accepts, once.
func TestComposeGeneratesSecrets(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("../../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	var compose struct {
		Services map[string]struct {
			Command     yaml.Node
			Environment map[string]*string
		}
	}
	if err := yaml.Unmarshal(file, &compose); err != nil {
		t.Fatal(err)
	}
	daemon := compose.Services["scoreboardd"]
	for _, name := range []string{"SCOREBOARD_AUTH_JWT_SECRET", "SCOREBOARD_AUTH_MASTER_KEY"} {
		if value, given := daemon.Environment[name]; !given || value != nil {
			t.Errorf("%s has a value in docker-compose.yml, want it passed on", name)
		}
	}
	var command []string
	if err := daemon.Command.Decode(&command); err != nil || len(command) != 3 {
		t.Fatalf("command %q: %v", command, err)
	}
	dir := t.TempDir()
	script := strings.NewReplacer("$$", "$", "/var/lib/scoreboard", dir).Replace(command[2])
	for name, text := range map[string]string{
		"sbctl":       "#!/bin/sh\n",
		"scoreboardd": "#!/bin/sh\nexec " + os.Args[0] + ` "$@"` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	secrets := func() string {
		cmd := exec.CommandContext(t.Context(), command[0], command[1], script)
		cmd.Env = []string{asDaemon + "=1", "PATH=" + dir + ":" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		// The secrets are checked before the backends, which are not set.
		backends := strings.Contains(string(out), "postgres.url must be set")
		if err == nil || !backends || strings.Contains(string(out), "auth.") {
			t.Errorf("got %v, want only the backends rejected:\n%s", err, out)
		}
		generated, err := os.ReadFile(filepath.Join(dir, "secrets.yml"))
		if err != nil {
			t.Fatal(err)
		}
		return string(generated)
	}
	first := secrets()
	if lines := strings.Split(first, "\n"); len(lines) != 3 || strings.TrimPrefix(lines[0], "auth.jwt_secret: ") ==
		strings.TrimPrefix(lines[1], "auth.master_key: ") {
		t.Errorf("got %q, want two different secrets", first)
	}
	if second := secrets(); second != first {
		t.Errorf("the second start replaced the secrets %q by %q", first, second)
	}
}

// Outside "scoreboardd dev" the daemon does not start with a secret that can be guessed.
func TestWeakSecretsStopTheDaemon(t *testing.T) {
	t.Parallel()
	for setting, value := range map[string]string{
		"auth.jwt_secret": "secret", "auth.master_key": strings.Repeat("0f", 32),
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "--addr", "127.0.0.1:0", "--ops-addr", "127.0.0.1:0")
		name := "SCOREBOARD_" + strings.ToUpper(strings.ReplaceAll(setting, ".", "_"))
		cmd.Env = []string{
			asDaemon + "=1", name + "=" + value, "SCOREBOARD_KAFKA_BROKERS=127.0.0.1:1",
			"SCOREBOARD_POSTGRES_URL=postgres://u@127.0.0.1:1/db", "SCOREBOARD_REDIS_URL=redis://127.0.0.1:1/0",
		}
		out, err := cmd.CombinedOutput()
		if text := string(out); err == nil || !strings.Contains(text, "setting "+setting+" ") ||
			strings.Count(text, "\n") != 1 {
			t.Errorf("%s: got %v, want one line that names it:\n%s", setting, err, out)
		}
	}
}
