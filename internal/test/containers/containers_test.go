package containers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/docpage"
)

// The parts run in this order on one stack. Each starts it if it does not run.
func TestContainers(t *testing.T) {
	previous := os.Getenv("SCOREBOARD_TEST_CONTAINERS")
	if previous == "" {
		t.Skip("run by .ci/containers")
	}
	s := newStack(t)
	t.Run("upgrade", func(t *testing.T) { s.upgrade(t, previous) })
	t.Run("first point", s.firstPoint)
	t.Run("closed", s.closed)
	t.Run("idle", s.idle)
	t.Run("outages", s.outages)
	t.Run("alert", s.fires)
	t.Run("viewers", s.viewers)
	t.Run("stop and start", s.restart)
	t.Run("without monitoring", s.withoutMonitoring)
}

// upgrade replaces the previous version's stack by this one under writes: all of its volumes,
// passwords and data are kept, and no point is lost or counted twice.
func (s *stack) upgrade(t *testing.T, previous string) {
	present := s.dir
	s.dir = previous
	s.run(t, "docker", "tag", "scoreboard:previous", "scoreboard:dev")
	s.compose(t, "up", "-d", "--wait")
	s.introduce(t)
	load := startLoad(t, s, 8)
	time.Sleep(3 * time.Second)
	s.dir = present
	// .ci/containers has run the first of the commands.
	page := docpage.Read(t, root, "docs/runbook/upgrade.md")
	const build, up = "docker compose build\n", "docker compose up -d --wait\n"
	if script := page.Script(t, []string{"Upgrade"}, nil); script != build+up {
		t.Errorf("docs/runbook/upgrade.md has the commands\n%s\nwant\n%s", script, build+up)
	}
	s.run(t, "docker", "tag", "scoreboard:present", "scoreboard:dev")
	began := time.Now()
	s.compose(t, "up", "-d", "--wait")
	t.Logf("the upgrade took %v", time.Since(began).Round(100*time.Millisecond))
	time.Sleep(3 * time.Second)
	load.stop()
	s.run(t, "sbctl", "verify")
	s.compose(t, "down", "--volumes")
}

var (
	withCompose = []string{"Start with Docker Compose", "Count a point"}
	otherwise   = []string{"Start without Docker", "Stop without Docker", "Stop with Docker Compose"}
)

// firstPoint kills PostgreSQL in the middle of its first start, and then runs the commands of
// docs/first-point.md as they are.
func (s *stack) firstPoint(t *testing.T) {
	s.compose(t, "down", "--volumes", "--timeout", "1")
	s.setEnv(t, chosen)
	s.compose(t, "up", "-d", "postgres")
	postgres := s.containers(t)["postgres"]
	eventually(t, 30*time.Second, "the first start of PostgreSQL to begin", func() string {
		logs, _ := s.try(t, "docker", "logs", postgres.ID)
		if !strings.Contains(logs, "creating configuration files") {
			return logs
		}
		return ""
	})
	s.run(t, "docker", "kill", postgres.ID)
	if logs := s.run(t, "docker", "logs", postgres.ID); strings.Contains(logs, "init process complete") {
		t.Error("the first start was not interrupted")
	}

	page := docpage.Read(t, root, "docs/first-point.md")
	script := page.Script(t, withCompose, otherwise)
	script = "cd " + s.dir + "\n" + strings.ReplaceAll(script, "key.txt", t.TempDir()+"/key.txt")
	out := s.run(t, "bash", "-eu", "-o", "pipefail", "-c", script)
	s.up = true
	if !strings.Contains(out, page.Output) {
		t.Errorf("the output lacks what the page shows:\n%s\ngot:\n%s", page.Output, out)
	}
	if got := len(regexp.MustCompile(`(?m)^score +25 `).FindAllString(out, -1)); got != 2 {
		t.Errorf("got %d receipts with a score of 25, want 2:\n%s", got, out)
	}
	s.introduce(t)
}

