package migrations_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/migrations"
)

func TestMain(m *testing.M) { backends.Main(m) }

// migrateEarlier applies some migrations of a build before 1.0.0, which numbered them from 1.
func migrateEarlier(t *testing.T, url string, newest int) {
	t.Helper()
	files := fstest.MapFS{}
	for n := 1; n <= newest; n++ {
		sql := fmt.Sprintf("-- +goose Up\ncreate table earlier_%d (id bigint);\n", n)
		files[fmt.Sprintf("%05d_earlier.sql", n)] = &fstest.MapFile{Data: []byte(sql)}
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*config)
	defer func() { _ = db.Close() }()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// contents are the objects of a database and the migrations that were applied.
func contents(t *testing.T, conn *sql.DB) (all []string) {
	t.Helper()
	rows, err := conn.QueryContext(t.Context(), `select oid || ' ' || relname || ' ' || xmin from pg_class
union all select oid || ' ' || proname || ' ' || xmin from pg_proc
union all select g::text || ' ' || xmin from goose_db_version as g`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		all = append(all, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

// A database of a build before 1.0.0 is refused with its number, whatever that is, and stays as it is.
func TestEarlierBuildIsRefused(t *testing.T) {
	t.Parallel()
	for _, newest := range []int{1, 7, 10, 104} {
		t.Run(fmt.Sprint(newest), func(t *testing.T) {
			t.Parallel()
			url := backends.Postgres(t, nil)
			migrateEarlier(t, url, newest)
			config, err := pgx.ParseConfig(url)
			if err != nil {
				t.Fatal(err)
			}
			conn := stdlib.OpenDB(*config)
			defer func() { _ = conn.Close() }()
			before := contents(t, conn)
			for name, do := range map[string]func(context.Context, string) error{
				"up": migrations.Up,
				"status": func(ctx context.Context, url string) error {
					_, err := migrations.Status(ctx, url)
					return err
				},
			} {
				var earlier *migrations.EarlierBuildError
				if err := do(t.Context(), url); !errors.As(err, &earlier) || earlier.Number != int64(newest) {
					t.Errorf("%s: got %v, want an EarlierBuildError of migration %d", name, err, newest)
				}
			}
			if after := contents(t, conn); !slices.Equal(before, after) {
				t.Error("the database was changed")
			}
		})
	}
}
