package backends

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/scoreboard/scoreboard/server/devstack"
	"github.com/scoreboard/scoreboard/server/devstack/process"
)

// Environment variables with which many test processes share servers.
const (
	EnvPostgres = "SCOREBOARD_TEST_POSTGRES_URL"  // or several, separated by spaces
	EnvKafka    = "SCOREBOARD_TEST_KAFKA_BROKERS" // comma-separated
	EnvKind     = "SCOREBOARD_TEST_KAFKA"         // "kfake": the stand-in instead of Apache Kafka
	EnvMajor    = "SCOREBOARD_TEST_POSTGRES"      // major version of PostgreSQL; "": the newest that is installed
)

// Servers shared by all tests of this process. The first test that needs one starts
// it. Main stops them; without Main they end with the process.
var (
	sharedPostgres = sync.OnceValues(startSharedPostgres)
	sharedKafka    = sync.OnceValues(startSharedKafka)

	shared struct {
		sync.Mutex
		ends []func() error // in the order in which they were started
	}
)

// Main is the body of a TestMain: it runs the tests, stops the shared servers,
// checks for leaked goroutines, and exits.
func Main(m *testing.M, options ...goleak.Option) {
	code := m.Run()
	err := endShared()
	if err == nil && code == 0 {
		err = goleak.Find(options...)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "after the tests:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func endShared() error {
	shared.Lock()
	defer shared.Unlock()
	var errs []error
	for i := len(shared.ends) - 1; i >= 0; i-- {
		errs = append(errs, shared.ends[i]())
	}
	return errors.Join(errs...)
}

// OnEnd has Main call end after the tests, before the ends of what was registered or
// started earlier.
func OnEnd(end func() error) {
	shared.Lock()
	defer shared.Unlock()
	shared.ends = append(shared.ends, end)
}

func startSharedPostgres() (string, error) {
	if urls := strings.Fields(os.Getenv(EnvPostgres)); len(urls) > 0 {
		return freePostgres(urls)
	}
	dir, remove, err := process.TempDir("scoreboard-test-")
	if err != nil {
		return "", err
	}
	OnEnd(remove)
	p, err := StartPostgres(context.Background(), dir, 0)
	if err != nil {
		return "", err
	}
	OnEnd(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		return p.Stop(ctx)
	})
	return p.URL("postgres"), nil
}

// freePostgres returns a server that no other process uses, as long as there is one:
// a transaction that a test keeps open holds back the outboxes of all databases of
// its server.
func freePostgres(urls []string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, url := range urls {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return "", fmt.Errorf("connect to the shared PostgreSQL: %w", err)
		}
		var free bool
		err = conn.QueryRow(ctx, `select pg_try_advisory_lock(hashtextextended('a test process', 0))`).Scan(&free)
		if err == nil && free {
			OnEnd(func() error { return conn.Close(context.Background()) })
			return url, nil
		}
		if err = errors.Join(err, conn.Close(ctx)); err != nil {
			return "", fmt.Errorf("look for a free PostgreSQL: %w", err)
		}
	}
	return urls[os.Getpid()%len(urls)], nil
}

func startSharedKafka() ([]string, error) {
	if brokers := os.Getenv(EnvKafka); brokers != "" {
		return strings.Split(brokers, ","), nil
	}
	switch kind := os.Getenv(EnvKind); kind {
	case "":
	case "kfake":
		stop, brokers, err := devstack.FakeKafka("")
		if err != nil {
			return nil, err
		}
		OnEnd(func() error { stop(); return nil })
		return brokers, nil
	default:
		return nil, fmt.Errorf("%s must be kfake or empty, not %q", EnvKind, kind)
	}
	dir, remove, err := process.TempDir("scoreboard-test-")
	if err != nil {
		return nil, err
	}
	OnEnd(remove)
	k, err := StartKafka(context.Background(), KafkaOptions{Dir: filepath.Join(dir, "kafka")})
	if err != nil {
		return nil, err
	}
	OnEnd(func() error { k.Kill(); return nil }) // the data is not needed
	return k.Brokers, nil
}

// StartPostgres starts a server for many tests at once below dir.
func StartPostgres(ctx context.Context, dir string, port int) (*devstack.Postgres, error) {
	return startPostgres(ctx, dir, port, nil)
}

func startPostgres(
	ctx context.Context, dir string, port int, further map[string]string,
) (*devstack.Postgres, error) {
	settings := map[string]string{
		"max_connections": "500",
		// Autovacuum analyses tables during a test, which changes query plans
		// from run to run, and prevents templates from being copied.
		"autovacuum": "off",
		// Tests kill servers, and the cluster's folder is removed after them.
		"dynamic_shared_memory_type": "mmap",
	}
	maps.Copy(settings, further)
	major := 0
	if text := os.Getenv(EnvMajor); text != "" {
		var err error
		if major, err = strconv.Atoi(text); err != nil {
			return nil, fmt.Errorf("%s must be a number such as 18, not %q", EnvMajor, text)
		}
	}
	return devstack.StartPostgres(ctx, devstack.PostgresOptions{
		Dir: filepath.Join(dir, "postgres"), Port: port, Major: major, Settings: settings,
	})
}
