package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/devstack"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// Backends are PostgreSQL, Redis and Apache Kafka, started for benches. PostgreSQL
// stores its data on disk, with fsync.
type Backends struct {
	Postgres *devstack.Postgres
	Redis    *devstack.Redis
	Kafka    *backends.KafkaBroker
	rigs     atomic.Int64 // that used them
}

// StartBackends starts backends with their data in dir. Stop ends them.
func StartBackends(ctx context.Context, dir string) (*Backends, error) {
	return startBackends(ctx, dir, nil)
}

// startBackends starts PostgreSQL with further settings.
func startBackends(ctx context.Context, dir string, further map[string]string) (*Backends, error) {
	b := &Backends{}
	var err error
	if b.Postgres, err = startPostgres(ctx, dir, further); err != nil {
		return nil, err
	}
	if b.Redis, err = devstack.StartRedis(ctx, devstack.RedisOptions{Dir: filepath.Join(dir, "redis")}); err != nil {
		b.Stop()
		return nil, err
	}
	if b.Kafka, err = backends.StartKafka(
		ctx,
		backends.KafkaOptions{Dir: filepath.Join(dir, "kafka")},
	); err != nil {
		b.Stop()
		return nil, err
	}
	return b, nil
}

// Stop ends the backends that were started.
func (b *Backends) Stop() {
	if b.Kafka != nil {
		b.Kafka.Kill()
	}
	if b.Redis != nil {
		b.Redis.Kill()
	}
	b.Postgres.Kill()
}

func startPostgres(ctx context.Context, dir string, further map[string]string) (*devstack.Postgres, error) {
	settings := map[string]string{
		"shared_buffers": "1GB", "max_wal_size": "8GB", "checkpoint_timeout": "15min", "wal_compression": "lz4",
	}
	maps.Copy(settings, further)
	return devstack.StartPostgres(ctx, devstack.PostgresOptions{
		Dir: filepath.Join(dir, "postgres"), Settings: settings,
	})
}

// rig is an installation on this machine: a database, a topic and a daemon.
type rig struct {
	Options
	sizes
	*Backends
	dir        string
	prefix     string // of names in shared backends
	database   string // URL
	daemon     *exec.Cmd
	api, ops   string // URLs
	prometheus int    // process id, or 0
	token      string
	key        client.Key
	stops      []func()

	starts int       // of the daemon
	round  int64     // of events written directly to the outbox
	filled time.Time // before the first of these
}

const jwtSecret = "a secret of the benchmarks, long enough for HS256"

// newRig starts an installation whose daemon has additional settings.
func newRig(ctx context.Context, o Options, settings ...string) (*rig, error) {
	r, err := newDir(o)
	if err != nil {
		return nil, err
	}
	if err := r.start(ctx, settings); err != nil {
		r.stop()
		return nil, err
	}
	return r, nil
}

func (r *rig) start(ctx context.Context, settings []string) (err error) {
	if r.Backends = r.Options.Backends; r.Backends == nil {
		if r.Backends, err = StartBackends(ctx, r.dir); err != nil {
			return err
		}
		r.onStop(r.Backends.Stop)
	} else if err := r.flush(ctx); err != nil {
		return err
	}
	r.prefix = fmt.Sprintf("bench%d", r.rigs.Add(1))
	if err := r.createDatabase(ctx); err != nil {
		return err
	}
	if err := r.startDaemon(ctx, settings); err != nil {
		return err
	}
	return r.createCredentials(ctx)
}

// newDir returns a rig that has only a folder. It is in the current folder rather
// than on a RAM disk, so that PostgreSQL writes to a real disk.
func newDir(o Options) (*rig, error) {
	dir, err := os.MkdirTemp(".", ".bench-")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	r := &rig{Options: o, sizes: o.sizes(), dir: dir}
	r.onStop(func() {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(o.Err, "scorebench:", err)
		}
	})
	return r, nil
}

func (r *rig) onStop(f func()) { r.stops = append(r.stops, f) }

func (r *rig) stop() {
	for i := len(r.stops) - 1; i >= 0; i-- {
		r.stops[i]()
	}
}

