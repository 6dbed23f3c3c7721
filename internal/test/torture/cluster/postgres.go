package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/devstack"
)

const database = "torture"

func (c *Cluster) postgresOptions(dir string, port int) devstack.PostgresOptions {
	return devstack.PostgresOptions{
		Dir: dir, Port: port, Env: c.clock.env(),
		Settings: map[string]string{
			"max_connections": "300", "idle_in_transaction_session_timeout": "30s",
			"wal_retrieve_retry_interval": "500ms", "max_wal_size": "128MB", "min_wal_size": "32MB",
		},
	}
}

// PostgresURL is the primary's address, past all proxies.
func (c *Cluster) PostgresURL() string { return c.postgres.URL(database) }

// StartStandby makes a new standby of the primary and lets every commit wait for it.
// It does nothing where there is one.
func (c *Cluster) StartStandby(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.standby != nil {
		return nil
	}
	dir := c.spare
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("clear the folder of a standby: %w", err)
	}
	if err := c.postgres.CopyAsStandby(ctx, dir); err != nil {
		return err
	}
	var err error
	if c.standby, err = devstack.StartPostgres(ctx, c.postgresOptions(dir, 0)); err != nil {
		return err
	}
	return onPostgres(ctx, c.postgres, func(conn *pgx.Conn) error {
		for streaming := false; !streaming; time.Sleep(20 * time.Millisecond) {
			query := "select exists (select from pg_stat_replication where state = 'streaming')"
			if err := conn.QueryRow(ctx, query).Scan(&streaming); err != nil {
				return err
			}
		}
		return replicate(ctx, conn, "*")
	})
}

// DropStandby ends the standby; commits wait for none.
func (c *Cluster) DropStandby(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.standby == nil {
		return nil
	}
	c.standby.Kill()
	c.standby = nil
	return onPostgres(ctx, c.postgres, func(conn *pgx.Conn) error { return replicate(ctx, conn, "") })
}

// FailOver kills the primary and promotes the standby, which then is alone.
func (c *Cluster) FailOver(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.standby == nil {
		return errors.New("fail over: there is no standby")
	}
	c.postgres.Kill()
	c.postgres, c.standby = c.standby, nil
	c.dirs[Postgres], c.spare = c.spare, c.dirs[Postgres]
	err := onPostgres(ctx, c.postgres, func(conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, "select pg_promote()"); err != nil {
			return fmt.Errorf("promote the standby: %w", err)
		}
		return replicate(ctx, conn, "")
	})
	retarget(c.Nodes, (*Node).PostgresNet, hostOf(c.postgres.URL(database)))
	return err
}

// replicate names the standbys that commits wait for.
func replicate(ctx context.Context, conn *pgx.Conn, standbys string) error {
	for _, statement := range []string{
		"set synchronous_commit = local",
		"alter system set synchronous_standby_names = '" + standbys + "'",
		"select pg_reload_conf()",
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

func onPostgres(ctx context.Context, p *devstack.Postgres, do func(*pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, p.URL("postgres"))
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return do(conn)
}
