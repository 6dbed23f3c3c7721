package server_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/health"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// link is one node's way to a backend, which a test can cut.
type link struct {
	t      testing.TB
	to     string
	addr   string
	mu     sync.Mutex
	listen net.Listener // nil while it is cut
	conns  map[net.Conn]bool
	work   sync.WaitGroup
}

func newLink(t testing.TB, to string) *link {
	t.Helper()
	l := &link{t: t, to: to, addr: "127.0.0.1:0", conns: make(map[net.Conn]bool)}
	l.heal()
	t.Cleanup(func() {
		l.cut()
		l.work.Wait()
	})
	return l
}

// url is that of the backend, over the link.
func (l *link) url(of string) string {
	u, err := url.Parse(of)
	if err != nil {
		l.t.Fatal(err)
	}
	u.Host = l.addr
	return u.String()
}

func (l *link) heal() {
	listener, err := (&net.ListenConfig{}).Listen(l.t.Context(), "tcp", l.addr)
	if err != nil {
		l.t.Fatal(err)
	}
	l.mu.Lock()
	l.listen, l.addr = listener, listener.Addr().String()
	l.mu.Unlock()
	l.work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			l.work.Go(func() { l.pass(conn) })
		}
	})
}

func (l *link) pass(in net.Conn) {
	defer func() { _ = in.Close() }()
	out, err := (&net.Dialer{}).DialContext(l.t.Context(), "tcp", l.to)
	if err != nil {
		return
	}
	defer func() { _ = out.Close() }()
	l.mu.Lock()
	whole := l.listen != nil
	l.conns[in], l.conns[out] = true, true
	l.mu.Unlock()
	if !whole {
		return
	}
	var both sync.WaitGroup
	for from, to := range map[net.Conn]net.Conn{in: out, out: in} {
		both.Go(func() {
			_, _ = io.Copy(to, from) // until either end closes
			_, _ = to.Close(), from.Close()
		})
	}
	both.Wait()
}

func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listen != nil {
		_ = l.listen.Close()
	}
	l.listen = nil
	for conn := range l.conns {
		_ = conn.Close()
	}
	clear(l.conns)
}

// pair is two nodes, each with links of its own to the backends.
type pair struct {
	*harness
	nodes [2]*node
	links [2]map[string]*link
}

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{harness: newHarness(t)}
	brokers, _ := p.useKafka()
	hosts := map[string]string{"postgres": hostIn(t, p.postgres), "redis": hostIn(t, p.redis.URL), "kafka": brokers[0]}
	for i := range p.nodes {
		p.links[i] = make(map[string]*link)
		for backend, host := range hosts {
			p.links[i][backend] = newLink(t, host)
		}
		p.nodes[i] = p.start("api,gateway", "kafka-brokers", p.links[i]["kafka"].addr,
			"postgres-url", p.links[i]["postgres"].url(p.postgres), "redis-url", p.links[i]["redis"].url(p.redis.URL))
	}
	return p
}

func hostIn(t *testing.T, of string) string {
	t.Helper()
	u, err := url.Parse(of)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

func (p *pair) ready(i int) (int, string) { return p.get(p.t, p.nodes[i].Ops+"/readyz", nil) }

// An orchestrator takes away the one node that has lost a backend, and none if all have.
func TestOutageOfOneNodeAndOfAll(t *testing.T) {
	t.Parallel()
	for _, backend := range []string{"postgres", "redis", "kafka"} {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			p := newPair(t)
			p.links[0][backend].cut()
			p.await("the node that has lost it to leave", func() bool {
				if status, body := p.ready(1); status != http.StatusOK {
					t.Fatalf("the other node: got %d %s, want it ready", status, body)
				}
				status, body := p.ready(0)
				return status == http.StatusServiceUnavailable && strings.Contains(body, " reaches "+backend)
			})
			p.links[0][backend].heal()
			p.await("it to be back", func() bool {
				status, body := p.ready(0)
				return status == http.StatusOK && !strings.Contains(body, "does not answer")
			})
			p.links[0][backend].cut()
			p.links[1][backend].cut()
			p.stay(t, backend)
		})
	}
}

// stay checks that both nodes are ready without a backend, for longer than their reports
// from before count, and that they say that it is down.
func (p *pair) stay(t *testing.T, backend string) {
	t.Helper()
	for end := time.Now().Add(12 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		for i := range p.nodes {
			if status, body := p.ready(i); status != http.StatusOK || !strings.Contains(body, `"`+backend+`":"`) {
				t.Fatalf("node %d: got %d %s, want it ready without %s", i, status, body, backend)
			}
		}
	}
	for i, n := range p.nodes {
		_, body := p.ready(i)
		_, _, metrics := request(t, http.MethodGet, n.Ops+"/metrics", "", nil)
		down := fmt.Sprintf("scoreboard_backend_up{backend=%q} 0\n", backend)
		if !strings.Contains(body, `"`+backend+`":"does not answer"`) || !strings.Contains(metrics, down) {
			t.Errorf("node %d: /readyz says %s, and its metrics do not say %s", i, body, down)
		}
	}
}

// Nodes that can neither read nor write leave, also if all of them do.
func TestNothingCanBeServed(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	for i := range p.nodes {
		p.links[i]["postgres"].cut()
		p.links[i]["redis"].cut()
	}
	for i := range p.nodes {
		status, body := p.ready(i)
		if status != http.StatusServiceUnavailable || !strings.Contains(body, "no role can serve a request") {
			t.Errorf("node %d: got %d %s, want that it can serve nothing", i, status, body)
		}
	}
}

// Redis keeps the last report of each node for a minute.
func TestReportsInRedis(t *testing.T) {
	t.Parallel()
	backends.EachRedis(t, func(t *testing.T, url string) {
		rdb := backends.RedisClient(t, url)
		rdb.HSet(t.Context(), "sb:nodes", "gone", `1700000000 {"node":"gone","sequence":1}`, "strange", "nonsense")
		reports := health.NewRedisReports(rdb)
		exchange := func(own *scoreboard.NodeReport, want string) {
			t.Helper()
			all, err := reports.Exchange(t.Context(), own)
			if got := fmt.Sprint(all); err != nil || got != want {
				t.Errorf("got %s, %v, want %s", got, err, want)
			}
		}
		a := &scoreboard.NodeReport{Node: "a", Roles: []string{"api"}, Reaches: []string{"kafka", "redis"}, Sequence: 1}
		exchange(a, "[{a [api] [kafka redis] 1}]")
		a.Sequence = 2
		exchange(a, "[{a [api] [kafka redis] 2}]")
		exchange(nil, "[{a [api] [kafka redis] 2}]")
		if n := rdb.HLen(t.Context(), "sb:nodes").Val(); n != 1 {
			t.Errorf("%d reports are kept, want that of a", n)
		}
	})
}
