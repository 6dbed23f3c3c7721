package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/backendtest"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/devstack"
)

// rig is a whole installation on this machine. PostgreSQL keeps its data on
// the disk, with fsync on; Kafka and Redis as their starters do.
type rig struct {
	dir        string
	postgres   *devstack.Postgres
	redis      *devstack.Redis
	kafka      *backendtest.KafkaBroker
	database   string
	daemon     *exec.Cmd
	api, ops   string
	prometheus int // its process, 0 where there is none
	token      string
	key        client.Key
	stops      []func()

	starts int       // of the daemon
	round  int64     // of events that were put into the outbox by hand
	filled time.Time // before the first of these
}

const jwtSecret = "a secret of the benchmarks, long enough for HS256"

func newRig(ctx context.Context, settings ...string) (*rig, error) {
	dir, err := tempDir()
	if err != nil {
		return nil, err
	}
	r := &rig{dir: dir}
	r.onStop(func() { remove(dir) })
	if err := r.startBackends(ctx); err != nil {
		r.stop()
		return nil, err
	}
	if err := r.startDaemon(ctx, settings); err != nil {
		r.stop()
		return nil, err
	}
	if err := r.enter(ctx); err != nil {
		r.stop()
		return nil, err
	}
	return r, nil
}

// tempDir is beside the checkout, not on a RAM disk: PostgreSQL is to write to
// what it would write to.
func tempDir() (string, error) {
	dir, err := os.MkdirTemp(".", ".bench-")
	if err != nil {
		return "", err
	}
	return filepath.Abs(dir)
}

func remove(dir string) {
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
}

func (r *rig) onStop(f func()) { r.stops = append(r.stops, f) }

func (r *rig) stop() {
	for i := len(r.stops) - 1; i >= 0; i-- {
		r.stops[i]()
	}
}

func (r *rig) startPostgres(ctx context.Context) (err error) {
	r.postgres, err = devstack.StartPostgres(ctx, devstack.PostgresOptions{Dir: filepath.Join(r.dir, "postgres"), Settings: map[string]string{
		"shared_buffers": "1GB", "max_wal_size": "8GB", "checkpoint_timeout": "15min", "wal_compression": "lz4",
	}})
	if err != nil {
		return err
	}
	r.onStop(r.postgres.Kill)
	if err := r.postgres.EnsureDatabase(ctx, "bench"); err != nil {
		return err
	}
	r.database = r.postgres.URL("bench")
	return migrations.Up(ctx, r.database)
}

func (r *rig) startBackends(ctx context.Context) (err error) {
	if err := r.startPostgres(ctx); err != nil {
		return err
	}
	if r.redis, err = devstack.StartRedis(ctx, devstack.RedisOptions{Dir: filepath.Join(r.dir, "redis")}); err != nil {
		return err
	}
	r.onStop(r.redis.Kill)
	if r.kafka, err = backendtest.StartKafka(ctx, backendtest.KafkaOptions{Dir: filepath.Join(r.dir, "kafka")}); err != nil {
		return err
	}
	r.onStop(r.kafka.Kill)
	return nil
}

// startDaemon runs bin/scoreboardd without limits, and with all roles where the
// settings name none.
func (r *rig) startDaemon(ctx context.Context, settings []string) error {
	api, err := freeAddr(ctx)
	if err != nil {
		return err
	}
	ops, err := freeAddr(ctx)
	if err != nil {
		return err
	}
	r.api, r.ops = "http://"+api, "http://"+ops
	r.starts++
	log, err := os.Create(filepath.Join(r.dir, fmt.Sprintf("scoreboardd-%d.log", r.starts)))
	if err != nil {
		return err
	}
	r.daemon = exec.CommandContext(context.WithoutCancel(ctx), "bin/scoreboardd", "--addr", api, "--ops-addr", ops)
	r.daemon.Stderr = log
	r.daemon.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	r.daemon.Env = append(os.Environ(),
		"SCOREBOARD_POSTGRES_URL="+r.database, "SCOREBOARD_REDIS_URL="+r.redis.URL(),
		"SCOREBOARD_KAFKA_BROKERS="+strings.Join(r.kafka.Brokers, ","), "SCOREBOARD_AUTH_JWT_SECRET="+jwtSecret,
		"SCOREBOARD_AUTH_MASTER_KEY="+strings.Repeat("0f", 32), "SCOREBOARD_LOG_LEVEL=warn",
		"SCOREBOARD_LIMIT_UPDATES_PER_MINUTE=0", "SCOREBOARD_LIMIT_TOP_PER_MINUTE=0", "SCOREBOARD_LIMIT_RANK_PER_MINUTE=0",
		"SCOREBOARD_REALTIME_CONNECTIONS_PER_USER=0")
	r.daemon.Env = append(r.daemon.Env, settings...)
	if err := r.daemon.Start(); err != nil {
		return fmt.Errorf("start bin/scoreboardd: %w", err)
	}
	daemon := r.daemon
	r.onStop(func() {
		_ = daemon.Process.Signal(syscall.SIGTERM) // it may have been stopped before
		_ = daemon.Wait()
		if said, err := os.ReadFile(log.Name()); err == nil && len(said) > 0 {
			fmt.Printf("\nThe daemon said:\n%s\n", said[:min(len(said), 2000)])
		}
	})
	return await(ctx, r.ops+"/readyz")
}

// stopDaemon ends the daemon in order, so that another can be started.
func (r *rig) stopDaemon() {
	_ = r.daemon.Process.Signal(syscall.SIGTERM)
	_ = r.daemon.Wait() // how it ended is in its log
}

// enter makes a token and a signing key.
func (r *rig) enter(ctx context.Context) (err error) {
	tokens := auth.NewTokens(jwtSecret, "scoreboard-dev", "scoreboard", time.Now)
	if r.token, _, err = tokens.Mint("bench", auth.ScopeUpdate+" "+auth.ScopeAdmin, 24*time.Hour); err != nil {
		return err
	}
	c, err := client.New(r.api, client.Options{Token: r.token})
	if err != nil {
		return err
	}
	defer c.Close()
	r.key, err = c.CreateKey(ctx, client.KeyRequest{Name: "bench"})
	return err
}

func freeAddr(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}

// await waits until url answers 200.
func await(ctx context.Context, url string) error {
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	return errors.New("it is not ready within 30 s: " + url)
}

// sql asks the database for one number.
func (r *rig) sql(ctx context.Context, query string) (n int64, err error) {
	conn, err := pgx.Connect(ctx, r.database)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(ctx) }()
	return n, conn.QueryRow(ctx, query).Scan(&n)
}

// exec runs a statement that tells nothing.
func (r *rig) exec(ctx context.Context, statement string, args ...any) error {
	conn, err := pgx.Connect(ctx, r.database)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, statement, args...)
	return err
}
