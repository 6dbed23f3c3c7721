package transport

import (
	"context"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// recorder keeps what is produced.
type recorder struct {
	fake
	messages []Message
}

func (r *recorder) Produce(_ context.Context, messages []Message) (int, error) {
	r.messages = append(r.messages, messages...)
	return len(messages), nil
}

func (r *recorder) Broadcast(_ context.Context, key, value []byte) error {
	r.messages = append(r.messages, Message{Key: key, Value: value})
	return nil
}

// A user may be called as the heartbeats' key says: docs/events.md tells consumers to
// skip by the headers.
func TestHeartbeatsDifferFromChangesByHeaders(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	e := NewEvents(r)
	if err := e.Heartbeat(t.Context(), scoreboard.Heartbeat{Shards: 1, AsOf: time.Unix(1, 0)}); err != nil {
		t.Fatal(err)
	}
	user, err := scoreboard.ParseUserID(string(r.messages[0].Key))
	if err != nil {
		t.Fatalf("no user has the key %q: say so in docs/events.md", r.messages[0].Key)
	}
	if _, err := e.Publish(t.Context(), []scoreboard.Change{{User: user}}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{false, true} {
		got := false
		for _, h := range r.messages[i].Headers {
			got = got || h.Key == "event_id"
		}
		if got != want {
			t.Errorf("record %d: header event_id is %t, want %t", i, got, want)
		}
	}
}
