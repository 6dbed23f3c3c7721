package outbox_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/pipeline/outbox"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
	queue "github.com/scoreboard/scoreboard/server/store/outbox"
)

func TestMain(m *testing.M) { backends.Main(m) }

var ctx = context.Background()

// rig is an outbox with its own database.
type rig struct {
	*queue.Outbox
	store *store.Store
	url   string
}

func open(t testing.TB) rig {
	t.Helper()
	url := backends.Postgres(t, migrations.Up)
	s := storetest.Open(t, url, func(o *store.Options) { o.MaxConns, o.LockWait = 4, time.Second })
	return rig{s.Outbox, s, url}
}

func (r rig) connect(t testing.TB) *backends.Conn {
	t.Helper()
	return backends.Connect(t, r.url)
}

// execer is a connection or a transaction.
type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

const sqlRow = `insert into outbox_score_updates (
    shard, event_id, user_id, board_id, score, delta, order_key, version, revision, reached_at, recorded_at, trace
) values (0, gen_random_uuid(), $1, 'global', 1, 1, -1, 1, 1, clock_timestamp(), clock_timestamp(), nullif($2, ''))`

func row(t testing.TB, in execer, user string) {
	t.Helper()
	if _, err := in.Exec(ctx, sqlRow, user, ""); err != nil {
		t.Fatal(err)
	}
}

// readable waits until a relay reads every row: an open transaction in any database of the server, of another test too,
// holds back the rows of later transactions.
func readable(t testing.TB, conn *backends.Conn) {
	t.Helper()
	until(t, "every row readable", func() bool {
		var all bool
		err := conn.QueryRow(ctx, `select bool_and(xid < pg_snapshot_xmin(pg_current_snapshot()))
from outbox_score_updates`).Scan(&all)
		return err == nil && all
	})
}

// options have intervals that are short enough for tests.
func options(owner string) outbox.Options {
	return outbox.Options{
		Owner: owner, Shards: 1, BatchSize: 50,
		PollInterval: 10 * time.Millisecond, BatchPause: time.Millisecond, HeartbeatInterval: 20 * time.Millisecond,
		LeaseDuration: 1500 * time.Millisecond, MaxAttempts: 3,
	}
}

// start runs a relay until stop, or the end of the test.
func start(t testing.TB, o outbox.Options, q outbox.Queue, p outbox.Publisher) (stop func()) {
	t.Helper()
	return backends.Run(t, outbox.NewRelay(o, q, p, slog.New(slog.DiscardHandler)).Run)
}

// publisher records what is published, and answers as the test says.
type publisher struct {
	mu      sync.Mutex
	users   []string
	beats   []scoreboard.Heartbeat
	publish func(changes []scoreboard.Change) (int, error) // nil: acknowledges all
	beat    func(h scoreboard.Heartbeat)
}

func (p *publisher) Publish(_ context.Context, changes []scoreboard.Change) (int, error) {
	n, err := len(changes), error(nil)
	if p.publish != nil {
		n, err = p.publish(changes)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range changes[:n] {
		p.users = append(p.users, string(c.User))
	}
	return n, err
}

func (p *publisher) Heartbeat(_ context.Context, h scoreboard.Heartbeat) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.beat != nil {
		p.beat(h)
	}
	p.beats = append(p.beats, h)
	return nil
}

func (p *publisher) published() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.users...)
}

func (p *publisher) lastBeat() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.beats) == 0 {
		return time.Time{}
	}
	return p.beats[len(p.beats)-1].AsOf
}

// until waits for a condition.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after 10 s: not %s", what)
		}
	}
}
