package containers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
)

const (
	root       = "../../.."
	project    = "scoreboard-check"
	api        = "http://127.0.0.1:8080"
	ops        = "http://127.0.0.1:8081"
	prometheus = "http://127.0.0.1:9090"
)

// chosen are the secrets of .env. The first five have what breaks files of passwords, URLs
// and connection strings.
var chosen = map[string]string{
	"POSTGRES_PASSWORD":          `o:w\n"e r ü$1%41#@/`,
	"POSTGRES_RUNTIME_PASSWORD":  `r:u\n"t i m ü$1%41#@/`,
	"REDIS_PASSWORD":             `c:a\c"h e ü$1%41#@/`,
	"KAFKA_PASSWORD":             `l:o\g" s ü$1%41#@/`,
	"GRAFANA_PASSWORD":           `g:r\a"f a n ü$1%41#@/`,
	"SCOREBOARD_AUTH_JWT_SECRET": `s:i\g"n ü$1%41#@/ 0f4c1f5a9d3b7e6082c4`,
	"SCOREBOARD_AUTH_MASTER_KEY": "5b1c0e9f7a3d24688e0d1b2c3f4a5967788990a1b2c3d4e5f60718293a4b5c6d",
}

// stack is the installation of docker-compose.yml.
type stack struct {
	dir   string // of the checkout
	bin   string // the folder of sbctl
	env   []string
	up    bool
	token string
	key   client.Key
}

// newStack removes what a stopped run has left, and everything after the test.
func newStack(t *testing.T) *stack {
	t.Helper()
	dir, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "env")
	s := &stack{dir: dir, bin: filepath.Join(dir, "bin")}
	s.env = append(os.Environ(), "COMPOSE_PROJECT_NAME="+project, "COMPOSE_ENV_FILES="+file)
	s.setEnv(t, nil)
	s.compose(t, "down", "--volumes", "--timeout", "1")
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := s.try(t, "docker", "compose", "logs", "--no-color", "--tail", "40")
			t.Logf("the ends of all logs:\n%s", out)
		}
		s.compose(t, "down", "--volumes", "--timeout", "1")
	})
	return s
}

// setEnv writes .env.
func (s *stack) setEnv(t *testing.T, values map[string]string) {
	t.Helper()
	var b strings.Builder
	for name, value := range values {
		fmt.Fprintf(&b, "%s='%s'\n", name, value)
	}
	file := strings.TrimPrefix(s.env[len(s.env)-1], "COMPOSE_ENV_FILES=")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// try runs a command in the checkout and returns what it printed.
func (s *stack) try(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Minute)
	defer cancel()
	if name == "sbctl" {
		name = filepath.Join(s.bin, name)
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = s.dir, append(s.env, s.tools()...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, &out, &problems)
	}
	return out.String(), nil
}

// tools are the environment of sbctl.
func (s *stack) tools() []string {
	return []string{
		"PATH=" + s.bin + ":" + os.Getenv("PATH"), "SBCTL_SERVER=" + api, "SBCTL_OPS_SERVER=" + ops,
		"SBCTL_TOKEN=" + s.token, "SBCTL_KEY_ID=" + s.key.KeyID, "SBCTL_KEY_SECRET=" + s.key.Secret,
	}
}

func (s *stack) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := s.try(t, name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (s *stack) compose(t *testing.T, args ...string) string {
	t.Helper()
	return s.run(t, "docker", append([]string{"compose"}, args...)...)
}

// start starts the stack, unless it runs, with a token and a key.
func (s *stack) start(t *testing.T) {
	t.Helper()
	if s.up {
		return
	}
	s.setEnv(t, chosen)
	s.compose(t, "up", "-d", "--wait")
	s.up = true
	s.introduce(t)
}

// introduce creates the token and the key of the test.
func (s *stack) introduce(t *testing.T) {
	t.Helper()
	s.token = strings.TrimSpace(s.compose(t, "exec", "-T", "scoreboardd", "scoreboardd", "token",
		"--config", "/run/scoreboard/secrets.yml", "--user", "operator", "--scope", "score:admin",
		"--scope", "score:update", "--ttl", "2h"))
	key, err := s.client(t, nil).CreateKey(t.Context(), client.KeyRequest{Name: "check"})
	if err != nil {
		t.Fatal(err)
	}
	s.key = key
}

// client returns a client that tries everything once.
func (s *stack) client(t *testing.T, h *http.Client) *client.Client {
	t.Helper()
	c, err := client.New(api, client.Options{
		Token: s.token, KeyID: s.key.KeyID, KeySecret: s.key.Secret, Attempts: 1, HTTP: h, Timeout: 15 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// container is what docker inspect says.
type container struct {
	ID, Image string
	State     struct {
		Pid, ExitCode int
		Running       bool
	}
	Config struct {
		Labels map[string]string
	}
	NetworkSettings struct {
		Networks map[string]any
	}
}

// containers are those of the stack by service, stopped ones, too.
func (s *stack) containers(t *testing.T) map[string]container {
	t.Helper()
	ids := strings.Fields(s.compose(t, "ps", "--all", "--quiet"))
	var list []container
	if err := json.Unmarshal([]byte(s.run(t, "docker", append([]string{"inspect"}, ids...)...)), &list); err != nil {
		t.Fatal(err)
	}
	all := make(map[string]container)
	for _, c := range list {
		all[c.Config.Labels["com.docker.compose.service"]] = c
	}
	return all
}

// get returns status and body of a request with a token, if there is one, 0 if there was no
// response.
func get(t *testing.T, url, token string) (status int, body string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}

// eventually repeats a check until it returns "".
func eventually(t *testing.T, within time.Duration, what string, check func() string) {
	t.Helper()
	problem := ""
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if problem = check(); problem == "" {
			return
		}
	}
	t.Errorf("%s: not within %v: %s", what, within, problem)
}
