// With starts the backends that tests share and runs a command:
//
//	with -- go test -race ./...
//
// Environment variables pass the backends' addresses to the command, whose exit
// status is that of with. A backend that could not be started is reported before and
// after the command; if CI=true, the command is not run then.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/devstack/process"
)

func main() {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: with -- command [argument …]")
		os.Exit(2)
	}
	code, err := run(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "with:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func run(args []string) (code int, err error) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)

	dir, remove, err := process.TempDir("scoreboard-test-")
	if err != nil {
		return 0, err
	}
	b := startBackends(context.Background(), dir)
	defer func() { err = errors.Join(err, b.stop(), remove()) }()
	for _, missing := range b.missing {
		fmt.Fprintln(os.Stderr, "!!! MISSING:", missing)
	}
	if len(b.missing) > 0 && os.Getenv("CI") == "true" {
		return 1, nil
	}
	code, err = command(args, b.env, signals)
	for _, missing := range b.missing {
		fmt.Fprintln(os.Stderr, "!!! ran without", missing)
	}
	return code, err
}

// command runs a command in its own process group, so that a signal reaches all its
// child processes.
func command(args, env []string, signals <-chan os.Signal) (int, error) {
	cmd := exec.Command(args[0], args[1:]...) //nolint:noctx // signals are forwarded to it
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("run %s: %w", args[0], err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = syscall.Kill(-cmd.Process.Pid, s.(syscall.Signal))
		case err := <-ended:
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
					return 128 + int(status.Signal()), nil
				}
				return exit.ExitCode(), nil
			}
			return 0, err
		}
	}
}

type started struct {
	mu      sync.Mutex
	env     []string
	missing []string
	ends    []func() error
}

// postgresServers is how many packages .ci/test runs at once: each has a server to
// itself.
const postgresServers = 2

// startBackends starts the backends that the environment does not name.
func startBackends(ctx context.Context, dir string) *started {
	b := new(started)
	var all sync.WaitGroup
	var urls []string // of PostgreSQL
	for i := range postgresServers {
		if os.Getenv(backends.EnvPostgres) != "" {
			break
		}
		all.Go(func() {
			p, err := backends.StartPostgres(ctx, filepath.Join(dir, strconv.Itoa(i)), 0)
			b.mu.Lock()
			defer b.mu.Unlock()
			if err != nil {
				b.missing = append(b.missing, fmt.Sprintf("PostgreSQL: %v", err))
				return
			}
			urls = append(urls, p.URL("postgres"))
			b.ends = append(b.ends, func() error {
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
				defer cancel()
				return p.Stop(ctx) // a kill would leave its shared memory behind
			})
		})
	}
	if os.Getenv(backends.EnvKafka) == "" && os.Getenv(backends.EnvKind) == "" {
		all.Go(func() {
			k, err := backends.StartKafka(ctx, backends.KafkaOptions{Dir: filepath.Join(dir, "kafka")})
			b.mu.Lock()
			defer b.mu.Unlock()
			if err != nil {
				b.missing = append(b.missing, fmt.Sprintf("Apache Kafka: %v", err))
				return
			}
			b.env = append(b.env, backends.EnvKafka+"="+strings.Join(k.Brokers, ","))
			b.ends = append(b.ends, func() error { k.Kill(); return nil }) // the data is not needed
		})
	}
	all.Wait()
	if len(urls) > 0 {
		b.env = append(b.env, backends.EnvPostgres+"="+strings.Join(urls, " "))
	}
	return b
}

func (b *started) stop() error {
	errs := make([]error, len(b.ends))
	var all sync.WaitGroup
	for i, end := range b.ends {
		all.Go(func() { errs[i] = end() })
	}
	all.Wait()
	return errors.Join(errs...)
}
