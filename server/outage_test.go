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

// jobBodies are requests for jobs over boards.
var jobBodies = []struct{ path, body string }{
	{"/v1/admin/rebuild", `{"board":"global"}`},
	{"/v1/admin/rebuild", `{"all":true}`},
	{"/v1/admin/reconcile", `{"board":"global"}`},
	{"/v1/admin/reconcile", `{"all":true,"repair":true}`},
	{"/v1/admin/verify", `{"all":true}`},
}

// checkUnavailable sends every job to a node while a backend is down. A job that has
// started reports the outage in its last line.
func (n *node) checkUnavailable(t *testing.T, outage string) {
	t.Helper()
	root := bearer(n.h.token("root", auth.ScopeAdmin, time.Hour))
	for _, job := range jobBodies {
		status, header, answer := request(t, http.MethodPost, n.URL+job.path, job.body, root)
		started := status == http.StatusOK && header.Get("Content-Type") == "application/x-ndjson"
		rejected := status == http.StatusServiceUnavailable && header.Get("Retry-After") != ""
		lines := strings.Split(strings.TrimSpace(answer), "\n")
		if !started && !rejected || !strings.Contains(lines[len(lines)-1], `"error_code":"unavailable"`) {
			t.Errorf("%s: %s %s: got %d %s, want unavailable", outage, job.path, job.body, status, answer)
		}
	}
}

func TestJobsWithoutRedis(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles)
	if _, err := n.client("game", auth.ScopeUpdate).Submit(t.Context(),
		client.Increment{User: "bob", Delta: 1}); err != nil {
		t.Fatal(err)
	}
	h.redis.Stop()
	n.checkUnavailable(t, "Redis stopped")
	h.redis.Start()
	resume := h.redis.Hang()
	n.checkUnavailable(t, "Redis hangs")
	resume()
}

func TestJobsWithoutPostgres(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	own := backends.OwnPostgres(t, migrations.Up)
	h.postgres = own.URL
	n := h.start(allRoles)
	own.Stop()
	n.checkUnavailable(t, "PostgreSQL stopped")
}

// A board with a key of another type cannot be compared until it is rebuilt.
func TestJobsOnABrokenBoard(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles)
	if _, err := n.client("game", auth.ScopeUpdate).Submit(t.Context(),
		client.Increment{User: "bob", Delta: 1}); err != nil {
		t.Fatal(err)
	}
	h.ranked(n, "global", "bob", 1)
	n.stop()
	n = h.start("api") // nothing rebuilds the board
	rdb := backends.RedisClient(t, h.redis.URL)
	if err := rdb.Set(t.Context(), "sb:{global}:users", "broken", 0).Err(); err != nil {
		t.Fatal(err)
	}
	root := bearer(h.token("root", auth.ScopeAdmin, time.Hour))
	for _, job := range []struct{ path, body, want string }{
		{"/v1/admin/verify", `{"board":"global"}`, `"error_code":"unavailable"`},
		{"/v1/admin/reconcile", `{"board":"global","repair":true}`, `"error_code":"unavailable"`},
		{"/v1/admin/rebuild", `{"board":"global"}`, `"type":"result"`},
		{"/v1/admin/verify", `{"board":"global"}`, `"type":"result"`},
	} {
		status, _, answer := request(t, http.MethodPost, n.URL+job.path, job.body, root)
		lines := strings.Split(strings.TrimSpace(answer), "\n")
		if status != http.StatusOK || !strings.Contains(lines[len(lines)-1], job.want) {
			t.Errorf("%s: got %d %s, want %s", job.path, status, answer, job.want)
		}
	}
}

// During an outage nobody can say that a board does not exist: another node may have
// created it, and recorded events on it, since the boards were read.
func TestUnknownBoardsWithoutPostgres(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	own := backends.OwnPostgres(t, migrations.Up)
	h.postgres = own.URL
	n := h.start(allRoles)
	check := func(want int) {
		for _, path := range []string{"top?board=", "me?board=", "me?score=1&board="} {
			status, body := h.get(t, n.URL+"/v1/leaderboard/"+path+"elsewhere", bearer(h.token("bob", "", time.Hour)))
			if status != want {
				t.Errorf("%selsewhere: got %d %s, want %d", path, status, body, want)
			}
		}
	}
	check(http.StatusNotFound)
	own.Stop()
	check(http.StatusServiceUnavailable)
}

// The database has become read-only, as after a failover behind an address or when a provider's disk is
// full. Writes get a 503 with a time, reads go on, the doctor names it, and nothing needs a restart.
func TestDatabaseBecomesReadOnly(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles)
	game, root := n.client("game", auth.ScopeUpdate), n.client("root", auth.ScopeAdmin)
	if _, err := game.Submit(t.Context(), client.Increment{User: "bob", Delta: 1}); err != nil {
		t.Fatal(err)
	}
	h.ranked(n, "global", "bob", 1)
	db := backends.Connect(t, h.postgres)
	switchTo := func(readOnly string) {
		db.Do(t, `alter database "`+db.Config().Database+`" set default_transaction_read_only = `+readOnly)
	}
	write := func(event string) (int, http.Header, string) {
		body := `{"user_id":"bob","delta":1,"event_id":"` + event + `","timestamp":"` +
			time.Now().UTC().Format(time.RFC3339) + `"}`
		return request(t, http.MethodPost, n.URL+"/v1/scores/increment", body,
			bearer(h.token("game", auth.ScopeUpdate, time.Hour)))
	}
	switchTo("on")
	// The connections of before still write: a failover would have ended them.
	db.Do(t, `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()
		and pid <> pg_backend_pid() and backend_type = 'client backend'`)
	for range 5 {
		status, header, answer := write("during")
		if status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" ||
			!strings.Contains(answer, `"error_code":"unavailable"`) {
			t.Fatalf("a write: got %d %s, Retry-After %q, want a 503 with a time", status, answer,
				header.Get("Retry-After"))
		}
	}
	if _, body := h.get(t, n.URL+"/v1/leaderboard/top", bearer(h.token("eve", "", time.Hour))); !strings.Contains(body,
		`"bob"`) {
		t.Errorf("a read: got %s, want the row", body)
	}
	h.await("the doctor to name it", func() bool {
		found, err := root.Checks(t.Context())
		if err != nil {
			return false
		}
		for _, c := range found.Checks {
			if c.Name == "postgres" && c.Status != wire.CheckOK && strings.Contains(c.Detail, "read-only") {
				return true
			}
		}
		return false
	})
	h.await("readiness to report it", func() bool {
		_, body := h.get(t, n.Ops+"/readyz", nil)
		return strings.Contains(body, "read-only")
	})
	switchTo("off")
	h.await("writes to succeed again", func() bool {
		status, _, answer := write("during")
		if status != http.StatusOK && status != http.StatusServiceUnavailable {
			t.Fatalf("got %d %s", status, answer)
		}
		return status == http.StatusOK
	})
	h.ranked(n, "global", "bob", 2)
	if status, body := h.get(t, n.Ops+"/readyz", nil); status != http.StatusOK {
		t.Errorf("afterwards: got %d %s, want ready", status, body)
	}
}
