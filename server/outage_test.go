package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
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
