package main

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"gopkg.in/yaml.v3"
)

// service is a service of docker-compose.yml.
type service struct {
	Command     []string           `yaml:"command"`
	Networks    []string           `yaml:"networks"`
	NetworkMode string             `yaml:"network_mode"`
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
		if err := node.Decode(&s); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name] = s
	}
	return all
}

// secretsScript is what the service secrets of docker-compose.yml runs, with its volumes in a
// folder, and with values in .env.
func secretsScript(t *testing.T, dir string, chosen map[string]string) (script string) {
	t.Helper()
	text, err := os.ReadFile("../../deploy/compose/secrets.sh")
	if err != nil {
		t.Fatal(err)
	}
	script = strings.ReplaceAll(string(text), "/run/chosen", filepath.Join(dir, "chosen"))
	script = strings.ReplaceAll(script, "chown -R 65532:65532", ": chown")
	for _, v := range composeServices(t)["secrets"].Volumes {
		name, at, _ := strings.Cut(v, ":")
		if strings.HasPrefix(name, ".") {
			continue
		}
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		script = strings.ReplaceAll(script, "="+at, "="+filepath.Join(dir, name))
		script = strings.ReplaceAll(script, " "+at+"/", " "+filepath.Join(dir, name)+"/")
	}
	config := composeConfig(t)
	for name, value := range chosen {
		if !strings.Contains(config, "${"+name+":-}") {
			t.Fatalf("docker-compose.yml does not pass %s on", name)
		}
		config = strings.ReplaceAll(config, "${"+name+":-}", value)
	}
	config = regexp.MustCompile(`\$\{[A-Z_]+:-\}`).ReplaceAllString(config, "")
	if err := os.WriteFile(filepath.Join(dir, "chosen"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return script
}

// composeSecrets runs that script and returns what it wrote, by volume and file, nil if it
// failed.
func composeSecrets(t *testing.T, dir string, chosen map[string]string) (files map[string]string, out string) {
	t.Helper()
	printed, err := exec.CommandContext(t.Context(), "sh", "-c", secretsScript(t, dir, chosen)).CombinedOutput()
	if err != nil {
		return nil, string(printed)
	}
	files = make(map[string]string)
	all, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name, _ := filepath.Rel(dir, path)
		files[name] = string(text)
	}
	return files, string(printed)
}

// composeConfig is the content of the config "chosen" of docker-compose.yml.
func composeConfig(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Configs map[string]struct {
			Content string `yaml:"content"`
		} `yaml:"configs"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	return file.Configs["chosen"].Content
}

// docker-compose.yml enables the dialects as "scoreboardd dev" does: all of them, and any action
// for the dialect module.
func TestComposeEnablesDialects(t *testing.T) {
	t.Parallel()
	daemon := composeServices(t)["scoreboardd"]
	for _, name := range []string{"SCOREBOARD_DIALECTS", "SCOREBOARD_INGEST_ACTIONS"} {
		want, found := devEnv(nil, nil)(name)
		if got := daemon.Environment[name]; !found || got == nil || *got != want {
			t.Errorf("%s is %v, want %q", name, got, want)
		}
	}
}

// The service secrets of docker-compose.yml generates secrets that the daemon accepts,
// once, and a password of its own for everything.
func TestComposeGeneratesSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, out := composeSecrets(t, dir, map[string]string{"GRAFANA_PASSWORD": "chosen"})
	if first == nil {
		t.Fatal(out)
	}
	random := func(name string) string { return strings.TrimSpace(first[name]) }
	sum := sha256.Sum256([]byte(random("redis-password/password")))
	for name, want := range map[string]string{
		"secrets/secrets.yml": "auth.jwt_secret: '" + random("secrets/jwt_secret") + "'\nauth.master_key: '" +
			random("secrets/master_key") + "'\nauth.default_key: default\nauth.default_key_secret: '" +
			random("secrets/default_key_secret") + "'\nredis.url: redis://default:" +
			percentEncoded(random("redis-password/password")) + "@redis:6379/0\nkafka.sasl: plain\n" +
			"kafka.sasl_user: scoreboard\nkafka.sasl_password: '" + random("kafka-password/password") + "'\n",
		"secrets/pgpass":            "*:*:*:scoreboard_runtime:" + random("pool/password") + "\n",
		"owner/pgpass":              "*:*:*:scoreboard:" + random("owner/password") + "\n",
		"pool/userlist.txt":         `"scoreboard_runtime" "` + random("pool/password") + "\"\n",
		"grafana-password/password": "chosen\n",
	} {
		if first[name] != want {
			t.Errorf("%s is %q, want %q", name, first[name], want)
		}
	}
	if hash := fmt.Sprintf("#%x ", sum); !strings.Contains(first["redis-password/redis.conf"], hash) {
		t.Errorf("the configuration of Redis lacks the hash of its password:\n%s", first["redis-password/redis.conf"])
	}
	seen := map[string]bool{}
	for name, text := range first {
		if !strings.Contains(name, ".") && !strings.HasPrefix(name, "grafana") && !strings.HasSuffix(name, "pgpass") {
			if !regexp.MustCompile(`^[0-9a-f]{64}\n$`).MatchString(text) {
				t.Errorf("%s is %q", name, text)
			}
			seen[text] = true
		}
	}
	if len(seen) != 7 {
		t.Errorf("got %d different secrets, want 7", len(seen))
	}
	if second, out := composeSecrets(t, dir, nil); !maps.Equal(first, second) {
		t.Errorf("the second start replaced %v by %v: %s", first, second, out)
	}
	at := filepath.Join(dir, "secrets", "secrets.yml")
	if info, err := os.Stat(at); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode of the daemon's secrets is %v, %v, want 0600", info, err)
	}
	if out := startWith(t, at); !strings.Contains(out, "postgres.url must be set") ||
		strings.Contains(out, "auth.") || strings.Contains(out, "kafka.sasl") || strings.Contains(out, "redis.url") {
		t.Errorf("want only PostgreSQL missing:\n%s", out)
	}
}

