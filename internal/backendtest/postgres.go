package backendtest

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
)

// Migrate brings the empty database at url to the schema that a test wants.
type Migrate func(ctx context.Context, url string) error

// Postgres returns the URL of a fresh database, dropped after the test. The
// migrations run once per process, into a template that the databases are
// copied from; hence migrate must be a plain function such as migrations.Up,
// since two closures of one function could not be told apart. A nil migrate
// gives an empty database.
func Postgres(t testing.TB, migrate Migrate) string {
	t.Helper()
	server, err := sharedPostgres()
	require(t, "PostgreSQL", err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := clusterAt(ctx, server)
	require(t, "PostgreSQL", err)
	name, err := c.fresh(ctx, migrate)
	if err != nil {
		t.Fatalf("make a database for the test: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.drop(ctx, name); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	return withDatabase(server, name)
}

// cluster makes databases named scoreboard_test_<run>_<number>. As long as this process
// lives it holds the advisory lock of its run, by which later runs see what a
// killed one has left behind.
type cluster struct {
	server string
	run    string
	number atomic.Int64

	mu        sync.Mutex // guards templates and owner
	owner     *pgx.Conn
	templates map[uintptr]string
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
	c := &cluster{server: server, run: strings.ToLower(rand.Text()[:10]), templates: make(map[uintptr]string)}
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return nil, fmt.Errorf("connect to the test server: %w", err)
	}
	c.owner = conn
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
	onEnd(c.end)
	return c, nil
}

// sweep drops the databases of runs that are over.
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
		var over bool
		if err := c.owner.QueryRow(ctx, "select pg_try_advisory_lock($1)", lockOf(run)).Scan(&over); err != nil {
			return fmt.Errorf("ask whether run %s is over: %w", run, err)
		}
		if !over {
			continue
		}
		err := dropDatabase(ctx, c.owner, name)
		_, unlockErr := c.owner.Exec(ctx, "select pg_advisory_unlock($1)", lockOf(run))
		if err := errors.Join(err, unlockErr); err != nil {
			return fmt.Errorf("drop what run %s left: %w", run, err)
		}
	}
	return nil
}

// fresh makes one more database, for the first test of a migration its
// template too.
func (c *cluster) fresh(ctx context.Context, migrate Migrate) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	template := "template0"
	if migrate != nil {
		key := reflect.ValueOf(migrate).Pointer()
		if c.templates[key] == "" {
			name, err := c.makeTemplate(ctx, migrate)
			if err != nil {
				return "", err
			}
			c.templates[key] = name
		}
		template = c.templates[key]
	}
	return c.create(ctx, template)
}

// end drops the templates, and with its connection the claim on the run.
func (c *cluster) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	errs := make([]error, 0, len(c.templates)+1)
	for _, name := range c.templates {
		errs = append(errs, dropDatabase(ctx, c.owner, name))
	}
	return errors.Join(append(errs, c.owner.Close(ctx))...)
}

func (c *cluster) makeTemplate(ctx context.Context, migrate Migrate) (string, error) {
	name, err := c.create(ctx, "template0")
	if err != nil {
		return "", err
	}
	if err := migrate(ctx, withDatabase(c.server, name)); err != nil {
		return "", fmt.Errorf("migrate the template: %w", err)
	}
	return name, nil
}

// create copies a database. The server ends a connection a moment after its
// client has closed it, and meanwhile refuses to copy that database.
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

// lockOf turns the name of a run into the number of its advisory lock.
func lockOf(run string) int64 {
	var b [8]byte
	copy(b[:], run)
	return int64(binary.BigEndian.Uint64(b[:]))
}

func withDatabase(server, name string) string {
	u, err := url.Parse(server)
	if err != nil { // it has been connected to
		panic(err)
	}
	u.Path = "/" + name
	return u.String()
}