// closed checks what a process in a container may do, and where secrets are visible.
func (s *stack) closed(t *testing.T) {
	s.start(t)
	all := s.containers(t)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", all["scoreboardd"].State.Pid))
	if err != nil {
		t.Errorf("the daemon's process cannot be read (as root, on this machine): %v", err)
	}
	for _, line := range []string{
		"Uid:\t65532\t65532\t65532\t65532", "Gid:\t65532\t65532\t65532\t65532", "CapPrm:\t0000000000000000",
		"CapBnd:\t0000000000000000", "NoNewPrivs:\t1",
	} {
		if !strings.Contains(string(status), line+"\n") {
			t.Errorf("the daemon's process has no %q:\n%s", line, status)
		}
	}
	mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mounts", all["scoreboardd"].State.Pid))
	if err != nil || !regexp.MustCompile(`(?m)^\S+ / \S+ ro,`).Match(mounts) ||
		!regexp.MustCompile(`(?m)^\S+ /run/scoreboard \S+ ro,`).Match(mounts) {
		t.Errorf("the daemon can write to its files, %v:\n%s", err, mounts)
	}

	secrets := make(map[string]string)
	for name, value := range chosen {
		secrets[name] = value
	}
	settings := s.compose(t, "exec", "-T", "redis", "cat", "/run/redis/password")
	if strings.TrimSpace(settings) != chosen["REDIS_PASSWORD"] {
		t.Errorf("the password of Redis is %q", settings)
	}
	ids := strings.Fields(s.compose(t, "ps", "--all", "--quiet"))
	said := s.run(t, "docker", append([]string{"inspect"}, ids...)...)
	for name, c := range all {
		if c.State.Running {
			said += s.run(t, "docker", "top", c.ID, "-eo", "pid,args")
		}
		said += s.run(t, "docker", "logs", c.ID)
		if name == "secrets" && len(c.NetworkSettings.Networks) != 1 {
			t.Errorf("the service that makes secrets has networks: %v", c.NetworkSettings.Networks)
		}
	}
	for name, value := range secrets {
		inJSON, _ := json.Marshal(value)
		for _, form := range []string{value, strings.Trim(string(inJSON), `"`)} {
			if strings.Contains(said, form) {
				t.Errorf("%s is in what docker inspect, top or logs show", name)
			}
		}
	}

	// Each backend is reached by the services that use it only.
	for _, reach := range []struct {
		from, to string
		want     bool
	}{
		{"pgbouncer", "postgres:5432", true},
		{"redis", "postgres:5432", false},
		{"kafka", "redis:6379", false},
		{"grafana", "scoreboardd:8081", false},
		{"prometheus", "scoreboardd:8081", true},
		{"prometheus", "kafka:9092", false},
	} {
		host, port, _ := net.SplitHostPort(reach.to)
		_, err := s.try(t, "docker", "run", "--rm", "--network", "container:"+all[reach.from].ID,
			"--entrypoint", "timeout", all["redis"].Image, "3", "bash", "-c", "exec 3<>/dev/tcp/"+host+"/"+port)
		if (err == nil) != reach.want {
			t.Errorf("%s reaches %s: %v, want %v", reach.from, reach.to, err == nil, reach.want)
		}
	}
}

// Most that services may use while nobody uses the stack, in cores.
var maxIdle = map[string]float64{
	"kafka": 0.2, "pgbouncer": 0.05, "postgres": 0.1, "prometheus": 0.05, "redis": 0.05, "scoreboardd": 0.15,
}

// idle measures each service while nobody uses the stack. Health checks are part of it, and
// write nothing to the logs.
func (s *stack) idle(t *testing.T) {
	s.start(t)
	const window = 30 * time.Second
	time.Sleep(5 * time.Second)
	type usage struct {
		CPU struct {
			Usage struct {
				Total uint64 `json:"total_usage"`
			} `json:"cpu_usage"`
		} `json:"cpu_stats"`
		Memory struct {
			Usage uint64            `json:"usage"`
			Stats map[string]uint64 `json:"stats"`
		} `json:"memory_stats"`
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", "/var/run/docker.sock")
	}
	engine := &http.Client{Transport: &http.Transport{DialContext: dial}}
	read := func(id string) (u usage) {
		url := "http://docker/containers/" + id + "/stats?stream=false&one-shot=true"
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := engine.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		if err := json.NewDecoder(resp.Body).Decode(&u); err != nil {
			t.Fatal(err)
		}
		return u
	}
	all := s.containers(t)
	var names []string
	for name, c := range all {
		if c.State.Running {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	before, at := make(map[string]usage), make(map[string]time.Time)
	since := time.Now()
	for _, name := range names {
		before[name], at[name] = read(all[name].ID), time.Now()
	}
	time.Sleep(window)
	table := "| service | memory, MiB | CPU, cores |\n|---|---|---|\n"
	for _, name := range names {
		u := read(all[name].ID)
		used := time.Duration(u.CPU.Usage.Total - before[name].CPU.Usage.Total)
		cores := used.Seconds() / time.Since(at[name]).Seconds()
		memory := u.Memory.Usage - u.Memory.Stats["inactive_file"] - u.Memory.Stats["total_inactive_file"]
		table += fmt.Sprintf("| %s | %d | %.3f |\n", name, memory>>20, cores)
		if limit := maxIdle[name]; limit > 0 && cores > limit {
			t.Errorf("%s uses %.3f cores while idle, more than %.3f", name, cores, limit)
		}
	}
	t.Logf("idle for %v:\n%s", window, table)
	for _, name := range []string{"pgbouncer", "kafka", "redis", "postgres"} {
		logs, err := s.try(t, "docker", "logs", "--since", since.Format(time.RFC3339), all[name].ID)
		// PgBouncer writes its statistics once a minute.
		lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(logs), "\n"), func(line string) bool {
			return line == "" || strings.Contains(line, " LOG stats: ") || strings.Contains(line, "checkpoint")
		})
		if err != nil || len(lines) > 2 {
			t.Errorf("%s wrote %d lines while idle, %v:\n%s", name, len(lines), err, logs)
		}
	}
}

