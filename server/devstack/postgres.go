package devstack

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/devstack/process"
)

// The owner of every database, and the role that the daemon has in them.
const postgresUser, runtimeUser = "scoreboard", "scoreboard_runtime"

// PostgresOptions describe one PostgreSQL server.
type PostgresOptions struct {
	Dir      string            // created if missing; holds the cluster, its password and its log
	Port     int               // 0: a free one
	Major    int               // version of a cluster that is created; 0: the newest that is installed
	Settings map[string]string // override the defaults below
	Env      []string          // NAME=value, added to the environment
}

// Postgres is a running PostgreSQL server, a child of this process.
type Postgres struct {
	*process.Process
	Port     int
	Major    int
	password string
	data     string // folder of the cluster
	account  process.Account
}

// settings keep durability (fsync is on) and turn off what development does not
// need.
func settings(port int, over map[string]string) []string {
	all := map[string]string{
		"listen_addresses":        "127.0.0.1",
		"port":                    strconv.Itoa(port),
		"unix_socket_directories": "", // Debian's default is not writable
		"max_connections":         "200",
		"log_checkpoints":         "off",
		"jit":                     "off", // compilation costs more than short queries
	}
	maps.Copy(all, over)
	var args []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		args = append(args, "-c", name+"="+all[name])
	}
	return args
}

// StartPostgres starts a server on the cluster in o.Dir, which it creates if
// missing, and returns when the server is ready.
func StartPostgres(ctx context.Context, o PostgresOptions) (*Postgres, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", o.Dir, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the PostgreSQL directory: %w", err)
	}
	data := filepath.Join(dir, "data")
	major, err := clusterMajor(data)
	if err != nil {
		return nil, err
	}
	bin, err := findPostgres(ctx, cmp.Or(major, o.Major))
	if err != nil {
		return nil, err
	}
	account, err := process.Unprivileged(ctx, filepath.Join(bin.dir, "postgres"), "--version")
	if err != nil {
		return nil, err
	}
	if major == 0 {
		if err := initCluster(ctx, bin, account, dir); err != nil {
			return nil, err
		}
	}
	if err := chown(dir, account); err != nil {
		return nil, err
	}
	password, err := os.ReadFile(filepath.Join(dir, "password"))
	if err != nil {
		return nil, fmt.Errorf("read the password of PostgreSQL: %w", err)
	}
	port := o.Port
	if port == 0 {
		if port, err = process.FreePort(ctx); err != nil {
			return nil, err
		}
	}
	p := &Postgres{Port: port, Major: bin.major, password: string(password), data: data, account: account}
	p.Process, err = process.Start(ctx, process.Options{
		Name:    "PostgreSQL",
		Path:    filepath.Join(bin.dir, "postgres"),
		Args:    append([]string{"-D", data}, settings(port, o.Settings)...),
		Env:     append(postgresEnv(), o.Env...),
		Dir:     dir,
		Log:     filepath.Join(dir, "postgres.log"),
		Lock:    lockOf(dir, "postgres"),
		Signal:  syscall.SIGINT, // "fast" shutdown: disconnects clients and flushes data
		Account: account,
		// This process holds the lock, so a pid file is stale; its number may
		// belong to another process by chance, which would prevent the start.
		Locked: func() error { return removeIfExists(filepath.Join(data, "postmaster.pid")) },
	})
	if err != nil {
		return nil, err
	}
	if err := p.awaitReady(ctx); err != nil {
		p.Kill()
		return nil, err
	}
	return p, nil
}

// URL returns the address of a database for its owner, with the password.
func (p *Postgres) URL(database string) string {
	return p.url(database, postgresUser, p.password)
}

// RuntimeURL returns the address of a database for the daemon. migrations.Grant creates
// the role, whose password does not reveal the owner's.
func (p *Postgres) RuntimeURL(database string) string {
	return p.url(database, runtimeUser, fmt.Sprintf("%x", sha256.Sum256([]byte(runtimeUser+":"+p.password))))
}

func (p *Postgres) url(database, user, password string) string {
	return (&url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(user, password),
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Port)),
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}).String()
}

// EnsureDatabase creates the database if it does not exist.
func (p *Postgres) EnsureDatabase(ctx context.Context, name string) error {
	conn, err := pgx.Connect(ctx, p.URL("postgres"))
	if err != nil {
		return fmt.Errorf("connect to create database %s: %w", name, err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var exists bool
	if err := conn.QueryRow(ctx, "select exists (select from pg_database where datname = $1)", name).
		Scan(&exists); err != nil {
		return fmt.Errorf("check for database %s: %w", name, err)
	}
	if exists {
		return nil
	}
	if _, err := conn.Exec(ctx, "create database "+pgx.Identifier{name}.Sanitize()); err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	return nil
}

func (p *Postgres) awaitReady(ctx context.Context) error {
	return p.AwaitReady(ctx, func(ctx context.Context) error {
		conn, err := pgx.Connect(ctx, p.URL("postgres"))
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
}

// clusterMajor reads the major version of the cluster, 0 for none.
func clusterMajor(data string) (int, error) {
	text, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the version of the cluster: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("read the version of the cluster: %w", err)
	}
	return major, nil
}

// initCluster creates the cluster in a temporary directory and renames it, so an
// interrupted one is never used.
func initCluster(ctx context.Context, bin postgresBinaries, account process.Account, dir string) error {
	part := filepath.Join(dir, "data.part")
	if err := os.RemoveAll(part); err != nil {
		return fmt.Errorf("clear an unfinished cluster: %w", err)
	}
	passwordFile := filepath.Join(dir, "password")
	if err := os.WriteFile(passwordFile, []byte(rand.Text()), 0o600); err != nil {
		return fmt.Errorf("write the password of PostgreSQL: %w", err)
	}
	if err := chown(dir, account); err != nil {
		return err
	}
	p, err := process.Start(ctx, process.Options{
		Name: "initdb",
		Path: filepath.Join(bin.dir, "initdb"),
		Args: []string{
			"-D", part, "-U", postgresUser, "--pwfile", passwordFile,
			"--auth", "scram-sha-256", "--locale", "C", "--encoding", "UTF8",
		},
		Env:     postgresEnv(),
		Dir:     dir,
		Log:     filepath.Join(dir, "initdb.log"),
		Lock:    lockOf(dir, "postgres"),
		Signal:  syscall.SIGKILL,
		Account: account,
	})
	if err != nil {
		return err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		p.Kill()
		return fmt.Errorf("create the cluster: %w", ctx.Err())
	}
	if !p.Succeeded() {
		return fmt.Errorf("create the cluster: %w", p.Err())
	}
	if err := os.Rename(part, filepath.Join(dir, "data")); err != nil {
		return fmt.Errorf("rename the cluster: %w", err)
	}
	return nil
}

// chown changes the owner of the directory to the account, for instance after a
// move from a machine with another account.
func chown(dir string, account process.Account) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("change the owner of %s: %w", dir, err)
		}
		info, err := entry.Info()
		if err != nil {
			return fmt.Errorf("change the owner of %s: %w", dir, err)
		}
		if account.Owns(info) {
			if path == filepath.Join(dir, "data") {
				return fs.SkipDir // all files in it have the same owner
			}
			return nil
		}
		return os.Lchown(path, account.UID, account.GID)
	})
}

// postgresEnv returns the environment without PostgreSQL's variables: the
// developer's PGPORT or PGDATA is for another server.
func postgresEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "PG") || strings.HasPrefix(v, "LC_") || strings.HasPrefix(v, "LANG")
	})
}

func removeIfExists(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a stale file: %w", err)
	}
	return nil
}
