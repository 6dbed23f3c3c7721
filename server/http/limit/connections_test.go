package limit_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/limit"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/realtime/ws"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

const aliceKey = "sb:limit:connections:{alice}"

// counting is a node that counts connections.
type counting struct {
	*limit.Connections
	limiter *limit.Limiter
	stop    func() // ends Run, which is what a dead node does too: it renews nothing
}

func startCounting(t *testing.T, url, name string, lease time.Duration) *counting {
	t.Helper()
	l := limit.New(connect(t, url), time.Now)
	c := &counting{limiter: l, Connections: limit.ConnectionsFor(l, name, lease)}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	c.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(c.stop)
	return c
}

// join joins alice, whose limit is 5, and checks the answer.
func (c *counting) join(t *testing.T, open int, ok bool) {
	t.Helper()
	if gotOpen, gotOK := c.Join(t.Context(), "alice", 5); gotOpen != open || gotOK != ok {
		t.Fatalf("join: got %d open, %t, want %d, %t", gotOpen, gotOK, open, ok)
	}
}

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s within 20s", what)
		}
	}
}

func TestConnectionsOfAllNodesCount(t *testing.T) {
	t.Parallel()
	backends.EachRedis(t, func(t *testing.T, url string) {
		rdb := connect(t, url)
		a, b := startCounting(t, url, "a", time.Minute), startCounting(t, url, "b", time.Minute)
		for open := 1; open <= 5; open++ {
			[]*counting{a, b}[open%2].join(t, open, true)
		}
		a.join(t, 5, false)
		b.join(t, 5, false)
		if open, ok := a.Join(t.Context(), "bob", 1); open != 1 || !ok {
			t.Errorf("another user: got %d open, %t", open, ok)
		}
		if ttl := rdb.PTTL(t.Context(), aliceKey).Val(); ttl <= 0 || ttl > time.Minute {
			t.Errorf("the key lives for %s, want at most a lease", ttl)
		}
		b.Leave("alice")
		await(t, "free place on node a", func() bool {
			open, ok := a.Join(t.Context(), "alice", 5)
			return open == 5 && ok
		})
		for _, node := range []*counting{a, a, a, b, b} {
			node.Leave("alice")
		}
		await(t, "end of the key", func() bool { return rdb.Exists(t.Context(), aliceKey).Val() == 0 })
	})
}

func TestConnectionsOfADeadNodeExpire(t *testing.T) {
	t.Parallel()
	url := backends.Redis(t)
	const lease = 2 * time.Second
	dead, live, other := startCounting(t, url, "dead", lease), startCounting(t, url, "live", lease),
		startCounting(t, url, "other", lease)
	dead.join(t, 1, true)
	dead.join(t, 2, true)
	live.join(t, 3, true)
	live.join(t, 4, true)
	dead.stop()
	died := time.Now()
	other.join(t, 5, true)
	other.join(t, 5, false)
	await(t, "place after the node's death", func() bool {
		open, ok := other.Join(t.Context(), "alice", 5)
		return open == 4 && ok
	})
	if took := time.Since(died); took < lease/4 {
		t.Errorf("the node's connections counted for %s after its death, want about %s", took, lease)
	}
	// The others renew their leases.
	time.Sleep(time.Until(died.Add(2 * lease)))
	live.join(t, 5, true)
	other.join(t, 5, false)
}

func TestConnectionsWithoutRedis(t *testing.T) {
	t.Parallel()
	server := backends.OwnRedis(t)
	a, b := startCounting(t, server.URL, "a", time.Minute), startCounting(t, server.URL, "b", time.Minute)
	for open := 1; open <= 4; open++ {
		a.join(t, open, true)
	}
	b.join(t, 5, true)
	server.Stop()
	for open := 2; open <= 5; open++ {
		b.join(t, open, true)
	}
	b.join(t, 5, false)
	a.join(t, 5, true)
	a.join(t, 5, false)
	a.Leave("alice")
	if n := metric(t, b.limiter, "scoreboard_limit_local_decisions_total"); n != 4 {
		t.Errorf("decisions without Redis: counted %v, want 4", n)
	}
	breakers := func(want float64) func() bool {
		return func() bool {
			return metric(t, a.limiter, "scoreboard_limit_breaker_open") == want &&
				metric(t, b.limiter, "scoreboard_limit_breaker_open") == want
		}
	}
	await(t, "open breaker", breakers(1))
	server.Start()
	await(t, "closed breaker", breakers(0))
	// Without a join in between, both nodes have told Redis what is open.
	c := startCounting(t, server.URL, "c", time.Minute)
	await(t, "count of both nodes", func() bool {
		open, ok := c.Join(t.Context(), "alice", 5)
		if ok {
			c.Leave("alice")
		}
		return open == 9 && !ok
	})
}

