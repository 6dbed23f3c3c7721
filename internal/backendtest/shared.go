package backendtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/scoreboard/scoreboard/server/devstack"
	"github.com/scoreboard/scoreboard/server/devstack/process"
)

// The variables by which one set of servers serves many test processes.
const (
	EnvPostgres = "SCOREBOARD_TEST_POSTGRES_URL"
	EnvKafka    = "SCOREBOARD_TEST_KAFKA_BROKERS" // comma-separated
	EnvKind     = "SCOREBOARD_TEST_KAFKA"         // "kfake": the stand-in instead of Apache Kafka
)

// The servers that all tests of this process share, started by the first that
// asks. Main ends them; without it they end with the process.
var (
	sharedPostgres = sync.OnceValues(startSharedPostgres)
	sharedKafka    = sync.OnceValues(startSharedKafka)

	shared struct {
		sync.Mutex
		ends []func() error // in the order of their starts
	}
)

// Main is the body of a TestMain: it runs the tests, ends the shared servers,
// looks for goroutines that the tests left behind, and exits.
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

func onEnd(end func() error) {
	shared.Lock()
	defer shared.Unlock()
	shared.ends = append(shared.ends, end)
}

func startSharedPostgres() (string, error) {
	if url := os.Getenv(EnvPostgres); url != "" {
		return url, nil
	}
	dir, remove, err := process.TempDir("scoreboard-test-")
	if err != nil {
		return "", err
	}
	onEnd(remove)
	p, err := StartPostgres(context.Background(), dir, 0)
	if err != nil {
		return "", err
	}
	onEnd(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		return p.Stop(ctx)
	})
	return p.URL("postgres"), nil
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
		onEnd(func() error { stop(); return nil })
		return brokers, nil
	default:
		return nil, fmt.Errorf("%s=%q: it is kfake or nothing", EnvKind, kind)
	}
	dir, remove, err := process.TempDir("scoreboard-test-")
	if err != nil {
		return nil, err
	}
	onEnd(remove)
	k, err := StartKafka(context.Background(), KafkaOptions{Dir: filepath.Join(dir, "kafka")})
	if err != nil {
		return nil, err
	}
	onEnd(func() error { k.Kill(); return nil }) // nobody reads its data again
	return k.Brokers, nil
}

// StartPostgres starts a server for many tests at once below dir.
func StartPostgres(ctx context.Context, dir string, port int) (*devstack.Postgres, error) {
	return devstack.StartPostgres(ctx, devstack.PostgresOptions{
		Dir:  filepath.Join(dir, "postgres"),
		Port: port,
		Settings: map[string]string{
			"max_connections": "500",
			// Autovacuum analyses tables while a test runs, which changes plans
			// from run to run; and a template cannot be copied meanwhile.
			"autovacuum": "off",
			// Tests kill servers; in the cluster's folder nothing of it is left behind.
			"dynamic_shared_memory_type": "mmap",
		},
	})
}
