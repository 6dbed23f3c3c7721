package main

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/docpage"
)

// readPage reads a page of the docs.
func readPage(t *testing.T, path string) docpage.Page {
	t.Helper()
	return docpage.Read(t, filepath.Join("..", ".."), path)
}

const firstPoint = "docs/first-point.md"

var (
	withCompose   = []string{"Start with Docker Compose", "Count a point", "Stop with Docker Compose"}
	withProcesses = []string{"Start without Docker", "Count a point", "Stop without Docker"}
)

// shell runs a script of the docs in a directory, with sbctl and scoreboardd in bin there
// and on the PATH, and returns its output. replace are texts of the docs and those of the
// test, such as addresses.
func shell(t *testing.T, dir, script string, programs map[string]string, replace ...string) string {
	t.Helper()
	bin := filepath.Join(dir, "bin")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, "sbctl"), "../sbctl")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build sbctl: %v\n%s", err, out)
	}
	programs["scoreboardd"] = fmt.Sprintf("exec env %s=1 %q \"$@\"", asDaemon, os.Args[0])
	for name, text := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/bash\nset -e\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(script, replace[i]) {
			t.Fatalf("the docs do not mention %s", replace[i])
		}
		script = strings.ReplaceAll(script, replace[i], replace[i+1])
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-eu", "-o", "pipefail", "-c", script)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + dir, "GORACE=atexit_sleep_ms=0"}
	// What the script starts ends with it, even if it fails.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // a daemon that a failed script leaves holds the output open
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // all have ended if the script succeeded
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "scoreboardd.log"))
		t.Fatalf("%v\n%s\nlog of the daemon:\n%s", err, &out, log)
	}
	return out.String()
}

// checkFirstPoint requires the output that the page shows, that the repeat was recognised,
// and that the daemon does not own its tables.
func checkFirstPoint(t *testing.T, p docpage.Page, out string) {
	t.Helper()
	if p.Output == "" || !strings.Contains(out, p.Output) {
		t.Errorf("the output lacks what the page shows:\n%s\ngot:\n%s", p.Output, out)
	}
	if !regexp.MustCompile(`(?m)^database role +ok `).MatchString(out) {
		t.Errorf("the daemon's role is not found good:\n%s", out)
	}
	if got := len(regexp.MustCompile(`(?m)^score +25 `).FindAllString(out, -1)); got != 2 {
		t.Errorf("got %d receipts with a score of 25, want 2:\n%s", got, out)
	}
}

// createDatabase runs the SQL of the page under names of its own, and returns the URL of the
// database for its owner.
func createDatabase(t *testing.T, statements string) string {
	t.Helper()
	at, err := url.Parse(backends.Owner(backends.Postgres(t, nil)))
	if err != nil {
		t.Fatal(err)
	}
	admin, err := pgx.Connect(t.Context(), at.String())
	if err != nil {
		t.Fatal(err)
	}
	name := strings.ReplaceAll(strings.Trim(at.Path, "/"), "-", "_") + "_page"
	t.Cleanup(func() {
		for _, drop := range []string{
			"drop database " + name + " with (force)", "drop role " + name,
		} {
			if _, err := admin.Exec(context.Background(), drop); err != nil {
				t.Error(err)
			}
		}
		_ = admin.Close(context.Background())
	})
	ran := 0
	for statement := range strings.SplitSeq(strings.TrimSpace(statements), ";\n") {
		statement = regexp.MustCompile(`\bscoreboard\b`).ReplaceAllString(strings.TrimSuffix(statement, ";"), name)
		if _, err := admin.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		ran++
	}
	if ran != 2 {
		t.Fatalf("the page has %d statements:\n%s", ran, statements)
	}
	at.User, at.Path = url.UserPassword(name, name), "/"+name
	return at.String()
}

func TestFirstPointWithProcesses(t *testing.T) {
	t.Parallel()
	p := readPage(t, firstPoint)
	script := p.Script(t, withProcesses, withCompose)
	postgres := createDatabase(t, p.SQL)
	checkFirstPoint(t, p, shell(t, t.TempDir(), script, map[string]string{},
		"postgres://scoreboard:scoreboard@127.0.0.1:5432/scoreboard", postgres,
		"postgres://scoreboard_runtime:scoreboard_runtime@127.0.0.1:5432/scoreboard", backends.Runtime(postgres),
		"redis://127.0.0.1:6379/0", backends.OwnRedis(t).URL,
		"127.0.0.1:8080", freeAddr(t), "127.0.0.1:8081", freeAddr(t)))
}