func metric(t *testing.T, l *limit.Limiter, name string) float64 {
	t.Helper()
	reg := prometheus.NewRegistry()
	reg.MustRegister(l.Collectors()...)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue() + f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

// Records that overtake each other on their way do not change the count.
func TestConcurrentJoinsAndLeaves(t *testing.T) {
	t.Parallel()
	url := backends.Redis(t)
	rdb := connect(t, url)
	node := startCounting(t, url, "a", time.Hour) // no renewal repairs a wrong record
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for range 40 {
				if _, ok := node.Join(t.Context(), "alice", 100); ok && rand.N(5) > 0 {
					node.Leave("alice")
				}
			}
		})
	}
	clients.Wait()
	open, _ := node.Join(t.Context(), "alice", 100)
	if open < 2 {
		t.Fatalf("got %d open, want some", open)
	}
	await(t, "record of "+strconv.Itoa(open), func() bool {
		record := strings.Fields(rdb.HGet(t.Context(), aliceKey, "a").Val())
		return len(record) == 3 && record[2] == strconv.Itoa(open)
	})
}

func TestLateRecordChangesNothing(t *testing.T) {
	t.Parallel()
	url := backends.Redis(t)
	node := startCounting(t, url, "a", time.Hour)
	for _, record := range [][2]int{{9, 3}, {5, 7}, {9, 8}} {
		if err := node.Record("alice", int64(record[0]), record[1]); err != nil {
			t.Fatal(err)
		}
	}
	if got := connect(t, url).HGet(t.Context(), aliceKey, "a").Val(); !strings.HasSuffix(got, " 9 3") {
		t.Errorf("got record %q, want number 9 with 3 connections", got)
	}
}

type empty struct{}

func (empty) ReadTop(_ context.Context, board scoreboard.BoardID) (*scoreboard.Top, error) {
	return &scoreboard.Top{Board: board, Epoch: 1, Version: 1, AsOf: time.Now()}, nil
}

func (empty) ReadPlaces(
	_ context.Context, board scoreboard.BoardID, _ []scoreboard.UserID,
) (*scoreboard.List, error) {
	return &scoreboard.List{Board: board}, nil
}

// Two gateways share the limit of a user: the sixth stream is closed with 4429.
func TestSixthStreamOnTwoGateways(t *testing.T) {
	t.Parallel()
	url := backends.Redis(t)
	gateway := func(name string) string {
		users := startCounting(t, url, name, time.Minute)
		hub := realtime.NewHub(
			realtime.Options{ConnectionsPerUser: 5}, empty{}, users.Connections, slog.New(slog.DiscardHandler),
		)
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { _ = hub.Run(ctx) })
		sockets := ws.NewServer(hub)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := sockets.Serve(w, r, &realtime.Viewer{User: "alice", Board: "global"}); err != nil {
				_ = sockets.Refuse(w, r, nil, err)
			}
		}))
		t.Cleanup(func() { cancel(); running.Wait(); server.Close() })
		return "ws" + strings.TrimPrefix(server.URL, "http")
	}
	gateways := []string{gateway("a"), gateway("b")}
	dial := func(i int) *websocket.Conn {
		c, _, err := websocket.DefaultDialer.Dial(gateways[i%2], nil) //nolint:bodyclose // nothing to close
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		return c
	}
	// refused reports whether a stream is closed with 4429; else it is open.
	refused := func(c *websocket.Conn) bool {
		for range 2 { // the frame with the error comes before the close
			_, data, err := c.ReadMessage()
			var end *websocket.CloseError
			if err != nil {
				return errors.As(err, &end) && end.Code == wire.CloseLimit
			}
			if strings.Contains(string(data), wire.MessageUpdated) {
				return false
			}
		}
		return false
	}
	var first *websocket.Conn
	for i := range 5 {
		c := dial(i)
		if refused(c) {
			t.Fatalf("stream %d of 5 was refused", i+1)
		}
		first = c
	}
	for i := range 2 {
		if !refused(dial(i)) {
			t.Errorf("a sixth stream on gateway %d was not refused with %d", i+1, wire.CloseLimit)
		}
	}
	_ = first.Close()
	await(t, "place for another stream", func() bool { return !refused(dial(1)) })
}
