package backends

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/scoreboard/scoreboard/migrations"
)

// Migrate creates the schema of a test in the empty database at url.
type Migrate func(ctx context.Context, url string) error

// Postgres returns the URL of a new database, which is dropped after the test. The
// migrations run once per process, on a template that is copied for each test.
// Templates are identified by their function, so migrate must be a plain function such
// as migrations.Up and not a closure.
//
// After migrations.Up the URL's role is the daemon's, which does not own the schema;
// Owner returns the URL of the owner. If migrate is nil, the database is empty, and the
// URL is the owner's.
func Postgres(t testing.TB, migrate Migrate) string {
	t.Helper()
	server, err := sharedPostgres()
	require(t, "PostgreSQL", err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := clusterAt(ctx, server)
	require(t, "PostgreSQL", err)
	name, role, err := c.fresh(ctx, migrate)
	if err != nil {
		t.Fatalf("create a database for the test: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.drop(ctx, name); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	return withRole(withDatabase(server, name), role)
}

// Hosts returns the URL of a database on the first server that names the host of the
// second one, too.
func Hosts(first, second string) string {
	a, errA := url.Parse(first)
	b, errB := url.Parse(second)
	if err := errors.Join(errA, errB); err != nil { // they come from this package
		panic(err)
	}
	a.Host += "," + b.Host
	return a.String()
}

// runtimeRole is the daemon's role and its password.
const runtimeRole = "scoreboard_runtime"

// runtimeVerifier is what PostgreSQL stores for that password (RFC 5803), with one
// iteration instead of 4,096: under the race detector those cost each of a node's many
// connections 14 ms of CPU, and a busy machine's connections timed out.
const runtimeVerifier = "SCRAM-SHA-256$1:c2FsdCBvZiB0aGUgdGVzdA==$" +
	"wn+Qgy4h52+1TYraFchxlKOBm+dXAlKXcWeuHIS6qOM=:ixPwlvhYYXTpBH4BCx/4arseKJN8AyG/rMjfS+Njtz4="

// grant lets the runtime role use a migrated database, and returns the role, nil if the
// migrations were not those of the daemon.
func grant(ctx context.Context, owner string) (*url.Userinfo, error) {
	conn, err := pgx.Connect(ctx, owner)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var ours bool
	err = conn.QueryRow(ctx, `select to_regproc('grant_runtime') is not null`).Scan(&ours)
	if err != nil || !ours {
		return nil, err
	}
	create := "create role " + runtimeRole + " login password '" + runtimeVerifier + "'"
	var refused *pgconn.PgError
	if _, err = conn.Exec(ctx, create); errors.As(err, &refused) {
		switch refused.Code {
		case "42710", "23505": // it exists, or another process was faster
			err = nil
		}
	}
	if err != nil {
		return nil, err
	}
	_, err = migrations.Grant(ctx, owner, Runtime(owner))
	return url.UserPassword(runtimeRole, runtimeRole), err
}

// owners are the roles that own the databases of this process, by host and port.
var owners sync.Map

// Owner returns the URL of a database for the role that owns it: a test uses it to
// change what the daemon must not, and for what only a superuser may.
func Owner(of string) string {
	u, err := url.Parse(of)
	if err != nil { // it comes from Postgres
		panic(err)
	}
	if owner, ok := owners.Load(u.Host); ok {
		u.User = owner.(*url.Userinfo)
	}
	return u.String()
}

// Runtime returns the URL of a database for the daemon's role, which migrations.Grant
// creates.
func Runtime(of string) string { return withRole(of, url.UserPassword(runtimeRole, runtimeRole)) }

// noteOwner remembers the role of a server's URL.
func noteOwner(server string) {
	u, err := url.Parse(server)
	if err != nil { // it was parsed to connect
		panic(err)
	}
	owners.Store(u.Host, u.User)
}

// cluster creates databases named scoreboard_test_<run>_<number>. It holds the
// advisory lock of its run until the process ends, so that later runs can drop the
// databases of a killed one.
type cluster struct {
	server string
	run    string
	number atomic.Int64

	mu        sync.Mutex // guards templates and owner
	owner     *pgx.Conn
	templates map[uintptr]template
}

// template is a migrated database and the role that uses its copies, nil for the owner.
type template struct {
	name string
	role *url.Userinfo
}

const databasePrefix = "scoreboard_test_"

var clusters struct {
	sync.Mutex
	at map[string]*cluster
}

func clusterAt(ctx context.Context, server string) (*cluster, error) {
	clusters.Lock()
	defer clusters.Unlock()
	if c, ok := clusters.at[server]; ok {
		return c, nil
	}
	c := &cluster{server: server, run: strings.ToLower(rand.Text()[:10]), templates: make(map[uintptr]template)}
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return nil, fmt.Errorf("connect to the test server: %w", err)
	}
	c.owner = conn
	noteOwner(server)
	if _, err := conn.Exec(ctx, "select pg_advisory_lock($1)", lockOf(c.run)); err != nil {
		return nil, fmt.Errorf("claim the run: %w", err)
	}
	if err := c.sweep(ctx); err != nil {
		return nil, err
	}
	if clusters.at == nil {
		clusters.at = make(map[string]*cluster)
	}
	clusters.at[server] = c
	OnEnd(c.end)
	return c, nil
}

// sweep drops the databases of runs that have ended.
func (c *cluster) sweep(ctx context.Context) error {
	rows, err := c.owner.Query(ctx, "select datname from pg_database where starts_with(datname, $1)", databasePrefix)
	if err != nil {
		return fmt.Errorf("list databases of earlier runs: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("list databases of earlier runs: %w", err)
	}
	for _, name := range names {
		run, _, _ := strings.Cut(strings.TrimPrefix(name, databasePrefix), "_")
		if run == c.run {
			continue
		}
		var ended bool
		if err := c.owner.QueryRow(ctx, "select pg_try_advisory_lock($1)", lockOf(run)).Scan(&ended); err != nil {
			return fmt.Errorf("check whether run %s has ended: %w", run, err)
		}
		if !ended {
			continue
		}
		err := dropDatabase(ctx, c.owner, name)
		_, unlockErr := c.owner.Exec(ctx, "select pg_advisory_unlock($1)", lockOf(run))
		if err := errors.Join(err, unlockErr); err != nil {
			return fmt.Errorf("drop a database of run %s: %w", run, err)
		}
	}
	return nil
}

// fresh creates a database, and its template on the first use of a migration.
func (c *cluster) fresh(ctx context.Context, migrate Migrate) (name string, role *url.Userinfo, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	from := template{name: "template0"}
	if migrate != nil {
		key := reflect.ValueOf(migrate).Pointer()
		var ok bool
		if from, ok = c.templates[key]; !ok {
			if from, err = c.makeTemplate(ctx, migrate); err != nil {
				return "", nil, err
			}
			c.templates[key] = from
		}
	}
	name, err = c.create(ctx, from.name)
	return name, from.role, err
}

// end drops the templates and closes the connection, which releases the lock of the
// run.
func (c *cluster) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	errs := make([]error, 0, len(c.templates)+1)
	for _, t := range c.templates {
		errs = append(errs, dropDatabase(ctx, c.owner, t.name))
	}
	return errors.Join(append(errs, c.owner.Close(ctx))...)
}

func (c *cluster) makeTemplate(ctx context.Context, migrate Migrate) (t template, err error) {
	if t.name, err = c.create(ctx, "template0"); err != nil {
		return t, err
	}
	owner := withDatabase(c.server, t.name)
	if err := migrate(ctx, owner); err != nil {
		return t, fmt.Errorf("migrate the template: %w", err)
	}
	if t.role, err = grant(ctx, owner); err != nil {
		return t, fmt.Errorf("grant rights in the template: %w", err)
	}
	return t, nil
}

// create copies a database. It retries while the server has not yet ended a
// connection to the template that the client has closed.
func (c *cluster) create(ctx context.Context, template string) (string, error) {
	name := fmt.Sprintf("%s%s_%d", databasePrefix, c.run, c.number.Add(1))
	statement := fmt.Sprintf("create database %s template %s",
		pgx.Identifier{name}.Sanitize(), pgx.Identifier{template}.Sanitize())
	for {
		_, err := c.owner.Exec(ctx, statement)
		var refused *pgconn.PgError
		if err == nil {
			return name, nil
		}
		if !errors.As(err, &refused) || refused.Code != "55006" { // object_in_use
			return "", fmt.Errorf("create database %s: %w", name, err)
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("create database %s: %w", name, err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (c *cluster) drop(ctx context.Context, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return dropDatabase(ctx, c.owner, name)
}

func dropDatabase(ctx context.Context, conn *pgx.Conn, name string) error {
	_, err := conn.Exec(ctx, "drop database if exists "+pgx.Identifier{name}.Sanitize()+" with (force)")
	return err
}

// lockOf returns the key of the advisory lock of a run.
func lockOf(run string) int64 {
	var b [8]byte
	copy(b[:], run)
	return int64(binary.BigEndian.Uint64(b[:]))
}

func withDatabase(server, name string) string {
	u, err := url.Parse(server)
	if err != nil { // it was parsed to connect
		panic(err)
	}
	u.Path = "/" + name
	return u.String()
}

// withRole replaces the role of a URL; nil leaves it.
func withRole(at string, role *url.Userinfo) string {
	if role == nil {
		return at
	}
	u, err := url.Parse(at)
	if err != nil { // it was parsed to connect
		panic(err)
	}
	u.User = role
	return u.String()
}
