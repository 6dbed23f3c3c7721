package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// A node starts and records increments while Kafka is down and has never had its topics,
// and catches up when Kafka is there.
func TestStartsWithoutKafka(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.useKafka()
	broker := backends.OwnKafka(t)
	broker.Kill()
	n := h.start("api,intake,relay,projector,gateway,maintenance", "kafka-brokers", strings.Join(broker.Brokers, ","))
	if status, body := h.get(t, n.Ops+"/readyz", nil); !strings.Contains(body, `"kafka":"does not answer"`) {
		t.Errorf("got %d %s, want it to say that Kafka does not answer", status, body)
	}
	game := n.client("game", auth.ScopeUpdate)
	if _, err := game.Submit(t.Context(), client.Increment{User: "ada", Delta: 5}); err != nil {
		t.Fatalf("an increment without Kafka: %v", err)
	}
	token := h.token("game", auth.ScopeUpdate, time.Hour)
	if status, answer := n.submitAsync(t, token, "bob", "early", 1); status != http.StatusServiceUnavailable {
		t.Errorf("an increment for later without Kafka: got %d %s, want 503", status, answer)
	}
	broker.Start()
	h.await("Kafka to be usable", func() bool {
		_, body := h.get(t, n.Ops+"/readyz", nil)
		return strings.Contains(body, `"kafka":"ok"`)
	})
	h.ranked(n, "global", "ada", 5)
	h.await("an increment for later", func() bool {
		status, _ := n.submitAsync(t, token, "bob", "later", 7)
		return status == http.StatusAccepted
	})
	h.ranked(n, "global", "bob", 7)
}

// Each role starts while any one backend is down, says which, and needs no restart when it
// is back. Without PostgreSQL it is not ready: it does not know the settings of operators.
func TestEachRoleStartsWithoutEachBackend(t *testing.T) {
	t.Parallel()
	for _, backend := range []string{"postgres", "redis", "kafka"} {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			brokers, prefix := h.useKafka()
			h.settings["mirror-plain-topic"], h.settings["mirror-cloudevents-topic"] = prefix+"plain", prefix+"ce"
			hosts := map[string]string{
				"postgres": hostIn(t, h.postgres), "redis": hostIn(t, h.redis.URL), "kafka": brokers[0],
			}
			way := newLink(t, hosts[backend])
			way.cut()
			settings := map[string][]string{
				"postgres": {"postgres-url", way.url(h.postgres)}, "redis": {"redis-url", way.url(h.redis.URL)},
				"kafka": {"kafka-brokers", way.addr},
			}
			nodes := make(map[string]*node)
			for _, role := range []string{
				"api", "read", "gateway", "intake", "relay", "projector", "maintenance", "mirror",
			} {
				nodes[role] = h.launch(role, append(settings[backend], "log-level", "info")...)
			}
			for role, n := range nodes {
				h.await(role+" to serve", func() bool { return strings.Contains(n.Log(), `"msg":"serving"`) })
				status, body := h.get(t, n.Ops+"/readyz", nil)
				named := strings.Contains(body, `"`+backend+`":"does not answer"`) || !strings.Contains(body, backend)
				if (status == http.StatusOK) != (backend != "postgres") || !named {
					t.Errorf("%s without %s: got %d %s", role, backend, status, body)
				}
			}
			way.heal()
			for role, n := range nodes {
				h.await(role+" to have caught up", func() bool {
					status, body := h.get(t, n.Ops+"/readyz", nil)
					return status == http.StatusOK && strings.Count(body, `"ok"`) >= strings.Count(body, ":")
				})
			}
		})
	}
}
