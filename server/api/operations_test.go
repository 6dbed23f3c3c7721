package api

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// letters is one dead letter, and the changes that were requeued from it.
type letters struct {
	letter   scoreboard.DeadLetter
	requeued []scoreboard.Change
}

func (l *letters) DeadLetters(context.Context, int64, int) ([]scoreboard.DeadLetter, error) {
	return []scoreboard.DeadLetter{l.letter}, nil
}

func (l *letters) DeadLetter(context.Context, int64) (*scoreboard.DeadLetter, error) {
	return &l.letter, nil
}

func (l *letters) RequeueLetter(_ context.Context, _ int64, c *scoreboard.Change, _ *scoreboard.AuditEntry) error {
	l.requeued = append(l.requeued, *c)
	return nil
}

func (l *letters) DropLetter(context.Context, int64, *scoreboard.AuditEntry) error { return nil }

// Only a change can be put back into the outbox. Anything else in a dead letter is a
// conflict, and the letter stays.
func TestRequeueDecodesTheLetter(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	change := scoreboard.Change{
		Type: scoreboard.ChangeScore, Board: "global", User: "alice", Score: 5, Key: -5, Delta: 5,
		Version: 3, Revision: 2, ReachedAt: at, RecordedAt: at, Hidden: true,
	}
	event := protocol.AppendEvent(nil, &change)
	heartbeat := scoreboard.Heartbeat{Shards: 1, Partitions: 1, AsOf: at}
	for _, c := range []struct {
		name  string
		value []byte
		want  scoreboard.Code
	}{
		{"a change", event, ""},
		{"no JSON", []byte("no JSON"), scoreboard.CodeConflict},
		{"half a change", event[:len(event)/2], scoreboard.CodeConflict},
		{"a heartbeat", protocol.AppendHeartbeat(nil, heartbeat), scoreboard.CodeConflict},
		{"a newer schema", []byte(`{"schema":2,"type":"score.changed"}`), scoreboard.CodeConflict},
	} {
		l := &letters{letter: scoreboard.DeadLetter{ID: 7, Value: c.value}}
		a := &API{Options: Options{Operations: &Operations{DeadLetters: l}, Log: slog.New(slog.DiscardHandler)}}
		g, _ := gin.CreateTestContext(httptest.NewRecorder())
		g.Request = httptest.NewRequestWithContext(t.Context(), "POST", "/v1/admin/dead-letters/7/requeue", nil)
		g.Params = gin.Params{{Key: "id", Value: "7"}}
		err := a.requeueDeadLetter(g, &auth.Claims{User: "root"})
		if got := scoreboard.CodeOf(err); got != c.want {
			t.Errorf("%s: %v, want code %q", c.name, err, c.want)
		}
		if requeued := len(l.requeued) == 1; requeued != (c.want == "") || requeued && l.requeued[0] != change {
			t.Errorf("%s: requeued %+v", c.name, l.requeued)
		}
	}
}