// startWith starts the daemon with a file of settings that lacks PostgreSQL, and returns
// why it does not start. The other settings are checked first.
func startWith(t *testing.T, file string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "--config", file, "--kafka-brokers", "127.0.0.1:1")
	cmd.Env = []string{asDaemon + "=1"}
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Errorf("the daemon started without PostgreSQL:\n%s", out)
	}
	return string(out)
}

// percentEncoded is a text with each byte percent-encoded.
func percentEncoded(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&b, "%%%02x", c)
	}
	return b.String()
}

// What readers of the files get is what was chosen, whatever it consists of.
func TestComposeEscapesPasswords(t *testing.T) {
	t.Parallel()
	const password = `a:b\c"d e'ü$1%41#@/`
	dir := t.TempDir()
	files, out := composeSecrets(t, dir, map[string]string{
		"POSTGRES_PASSWORD": "owner " + password, "POSTGRES_RUNTIME_PASSWORD": password, "REDIS_PASSWORD": password,
		"KAFKA_PASSWORD": password, "SCOREBOARD_AUTH_JWT_SECRET": "0123456789abcdef0123456789abcdef" + password,
	})
	if files == nil {
		t.Fatal(out)
	}
	for file, user := range map[string]string{"owner/pgpass": "scoreboard", "secrets/pgpass": "scoreboard_runtime"} {
		want := password
		if user == "scoreboard" {
			want = "owner " + password
		}
		c, err := pgx.ParseConfig("postgres://" + user + "@127.0.0.1/db?passfile=" + filepath.Join(dir, file))
		if err != nil || c.Password != want {
			t.Errorf("%s: got %q, %v, want %q", file, c.Password, err, want)
		}
	}
	if want := `"scoreboard_runtime" "a:b\c""d e'ü$1%41#@/"` + "\n"; files["pool/userlist.txt"] != want {
		t.Errorf("the list of PgBouncer's users is %q, want %q", files["pool/userlist.txt"], want)
	}
	if want := `password="a:b\\c\"d e'ü$1%41#@/"`; !strings.Contains(files["kafka-password/jaas.conf"], want) {
		t.Errorf("the users of Kafka are %q, want %s", files["kafka-password/jaas.conf"], want)
	}
	var settings map[string]string
	if err := yaml.Unmarshal([]byte(files["secrets/secrets.yml"]), &settings); err != nil {
		t.Fatal(err)
	}
	if settings["kafka.sasl_password"] != password || !strings.HasSuffix(settings["auth.jwt_secret"], password) {
		t.Errorf("the daemon's settings are %q", settings)
	}
	o, err := redis.ParseURL(settings["redis.url"])
	if err != nil || o.Password != password {
		t.Errorf("the URL of Redis has the password %q, %v", o.Password, err)
	}
	out = startWith(t, filepath.Join(dir, "secrets", "secrets.yml"))
	if !strings.Contains(out, "postgres.url must be set") {
		t.Errorf("want only PostgreSQL missing:\n%s", out)
	}
}

