package devstack_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/segmentio/kafka-go"
	"go.uber.org/goleak"

	"github.com/scoreboard/scoreboard/server/devstack"
)

// With this variable set, the test binary is the parent that is killed: it runs a
// stack in the named folder.
const parentDir = "DEVSTACK_TEST_PARENT_DIR"

func TestMain(m *testing.M) {
	if dir, ok := os.LookupEnv(parentDir); ok {
		runParent(dir)
	}
	goleak.VerifyTestMain(m)
}

func runParent(dir string) {
	stack, err := devstack.Start(context.Background(), devstack.Options{
		Dir: dir, Ephemeral: dir == "", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(stack); err != nil {
		os.Exit(1)
	}
	select {} // until killed
}

func TestDataSurvivesRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := start(t, devstack.Options{Dir: dir})
	write(t, first)
	stop(t, first)

	second := start(t, devstack.Options{Dir: dir})
	defer stop(t, second)
	read(t, second)
}

func TestSecondStartInSameDirectoryFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := start(t, devstack.Options{Dir: dir})
	defer stop(t, first)

	began := time.Now()
	_, err := devstack.Start(t.Context(), devstack.Options{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if err == nil {
		t.Fatal("a second stack started in the same directory")
	}
	if elapsed := time.Since(began); elapsed > 500*time.Millisecond {
		t.Errorf("the error took %s, want it at once", elapsed)
	}
	for _, want := range []string{dir, strconv.Itoa(os.Getpid())} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got error %q, want %s in it", err, want)
		}
	}
	write(t, first) // unaffected
}

func TestEphemeralDataIsRemovedAfterStop(t *testing.T) {
	t.Parallel()
	unused := filepath.Join(t.TempDir(), "unused")
	stack := start(t, devstack.Options{Dir: unused, Ephemeral: true})
	folder := dataFolder(t, stack)
	stop(t, stack)
	for _, path := range []string{folder, unused} {
		if exists(path) {
			t.Errorf("%s exists after the stop", path)
		}
	}
}

func TestExternalBackendsAreUsed(t *testing.T) {
	t.Parallel()
	given := devstack.Options{
		Dir:         t.TempDir(),
		PostgresURL: "postgres://elsewhere/db", RedisURL: "redis://elsewhere", KafkaBrokers: []string{"elsewhere:9092"},
	}
	stack := start(t, given)
	defer stop(t, stack)
	if stack.PostgresURL != given.PostgresURL || stack.RedisURL != given.RedisURL ||
		stack.KafkaBrokers[0] != given.KafkaBrokers[0] {
		t.Errorf("got %+v, want the external addresses", stack)
	}
}

// PostgreSQL and Redis come back on the same addresses with their data, and nothing is reported.
func TestKilledBackendsAreStartedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stack := start(t, devstack.Options{Dir: dir})
	defer stop(t, stack)
	write(t, stack)
	time.Sleep(1100 * time.Millisecond) // Redis syncs its file once a second
	for _, backend := range []string{"redis", "postgres"} {
		if err := devstack.Kill(dir, backend); err != nil {
			t.Fatal(err)
		}
	}
	if err := devstack.Kill(dir, "redis"); err == nil {
		t.Error("Redis was killed twice before it ran again")
	}
	await := func(what string, ping func(context.Context) error) {
		deadline := time.Now().Add(devstack.RestartDelay + 30*time.Second)
		for ping(t.Context()) != nil {
			if time.Now().After(deadline) {
				t.Fatalf("%s is not back", what)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	await("Redis", func(ctx context.Context) error {
		options, err := redis.ParseURL(stack.RedisURL)
		if err != nil {
			return err
		}
		client := redis.NewClient(options)
		defer func() { _ = client.Close() }()
		return client.Ping(ctx).Err()
	})
	await("PostgreSQL", func(ctx context.Context) error {
		conn, err := pgx.Connect(ctx, stack.OwnerURL)
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
	read(t, stack)
	select {
	case err := <-stack.Died():
		t.Errorf("got %v, want nothing reported", err)
	default:
	}
}

// Kill says what it cannot kill.
func TestKillWithoutAStack(t *testing.T) {
	t.Parallel()
	for backend, want := range map[string]string{
		"redis": "no development stack", "kafka": "must be postgres or redis",
	} {
		if err := devstack.Kill(t.TempDir(), backend); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", backend, err, want)
		}
	}
}

func TestStalePidFileDoesNotPreventStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stop(t, start(t, devstack.Options{Dir: dir}))
	sleep := exec.CommandContext(t.Context(), "sleep", "60")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sleep.Process.Kill(); _ = sleep.Wait() }()
	foreign := fmt.Appendf(nil, "%d\n%s\n1\n1\n\n127.0.0.1\n1 1\n", sleep.Process.Pid, dir)
	if err := os.WriteFile(filepath.Join(dir, "postgres", "data", "postmaster.pid"), foreign, 0o600); err != nil {
		t.Fatal(err)
	}
	stop(t, start(t, devstack.Options{Dir: dir}))
}

func start(t *testing.T, o devstack.Options) *devstack.Stack {
	t.Helper()
	o.Log = slog.New(slog.DiscardHandler)
	began := time.Now()
	stack, err := devstack.Start(t.Context(), o)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	t.Logf("ready after %s", time.Since(began).Round(time.Millisecond))
	return stack
}

func stop(t *testing.T, s *devstack.Stack) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
}

