package streams_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/streams"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/transporttest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// tap sees what a client sends to Redis and receives.
type tap struct {
	net.Conn
	before func(request []byte)              // it is sent
	cut    func(request, answer []byte) bool // the connection, instead of passing the answer on
	last   []byte                            // request
}

func (c *tap) Write(b []byte) (int, error) {
	c.last = bytes.ToLower(slices.Clone(b))
	if c.before != nil {
		c.before(c.last)
	}
	return c.Conn.Write(b)
}

func (c *tap) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == nil && c.cut != nil && c.cut(c.last, b[:n]) {
		_ = c.Close()
		return 0, io.EOF
	}
	return n, err
}

// tapped is a client of a server whose connections are tapped.
func tapped(t *testing.T, url string, with tap) *redis.Client {
	t.Helper()
	return backends.RedisClient(t, url, func(o *redis.Options) {
		o.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			return &tap{Conn: conn, before: with.before, cut: with.cut}, err
		}
	})
}

// isRead reports whether a request may read new entries of a group.
func isRead(request []byte) bool {
	return bytes.Contains(request, []byte("eval")) || bytes.Contains(request, []byte("xreadgroup"))
}

// values collects the values of records in the order in which they are handled.
type values struct {
	mu  sync.Mutex
	all []string
}

func (v *values) handle(_ context.Context, records []scoreboard.Record) (map[int]int64, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range records {
		v.all = append(v.all, string(records[i].Value))
	}
	return nil, nil
}

// inOrder waits until the values 0 to n-1 have been handled, and requires their order.
func (v *values) inOrder(t *testing.T, n int) {
	t.Helper()
	transporttest.Until(t, "all values handled", func() bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		return len(v.all) >= n
	})
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, value := range v.all {
		if value != strconv.Itoa(i) {
			t.Fatalf("handled in the order %v", v.all)
		}
	}
}

// queueOf opens one stream, which holds a group.
func queueOf(t *testing.T, rdb *redis.Client) *streams.Transport {
	t.Helper()
	s := streams.New(streams.Options{Name: "small", Group: "group", Shards: 1, Length: 100, Batch: 2}, rdb)
	if err := s.Consumer(transporttest.Quiet).CreateGroups(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func produce(t *testing.T, s *streams.Transport, value int) {
	t.Helper()
	if n, err := s.Produce(t.Context(), message("alice", strconv.Itoa(value))); n != 1 || err != nil {
		t.Fatalf("produced %d (%v)", n, err)
	}
}

// The answer to a read is lost with its connection, and the client repeats the command by
// itself. The entries of the lost answer still come before later ones: a heartbeat that
// overtook them would claim what the ranking does not have.
func TestLostAnswerKeepsOrder(t *testing.T) {
	t.Parallel()
	url := backends.Redis(t)
	var lost atomic.Int64
	cut := func(request, answer []byte) bool {
		return isRead(request) && bytes.Contains(answer, []byte("alice")) && lost.Add(1) == 2
	}
	straight := queueOf(t, backends.RedisClient(t, url))
	got := new(values)
	transporttest.Consume(t, queueOf(t, tapped(t, url, tap{cut: cut})).Consumer(transporttest.Quiet), got.handle)
	produce(t, straight, 0)
	got.inOrder(t, 1)
	for i := 1; i < 6; i++ { // more than one batch
		produce(t, straight, i)
	}
	got.inOrder(t, 6)
	if lost.Load() < 2 {
		t.Error("no answer was lost")
	}
}

// A reader stalls between taking its lease and reading, until another has the lease. What it
// reads then would wait for a search for entries of dead members, while its successor
// handles later ones.
func TestFormerReaderReadsNothing(t *testing.T) {
	t.Parallel()
	url := backends.Redis(t)
	straight := queueOf(t, backends.RedisClient(t, url))
	stalled, goOn := make(chan struct{}), make(chan struct{})
	var armed atomic.Bool
	stall := func(request []byte) {
		read := bytes.Contains(request, []byte("xreadgroup")) || bytes.Contains(request, []byte(streams.ReadHash))
		if read && armed.CompareAndSwap(true, false) {
			close(stalled)
			<-goOn
		}
	}
	var got, late values
	armed.Store(true)
	stopFormer := transporttest.Consume(t,
		queueOf(t, tapped(t, url, tap{before: stall})).Consumer(transporttest.Quiet), late.handle)
	<-stalled
	transporttest.Consume(t, straight.Consumer(transporttest.Quiet), got.handle)
	produce(t, straight, 0)
	got.inOrder(t, 1)
	for i := 1; i < 40; i++ {
		if i == 10 {
			close(goOn)
		}
		produce(t, straight, i)
	}
	got.inOrder(t, 40)
	stopFormer()
	if len(late.all) > 0 {
		t.Errorf("the former reader handled %v", late.all)
	}
}

// A member that has no entries reads some at the moment at which it is to be removed. They
// stay pending, and are handled.
func TestLateReadIsKept(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), backends.Redis(t)
	rdb := backends.RedisClient(t, url)
	straight := queueOf(t, rdb)
	if err := rdb.XGroupCreateConsumer(ctx, "{small}:0", "group", "former").Err(); err != nil {
		t.Fatal(err)
	}
	var read atomic.Bool
	before := func(request []byte) {
		if !bytes.Contains(request, []byte("delconsumer")) && !bytes.Contains(request, []byte(streams.TidyHash)) ||
			!read.CompareAndSwap(false, true) {
			return
		}
		if n, err := straight.Produce(ctx, message("alice", "0")); n != 1 || err != nil {
			t.Errorf("produced %d (%v)", n, err)
		}
		err := rdb.XReadGroup(ctx, &redis.XReadGroupArgs{
			Group: "group", Consumer: "former", Streams: []string{"{small}:0", ">"}, Block: -1,
		}).Err()
		if err != nil && !errors.Is(err, redis.Nil) {
			t.Error(err)
		}
	}
	got := new(values)
	stop := transporttest.Consume(t,
		queueOf(t, tapped(t, url, tap{before: before})).Consumer(transporttest.Quiet), got.handle)
	transporttest.Until(t, "a late read", read.Load)
	stop()
	transporttest.Consume(t, straight.Consumer(transporttest.Quiet), got.handle)
	got.inOrder(t, 1)
	transporttest.Until(t, "the member to be removed", func() bool {
		return len(rdb.XInfoConsumers(ctx, "{small}:0", "group").Val()) <= 1
	})
}
