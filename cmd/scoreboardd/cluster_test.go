package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// game writes to many boards, and remembers what was acknowledged.
type game struct {
	h      *harness
	d      *daemon
	writer *client.Client
	admin  *client.Client
	boards []string

	mu   sync.Mutex
	sums map[string]int64 // points, by "board user"
}

const gameUsers = 5

func (h *harness) play(d *daemon, boards int) *game {
	h.t.Helper()
	g := &game{
		h: h, d: d, sums: make(map[string]int64), writer: h.client(d, "game", auth.ScopeUpdate),
		admin: h.client(d, "root", auth.ScopeAdmin), boards: []string{"global"},
	}
	for i := range boards - 1 {
		r := client.BoardRequest{Board: fmt.Sprint("board-", i)}
		if i == 0 { // on every server of a cluster
			r.Partitions = new(4)
		}
		b, err := g.admin.CreateBoard(h.t.Context(), r)
		if err != nil {
			h.t.Fatal(err)
		}
		g.boards = append(g.boards, b.Board)
	}
	return g
}

// during writes to all boards while do runs. No increment may be rejected.
func (g *game) during(do func()) {
	g.h.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for n := worker; ctx.Err() == nil; n++ {
				in := client.Increment{
					User: fmt.Sprintf("user-%d", n%gameUsers), Delta: 1, Board: g.boards[n%len(g.boards)],
				}
				call, end := context.WithTimeout(context.Background(), 20*time.Second)
				_, err := g.writer.Submit(call, in)
				end()
				if err != nil {
					g.h.t.Errorf("a write was rejected: %v", err)
					return
				}
				g.mu.Lock()
				g.sums[in.Board+" "+in.User]++
				g.mu.Unlock()
				time.Sleep(2 * time.Millisecond)
			}
		})
	}
	defer all.Wait()
	defer cancel()
	time.Sleep(200 * time.Millisecond)
	do()
}

// converges waits until every board is read from the ranking, and shows what was
// acknowledged, no more and no less. Then all of it is compared with PostgreSQL.
func (g *game) converges(what string) {
	g.h.t.Helper()
	began := time.Now()
	for _, board := range g.boards {
		eventually(g.h.t, what+": "+board+" to be healthy and complete", func() error {
			ctx, cancel := contextFor(5 * time.Second)
			defer cancel()
			top, err := g.writer.Top(ctx, client.TopQuery{Board: board})
			if err != nil {
				return err
			}
			if top.Degraded {
				return fmt.Errorf("degraded: %s", top.DegradedReason)
			}
			g.mu.Lock()
			defer g.mu.Unlock()
			for _, e := range top.Entries {
				if want := g.sums[board+" "+e.UserID]; e.Score != want {
					return fmt.Errorf("%s has %d, acknowledged were %d", e.UserID, e.Score, want)
				}
			}
			status, err := g.admin.RankingStatus(ctx, board)
			if err == nil && (status.State != "HEALTHY" || status.Suspect) {
				err = fmt.Errorf("state %s, suspect %t", status.State, status.Suspect)
			}
			return err
		})
	}
	g.h.t.Logf("%s: every board was healthy after %v", what, time.Since(began).Round(time.Millisecond))
	ctx, cancel := contextFor(30 * time.Second)
	defer cancel()
	done, err := g.admin.Verify(ctx, client.JobRequest{All: true}, func(client.JobLine) {})
	if err != nil || done.Verified == nil || done.Verified.Wrong != 0 {
		g.h.t.Errorf("%s: compared with PostgreSQL: %+v, %v", what, done.Verified, err)
	}
	var acknowledged int64
	for _, n := range g.sums {
		acknowledged += n
	}
	if stored := g.h.sql("select coalesce(sum(score), 0)::bigint from scores"); stored != acknowledged {
		g.h.t.Errorf("%s: PostgreSQL has %d points, acknowledged were %d", what, stored, acknowledged)
	}
}