func write(t *testing.T, s *devstack.Stack) {
	t.Helper()
	db := connect(t, s)
	defer func() { _ = db.Close(context.Background()) }()
	if _, err := db.Exec(t.Context(), "create table kept (word text)"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(t.Context(), "insert into kept values ('word')"); err != nil {
		t.Fatal(err)
	}
	cache := client(t, s)
	defer func() { _ = cache.Close() }()
	if err := cache.Set(t.Context(), "kept", "word", 0).Err(); err != nil {
		t.Fatal(err)
	}
	transport := &kafka.Transport{MetadataTTL: 250 * time.Millisecond}
	defer transport.CloseIdleConnections()
	admin := &kafka.Client{Addr: kafka.TCP(s.KafkaBrokers...), Transport: transport}
	made, err := admin.CreateTopics(t.Context(), &kafka.CreateTopicsRequest{
		Topics: []kafka.TopicConfig{{Topic: "kept", NumPartitions: 1, ReplicationFactor: 1}},
	})
	if err := errors.Join(err, made.Errors["kept"]); err != nil {
		t.Fatal(err)
	}
	writer := &kafka.Writer{
		Addr: kafka.TCP(s.KafkaBrokers...), Topic: "kept", RequiredAcks: kafka.RequireAll,
		BatchTimeout: 5 * time.Millisecond, Transport: transport,
	}
	if err := errors.Join(
		writer.WriteMessages(t.Context(), kafka.Message{Value: []byte("word")}),
		writer.Close(),
	); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, s *devstack.Stack) {
	t.Helper()
	db := connect(t, s)
	defer func() { _ = db.Close(context.Background()) }()
	var word string
	if err := db.QueryRow(t.Context(), "select word from kept").Scan(&word); err != nil || word != "word" {
		t.Errorf("PostgreSQL: got %q and %v, want the written word", word, err)
	}
	cache := client(t, s)
	defer func() { _ = cache.Close() }()
	if word, err := cache.Get(t.Context(), "kept").Result(); err != nil || word != "word" {
		t.Errorf("Redis: got %q and %v, want the written word", word, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	conn, err := kafka.DialLeader(ctx, "tcp", s.KafkaBrokers[0], "kept", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if message, err := conn.ReadMessage(1 << 10); err != nil || string(message.Value) != "word" {
		t.Errorf("Kafka: got %q and %v, want the written word", message.Value, err)
	}
}

func connect(t *testing.T, s *devstack.Stack) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.OwnerURL)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func client(t *testing.T, s *devstack.Stack) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(s.RedisURL)
	if err != nil {
		t.Fatal(err)
	}
	return redis.NewClient(options)
}

func dataFolder(t *testing.T, s *devstack.Stack) string {
	t.Helper()
	conn := connect(t, s)
	defer func() { _ = conn.Close(context.Background()) }()
	var dir string
	if err := conn.QueryRow(t.Context(), "show data_directory").Scan(&dir); err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(filepath.Dir(dir))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
