package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// The developer's libpq is set up for another server than the one that "dev" starts.
func TestDevForgetsLibpq(t *testing.T) {
	for name, value := range map[string]string{
		"PGSERVICE": "production", "PGSERVICEFILE": t.TempDir(), "PGSSLMODE": "verify-full", "PGOPTIONS": "-c x=y",
		"PGTARGETSESSIONATTRS": "standby",
	} {
		t.Setenv(name, value)
	}
	const url = "postgres://scoreboard@127.0.0.1:5432/scoreboard"
	if _, err := pgx.ParseConfig(url); err == nil {
		t.Fatal("these variables change nothing")
	}
	if err := forgetLibpq(); err != nil {
		t.Fatal(err)
	}
	c, err := pgx.ParseConfig(url)
	if err != nil || c.ValidateConnect != nil || len(c.RuntimeParams) > 0 {
		t.Errorf("got %+v, %v", c, err)
	}
	if _, found := os.LookupEnv("PGSSLMODE"); found {
		t.Error("PGSSLMODE is still set")
	}
}

// "dev" starts its own PostgreSQL although libpq's settings name a service that does not exist.
func TestDevStartsBesideLibpqSettings(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.env = slices.DeleteFunc(h.env, func(v string) bool { return strings.HasPrefix(v, "SCOREBOARD_POSTGRES_URL=") })
	h.env = append(h.env, "PGSERVICE=production", "PGSERVICEFILE="+filepath.Join(t.TempDir(), "none"))
	d := h.start("dev", "--data", t.TempDir(), "--ephemeral")
	if err := d.stop(); err != nil {
		t.Error(err)
	}
}
