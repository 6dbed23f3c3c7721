package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// nodes are the gateways that clients may connect to.
type nodes struct {
	mu   sync.Mutex
	urls []string
}

func (n *nodes) set(daemons ...*daemon) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.urls = n.urls[:0]
	for _, d := range daemons {
		n.urls = append(n.urls, d.url)
	}
}

func (n *nodes) any(random *rand.Rand) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.urls[random.IntN(len(n.urls))]
}

// roamingClient reads at its own speed, moves between nodes, and sends what it has
// when it reconnects.
type roamingClient struct {
	t              *testing.T
	random         *rand.Rand
	token          string
	epoch, version int64
	top            []wire.Entry
	frames         int
}

// visit reads some frames from one node. The end of the connection is no failure.
func (w *roamingClient) visit(ctx context.Context, url string, frames int) {
	header := http.Header{
		"Authorization": {"Bearer " + w.token},
		"Last-Event-ID": {fmt.Sprintf("%d:%d", w.epoch, w.version)},
	}
	ws, res, err := websocket.DefaultDialer.DialContext(ctx,
		"ws"+strings.TrimPrefix(url, "http")+"/v1/realtime/leaderboard", header)
	if err != nil {
		if res != nil {
			_ = res.Body.Close()
		}
		time.Sleep(20 * time.Millisecond)
		return
	}
	defer func() { _ = ws.Close() }()
	for range frames {
		_ = ws.SetReadDeadline(time.Now().Add(400 * time.Millisecond))
		var f wire.Message
		if ws.ReadJSON(&f) != nil {
			return
		}
		if f.Type != wire.MessageUpdated {
			continue
		}
		w.frames++
		if f.Epoch == w.epoch && f.Version < w.version {
			w.t.Errorf("version went back from %d to %d in epoch %d", w.version, f.Version, f.Epoch)
		}
		if f.Degraded {
			w.top = f.Top // read from the store, so without a version
			continue
		}
		w.epoch, w.version, w.top = f.Epoch, f.Version, f.Top
		time.Sleep(time.Duration(w.random.IntN(60)) * time.Millisecond)
	}
}

// storedTop returns the top 10 in PostgreSQL.
func storedTop(ctx context.Context, h *harness) (top []wire.Entry, err error) {
	conn, err := pgx.Connect(ctx, h.postgres)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.Background()) }()
	rows, err := conn.Query(ctx, `select row_number() over (order by score desc, reached_at, user_id), user_id, score
		from scores where board_id = 'global' order by 1 limit 10`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (e wire.Entry, err error) {
		return e, row.Scan(&e.Rank, &e.UserID, &e.Score)
	})
}

// Two gateways share one Redis; one of them later follows Kafka's notices. Clients
// move between them with random delays while scores change, one node is killed,
// Redis restarts and subscribers are disconnected. No client ever receives an older
// version, and all end with the state in PostgreSQL.
func TestTwoGatewaysConverge(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	h := newHarness(t)
	h.env = append(h.env, "SCOREBOARD_REALTIME_JOINS_PER_SECOND=0", "SCOREBOARD_REALTIME_CONNECTIONS_PER_USER=0")
	a := h.start("--roles", "api,relay,projector,gateway,maintenance")
	b := h.start("--roles", "gateway,read")
	game := h.client(a, "game", auth.ScopeUpdate)
	ctx, cancel := contextFor(2 * time.Minute)
	defer cancel()
	var live nodes
	live.set(a, b)

	played, changing := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	wanderers := make([]*roamingClient, 8)
	for i := range wanderers {
		w := &roamingClient{
			t: t, random: rand.New(rand.NewPCG(seed, uint64(i))),
			token: h.token(fmt.Sprint("watcher-", i), ""),
		}
		wanderers[i] = w
		all.Go(func() {
			for ctx.Err() == nil {
				w.visit(ctx, live.any(w.random), 1+w.random.IntN(10))
				select {
				case <-played:
					// At the end, any node until the state matches PostgreSQL.
					want, err := storedTop(ctx, h)
					if err == nil && slices.Equal(w.top, want) {
						return
					}
				default:
				}
			}
			t.Errorf("watcher %d ended with %v at %d:%d", i, w.top, w.epoch, w.version)
		})
	}
	var playing sync.WaitGroup
	playing.Go(func() {
		random := rand.New(rand.NewPCG(seed, 99))
		for {
			select {
			case <-changing:
				return
			case <-time.After(time.Duration(random.IntN(20)) * time.Millisecond):
			}
			in := client.Increment{User: fmt.Sprint("user-", random.IntN(30)), Delta: int64(1 + random.IntN(50))}
			if _, err := game.Submit(ctx, in); err != nil {
				t.Error(err)
				return
			}
		}
	})
	time.Sleep(2 * time.Second)
	live.set(a)
	b.kill()
	time.Sleep(time.Second)
	c := h.start("--roles", "gateway,read", "--realtime-bus", "kafka")
	live.set(a, c)
	h.redis.Stop()
	time.Sleep(500 * time.Millisecond)
	h.redis.Start()
	time.Sleep(2 * time.Second)
	if err := dropSubscribers(ctx, t, h); err != nil {
		t.Error(err)
	}
	time.Sleep(time.Second)
	close(changing)
	playing.Wait()
	close(played)
	all.Wait()
	for i, w := range wanderers {
		if w.frames < 5 {
			t.Errorf("watcher %d saw %d frames, want many", i, w.frames)
		}
	}
	subscribed(ctx, t, h, game, a, c)
}

// dropSubscribers disconnects the subscribers to notices.
func dropSubscribers(ctx context.Context, t testing.TB, h *harness) error {
	n, err := backends.RedisClient(t, h.redis.URL).ClientKillByFilter(ctx, "TYPE", "pubsub").Result()
	if err == nil && n < 1 {
		err = fmt.Errorf("%d subscribers were disconnected, want some", n)
	}
	return err
}

// subscribed checks that nodes receive notices. A board that is only polled once a
// second could not show eight changes in three seconds. Each change has a new leader,
// which is published to Kafka at once.
func subscribed(ctx context.Context, t *testing.T, h *harness, game *client.Client, daemons ...*daemon) {
	t.Helper()
	var seen []map[int64]bool
	var reading sync.WaitGroup
	var open []*websocket.Conn
	for _, d := range daemons {
		header := http.Header{"Authorization": {"Bearer " + h.token("late", "")}}
		live := "ws" + strings.TrimPrefix(d.url, "http") + "/v1/realtime/leaderboard"
		//nolint:bodyclose // a handshake leaves nothing to close
		ws, _, err := websocket.DefaultDialer.DialContext(ctx, live, header)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, ws)
		versions := make(map[int64]bool)
		seen = append(seen, versions)
		reading.Go(func() {
			var f wire.Message
			for ws.ReadJSON(&f) == nil {
				versions[f.Version] = true
			}
		})
	}
	for i := range 10 {
		if _, err := game.Submit(ctx, client.Increment{
			User:  fmt.Sprint("late-", i),
			Delta: int64(100_000 + i),
		}); err != nil {
			t.Error(errors.Join(err, ctx.Err()))
		}
		time.Sleep(300 * time.Millisecond)
	}
	for _, ws := range open {
		_ = ws.Close()
	}
	reading.Wait()
	for i, versions := range seen {
		if len(versions) < 8 {
			t.Errorf("node %d showed %d of 10 changes, want it to receive notices", i, len(versions))
		}
	}
}