func (g *game) epochs() map[string]int64 {
	g.h.t.Helper()
	epochs := make(map[string]int64)
	for _, board := range g.boards {
		status, err := g.admin.RankingStatus(g.h.t.Context(), board)
		if err != nil {
			g.h.t.Fatal(err)
		}
		epochs[board] = status.Epoch
	}
	return epochs
}

// boardsOf returns the boards that a server of a cluster holds, or has a partition of.
func boardsOf(t *testing.T, c *backends.RedisCluster, server int) map[string]bool {
	t.Helper()
	found := make(map[string]bool)
	for _, key := range c.Node(server).Keys(t.Context(), "sb:{*}:meta:*").Val() {
		board, _, _ := strings.Cut(key[strings.LastIndex(key, ":")+1:], "/")
		found[board] = true
	}
	return found
}

// flush empties a server of a cluster under load: its boards are rebuilt, and no others.
func (g *game) flush(t *testing.T, c *backends.RedisCluster, server int, others bool) {
	t.Helper()
	before, lost := g.epochs(), boardsOf(t, c, server)
	g.during(func() {
		if err := c.Node(server).FlushAll(t.Context()).Err(); err != nil {
			t.Error(err)
		}
		time.Sleep(500 * time.Millisecond)
	})
	g.converges("a server was flushed")
	for board, epoch := range g.epochs() {
		if rebuilt := epoch > before[board]; rebuilt != lost[board] && !others {
			t.Errorf("board %s was rebuilt: %t, was on the server: %t", board, rebuilt, lost[board])
		}
	}
}

// divide gives a board another number of partitions under load.
func (g *game) divide(board string, partitions int) {
	g.h.t.Helper()
	g.during(func() {
		if b, err := g.admin.SetBoard(
			g.h.t.Context(), board, client.BoardChange{Partitions: &partitions},
		); err != nil || b.Partitions != partitions {
			g.h.t.Errorf("set %d partitions: %+v, %v", partitions, b, err)
		}
		eventually(g.h.t, fmt.Sprintf("%s to be in %d partitions", board, partitions), func() error {
			ctx, cancel := contextFor(5 * time.Second)
			defer cancel()
			status, err := g.admin.RankingStatus(ctx, board)
			if err == nil && status.Partitions != partitions {
				err = fmt.Errorf("it is in %d", status.Partitions)
			}
			return err
		})
		time.Sleep(200 * time.Millisecond)
	})
	g.converges(fmt.Sprintf("%s is in %d partitions", board, partitions))
}

// fail kills a primary under load, and waits until a replica has taken over.
func (g *game) fail(t *testing.T, c *backends.RedisCluster, server int) {
	t.Helper()
	g.during(func() {
		c.Servers[server].Kill()
		c.AwaitReady(t.Context())
		time.Sleep(300 * time.Millisecond)
	})
	g.converges("a primary was killed")
	g.during(func() {
		c.Servers[server].Start() // as a replica
		c.AwaitReady(t.Context())
	})
	g.converges("the former primary returned")
}

// The ordinary path through a cluster, then what a cluster can suffer, all under load.
func TestRedisCluster(t *testing.T) {
	t.Parallel()
	cluster := backends.OwnRedisCluster(t, 3, 3)
	h := newHarnessAt(t, cluster.URL)
	d := h.start()
	g := h.play(d, 9)
	alice := h.client(d, "alice", "")
	ctx, cancel := contextFor(time.Minute)
	defer cancel()
	states := alice.Watch(ctx, "", client.WatchOptions{})
	<-states
	g.during(func() {
		for state := range states {
			if len(state.Entries) == gameUsers {
				break
			}
		}
	})
	if ctx.Err() != nil {
		t.Fatal("no frame with all users")
	}
	g.converges("ordinary traffic")
	g.divide("board-0", 7)
	g.divide("board-1", 3)
	g.divide("board-1", 1)
	g.flush(t, cluster, 0, false)
	g.fail(t, cluster, 1)
	if err := d.stop(); err != nil {
		t.Errorf("the stop: %v", err)
	}
}