func (r *rig) createDatabase(ctx context.Context) error {
	if err := r.Postgres.EnsureDatabase(ctx, r.prefix); err != nil {
		return err
	}
	r.database = r.Postgres.URL(r.prefix)
	if err := migrations.Up(ctx, r.database); err != nil {
		return err
	}
	_, err := migrations.Grant(ctx, r.database, r.Postgres.RuntimeURL(r.prefix))
	return err
}

// startDaemon starts scoreboardd without limits, and with all roles unless the
// settings name some.
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
	defer func() { _ = log.Close() }()
	daemon := exec.CommandContext(
		context.WithoutCancel(ctx), r.program("scoreboardd"), "--addr", api, "--ops-addr", ops,
	)
	daemon.Stderr = log
	daemon.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	daemon.Env = append(os.Environ(),
		"SCOREBOARD_POSTGRES_URL="+r.Postgres.RuntimeURL(r.prefix), "SCOREBOARD_REDIS_URL="+r.Redis.URL(),
		"SCOREBOARD_KAFKA_BROKERS="+strings.Join(r.Kafka.Brokers, ","),
		"SCOREBOARD_KAFKA_TOPIC="+r.prefix+".events", "SCOREBOARD_KAFKA_DEAD_TOPIC="+r.prefix+".events.dlq",
		"SCOREBOARD_KAFKA_GROUP="+r.prefix, "SCOREBOARD_AUTH_JWT_SECRET="+jwtSecret,
		"SCOREBOARD_AUTH_MASTER_KEY="+backends.MasterKey, "SCOREBOARD_LOG_LEVEL=warn", "SCOREBOARD_DRAIN_DELAY=0s",
		"SCOREBOARD_LIMIT_UPDATES_PER_MINUTE=0", "SCOREBOARD_LIMIT_TOP_PER_MINUTE=0",
		"SCOREBOARD_LIMIT_RANK_PER_MINUTE=0", "SCOREBOARD_REALTIME_CONNECTIONS_PER_USER=0")
	daemon.Env = append(daemon.Env, settings...)
	if err := daemon.Start(); err != nil {
		return fmt.Errorf("start scoreboardd: %w", err)
	}
	r.daemon = daemon
	r.onStop(func() {
		_ = daemon.Process.Signal(syscall.SIGTERM) // it may have been stopped before
		_ = daemon.Wait()
		if text, err := os.ReadFile(log.Name()); err == nil && len(text) > 0 {
			r.printf("\nLog of the daemon:\n%s\n", text[:min(len(text), 2000)])
		}
	})
	return await(ctx, r.ops+"/readyz")
}

// stopDaemon stops the daemon gracefully, so that another can be started.
func (r *rig) stopDaemon() {
	_ = r.daemon.Process.Signal(syscall.SIGTERM)
	_ = r.daemon.Wait() // the log has the result
}

// createCredentials creates a token and a signing key.
func (r *rig) createCredentials(ctx context.Context) (err error) {
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

func (r *rig) newClient() (*client.Client, error) {
	return client.New(r.api, client.Options{Token: r.token, KeyID: r.key.KeyID, KeySecret: r.key.Secret})
}

func freeAddr(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}

// await waits until url responds with 200.
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
	return errors.New("not ready within 30 s: " + url)
}

// queryInt runs a query that returns one number.
func (r *rig) queryInt(ctx context.Context, query string, args ...any) (n int64, err error) {
	conn, err := pgx.Connect(ctx, r.database)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(ctx) }()
	return n, conn.QueryRow(ctx, query, args...).Scan(&n)
}

// exec runs a statement without a result.
func (r *rig) exec(ctx context.Context, statement string, args ...any) error {
	conn, err := pgx.Connect(ctx, r.database)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, statement, args...)
	return err
}

func (r *rig) redisClient() (*redis.Client, error) {
	o, err := redis.ParseURL(r.Redis.URL())
	if err != nil {
		return nil, err
	}
	return redis.NewClient(o), nil
}

func (r *rig) flush(ctx context.Context) error {
	rdb, err := r.redisClient()
	if err != nil {
		return err
	}
	defer func() { _ = rdb.Close() }()
	return rdb.FlushAll(ctx).Err()
}
