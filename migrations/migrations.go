// Package migrations embeds the numbered SQL files that create the schema, and
// applies them under an advisory lock, so that several processes can start at
// once. It needs a direct connection: session locks do not work through PgBouncer
// in transaction mode.
//
// The role that applies them owns the schema. Grant lets the daemon's role, if it is
// another one, use it without the right to change it.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the "pgx" driver of database/sql
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

// Up applies every pending migration to the database at url.
func Up(ctx context.Context, url string) error {
	return with(ctx, url, func(p *goose.Provider) error {
		_, err := p.Up(ctx)
		return err
	})
}

// Status lists all migrations in order.
func Status(ctx context.Context, url string) ([]Version, error) {
	var versions []Version
	err := with(ctx, url, func(p *goose.Provider) error {
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

func with(ctx context.Context, url string, do func(*goose.Provider) error) (err error) {
	if _, err := parseURL(url); err != nil {
		return err
	}
	db, err := sql.Open("pgx", url)
	if err != nil {
		return fmt.Errorf("open the database to migrate: %w", err)
	}
	defer func() { _ = db.Close() }()
	if err := db.PingContext(ctx); err != nil {
		return fmt.Errorf("reach the database to migrate: %w", err)
	}
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return fmt.Errorf("create the migration lock: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files,
		goose.WithSessionLocker(locker), goose.WithGoMigrations(eventIndexMigration()))
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	if err := do(provider); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}
