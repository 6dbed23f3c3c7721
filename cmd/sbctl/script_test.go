package main

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/buildinfo"
	"github.com/scoreboard/scoreboard/internal/test/instance"
)

var update = flag.Bool("update", false, "rewrite the golden files of the scripts")

// Scripts run the test binary as sbctl, with real exit codes, working directories and
// signals.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sbctl": main})
}

type serverKey struct{}

// Each script has its own server.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			s := instance.New(env.T().(testing.TB))
			env.Values[serverKey{}] = s
			setConnection(env, s.URL, instance.Token("alice", "score:update score:admin"))
			env.Setenv("READER", instance.Token("reader", ""))
			env.Setenv("ELSEWHERE", instance.TokenOf("others", "alice"))
			env.Setenv("EXPIRED", instance.TokenFor("alice", "", -time.Hour))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "fail": fail, "set": set, "lose": lose, "hang": hang, "finds": finds, "answers": answers,
			"stopserver": func(ts *testscript.TestScript, _ bool, _ []string) { serverOf(ts).Close() },
			"stopredis":  func(ts *testscript.TestScript, _ bool, _ []string) { serverOf(ts).StopRedis() },
			"settle":     func(ts *testscript.TestScript, _ bool, _ []string) { serverOf(ts).Settle() },
			"field":      field,
			"startredis": func(ts *testscript.TestScript, _ bool, _ []string) { serverOf(ts).StartRedis() },
		},
	})
}

// Scripts of commands that need no server.
func TestLocalScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/local",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			env.Setenv("TOKEN", instance.Token("ada", "score:admin"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// setConnection has a script's sbctl use a server that instance started.
func setConnection(env *testscript.Env, url, token string) {
	env.Setenv("HOME", env.WorkDir)
	env.Setenv("GORACE", "atexit_sleep_ms=0") // else the race detector delays each exit by a second
	env.Setenv("XDG_CONFIG_HOME", "")
	env.Setenv("SBCTL_SERVER", url)
	env.Setenv("SBCTL_TOKEN", token)
	env.Setenv("SBCTL_KEY_ID", instance.KeyID)
	env.Setenv("SBCTL_KEY_SECRET", instance.Secret)
}

// exits CODE COMMAND… runs a command and requires its exit code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got := strconv.Itoa(code); got != args[0] {
		ts.Fatalf("%s: got exit code %s, want %s", strings.Join(args[1:], " "), got, args[0])
	}
}

func serverOf(ts *testscript.TestScript) *instance.Server {
	return ts.Value(serverKey{}).(*instance.Server)
}

// fail N STATUS CODE [RETRY-AFTER] makes the server reject the next N requests.
func fail(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	status, err := strconv.Atoi(args[1])
	ts.Check(err)
	var after time.Duration
	if len(args) > 3 {
		after, err = time.ParseDuration(args[3])
		ts.Check(err)
	}
	serverOf(ts).Fail(n, status, wire.Code(args[2]), after)
}

// finds NAME STATUS DETAIL NEXT [PAGE] sets the result of the server's own checks; without
// arguments the server runs them.
func finds(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) == 0 {
		serverOf(ts).Script("/v1/admin/checks", nil)
		return
	}
	one := wire.Check{Name: args[0], Status: args[1], Detail: args[2], NextStep: args[3]}
	if len(args) > 4 {
		one.Page = args[4]
	}
	serverOf(ts).Script("/v1/admin/checks", wire.Checks{
		Version: buildinfo.Read().Version, Checks: []wire.Check{one},
	})
}

// answers PATH JSON has the server answer all requests for a path with a body; without
// JSON, as it does.
func answers(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) == 1 {
		serverOf(ts).Script(args[0], nil)
		return
	}
	serverOf(ts).Script(args[0], json.RawMessage(args[1]))
}

// field VARIABLE NAME sets an environment variable to a field that the last command
// printed, as JSON or in a table.
func field(ts *testscript.TestScript, _ bool, args []string) {
	found := regexp.MustCompile(`(?m)^ *"?` + args[1] + `"?:? +"?([^"\s,]+)`).FindStringSubmatch(ts.ReadFile("stdout"))
	if found == nil {
		ts.Fatalf("no field %s in the output", args[1])
	}
	ts.Setenv(args[0], found[1])
}

// lose N makes the server process the next N requests without a response.
func lose(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	serverOf(ts).LoseAnswers(n)
}

// hang N FILE makes the server keep the next N requests waiting, and creates the file once
// all N wait.
func hang(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	all, file := serverOf(ts).Hang(n), ts.MkAbs(args[1])
	go func() {
		<-all
		_ = os.WriteFile(file, nil, 0o600) // the script waits for it, and fails without it
	}()
}

// set USER SCORE … sets users' scores.
func set(ts *testscript.TestScript, _ bool, args []string) {
	var entries []wire.Entry
	for i := 0; i < len(args); i += 2 {
		score, err := strconv.ParseInt(args[i+1], 10, 64)
		ts.Check(err)
		entries = append(entries, wire.Entry{UserID: args[i], Score: score})
	}
	serverOf(ts).Set(entries...)
}

func TestOnlyMainExits(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := f.Name(); strings.HasSuffix(name, ".go") && name != "main.go" &&
			!strings.HasSuffix(name, "_test.go") {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "os.Exit") || strings.Contains(string(text), "os.Stdout") {
				t.Errorf("%s uses os.Exit or os.Stdout; only main.go may", name)
			}
		}
	}
}
