package migrations_test

import (
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/migrations"
)

// A database that is not empty and was not migrated by this program is refused, and nothing is created in it.
func TestForeignDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	const versions = `create table goose_db_version (version_id bigint not null, is_applied boolean not null)`
	for name, tc := range map[string]struct{ create, want string }{
		"another name": {`create table orders ()`, "tables or views of another program (orders): use an empty"},
		"same names":   {`create table users (); create table boards ()`, "another program (boards, users): use"},
		"a view":       {`create view open_orders as select 1 as id`, "another program (open_orders): use"},
		"no migration": {versions, "goose_db_version is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := backends.Postgres(t, nil)
			db := backends.Connect(t, url)
			for statement := range strings.SplitSeq(tc.create, ";") {
				db.Do(t, statement)
			}
			const objects = `select count(*) from pg_class`
			const functions = `select count(*) from pg_proc`
			before, had := db.Count(t, objects), db.Count(t, functions)
			if err := migrations.Up(t.Context(), url); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if after, has := db.Count(t, objects), db.Count(t, functions); before != after || had != has {
				t.Errorf("%d relations and %d functions were created", after-before, has-had)
			}
		})
	}
}

// Views of extensions, and tables in other schemas, are no reason to refuse.
func TestExtensionsAreNotForeign(t *testing.T) {
	t.Parallel()
	url := backends.Postgres(t, nil)
	db := backends.Connect(t, url)
	db.Do(t, `create extension pg_stat_statements`)
	db.Do(t, `create schema other`)
	db.Do(t, `create table other.orders ()`)
	if err := migrations.Up(t.Context(), url); err != nil {
		t.Error(err)
	}
}

// Nodes that start at once on an empty database do not take each other's tables for those of another program.
func TestSchemaCreatedByManyAtOnce(t *testing.T) {
	t.Parallel()
	url := backends.Postgres(t, nil)
	const nodes = 6
	failed := make(chan error, nodes)
	for range nodes {
		go func() { failed <- migrations.Up(t.Context(), url) }()
	}
	for range nodes {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}
