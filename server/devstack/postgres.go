package devstack

import (
	"context"
	"crypto/rand"
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

const postgresUser = "scoreboard"

// PostgresOptions describe one PostgreSQL server.
type PostgresOptions struct {
	Dir      string            // made when missing; holds the cluster, its password and its log
	Port     int               // 0 takes a free one
	Settings map[string]string // over the ones below, by PostgreSQL's names
}

// Postgres is a running PostgreSQL server, a child of this process.
type Postgres struct {
	*process.Process
	Port     int
	Major    int
	password string
}

// settings keep what a server promises (fsync is on) and leave out what a
// single developer's has no use for.
func settings(port int, over map[string]string) []string {
	all := map[string]string{
		"listen_addresses":        "127.0.0.1",
		"port":                    strconv.Itoa(port),
		"unix_socket_directories": "", // Debian's default is a folder we may not write
		"max_connections":         "200",
		"log_checkpoints":         "off",
		"jit":                     "off", // compiling costs more than our short queries
	}
	maps.Copy(all, over)
	var args []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		args = append(args, "-c", name+"="+all[name])
	}
	return args
}

// StartPostgres starts a server on the cluster in o.Dir, making it first when
// there is none, and returns when it answers.
func StartPostgres(ctx context.Context, o PostgresOptions) (*Postgres, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", o.Dir, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of PostgreSQL: %w", err)
	}
	data := filepath.Join(dir, "data")
	major, err := clusterMajor(data)
	if err != nil {
		return nil, err
	}
	bin, err := findPostgres(ctx, major)
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
	if err := own(dir, account); err != nil {
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
	p := &Postgres{Port: port, Major: bin.major, password: string(password)}
	p.Process, err = process.Start(ctx, process.Options{
		Name:    "PostgreSQL",
		Path:    filepath.Join(bin.dir, "postgres"),
		Args:    append([]string{"-D", data}, settings(port, o.Settings)...),
		Env:     postgresEnv(),
		Dir:     dir,
		Log:     filepath.Join(dir, "postgres.log"),
		Lock:    filepath.Join(dir, "postgres.lock"),
		Signal:  syscall.SIGINT, // its "fast" shutdown: clients are dropped, data is flushed
		Account: account,
		// Nothing else holds the lock now, so a pid file is a leftover; its
		// number may by chance belong to another process, which would stop us.
		Locked: func() error { return removeIfThere(filepath.Join(data, "postmaster.pid")) },
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

// URL is the address of a database of this server, password included.
func (p *Postgres) URL(database string) string {
	return (&url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(postgresUser, p.password),
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Port)),
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}).String()
}

// EnsureDatabase makes the database when it is not there.
func (p *Postgres) EnsureDatabase(ctx context.Context, name string) error {
	conn, err := pgx.Connect(ctx, p.URL("postgres"))
	if err != nil {
		return fmt.Errorf("connect to make database %s: %w", name, err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var there bool
	if err := conn.QueryRow(ctx, "select exists (select from pg_database where datname = $1)", name).Scan(&there); err != nil {
		return fmt.Errorf("look for database %s: %w", name, err)
	}
	if there {
		return nil
	}
	if _, err := conn.Exec(ctx, "create database "+pgx.Identifier{name}.Sanitize()); err != nil {
		return fmt.Errorf("make database %s: %w", name, err)
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

// clusterMajor reads which major version made the cluster, 0 for none.
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

// initCluster makes the cluster beside its place and renames it, so that one
// that was interrupted is never taken for a whole one.
func initCluster(ctx context.Context, bin postgresBinaries, account process.Account, dir string) error {
	part := filepath.Join(dir, "data.part")
	if err := os.RemoveAll(part); err != nil {
		return fmt.Errorf("clear an unfinished cluster: %w", err)
	}
	passwordFile := filepath.Join(dir, "password")
	if err := os.WriteFile(passwordFile, []byte(rand.Text()), 0o600); err != nil {
		return fmt.Errorf("write the password of PostgreSQL: %w", err)
	}
	if err := own(dir, account); err != nil {
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
		Lock:    filepath.Join(dir, "postgres.lock"),
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
		return fmt.Errorf("make the cluster: %w", ctx.Err())
	}
	if !p.Succeeded() {
		return fmt.Errorf("make the cluster: %w", p.Err())
	}
	if err := os.Rename(part, filepath.Join(dir, "data")); err != nil {
		return fmt.Errorf("put the cluster in place: %w", err)
	}
	return nil
}

// own gives the folder to the account when it belongs to somebody else, as
// after a move from a machine where another account was used.
func own(dir string, account process.Account) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("give %s to the server's account: %w", dir, err)
		}
		info, err := entry.Info()
		if err != nil {
			return fmt.Errorf("give %s to the server's account: %w", dir, err)
		}
		if account.Owns(info) {
			if path == filepath.Join(dir, "data") {
				return fs.SkipDir // all of it was written by that account
			}
			return nil
		}
		return os.Lchown(path, account.UID, account.GID)
	})
}

// postgresEnv is the environment without PostgreSQL's own variables: a PGPORT
// or PGDATA of the developer is meant for another server.
func postgresEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "PG") || strings.HasPrefix(v, "LC_") || strings.HasPrefix(v, "LANG")
	})
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a leftover: %w", err)
	}
	return nil
}
