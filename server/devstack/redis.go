package devstack

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/devstack/process"
)

// RedisOptions describe one Redis server.
type RedisOptions struct {
	Dir  string // created if missing; holds the append-only file, the configuration and the log
	Port int    // 0: a free one
	// Password replaces the one that is kept in Dir, or made.
	Password string
	Config   []string // further lines of the configuration
	Sentinel bool     // start a sentinel instead
}

// Redis is a running redis-server or valkey-server, a child of this process.
type Redis struct {
	*process.Process
	Program  string // which of the two
	Port     int
	password string
}

// The password is in a file readable by the owner only, not on the command line:
// with it, any user of the machine could make a server that runs as root write files.
const redisConf = `bind 127.0.0.1
port %d
requirepass %s
dir .
appendonly yes
appendfsync everysec
save ""
daemonize no
logfile ""
`

// StartRedis starts a server on the data in o.Dir and returns when it is ready.
func StartRedis(ctx context.Context, o RedisOptions) (*Redis, error) {
	program, path, err := findRedis()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the Redis directory: %w", err)
	}
	port := o.Port
	if port == 0 {
		if port, err = process.FreePort(ctx); err != nil {
			return nil, err
		}
	}
	r := &Redis{Program: program, Port: port, password: rand.Text()}
	conf := filepath.Join(o.Dir, "redis.conf")
	old, err := os.ReadFile(conf)
	if kept := passwordIn(string(old)); err == nil && kept != "" {
		r.password = kept // a restart on the same port keeps its address
	}
	if o.Password != "" {
		r.password = o.Password
	}
	text := fmt.Appendf(nil, redisConf, port, r.password)
	for _, line := range o.Config {
		text = append(append(text, line...), '\n')
	}
	if err := os.WriteFile(conf, text, 0o600); err != nil {
		return nil, fmt.Errorf("configure Redis: %w", err)
	}
	args := []string{"redis.conf"}
	if o.Sentinel {
		args = append(args, "--sentinel")
	}
	r.Process, err = process.Start(ctx, process.Options{
		Name:   "Redis",
		Path:   path,
		Args:   args,
		Env:    append(postgresEnv(), "LC_ALL=C"), // it does not start with a locale that is not installed
		Dir:    o.Dir,
		Log:    filepath.Join(o.Dir, "redis.log"),
		Lock:   lockOf(o.Dir, "redis"),
		Signal: syscall.SIGTERM,
	})
	if err != nil {
		return nil, err
	}
	if err := r.awaitReady(ctx); err != nil {
		r.Kill()
		return nil, err
	}
	return r, nil
}

// URL returns the server's address with the password.
func (r *Redis) URL() string { return redisURL(r.Port, r.password) }

func redisURL(port int, password string) string {
	return (&url.URL{
		Scheme: "redis",
		User:   url.UserPassword("default", password),
		Host:   net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		Path:   "/0",
	}).String()
}

func (r *Redis) awaitReady(ctx context.Context) error {
	options, err := redis.ParseURL(r.URL())
	if err != nil {
		return fmt.Errorf("parse the address of Redis: %w", err)
	}
	options.MaxRetries = -1
	client := redis.NewClient(options)
	defer func() { _ = client.Close() }()
	return r.AwaitReady(ctx, func(ctx context.Context) error { return client.Ping(ctx).Err() })
}

func findRedis() (program, path string, err error) {
	for _, program := range []string{"redis-server", "valkey-server"} {
		path, err := exec.LookPath(program)
		if errors.Is(err, exec.ErrDot) {
			continue // never a program in the working directory
		}
		if err == nil {
			return program, path, nil
		}
	}
	return "", "", fmt.Errorf("redis-server or valkey-server: %w", ErrMissing)
}

func passwordIn(conf string) string {
	for line := range strings.Lines(conf) {
		if password, ok := strings.CutPrefix(line, "requirepass "); ok {
			return strings.TrimSpace(password)
		}
	}
	return ""
}
