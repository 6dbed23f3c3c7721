package admin

import (
	"context"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// letters notes what became of dead letters.
type letters struct {
	Letters
	requeued []scoreboard.Change
	recorded []scoreboard.Increment
	dropped  int
}

func (l *letters) RequeueLetter(_ context.Context, _ int64, c *scoreboard.Change, _ *scoreboard.AuditEntry) error {
	l.requeued = append(l.requeued, *c)
	return nil
}

func (l *letters) DropLetter(context.Context, int64, *scoreboard.AuditEntry) error {
	l.dropped++
	return nil
}

func (l *letters) submit(_ context.Context, in scoreboard.Increment) ([]scoreboard.Receipt, error) {
	if in.User == "banned" {
		return nil, scoreboard.Errorf(wire.CodeForbidden, "user banned is banned")
	}
	if in.User == "outage" {
		return nil, &scoreboard.Error{Code: wire.CodeUnavailable, RetryAfter: time.Second}
	}
	l.recorded = append(l.recorded, in)
	return nil, nil
}

// A change goes back into the outbox, and an accepted increment is recorded. Anything else
// is an error, and the letter stays.
func TestRequeueDecodesTheLetter(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	change := scoreboard.Change{
		Type: scoreboard.ChangeScore, Board: "global", User: "alice", Score: 5, Key: -5, Delta: 5,
		Version: 3, Revision: 2, ReachedAt: at, RecordedAt: at, Hidden: true,
	}
	event := protocol.AppendEvent(nil, &change)
	heartbeat := scoreboard.Heartbeat{Shards: 1, Partitions: 1, AsOf: at}
	accepted := func(user scoreboard.UserID, at time.Time) []byte {
		id, err := scoreboard.ParseEventID(user, "match-17")
		if err != nil {
			t.Fatal(err)
		}
		return protocol.EncodeAccepted(&scoreboard.Increment{
			User: user, Delta: 5, Event: id, Boards: []scoreboard.BoardID{"global"}, Client: at, Accepted: at,
		})
	}
	const events, increments = "events", "increments"
	for _, c := range []struct {
		name  string
		topic string
		value []byte
		want  wire.Code
	}{
		{"a change", events, event, ""},
		{"no JSON", events, []byte("no JSON"), wire.CodeConflict},
		{"half a change", events, event[:len(event)/2], wire.CodeConflict},
		{"a heartbeat", events, protocol.AppendHeartbeat(nil, heartbeat), wire.CodeConflict},
		{"a newer schema", events, []byte(`{"schema":2,"type":"score.changed"}`), wire.CodeConflict},
		{"an increment among events", events, accepted("alice", time.Now()), wire.CodeConflict},
		{"an increment", increments, accepted("alice", time.Now().Add(-time.Hour)), ""},
		{"no JSON among increments", increments, []byte("no JSON"), wire.CodeConflict},
		{"a change among increments", increments, event, wire.CodeConflict},
		{"an old increment", increments, accepted("alice", time.Now().AddDate(0, -3, 0)), wire.CodeGone},
		{"a rejected increment", increments, accepted("banned", time.Now()), wire.CodeConflict},
		{"an increment in an outage", increments, accepted("outage", time.Now()), wire.CodeUnavailable},
	} {
		l := &letters{}
		d := DeadLetters{Letters: l, Topics: []string{increments}, Submit: l.submit, Window: scoreboard.DefaultWindow}
		err := d.Requeue(t.Context(), &scoreboard.DeadLetter{ID: 7, Topic: c.topic, Value: c.value}, nil)
		if got := wire.CodeOf(err); got != c.want {
			t.Errorf("%s: %v, want code %q", c.name, err, c.want)
		}
		change := len(l.requeued) == 1 && l.requeued[0] == change
		increment := len(l.recorded) == 1 && l.dropped == 1 && l.recorded[0].User == "alice"
		switch {
		case c.want != "" && len(l.requeued)+len(l.recorded)+l.dropped > 0,
			c.want == "" && change == increment,
			c.want == "" && increment != (c.topic == increments):
			t.Errorf("%s: requeued %+v, recorded %+v, dropped %d", c.name, l.requeued, l.recorded, l.dropped)
		}
	}
}
