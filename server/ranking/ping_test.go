package ranking_test

import (
	"context"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/ranking"
)

// A ping asks the server now: no connection that the client has kept answers for a server that hangs or is dead.
func TestPingLeavesTheProcess(t *testing.T) {
	t.Parallel()
	server := backends.OwnRedis(t)
	r := ranking.New(backends.RedisClient(t, server.URL))
	check := func(what string, up bool) {
		t.Helper()
		ping := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // as readiness
			defer cancel()
			return r.Ping(ctx)
		}
		for end := time.Now().Add(30 * time.Second); (ping() == nil) != up && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		if err := ping(); (err == nil) != up {
			t.Errorf("%s: got %v", what, err)
		}
	}
	check("a server that runs", true)
	resume := server.Hang()
	check("a server that hangs", false)
	resume()
	check("a server that goes on", true)
	server.Kill()
	check("a dead server", false)
	server.Start()
	check("a server that is back", true)
}
