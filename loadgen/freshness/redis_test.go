package freshness

import (
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestMain(m *testing.M) { backends.Main(m) }

func TestTopIsReadFromRedis(t *testing.T) {
	t.Parallel()
	r := ranking.New(backends.RedisClient(t, backends.Redis(t)))
	board := &scoreboard.Board{ID: scoreboard.GlobalBoard, Order: scoreboard.OrderHighest, Created: time.UnixMicro(1)}
	if ok, err := r.Claim(t.Context(), board, "t"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	at := time.UnixMicro(5).UTC()
	if err := r.Fill(t.Context(), board.ID, "t", []scoreboard.Change{{
		Type: scoreboard.ChangeScore, Board: board.ID, User: "p", Score: 9, Key: board.Order.Key(9),
		Version: 1, Revision: 1, ReachedAt: at, RecordedAt: at,
	}}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Swap(
		t.Context(), board, "t",
		&scoreboard.Snapshot{Epoch: 1, Users: 1, UpdatedAt: board.Created, AsOf: board.Created},
	); err != nil {
		t.Fatal(err)
	}
	m := NewMonitor(Options{Redis: r, Board: scoreboard.GlobalBoard, Server: "http://127.0.0.1"})
	got, err := m.top(t.Context())
	if err != nil || len(got) != 1 || got[0].UserID != "p" || got[0].Score != 9 ||
		!strings.Contains(m.Method(), "Redis is read directly") {
		t.Errorf("got %+v, %v; %s", got, err, m.Method())
	}
}
