package server_test

import (
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// name stands for several servers: each connection is to the next of them, as if the name had
// several addresses.
type name struct {
	address string
	gate    sync.RWMutex // held while nothing is answered
}

// gated waits for a gate before each write.
type gated struct {
	io.Writer
	gate *sync.RWMutex
}

func (g gated) Write(b []byte) (int, error) {
	g.gate.RLock()
	defer g.gate.RUnlock()
	return g.Writer.Write(b)
}

// of returns a URL with the name as its host.
func (n *name) of(t *testing.T, url string) string {
	t.Helper()
	return strings.Replace(url, hostOf(t, url), n.address, 1)
}

// newName returns a name of servers, until the test ends.
func newName(t *testing.T, servers ...string) *name {
	t.Helper()
	n := &name{}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	forward := func(from net.Conn, to string) {
		defer func() { _ = from.Close() }()
		server, err := new(net.Dialer).DialContext(t.Context(), "tcp", to)
		if err != nil {
			return
		}
		defer func() { _ = server.Close() }()
		all.Go(func() {
			_, _ = io.Copy(server, from)
			_ = server.Close()
		})
		_, _ = io.Copy(gated{from, &n.gate}, server)
	}
	all.Go(func() {
		for i := 0; ; i++ {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { forward(conn, servers[i%len(servers)]) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		all.Wait()
	})
	n.address = listener.Addr().String()
	return n
}

func hostOf(t *testing.T, text string) string {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

// TestPromotedServerBehindOneName has a host name lead to a replica and to a server that was
// promoted, whose data say of themselves that they are current. Whichever of them was compared
// last: what the promoted one has is in no answer.
func TestPromotedServerBehindOneName(t *testing.T) {
	t.Parallel()
	r := &replicated{harness: newHarness(t), primary: backends.OwnPostgres(t, migrations.Up)}
	r.postgres = r.primary.URL
	r.standby = r.primary.Standby()
	promoted := r.primary.Standby()
	r.game = r.start(allRoles).client("game", auth.ScopeUpdate+" "+auth.ScopeAdmin)
	r.add("alice")
	other, err := pgx.Connect(t.Context(), backends.Owner(promoted.URL))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close(t.Context()) })
	r.await("the other server to have the standing", func() (has bool) {
		if err := other.QueryRow(t.Context(), `select exists (select from standings)`).Scan(&has); err != nil {
			t.Fatal(err)
		}
		return has
	})
	for _, query := range []string{
		`select pg_promote()`, `update user_score_histories set new_score = 99`,
		`update scores set score = 99, order_key = -99`,
		`update standings set order_key = -99`, `update standings_state set as_of = now() + interval '1 hour'`,
	} {
		if _, err := other.Exec(t.Context(), query); err != nil {
			t.Fatal(query, err)
		}
	}
	both := newName(t, hostOf(t, r.standby.URL), hostOf(t, promoted.URL)).of(t, r.standby.URL)
	r.reads = r.start("read", "postgres-replica-url", both, "reads-user-cache", "0s")
	r.reader = r.reads.client("reader", auth.ScopeUpdate+" "+auth.ScopeAdmin)
	r.redis.Stop() // so that PostgreSQL answers all
	at := time.Now()
	r.await("the moment to be settled", func() bool {
		_, err := r.reader.Top(t.Context(), client.TopQuery{At: at})
		return err == nil
	})

	end := time.Now().Add(8 * time.Second)
	var read atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for time.Now().Before(end) {
				r.readAt(at, 1)
				read.Add(1)
			}
		})
	}
	all.Wait()
	t.Logf("%d rounds, %v reads by the replica, %v by the primary", read.Load(),
		r.readsBy("postgres", "replica"), r.readsBy("postgres", "primary"))
	if r.readsBy("postgres", "replica") == 0 {
		t.Error("no read came from the replica: the test shows nothing")
	}
}

// readAt reads alice's score in every way that a replica of PostgreSQL answers.
func (r *replicated) readAt(at time.Time, want int64) {
	ctx := r.t.Context()
	check := func(what string, got int64, err error) {
		if err == nil && got != want {
			r.t.Errorf("%s: got the score %d, want %d", what, got, want)
		}
		if err != nil && !strings.Contains(err.Error(), "too many reads") {
			r.t.Errorf("%s: %v", what, err)
		}
	}
	p, err := r.reader.Score(ctx, "alice", client.PlaceQuery{})
	check("standing", p.Score, err)
	p, err = r.reader.Score(ctx, "alice", client.PlaceQuery{At: at})
	check("standing of the past", p.Score, err)
	top, err := r.reader.Top(ctx, client.TopQuery{At: at})
	var first int64
	if err == nil && len(top.Entries) > 0 {
		first = top.Entries[0].Score
	}
	check("top of the past", first, err)
	st, err := r.reader.Statement(ctx, "alice", client.StatementQuery{})
	first = 0
	if err == nil && len(st.Entries) > 0 {
		first = st.Entries[0].NewScore
	}
	check("statement", first, err)
	h, err := r.reader.RankHistory(ctx, "alice", client.HistoryQuery{From: at, To: at})
	first = 0
	if err == nil && len(h.Points) > 0 && h.Points[0].Score != nil {
		first = *h.Points[0].Score
	}
	check("history", first, err)
}
