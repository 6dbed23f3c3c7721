package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

var errDegraded = errors.New("the board is degraded")

// Without Kafka, with a killed daemon and a flushed Redis in between.
func TestEndToEndOverOtherTransports(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"streams", "direct"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.env = slices.DeleteFunc(h.env,
				func(v string) bool { return strings.HasPrefix(v, "SCOREBOARD_KAFKA_BROKERS=") })
			h.env = append(h.env, "SCOREBOARD_TRANSPORT="+transport,
				"SCOREBOARD_ROLES=api,relay,projector,gateway,maintenance")
			d := h.start()
			game := h.client(d, "game", auth.ScopeUpdate+" "+auth.ScopeAdmin)
			ctx, cancel := contextFor(time.Minute)
			defer cancel()
			submit := func(c *client.Client, user string, delta int64) {
				t.Helper()
				if _, err := c.Submit(ctx, client.Increment{User: user, Delta: delta}); err != nil {
					t.Fatal(err)
				}
			}
			submit(game, "alice", 5)
			submit(game, "bob", 7)
			eventually(t, "both to be ranked", topIs(game, shows("1 bob 7", "2 alice 5")))
			submit(game, "alice", 4)
			d.kill()
			d = h.start()
			game = h.client(d, "game", auth.ScopeUpdate+" "+auth.ScopeAdmin)
			eventually(t, "what was committed before the kill", topIs(game, shows("1 alice 9", "2 bob 7")))
			flush(t, h)
			submit(game, "carol", 8)
			eventually(t, "everything after the flush", topIs(game, shows("1 alice 9", "2 carol 8", "3 bob 7")))
			eventually(t, "a healthy board", func() error {
				top, err := game.Top(ctx, client.TopQuery{})
				if err == nil && (top.Degraded || top.AsOf.IsZero()) {
					err = errDegraded
				}
				return err
			})
		})
	}
}
