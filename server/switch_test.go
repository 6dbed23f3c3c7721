package server_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/devstack"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// Switching to a transport that one of the processes does not support is rejected.
func TestUnsupportedTransportIsRejected(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.settings["transport"] = "streams"
	front := h.start("api,gateway,maintenance")
	relay, projector := h.start("relay"), h.start("projector")
	root, game := front.client("root", auth.ScopeAdmin), front.client("game", auth.ScopeUpdate)
	switchTo := func(to string) error {
		_, err := root.ChangeSetting(t.Context(), "transport", client.SettingRequest{Value: &to, Reason: "a test"})
		return err
	}
	logged := func(n *node, what string) func() bool {
		return func() bool { return strings.Contains(n.Log(), what) }
	}
	h.await("the relay to register its transports", func() bool { return switchTo("direct") != nil })
	for to, want := range map[string]string{
		"direct":  "does not support it",
		"kafka":   "does not support it",
		"pigeons": "must be kafka, streams or direct",
	} {
		if err := switchTo(to); wire.CodeOf(err) != wire.CodeInvalidRequest ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want a rejection with %q", to, err, want)
		}
	}
	if err := switchTo("streams"); err != nil {
		t.Error(err)
	}
	// With both of them stopped it is accepted. A relay that starts then and does not
	// support it keeps its deployed transport, which is still consumed.
	relay.stop()
	projector.stop()
	h.await("the relay's registration to expire", func() bool { return switchTo("direct") == nil })
	late := h.start("relay")
	h.start("projector")
	h.await("the new relay to log it", logged(late, "does not support the transport"))
	if _, err := game.Submit(t.Context(), client.Increment{User: "alice", Delta: 5}); err != nil {
		t.Fatal(err)
	}
	h.await("the change to arrive over the deployed transport", func() bool {
		top, err := root.Top(t.Context(), client.TopQuery{})
		return err == nil && len(top.Entries) == 1 && !top.Degraded && top.Entries[0].Score == 5
	})
	// It applies other changes.
	changes := func() int { return strings.Count(late.Log(), `"settings changed"`) }
	before, value := changes(), "333"
	if _, err := root.ChangeSetting(t.Context(), "outbox.batch",
		client.SettingRequest{Value: &value, Reason: "a test"}); err != nil {
		t.Fatal(err)
	}
	h.await("the other setting", func() bool { return changes() > before })
	if status, body := h.get(t, late.Ops+"/readyz", nil); status != http.StatusOK {
		t.Errorf("readyz: got %d %s", status, body)
	}
}

// The reason to switch the transport: the broker is down and changes wait in the
// outbox.
func TestSwitchAwayFromDeadBroker(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	stop, brokers, err := devstack.FakeKafka("")
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(stop)
	t.Cleanup(stop)
	n := h.start(allRoles, "transport", "kafka", "kafka-brokers", brokers[0])
	root, game := n.client("root", auth.ScopeAdmin), n.client("game", auth.ScopeUpdate)
	submit := func(user string) {
		t.Helper()
		if _, err := game.Submit(t.Context(), client.Increment{User: user, Delta: 5}); err != nil {
			t.Fatal(err)
		}
	}
	ranked := func(users int) func() bool {
		return func() bool {
			top, err := root.Top(t.Context(), client.TopQuery{})
			return err == nil && !top.Degraded && len(top.Entries) == users
		}
	}
	submit("alice")
	h.await("alice, over Kafka", ranked(1))
	stop()
	submit("bob")
	h.await("bob to wait in the outbox", func() bool {
		o, err := root.Outbox(t.Context())
		return err == nil && len(o.Shards) == 1 && o.Shards[0].Depth > 0 && o.Shards[0].LastError != ""
	})
	to := "streams"
	if _, err := root.ChangeSetting(t.Context(), "transport",
		client.SettingRequest{Value: &to, Reason: "Kafka is gone"}); err != nil {
		t.Fatal(err)
	}
	switched := time.Now()
	h.await("bob, over Redis", ranked(2))
	submit("carol")
	h.await("carol", ranked(3))
	top, err := root.Top(t.Context(), client.TopQuery{})
	if err != nil || top.AsOf.After(switched) {
		t.Errorf("as of %s, switched at %s, %v: records may be left in Kafka", top.AsOf, switched, err)
	}
	// A process that starts now does not need Kafka either.
	n.stop()
	n = h.start(allRoles, "transport", "kafka", "kafka-brokers", brokers[0])
	root, game = n.client("root", auth.ScopeAdmin), n.client("game", auth.ScopeUpdate)
	submit("dave")
	h.await("dave, after a restart", ranked(4))
}