// The long cases of a cluster: with every transport, and with slots that move.
func TestRedisClusterWithEveryTransport(t *testing.T) {
	t.Parallel()
	if os.Getenv("SCOREBOARD_PROOF") == "" {
		t.Skip("a long test: SCOREBOARD_PROOF=1 runs it")
	}
	for _, transport := range []string{"kafka", "streams", "direct"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			cluster := backends.OwnRedisCluster(t, 3, 3)
			h := newHarnessAt(t, cluster.URL)
			h.env = append(h.env, "SCOREBOARD_TRANSPORT="+transport)
			g := h.play(h.start(), 30)
			g.during(func() { time.Sleep(time.Second) })
			g.converges("ordinary traffic")
			g.flush(t, cluster, 0, transport == "streams") // with streams, entries may be missing
			before := len(boardsOf(t, cluster, 0))
			g.during(func() { cluster.MoveSlots(2, 0, 2*16384/3+1, 2*16384/3+1500) })
			g.converges("slots were moved") // with streams, all boards were dropped and are rebuilt
			if after := len(boardsOf(t, cluster, 0)); after <= before {
				t.Errorf("the server has %d boards after slots were moved to it, and had %d", after, before)
			}
			for server := range 3 {
				g.fail(t, cluster, server)
			}
		})
	}
}

// A primary that sentinels replace under load.
func TestRedisSentinel(t *testing.T) {
	t.Parallel()
	s := backends.OwnRedisSentinels(t, 1)
	h := newHarnessAt(t, s.URL)
	g := h.play(h.start(), 3)
	g.during(func() { time.Sleep(500 * time.Millisecond) })
	g.converges("ordinary traffic")
	g.during(func() {
		s.Servers[0].Kill()
		s.AwaitPrimary(1)
		time.Sleep(300 * time.Millisecond)
	})
	g.converges("the primary was killed")
}

// What is wrong with the Redis of a daemon is one line in /readyz and in doctor.
func TestWrongRedisIsNamed(t *testing.T) {
	t.Parallel()
	cluster := backends.OwnRedisCluster(t, 2, 0)
	single := backends.OwnRedis(t)
	partly := backends.OwnRedisCluster(t, 2, 0)
	if err := partly.Node(1).ClusterDelSlotsRange(t.Context(), 16383, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ url, want string }{
		"password": {
			strings.Replace(single.URL, "default:", "default:x", 1),
			"redis.url: Redis rejects the user name or password, or wants one: put both into the URL",
		},
		"no password":           {"redis://" + single.Host(), "redis.url: Redis rejects the user name or password"},
		"password of a cluster": {"redis+cluster://:x@" + cluster.Servers[0].Host(), "redis.url: Redis rejects"},
		"not a cluster": {
			strings.Replace(single.URL[:len(single.URL)-2], "redis:", "redis+cluster:", 1),
			"use redis:// instead of redis+cluster://",
		},
		"a cluster": {cluster.Servers[0].URL, "use redis+cluster:// instead of redis://"},
		"slots":     {partly.URL, "redis.url: the cluster serves 16383 of 16384 slots"},
		"sentinels": {"redis+sentinel://" + freeAddr(t) + "/main", "redis.url: no sentinel answers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarnessAt(t, c.url)
			d := h.launch()
			eventually(t, "the reason", func() error {
				report, err := d.readyz()
				if err == nil && (!strings.Contains(report, c.want) || strings.Contains(report, ":x@")) {
					err = fmt.Errorf("got %s, want %q", report, c.want)
				}
				return err
			})
		})
	}
}

// readyz returns what /readyz says.
func (d *daemon) readyz() (string, error) {
	req, err := http.NewRequestWithContext(d.t.Context(), http.MethodGet, d.ops+"/readyz", nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}
