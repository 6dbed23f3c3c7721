package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/devstack/process"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The test binary is also the daemon, so that tests can kill its process.
const asDaemon = "SCOREBOARDD_TEST_AS_DAEMON"

func TestMain(m *testing.M) {
	if os.Getenv(asDaemon) != "" {
		main()
		return
	}
	backends.Main(m)
}

// harness is a set of real backends, with the secrets of the daemons that use them.
type harness struct {
	t        testing.TB
	postgres string
	redis    *backends.RedisServer // nil of newHarnessAt
	env      []string
	logTo    *os.File // nil: a buffer of the test
	tokens   *auth.Tokens
}

const jwtSecret = "a secret of the tests, long enough for HS256"

func newHarness(t testing.TB) *harness {
	t.Helper()
	redis := backends.OwnRedis(t)
	h := newHarnessAt(t, redis.URL)
	h.redis = redis
	return h
}

// newHarnessAt returns a harness with a Redis of the test, by its URL.
func newHarnessAt(t testing.TB, redis string) *harness {
	t.Helper()
	prefix := backends.Prefix(t)
	brokers := backends.Kafka(t)
	h := &harness{
		t: t, postgres: backends.Postgres(t, migrations.Up),
		tokens: auth.NewTokens(jwtSecret, "scoreboard-dev", "scoreboard", time.Now),
	}
	h.env = append(os.Environ(), asDaemon+"=1",
		"SCOREBOARD_POSTGRES_URL="+h.postgres, "SCOREBOARD_REDIS_URL="+redis,
		"SCOREBOARD_KAFKA_BROKERS="+brokers[0],
		"SCOREBOARD_KAFKA_TOPIC="+prefix+"events", "SCOREBOARD_KAFKA_DEAD_TOPIC="+prefix+"dead",
		"SCOREBOARD_KAFKA_GROUP="+prefix+"group",
		"SCOREBOARD_KAFKA_PARTITIONS=4", "SCOREBOARD_KAFKA_INCREMENTS_PARTITIONS=4",
		"SCOREBOARD_KAFKA_NOTICES_TOPIC="+prefix+"notices", "SCOREBOARD_INGEST_ACTIONS=kill:1:3",
		"SCOREBOARD_KAFKA_INCREMENTS_TOPIC="+prefix+"increments",
		"SCOREBOARD_KAFKA_SEASONS_TOPIC="+prefix+"seasons",
		"SCOREBOARD_KAFKA_INCREMENTS_DEAD_TOPIC="+prefix+"increments-dead",
		"SCOREBOARD_KAFKA_INTAKE_GROUP="+prefix+"intake", "SCOREBOARD_AUTH_JWT_SECRET="+jwtSecret,
		"SCOREBOARD_LOG_LEVEL=warn", "SCOREBOARD_DRAIN_DELAY=0s",
		"SCOREBOARD_LIMIT_UPDATES_PER_MINUTE=0", "SCOREBOARD_LIMIT_TOP_PER_MINUTE=0",
		"SCOREBOARD_LIMIT_RANK_PER_MINUTE=0",
		"SCOREBOARD_AUTH_MASTER_KEY="+backends.MasterKey)
	return h
}

func (h *harness) token(user, scope string) string {
	h.t.Helper()
	token, _, err := h.tokens.Mint(scoreboard.UserID(user), scope, time.Hour)
	if err != nil {
		h.t.Fatal(err)
	}
	return token
}

// daemon is a running scoreboardd.
type daemon struct {
	t    testing.TB
	url  string
	ops  string
	cmd  *exec.Cmd
	logs *bytes.Buffer
	done chan error
}

// start runs the daemon and waits until it is ready.
func (h *harness) start(args ...string) *daemon {
	h.t.Helper()
	d := h.launch(args...)
	eventually(h.t, "the daemon to be ready", func() error {
		req, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, d.ops+"/readyz", nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != http.StatusOK {
			b, err := io.ReadAll(resp.Body)
			return errors.Join(fmt.Errorf("%s: %s", resp.Status, b), err)
		}
		return nil
	})
	return d
}

// launch runs the daemon.
func (h *harness) launch(args ...string) *daemon {
	h.t.Helper()
	api, ops := freeAddr(h.t), freeAddr(h.t)
	d := &daemon{t: h.t, url: "http://" + api, ops: "http://" + ops, logs: &bytes.Buffer{}, done: make(chan error, 1)}
	d.cmd = exec.CommandContext(context.Background(), os.Args[0], append([]string{"--addr", api, "--ops-addr", ops},
		args...)...)
	d.cmd.Env, d.cmd.Stderr = h.env, d.logs
	if h.logTo != nil {
		d.cmd.Stderr = h.logTo
	}
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := d.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	var wait sync.WaitGroup
	wait.Go(func() { d.done <- d.cmd.Wait() })
	h.t.Cleanup(func() {
		_ = d.cmd.Process.Kill() // most tests have stopped it already
		wait.Wait()
		if h.t.Failed() {
			h.t.Logf("log of the daemon:\n%s", d.logs)
		}
	})
	return d
}

func freeAddr(t testing.TB) string {
	t.Helper()
	port, err := process.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

func (d *daemon) kill() {
	d.t.Helper()
	if err := d.cmd.Process.Kill(); err != nil {
		d.t.Fatal(err)
	}
	if err := <-d.done; err == nil {
		d.t.Fatal("the daemon exited before it was killed")
	}
}

// stop sends SIGTERM and returns how the daemon exited.
func (d *daemon) stop() error {
	d.t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		d.t.Fatal(err)
	}
	select {
	case err := <-d.done:
		return err
	case <-time.After(20 * time.Second):
		return errors.New("it did not stop within 20 s")
	}
}

// client returns a client with a signing key of its own.
func (h *harness) client(d *daemon, user, scope string) *client.Client {
	h.t.Helper()
	return h.clientWith(d, user, client.Options{Token: h.token(user, scope)})
}

func (h *harness) clientWith(d *daemon, user string, o client.Options) *client.Client {
	h.t.Helper()
	admin, err := client.New(d.url, client.Options{Token: h.token("root", auth.ScopeAdmin)})
	if err != nil {
		h.t.Fatal(err)
	}
	defer admin.Close()
	key, err := admin.CreateKey(h.t.Context(), client.KeyRequest{Name: user})
	if err != nil {
		h.t.Fatal(err)
	}
	o.KeyID, o.KeySecret = key.KeyID, key.Secret
	c, err := client.New(d.url, o)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(c.Close)
	return c
}

func (h *harness) sql(query string) int64 {
	h.t.Helper()
	return backends.Connect(h.t, h.postgres).Count(h.t, query)
}

// eventually waits for a condition: long enough for Kafka to drop a killed member of
// a consumer group, and for a stalled reader to be replaced.
func eventually(t testing.TB, what string, try func() error) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited for %s: %v", what, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// contextFor bounds a test's calls. The test's own context ends before its cleanup
// runs.
func contextFor(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
}

func (h *harness) exec(query string) {
	h.t.Helper()
	backends.Connect(h.t, h.postgres).Do(h.t, query)
}
