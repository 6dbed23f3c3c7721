package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// A node on an empty database is not ready and says why, everywhere and once in its
// log. It becomes ready when the schema is created.
func TestEmptyDatabaseIsNotReady(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.postgres = backends.Postgres(t, nil)
	n := h.launch(allRoles, "log-level", "info")
	const want = `the database has no schema: run \"sbctl migrate up\"`
	ready := func() (int, string) { return h.get(t, n.Ops+"/readyz", nil) }
	h.await("the reason", func() bool {
		status, body := ready()
		return status == http.StatusServiceUnavailable && strings.Contains(body, want)
	})
	header := bearer(h.token("alice", "", time.Hour))
	status, body := h.get(t, n.URL+"/v1/leaderboard/top", header)
	if status != http.StatusServiceUnavailable || !strings.Contains(body, want) {
		t.Errorf("a read: got %d, %s, want 503 and the reason", status, body)
	}
	if status, _ := h.get(t, n.URL+"/docs", nil); status != http.StatusOK {
		t.Errorf("/docs: got %d, want it without a schema", status)
	}
	time.Sleep(2500 * time.Millisecond) // it looks for the schema each second
	if got := strings.Count(n.Log(), `sbctl migrate up`); got != 1 || strings.Contains(n.Log(), "goose_db_version") ||
		strings.Contains(n.Log(), `"level":"WARN"`) {
		t.Errorf("the log has the reason %d times, want once and no other problem:\n%s", got, n.Log())
	}
	if err := migrations.Up(t.Context(), h.postgres); err != nil {
		t.Fatal(err)
	}
	h.await("the node to be ready", func() bool {
		status, _ := ready()
		return status == http.StatusOK
	})
	n.CreateKey(t)
	if _, err := n.client("alice", "").Submit(t.Context(), client.Increment{User: "alice", Delta: 5}); err != nil {
		t.Fatal(err)
	}
	h.await("the point", func() bool {
		top, err := n.client("alice", "").Top(t.Context(), client.TopQuery{})
		return err == nil && top.Total == 1 && !top.Degraded
	})
}

// A node that waits for the schema stops when it is told to.
func TestStopsWhileWaitingForTheSchema(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.postgres = backends.Postgres(t, nil)
	n := h.launch(allRoles)
	h.await("the node to wait", func() bool { return strings.Contains(n.Log(), "no schema") })
	n.stop()
}

// A node on a database of a build before 1.0.0 is not ready, and says what to do.
func TestSchemaOfAnEarlierBuild(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.postgres = backends.Postgres(t, nil)
	db := backends.Connect(t, h.postgres)
	db.Do(t, `create table goose_db_version (version_id bigint not null, is_applied boolean not null)`)
	db.Do(t, `insert into goose_db_version select n, true from generate_series(0, 104) as n`)
	n := h.launch(allRoles)
	const want = "the database is at migration 104 of a build before 1.0.0, which cannot be upgraded: " +
		"use an empty database"
	h.await("the reason", func() bool {
		status, body := h.get(t, n.Ops+"/readyz", nil)
		return status == http.StatusServiceUnavailable && strings.Contains(body, want) &&
			strings.Contains(n.Log(), want)
	})
	if got := db.Count(t, `select count(*) from pg_class where relnamespace = 'public'::regnamespace`); got != 1 {
		t.Errorf("%d tables and indexes, want the one of migrations", got)
	}
}

// An older schema is not ready, a newer one is as long as it is of the next release.
func TestSchemaOfAnotherRelease(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	db := backends.Connect(t, h.postgres)
	latest := migrations.Latest()
	apply := func(number int64) {
		db.Do(t, `insert into goose_db_version (version_id, is_applied) values ($1, true)`, number)
	}
	db.Do(t, `delete from goose_db_version where version_id = $1`, latest)
	n := h.launch(allRoles)
	h.await("the reason", func() bool {
		status, body := h.get(t, n.Ops+"/readyz", nil)
		return status == http.StatusServiceUnavailable && strings.Contains(body, "sbctl migrate up")
	})
	apply(latest)
	ready := func(n *node) func() bool {
		return func() bool {
			status, _ := h.get(t, n.Ops+"/readyz", nil)
			return status == http.StatusOK
		}
	}
	h.await("the node to be ready", ready(n))
	apply(latest + 100)
	if !ready(n)() {
		t.Error("a running node is not ready on the schema of the next release")
	}
	second := h.start(allRoles)
	root := second.client("root", auth.ScopeAdmin)
	schema := func() (status, nextStep string) {
		t.Helper()
		found, err := root.Checks(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range found.Checks {
			if c.Name == "schema" {
				return c.Status, c.NextStep
			}
		}
		return "", ""
	}
	if status, _ := schema(); status != "ok" {
		t.Errorf("the check of a newer schema: got %q, want ok", status)
	}
	apply(latest + 200)
	if status, body := h.get(t, n.Ops+"/readyz", nil); status != http.StatusServiceUnavailable ||
		!strings.Contains(body, "run a newer version") {
		t.Errorf("two releases ahead: got %d, %s, want 503 and the reason", status, body)
	}
	if status, next := schema(); status != "fail" || next == "" {
		t.Errorf("the check two releases ahead: got %q, %q, want a failure and what to do", status, next)
	}
	third := h.launch(allRoles)
	h.await("the third node to refuse", func() bool { return strings.Contains(third.Log(), "run a newer version") })
	if _, err := third.client("alice", "").Top(t.Context(), client.TopQuery{}); wire.CodeOf(err) !=
		wire.CodeUnavailable {
		t.Errorf("a read: got %v, want unavailable", err)
	}
}
