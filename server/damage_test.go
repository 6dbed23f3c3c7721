package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// submitAsync sends an increment with Prefer: respond-async and returns the status.
func (n *node) submitAsync(t *testing.T, token, user, event string, delta int) (status int, answer string) {
	t.Helper()
	header := bearer(token)
	header.Set("Prefer", "respond-async")
	body := fmt.Sprintf(`{"user_id":%q,"delta":%d,"event_id":%q,"timestamp":%q}`,
		user, delta, event, time.Now().UTC().Format(time.RFC3339))
	status, _, answer = request(t, http.MethodPost, n.URL+"/v1/scores/increment", body, header)
	return status, answer
}

// outcome polls an event that was answered 202 until it has an outcome. A 404 is an
// error.
func (n *node) outcome(t *testing.T, token, user, event string) (last wire.EventStatus) {
	t.Helper()
	n.h.await("the outcome of "+event, func() bool {
		status, body := n.h.get(t, n.URL+"/v1/events/"+event+"?user_id="+user, bearer(token))
		if status == http.StatusNotFound {
			t.Fatalf("event %s was accepted, and a look-up says %s", event, body)
		}
		last = wire.EventStatus{}
		err := json.Unmarshal([]byte(body), &last)
		return status == http.StatusOK && err == nil && last.Status != wire.StatusPending
	})
	return last
}

// asyncRig is two nodes over Kafka that accept increments with 202.
type asyncRig struct {
	*harness
	nodes  []*node
	game   string // token
	root   *client.Client
	admin  *kafkago.Client
	topics []string // that carry increments and changes
	events int      // accepted; one point each
}

func newAsyncRig(t *testing.T) *asyncRig {
	t.Helper()
	h := newHarness(t)
	brokers, prefix := h.useKafka()
	kafkaTransport := &kafkago.Transport{}
	t.Cleanup(kafkaTransport.CloseIdleConnections)
	const roles = "api,relay,projector,intake,maintenance"
	r := &asyncRig{
		harness: h, game: h.token("game", auth.ScopeUpdate, time.Hour), nodes: []*node{h.start(roles)},
		admin:  &kafkago.Client{Addr: kafkago.TCP(brokers...), Transport: kafkaTransport},
		topics: []string{prefix + "events", prefix + "increments"},
	}
	if status, answer := r.nodes[0].submitAsync(t, r.game, "u0", "at-once", 1); status != http.StatusAccepted {
		t.Errorf("the first request after /readyz: got %d %s, want 202", status, answer)
	}
	r.nodes = append(r.nodes, h.start(roles))
	r.root = r.nodes[0].client("root", auth.ScopeAdmin)
	return r
}

// accept submits n more events, each until it is accepted.
func (r *asyncRig) accept(t *testing.T, n int) {
	t.Helper()
	for range n {
		r.events++
		event, user := fmt.Sprint("e", r.events), fmt.Sprint("u", r.events%7)
		r.await("event "+event+" to be accepted", func() bool {
			status, answer := r.nodes[r.events%2].submitAsync(t, r.game, user, event, 1)
			if status != http.StatusAccepted && status != http.StatusServiceUnavailable {
				t.Fatalf("got %d %s", status, answer)
			}
			return status == http.StatusAccepted
		})
	}
}

// awaitDone waits until every event after the first ones is recorded.
func (r *asyncRig) awaitDone(t *testing.T, after int) {
	t.Helper()
	for i := after + 1; i <= r.events; i++ {
		user := fmt.Sprint("u", i%7)
		if got := r.nodes[i%2].outcome(t, r.game, user, fmt.Sprint("e", i)); got.Status != wire.StatusDone {
			t.Fatalf("event e%d: %+v", i, got)
		}
	}
}

// awaitTotal waits until a ranking that is not degraded has all points.
func (r *asyncRig) awaitTotal(t *testing.T, want int64) {
	t.Helper()
	r.await(fmt.Sprint(want, " points"), func() bool {
		top, err := r.root.Top(t.Context(), client.TopQuery{})
		var points int64
		for _, e := range top.Entries {
			points += e.Score
		}
		return err == nil && !top.Degraded && points == want
	})
}

// Redis loses its markers while increments wait to be recorded: no look-up of an
// accepted event is a 404.
func TestAcceptedEventsAreFoundWithoutMarkers(t *testing.T) {
	t.Parallel()
	r := newAsyncRig(t)
	rdb := backends.RedisClient(t, r.redis.URL)
	for range 5 {
		before := r.events
		r.accept(t, 10)
		rdb.FlushAll(t.Context())
		r.awaitDone(t, before)
	}
	user := "u1"
	// Until the intake has committed what it recorded, it may not know.
	r.await("a 404 for an event that was never sent", func() bool {
		status, _ := r.get(t, r.nodes[0].URL+"/v1/events/never-sent?user_id="+user, bearer(r.game))
		return status == http.StatusNotFound
	})
}

// The topics are deleted and created again while two nodes serve. What is accepted
// and recorded afterwards arrives everywhere, and the doctor says what happened.
func TestReplacedTopicsLoseNothing(t *testing.T) {
	t.Parallel()
	r := newAsyncRig(t)
	r.accept(t, 19)
	r.awaitTotal(t, 20)
	time.Sleep(3 * time.Second) // every consumer has inspected its log
	if _, err := r.admin.DeleteTopics(t.Context(), &kafkago.DeleteTopicsRequest{Topics: r.topics}); err != nil {
		t.Fatal(err)
	}
	for _, topic := range r.topics {
		r.await("topic "+topic, func() bool {
			made, err := r.admin.CreateTopics(t.Context(), &kafkago.CreateTopicsRequest{
				Topics: []kafkago.TopicConfig{{Topic: topic, NumPartitions: 16, ReplicationFactor: 1}},
			})
			return err == nil && made.Errors[topic] == nil
		})
	}
	r.accept(t, 60)
	r.awaitDone(t, 19)
	r.awaitTotal(t, 80)
	r.await("the doctor to report it", func() bool {
		found, err := r.root.Checks(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range found.Checks {
			if c.Name == "lag" && c.Status == wire.CheckWarn && strings.Contains(c.Detail, "cut or replaced") {
				return true
			}
		}
		return false
	})
}