// The stand-in for docker runs services of docker-compose.yml as processes, with their
// commands and environments: secrets, migrate, and the daemon. Addresses are those of the
// test; the passwords are those that secrets generated.
func TestFirstPointWithCompose(t *testing.T) {
	t.Parallel()
	p := readPage(t, firstPoint)
	script := p.Script(t, withCompose, withProcesses)
	h := newHarness(t)
	api, ops := freeAddr(t), freeAddr(t)
	postgres, dir, services := backends.Postgres(t, nil), t.TempDir(), composeServices(t)
	runtime, err := url.Parse(backends.Runtime(postgres))
	if err != nil {
		t.Fatal(err)
	}
	password, _ := runtime.User.Password() // the role exists in the cluster of the tests
	replaced := map[string]string{
		"SCOREBOARD_ADDR": api, "SCOREBOARD_OPS_ADDR": ops, "SCOREBOARD_REDIS_URL": h.redis.URL,
		"SCOREBOARD_KAFKA_SASL": "", "SCOREBOARD_KAFKA_SASL_USER": "", "SCOREBOARD_KAFKA_SASL_PASSWORD": "",
		"SCOREBOARD_POSTGRES_URL":        withPassFile(*runtime, dir+"/secrets/pgpass"),
		"SCOREBOARD_POSTGRES_DIRECT_URL": postgres,
	}
	for _, pair := range h.env {
		if name, value, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "SCOREBOARD_KAFKA_") {
			replaced[name] = value
		}
	}
	run := func(name string) string { // the service as a command of the shell
		s := services[name]
		var b strings.Builder
		b.WriteString("env")
		for key, value := range s.Environment {
			if value == nil { // passed on from the environment
				continue
			}
			if other, ok := replaced[key]; ok {
				value = &other
			} else if strings.Contains(*value, "://") || strings.HasPrefix(*value, ":") {
				t.Errorf("the test does not replace %s", key)
			}
			b.WriteString(" " + shellWords([]string{key + "=" + *value}))
		}
		for key, value := range replaced {
			if _, set := s.Environment[key]; name == "scoreboardd" && !set {
				b.WriteString(" " + shellWords([]string{key + "=" + value}))
			}
		}
		command := make([]string, len(s.Command))
		for i, word := range s.Command {
			command[i] = strings.ReplaceAll(word, "/run/scoreboard", dir+"/secrets")
		}
		return b.String() + " " + shellWords(command)
	}
	secrets := secretsScript(t, dir, map[string]string{"POSTGRES_RUNTIME_PASSWORD": password})
	docker := `
case "$*" in
"compose up -d --wait")
	` + shellWords([]string{"sh", "-c", secrets}) + `
	` + run("migrate") + `
	` + run("scoreboardd") + ` 2> scoreboardd.log &
	echo $! > scoreboardd.pid
	until scoreboardd ready --ops-addr ` + ops + `; do kill -0 $!; sleep 0.1; done ;;
"compose exec -T scoreboardd "*) shift 4; exec "${@/#\/run\/scoreboard/` + dir + `/secrets}" ;;
"compose down")
	kill "$(cat scoreboardd.pid)"
	while kill -0 "$(cat scoreboardd.pid)" 2> /dev/null; do sleep 0.1; done ;;
*) echo "unexpected: docker $*"; exit 1 ;;
esac`
	checkFirstPoint(t, p, shell(t, t.TempDir(), script, map[string]string{"docker": docker},
		"127.0.0.1:8080", api, "127.0.0.1:8081", ops))
}

// withPassFile returns a URL that takes the password from a file.
func withPassFile(u url.URL, file string) string {
	q := u.Query()
	q.Set("passfile", file)
	u.User, u.RawQuery = url.User(u.User.Username()), q.Encode()
	return u.String()
}

// shellWords quotes words for a shell.
func shellWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}