// viewers connects 200 viewers and stops the daemon: each is told to come back, within the
// grace.
func (s *stack) viewers(t *testing.T) {
	s.start(t)
	const viewers, grace = 200, 35 * time.Second
	var work sync.WaitGroup
	var mu sync.Mutex
	closed := make(map[int]int) // by code
	s.run(t, "sbctl", "settings", "set", "realtime.connections_per_user", strconv.Itoa(viewers), "--reason", "check")
	for range viewers {
		ws := s.dial(t)
		work.Go(func() {
			for {
				_, _, err := ws.ReadMessage()
				if err == nil {
					continue
				}
				code := 0
				if ended := new(websocket.CloseError); errors.As(err, &ended) {
					code = ended.Code
				}
				mu.Lock()
				defer mu.Unlock()
				closed[code]++
				return
			}
		})
	}
	began := time.Now()
	s.compose(t, "stop", "scoreboardd")
	took := time.Since(began)
	work.Wait()
	if closed[wire.CloseRestart] != viewers || took > grace {
		t.Errorf("after %v, connections were closed by code: %v, want %d with %d",
			took, closed, viewers, wire.CloseRestart)
	}
	if code := s.containers(t)["scoreboardd"].State.ExitCode; code != 0 {
		t.Errorf("the daemon ended with %d", code)
	}
	t.Logf("%d viewers closed in %v", viewers, took.Round(100*time.Millisecond))
	s.compose(t, "start", "scoreboardd")
	s.healthy(t, newLedger(t, s, "viewers"))
}

// restart stops every service, removes the containers and starts again: no service is killed,
// and everything is still there.
func (s *stack) restart(t *testing.T) {
	s.start(t)
	player := newLedger(t, s, "restart")
	s.healthy(t, player)
	player.settle(t, 20*time.Second)
	before := s.contents(t)
	began := time.Now()
	s.compose(t, "stop")
	t.Logf("all services stopped in %v", time.Since(began).Round(100*time.Millisecond))
	for name, c := range s.containers(t) {
		if code := c.State.ExitCode; code != 0 && code != 143 { // 143: a JVM that ended after SIGTERM
			t.Errorf("%s ended with %d", name, code)
		}
	}
	page := docpage.Read(t, root, "docs/first-point.md")
	stop := page.Script(t, []string{"Stop with Docker Compose"}, slices.Concat(withCompose, otherwise))
	s.run(t, "bash", "-eu", "-c", "cd "+s.dir+"\n"+stop)
	s.compose(t, "up", "-d", "--wait")
	s.healthy(t, player)
	player.settle(t, 20*time.Second)
	if after := s.contents(t); after != before {
		t.Errorf("after down and up: got\n%s\nwant\n%s", after, before)
	}

	// All at once, as by a power failure.
	var ids []string
	for _, c := range s.containers(t) {
		if c.State.Running {
			ids = append(ids, c.ID)
		}
	}
	s.run(t, "docker", append([]string{"kill"}, ids...)...)
	s.compose(t, "up", "-d", "--wait")
	s.healthy(t, player)
	player.settle(t, 20*time.Second)
}

// contents are a board, the keys and the settings, as operators see them.
func (s *stack) contents(t *testing.T) string {
	t.Helper()
	return s.run(t, "sbctl", "key", "list") + s.run(t, "sbctl", "board", "list") +
		s.run(t, "sbctl", "settings", "list", "--output", "json")
}

// withoutMonitoring starts the stack without Prometheus and Grafana.
func (s *stack) withoutMonitoring(t *testing.T) {
	s.start(t)
	env := map[string]string{"SCOREBOARD_MONITORING": "0"}
	for name, value := range chosen {
		env[name] = value
	}
	s.setEnv(t, env)
	s.compose(t, "up", "-d", "--wait")
	for name, c := range s.containers(t) {
		if (name == "prometheus" || name == "grafana") && c.State.Running {
			t.Errorf("%s runs", name)
		}
	}
	s.healthy(t, newLedger(t, s, "unwatched"))
	s.setEnv(t, map[string]string{"REDIS_PASSWORD": "another"})
	if _, err := s.try(t, "docker", "compose", "up", "-d", "--wait"); err == nil {
		t.Error("a changed password was accepted")
	}
	logs, err := s.try(t, "docker", "compose", "logs", "secrets")
	if !strings.Contains(logs, "REDIS_PASSWORD in .env") {
		t.Errorf("no message names the password: %v\n%s", err, logs)
	}
}
