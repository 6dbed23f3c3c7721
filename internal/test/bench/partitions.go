package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/devstack"
	"github.com/scoreboard/scoreboard/server/devstack/process"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// PartitionOptions are the sizes of Partitions.
type PartitionOptions struct {
	Users      int // on the board in partitions
	Partitions int
	Servers    int // of the cluster
	Whole      int // users on the board in one piece
	Rate       int // reads, and as many changes, per second
}

// Partitions measures reads of a board in partitions, on a cluster of processes of its own, beside
// changes; and the same of a board in one piece. First it calls the ranking as a node does, without a
// cache and without HTTP; then it reads over HTTP from a daemon that records as many increments.
func Partitions(ctx context.Context, o Options) error {
	p := o.Partitions
	if o.Quick {
		p, o.Duration = PartitionOptions{Users: 5000, Partitions: 4, Servers: 2, Whole: 1000, Rate: 200}, time.Second
	}
	dir, err := os.MkdirTemp("", "scorebench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	rdb, url, stop, err := startCluster(ctx, dir, p.Servers)
	if err != nil {
		return err
	}
	defer stop()
	if err := o.partitionsAlone(ctx, p, ranking.New(rdb)); err != nil {
		return err
	}
	return o.partitionsOverHTTP(ctx, p, url)
}

func (o *Options) partitionsAlone(ctx context.Context, p PartitionOptions, r *ranking.Ranking) error {
	o.printf("%d servers, %d reads/s beside %d changes/s, %s per measurement\n\n",
		p.Servers, p.Rate, p.Rate, o.Duration)
	o.println("| users | partitions | filled in | read | p50 | p95 | p99 | max |")
	o.println("|---:|---:|---:|---|---:|---:|---:|---:|")
	for _, b := range []struct{ users, partitions int }{{p.Users, p.Partitions}, {p.Whole, 1}} {
		board := &scoreboard.Board{
			ID: scoreboard.BoardID(fmt.Sprintf("bench-%d", b.partitions)), Order: scoreboard.OrderHighest,
			Created: time.Now(), Partitions: b.partitions,
		}
		began := time.Now()
		if err := fillRanking(ctx, r, board, b.users); err != nil {
			return err
		}
		filled := time.Since(began).Round(time.Second / 10)
		found, changes, err := readBeside(ctx, r, board, b.users, p.Rate, o.Duration)
		if err != nil {
			return err
		}
		for i, name := range []string{"top 100", "rank", "rank, 5 neighbours on each side"} {
			h := found[i]
			at := func(q float64) string {
				return (time.Duration(h.ValueAtQuantile(q)) * time.Microsecond).Round(10 * time.Microsecond).String()
			}
			o.printf("| %d | %d | %s | %s | %s | %s | %s | %s |\n",
				b.users, b.partitions, filled, name, at(50), at(95), at(99), at(100))
		}
		o.printf("| | | | changes: %.0f/s | | | | |\n", changes)
		if err := r.Drop(ctx, board); err != nil {
			return err
		}
	}
	return nil
}

// benchChange is a state of user i.
func benchChange(board *scoreboard.Board, i int, revision int64) scoreboard.Change {
	score := scoreboard.Score(rand.Int64N(1_000_000))
	now := time.Now()
	return scoreboard.Change{
		Type: scoreboard.ChangeScore, Board: board.ID, User: scoreboard.UserID("user-" + strconv.Itoa(i)),
		Score: score, Key: board.Order.Key(score), Version: revision, Revision: revision,
		ReachedAt: now, RecordedAt: now,
	}
}

// fillRanking builds a board with users, as a rebuild does.
func fillRanking(ctx context.Context, r *ranking.Ranking, board *scoreboard.Board, users int) error {
	const token, chunk = "bench", 1000
	if claimed, err := r.Claim(ctx, board, token); err != nil || !claimed {
		return fmt.Errorf("claim the board: %v, %w", claimed, err)
	}
	for first := 0; first < users; first += chunk {
		changes := make([]scoreboard.Change, 0, chunk)
		for i := first; i < min(first+chunk, users); i++ {
			changes = append(changes, benchChange(board, i, 1))
		}
		if err := r.Fill(ctx, board.ID, token, changes); err != nil {
			return err
		}
	}
	now := time.Now()
	if _, err := r.Swap(ctx, board, token, &scoreboard.Snapshot{
		Epoch: now.UnixMicro(), Users: int64(users), UpdatedAt: now, AsOf: now,
	}); err != nil {
		return err
	}
	return r.RecordHeartbeats(ctx, []scoreboard.Heartbeat{{Shards: 1, Partitions: 1, AsOf: now}})
}

// benchBatches is how many batches of changes are applied in a second.
const benchBatches = 40

// readBeside reads at a rate, in an open loop, while changes are applied: the head, ranks, and
// ranks with neighbours, in turn. It returns their latency in microseconds from the time at
// which each read was due, and how many changes were applied per second.
func readBeside(
	ctx context.Context, r *ranking.Ranking, board *scoreboard.Board, users, rate int, d time.Duration,
) (found []*hdrhistogram.Histogram, changes float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, d+time.Minute)
	defer cancel()
	var failed atomic.Pointer[error]
	fail := func(err error) {
		if err != nil {
			failed.CompareAndSwap(nil, &err)
			cancel()
		}
	}
	var running sync.WaitGroup
	end := time.Now().Add(d)
	applied := 0
	running.Go(func() {
		tick := time.NewTicker(time.Second / benchBatches)
		defer tick.Stop()
		for revision := int64(2); time.Now().Before(end) && ctx.Err() == nil; revision++ {
			changes := make([]scoreboard.Change, rate/benchBatches)
			for i := range changes {
				changes[i] = benchChange(board, rand.IntN(users), revision)
			}
			_, err := r.Apply(ctx, changes)
			fail(err)
			applied += len(changes)
			<-tick.C
		}
	})
	found = make([]*hdrhistogram.Histogram, 3)
	var mu sync.Mutex
	for i := range found {
		found[i] = hdrhistogram.New(1, time.Minute.Microseconds(), 3)
	}
	var next atomic.Int64
	start := time.Now()
	for range 64 {
		running.Go(func() {
			for ctx.Err() == nil {
				i := next.Add(1) - 1
				due := start.Add(time.Duration(i) * time.Second / time.Duration(rate))
				if due.After(end) {
					return
				}
				time.Sleep(time.Until(due))
				user := scoreboard.UserID("user-" + strconv.Itoa(rand.IntN(users)))
				var err error
				switch i % 3 {
				case 0:
					_, err = r.Top(ctx, board)
				case 1:
					_, err = r.Place(ctx, board, user, 0)
				case 2:
					_, err = r.Place(ctx, board, user, 5)
				}
				took := time.Since(due)
				fail(err)
				mu.Lock()
				_ = found[i%3].RecordValue(max(took.Microseconds(), 1)) // a minute at most
				mu.Unlock()
			}
		})
	}
	running.Wait()
	if err := failed.Load(); err != nil {
		return nil, 0, *err
	}
	return found, float64(applied) / d.Seconds(), nil
}