// A choice that cannot be used, or comes after the first start, is named, and nothing changes.
func TestComposeRejectsPasswords(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ first, second, want string }{
		"space at the end": {second: "abc ", want: "POSTGRES_PASSWORD must not begin or end with a space"},
		"tab":              {second: "a\tb", want: "POSTGRES_PASSWORD must not begin"},
		"line break":       {second: "a\nGRAFANA_PASSWORD=b", want: "contains a line break"},
		"later":            {first: "abc", second: "abcd", want: "POSTGRES_PASSWORD in .env is not the password of"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if tt.first != "" {
				files, out := composeSecrets(t, dir, map[string]string{"POSTGRES_PASSWORD": tt.first})
				if files == nil {
					t.Fatal(out)
				}
			}
			before, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
			files, out := composeSecrets(t, dir, map[string]string{"POSTGRES_PASSWORD": tt.second})
			if files != nil || !strings.Contains(out, tt.want) || strings.Count(out, "\n") != 1 {
				t.Errorf("got %q, want one line with %q", out, tt.want)
			}
			if after, _ := filepath.Glob(filepath.Join(dir, "*", "*")); !slices.Equal(before, after) {
				t.Errorf("it wrote %v", after)
			}
		})
	}
}

// No service of docker-compose.yml has a password in it, and none is open to others. Each
// backend is in a network of its own, which only the services share that use it.
func TestComposeIsClosed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	given := regexp.MustCompile(`(?i)(password|secret|key)[a-z_]*: *(\$\{[A-Z_]+:-)?[a-z0-9]`)
	if found := given.Find(text); found != nil {
		t.Errorf("a password has a value: %s", found)
	}
	services := composeServices(t)
	members := map[string][]string{}
	for name, s := range services {
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") && !strings.HasPrefix(port, "${SCOREBOARD_LISTEN:-127.0.0.1}:") {
				t.Errorf("%s is published at %s", name, port)
			}
		}
		for variable := range s.Environment {
			secret := regexp.MustCompile(`PASSWORD|SECRET|KEY`).MatchString(variable)
			if secret && !strings.HasSuffix(variable, "_FILE") {
				t.Errorf("the environment of %s, which docker inspect shows, has %s", name, variable)
			}
		}
		if len(s.Networks) == 0 && s.NetworkMode != "none" {
			t.Errorf("%s is in the network that all share", name)
		}
		for _, network := range s.Networks {
			members[network] = append(members[network], name)
		}
	}
	for network, want := range map[string][]string{
		"database": {"migrate", "pgbouncer", "postgres"}, "pool": {"pgbouncer", "scoreboardd"},
		"cache": {"redis", "scoreboardd"}, "log": {"kafka", "scoreboardd"}, "edge": {"scoreboardd"},
		"metrics": {"prometheus", "scoreboardd"}, "dashboards": {"grafana", "prometheus"},
	} {
		slices.Sort(members[network])
		if !slices.Equal(members[network], want) {
			t.Errorf("the network %s has %v, want %v", network, members[network], want)
		}
	}
	for _, name := range []string{"scoreboardd", "migrate"} {
		if !services[name].ReadOnly {
			t.Errorf("%s can write to its file system", name)
		}
	}
	for _, v := range services["scoreboardd"].Volumes {
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
