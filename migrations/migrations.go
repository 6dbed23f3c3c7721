// Package migrations embeds the numbered SQL files that create the schema, and
// applies them under an advisory lock, so that several processes can start at
// once. It needs a direct connection: session locks do not work through PgBouncer
// in transaction mode.
//
// The role that applies them owns the schema. Grant lets the daemon's role, if it is
// another one, use it without the right to change it.
//
// The first files, from 01000 to 01009, are the schema of release 1.0, by subject. Later ones
// change it while daemons of the release before still run: they expand first and contract a
// release later. No file can be undone.
package migrations

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed *.sql
var files embed.FS

// Version is one migration with the time when it was applied, nil if pending.
type Version struct {
	Number    int64      `json:"number"`
	Name      string     `json:"name"`
	AppliedAt *time.Time `json:"applied_at"`
}

// A migration waits this long for a lock: meanwhile everything that needs the same table
// waits behind it. Then it is undone and tried again after a pause, so often.
const (
	lockTimeout  = time.Second
	lockPause    = time.Second
	lockAttempts = 30
)

// Up applies every pending migration to the database at url. A migration that cannot
// have its locks within a minute is undone and an error; those before it stay.
//
// A database of a build before 1.0.0 is an EarlierBuildError. So is one with tables of another program an error,
// and nothing is written to either.
func Up(ctx context.Context, url string) error { return up(ctx, url, files) }

func up(ctx context.Context, url string, files fs.FS) error {
	return with(ctx, url, files, func(p *goose.Provider) error {
		for attempt := 1; ; attempt++ {
			_, err := p.Up(ctx)
			var refused *pgconn.PgError
			if !errors.As(err, &refused) || refused.Code != "55P03" { // lock_not_available
				return err
			}
			if attempt == lockAttempts {
				return fmt.Errorf("%w: other transactions hold locks; end long ones (pg_stat_activity), "+
					"and run this again", err)
			}
			select {
			case <-ctx.Done():
				return err
			case <-time.After(lockPause):
			}
		}
	})
}

// Status lists all migrations in order.
func Status(ctx context.Context, url string) ([]Version, error) {
	var versions []Version
	err := with(ctx, url, files, func(p *goose.Provider) error {
		all, err := p.Status(ctx)
		for _, m := range all {
			v := Version{Number: m.Source.Version, Name: m.Source.Path}
			if m.State == goose.StateApplied {
				v.AppliedAt = &m.AppliedAt
			}
			versions = append(versions, v)
		}
		return err
	})
	return versions, err
}

// parseURL reads the URL of a database. pgx's error would quote the URL, and pgx cannot
// always tell its password.
func parseURL(url string) (*pgx.ConnConfig, error) {
	c, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the PostgreSQL URL is invalid: want postgres://USER:PASSWORD@HOST:PORT/DATABASE, " +
			"with special characters percent-encoded, or keyword=value pairs")
	}
	return c, nil
}

func with(ctx context.Context, url string, files fs.FS, do func(*goose.Provider) error) (err error) {
	c, err := parseURL(url)
	if err != nil {
		return err
	}
	c.RuntimeParams["lock_timeout"] = strconv.FormatInt(lockTimeout.Milliseconds(), 10)
	db := stdlib.OpenDB(*c)
	defer func() { _ = db.Close() }()
	if err := db.PingContext(ctx); err != nil {
		var refused *pgconn.PgError
		if errors.As(err, &refused) && refused.Code == "3D000" { // invalid_catalog_name
			return fmt.Errorf("database %s does not exist; create it with: "+
				"createdb --host %s --port %d --username %s %s: %w",
				c.Database, c.Host, c.Port, c.User, c.Database, err)
		}
		return fmt.Errorf("reach the database to migrate: %w", err)
	}
	if err := refuse(ctx, db); err != nil {
		return err
	}
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return fmt.Errorf("create the migration lock: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithSessionLocker(locker))
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	if err := do(provider); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}