// startCluster starts a cluster of servers without replicas, and returns its URL, too.
func startCluster(
	ctx context.Context, dir string, servers int,
) (_ *redis.ClusterClient, url string, end func(), err error) {
	const slots, password = 16384, "bench"
	var nodes []*devstack.Redis
	var clients []*redis.Client
	var addresses []string
	stop := func() {
		for _, c := range clients {
			_ = c.Close()
		}
		for _, n := range nodes {
			_ = n.Stop(context.WithoutCancel(ctx))
		}
	}
	fail := func(err error) (*redis.ClusterClient, string, func(), error) {
		stop()
		return nil, "", nil, fmt.Errorf("start a cluster: %w", err)
	}
	buses := make([]int, servers)
	for i := range servers {
		var err error
		if buses[i], err = process.FreePort(ctx); err != nil {
			return fail(err)
		}
		n, err := devstack.StartRedis(ctx, devstack.RedisOptions{
			Dir: filepath.Join(dir, strconv.Itoa(i)), Password: password,
			Config: []string{"cluster-enabled yes", "cluster-port " + strconv.Itoa(buses[i])},
		})
		if err != nil {
			return fail(err)
		}
		nodes = append(nodes, n)
		addresses = append(addresses, "127.0.0.1:"+strconv.Itoa(n.Port))
		c := redis.NewClient(&redis.Options{Addr: addresses[i], Password: password})
		clients = append(clients, c)
		if err := c.ClusterAddSlotsRange(ctx, i*slots/servers, (i+1)*slots/servers-1).Err(); err != nil {
			return fail(err)
		}
		if err := c.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err(); err != nil {
			return fail(err)
		}
		if err := clients[0].Do(ctx, "CLUSTER", "MEET", "127.0.0.1", n.Port, buses[i]).Err(); i > 0 && err != nil {
			return fail(err)
		}
	}
	for _, c := range clients {
		for {
			known, err := c.ClusterInfo(ctx).Result()
			if err != nil {
				return fail(err)
			}
			if strings.Contains(known, "cluster_state:ok") &&
				strings.Contains(known, "cluster_known_nodes:"+strconv.Itoa(servers)+"\r") {
				break
			}
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
				return fail(ctx.Err())
			}
		}
	}
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addresses, Password: password})
	return rdb, "redis+cluster://:" + password + "@" + strings.Join(addresses, ","), func() {
		_ = rdb.Close()
		stop()
	}, nil
}
