package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// service is a service of docker-compose.yml.
type service struct {
	Command     []string           `yaml:"command"`
	Environment map[string]*string `yaml:"environment"`
	Volumes     []string           `yaml:"volumes"`
	Ports       []string           `yaml:"ports"`
	ReadOnly    bool               `yaml:"read_only"`
}

// composeServices are the services of docker-compose.yml.
func composeServices(t *testing.T) map[string]service {
	t.Helper()
	text, err := os.ReadFile("../../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]yaml.Node `yaml:"services"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	all := make(map[string]service)
	for name, node := range file.Services {
		var s service
		// Prometheus has a command of another form, which no test reads.
		if err := node.Decode(&s); err != nil && name == "scoreboardd" {
			t.Fatal(err)
		}
		all[name] = s
	}
	return all
}

// secretsScript is what the service secrets runs, with its volumes in a folder.
func secretsScript(t *testing.T, dir string) (script string) {
	t.Helper()
	s := composeServices(t)["secrets"]
	if len(s.Command) != 3 || len(s.Volumes) != 4 {
		t.Fatalf("got the service %+v", s)
	}
	script = strings.ReplaceAll(s.Command[2], "$$", "$")
	for _, v := range s.Volumes {
		name, at, _ := strings.Cut(v, ":")
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		script = strings.ReplaceAll(script, at, filepath.Join(dir, name))
	}
	return script
}

// The service secrets of docker-compose.yml generates secrets that the daemon accepts,
// once, and a password of its own for everything.
func TestComposeGeneratesSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := secretsScript(t, dir)
	generate := func(env ...string) map[string]string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
		cmd.Env = append(env, "PATH="+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		files := make(map[string]string)
		for _, name := range []string{
			"secrets/secrets.yml", "secrets/pgpass", "owner/password", "owner/pgpass", "pool/password",
			"pool/userlist.txt", "pool/pgbouncer.ini", "grafana-password/password",
		} {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			files[name] = string(text)
		}
		return files
	}
	first := generate("GRAFANA_PASSWORD=chosen")
	for name, form := range map[string]string{
		"secrets/secrets.yml": `^auth\.jwt_secret: "[0-9a-f]{64}"\nauth\.master_key: "[0-9a-f]{64}"\n` +
			`auth\.default_key: "default"\nauth\.default_key_secret: "[0-9a-f]{64}"\n$`,
		"secrets/pgpass":            `^\*:\*:\*:scoreboard_runtime:[0-9a-f]{64}\n$`,
		"owner/password":            `^[0-9a-f]{64}\n$`,
		"owner/pgpass":              `^\*:\*:\*:scoreboard:` + strings.TrimSpace(first["owner/password"]) + `\n$`,
		"pool/userlist.txt":         `^"scoreboard_runtime" "` + strings.TrimSpace(first["pool/password"]) + `"\n$`,
		"grafana-password/password": `^chosen\n$`,
	} {
		if !regexp.MustCompile(form).MatchString(first[name]) {
			t.Errorf("%s is %q, want %s", name, first[name], form)
		}
	}
	if !strings.Contains(first["secrets/pgpass"], strings.TrimSpace(first["pool/password"])) {
		t.Error("the daemon and the pool have different passwords")
	}
	seen := map[string]bool{}
	for _, secret := range regexp.MustCompile(`[0-9a-f]{64}`).FindAllString(
		first["secrets/secrets.yml"]+first["owner/password"]+first["pool/password"], -1) {
		seen[secret] = true
	}
	if len(seen) != 5 {
		t.Errorf("got %d different secrets, want 5", len(seen))
	}
	if second := generate("POSTGRES_PASSWORD=later"); !maps.Equal(first, second) {
		t.Errorf("the second start replaced %v by %v", first, second)
	}
	at := filepath.Join(dir, "secrets", "secrets.yml")
	if info, err := os.Stat(at); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode of the daemon's secrets is %v, %v, want 0600", info, err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "--config", at)
	cmd.Env = []string{asDaemon + "=1"}
	out, err := cmd.CombinedOutput()
	// The secrets are checked before the backends, which are not set.
	backends := strings.Contains(string(out), "postgres.url must be set")
	if err == nil || !backends || strings.Contains(string(out), "auth.") {
		t.Errorf("got %v, want only the backends rejected:\n%s", err, out)
	}
}

// No service of docker-compose.yml has a password in it, and none is open to others.
func TestComposeHasNoDefaultPasswords(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	given := regexp.MustCompile(`(?i)(password|secret|key)[a-z_]*: *(\$\{[A-Z_]+:-)?[a-z0-9]`)
	if found := given.Find(text); found != nil {
		t.Errorf("a password has a value: %s", found)
	}
	for name, s := range composeServices(t) {
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") && !strings.HasPrefix(port, "${SCOREBOARD_LISTEN:-127.0.0.1}:") {
				t.Errorf("%s is published at %s", name, port)
			}
		}
	}
	for _, name := range []string{"scoreboardd", "migrate"} {
		if !composeServices(t)[name].ReadOnly {
			t.Errorf("%s can write to its file system", name)
		}
	}
	for _, v := range composeServices(t)["scoreboardd"].Volumes {
		if strings.HasPrefix(v, "owner:") {
			t.Error("the daemon can read the owner's password")
		}
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
