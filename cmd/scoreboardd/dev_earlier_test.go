package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/devstack"
)

// A folder of a build before 1.0.0 is refused with what to do, and its database stays as it is.
func TestDevRefusesEarlierFolder(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.env = slices.DeleteFunc(h.env, func(v string) bool { return strings.HasPrefix(v, "SCOREBOARD_POSTGRES_URL=") })
	dir := filepath.Join(t.TempDir(), "earlier")
	onDatabase := func(do func(*backends.Conn)) {
		t.Helper()
		stack, err := devstack.Start(t.Context(), devstack.Options{
			Dir: dir, RedisURL: "redis://unused", KafkaBrokers: []string{"unused"}, Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		do(backends.Connect(t, stack.OwnerURL))
		if err := stack.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	onDatabase(func(db *backends.Conn) {
		db.Do(t, `create table goose_db_version (version_id bigint not null, is_applied boolean not null)`)
		db.Do(t, `insert into goose_db_version select n, true from generate_series(0, 7) as n`)
	})
	d := h.launch("dev", "--data", dir)
	if err := <-d.done; err == nil {
		t.Error("dev ended without an error")
	}
	want := "the database is at migration 7 of a build before 1.0.0, which cannot be upgraded: delete the folder " + dir
	if text := d.logs.String(); !strings.Contains(text, want) {
		t.Errorf("got %s\nwant %s", text, want)
	}
	onDatabase(func(db *backends.Conn) {
		if n := db.Count(t, `select count(*) from goose_db_version`); n != 8 {
			t.Errorf("%d rows of migrations, want 8", n)
		}
		if n := db.Count(t, `select count(*) from pg_class where relnamespace = 'public'::regnamespace`); n != 1 {
			t.Errorf("%d tables and indexes, want the one of migrations", n)
		}
	})
}
