package server_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// replicated is a node that writes, and one that reads replicas.
type replicated struct {
	*harness
	primary, standby *backends.PostgresServer
	replica          *backends.RedisServer
	replay           *pgx.Conn // to the standby, as its owner
	rdb              *redis.Client
	reads            *node
	game             *client.Client // writes
	reader           *client.Client // reads from the node with replicas
}

func newReplicated(t *testing.T) *replicated {
	t.Helper()
	r := &replicated{harness: newHarness(t), primary: backends.OwnPostgres(t, migrations.Up)}
	r.postgres = r.primary.URL
	r.standby, r.replica = r.primary.Standby(), r.redis.Replica()
	r.rdb = backends.RedisClient(t, r.replica.URL)
	var err error
	if r.replay, err = pgx.Connect(t.Context(), backends.Owner(r.standby.URL)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.replay.Close(t.Context()) })
	r.game = r.start(allRoles).client("game", auth.ScopeUpdate+" "+auth.ScopeAdmin)
	r.reads = r.start("read", "postgres-replica-url", r.standby.URL, "redis-replica-url", r.replica.URL)
	r.reader = r.reads.client("reader", auth.ScopeUpdate+" "+auth.ScopeAdmin)
	r.add("alice")
	r.awaitUsable("redis", true)
	r.awaitUsable("postgres", true)
	return r
}

// add records a point for a user and returns the version of its score.
func (r *replicated) add(user string) int64 {
	r.t.Helper()
	receipt, err := r.game.Submit(r.t.Context(), client.Increment{User: user, Delta: 1})
	if err != nil {
		r.t.Fatal(err)
	}
	return receipt.Version
}

// metric is the value of a series in the metrics of the node with replicas; 0 if absent.
func (r *replicated) metric(series string) float64 {
	r.t.Helper()
	_, _, body := request(r.t, http.MethodGet, r.reads.Ops+"/metrics", "", nil)
	for line := range strings.Lines(body) {
		if value, found := strings.CutPrefix(line, series+" "); found {
			v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				r.t.Fatal(err)
			}
			return v
		}
	}
	return 0
}

func (r *replicated) readsBy(backend, by string) float64 {
	r.t.Helper()
	return r.metric(fmt.Sprintf(`scoreboard_replica_reads_total{backend=%q,by=%q}`, backend, by))
}

func (r *replicated) awaitUsable(backend string, usable bool) {
	r.t.Helper()
	r.await(fmt.Sprintf("the replica of %s to be usable: %t", backend, usable), func() bool {
		return (r.metric(fmt.Sprintf(`scoreboard_replica_usable{backend=%q}`, backend)) == 1) == usable
	})
}

// cutOff disconnects the replica of Redis from its primary. It keeps its data.
func (r *replicated) cutOff() { r.follow("127.0.0.1", "1") }

// reconnect has the replica of Redis follow its primary again.
func (r *replicated) reconnect() { r.follow("127.0.0.1", strconv.Itoa(r.redis.Port)) }

func (r *replicated) follow(host, port string) {
	r.t.Helper()
	if err := r.rdb.Do(r.t.Context(), "replicaof", host, port).Err(); err != nil {
		r.t.Fatal(err)
	}
}

func (r *replicated) onStandby(query string) {
	r.t.Helper()
	if _, err := r.replay.Exec(r.t.Context(), query); err != nil {
		r.t.Fatal(query, err)
	}
}

func (r *replicated) score(user string, minVersion int64) client.Place {
	r.t.Helper()
	p, err := r.reader.Score(r.t.Context(), user, client.PlaceQuery{MinVersion: minVersion})
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

// awaitScore waits until the node with replicas has a score for a user.
func (r *replicated) awaitScore(user string, score int64) (p client.Place) {
	r.t.Helper()
	r.await(fmt.Sprintf("%s to have %d", user, score), func() bool {
		p = r.score(user, 0)
		return p.Score == score
	})
	return p
}

func TestReadsComeFromReplicas(t *testing.T) {
	t.Parallel()
	r := newReplicated(t)
	r.add("bob")
	r.await("the ranking of the replica to have bob", func() bool { // before, PostgreSQL answers: not_ranked_yet
		p := r.score("bob", 0)
		return p.Score == 1 && !p.Degraded
	})
	r.await("the top of the replica to have both", func() bool {
		top, err := r.reader.Top(t.Context(), client.TopQuery{})
		return err == nil && !top.Degraded && len(top.Entries) == 2
	})
	if by := r.readsBy("redis", "replica"); by == 0 {
		t.Error("no read came from the replica of Redis")
	}
	// The statement and the past come from PostgreSQL's.
	r.await("the statement to include the event", func() bool {
		st, err := r.reader.Statement(t.Context(), "bob", client.StatementQuery{})
		if err != nil && !strings.Contains(err.Error(), "no score") {
			t.Fatal(err)
		}
		return err == nil && len(st.Entries) == 1 && st.AsOf != nil && st.AsOf.After(st.Entries[0].RecordedAt)
	})
	at := time.Now()
	r.await("the standings of a moment to be settled", func() bool {
		top, err := r.reader.Top(t.Context(), client.TopQuery{At: at})
		return err == nil && len(top.Entries) == 2
	})
	if by := r.readsBy("postgres", "replica"); by == 0 {
		t.Error("no read came from the replica of PostgreSQL")
	}
	if p, err := r.reader.Score(t.Context(), "nobody", client.PlaceQuery{}); err == nil {
		t.Errorf("got %+v for a user without a score", p)
	}
}

func TestNodesThatWriteReadNoReplica(t *testing.T) {
	t.Parallel()
	r := newReplicated(t)
	for _, roles := range []string{allRoles, "read,gateway"} {
		r.reads = r.start(roles, "postgres-replica-url", r.standby.URL, "redis-replica-url", r.replica.URL)
		r.awaitUsable("redis", true) // it is watched, for doctor and metrics
		c := r.reads.client("game", auth.ScopeUpdate+" "+auth.ScopeAdmin)
		for range 10 {
			if _, err := c.Score(t.Context(), "alice", client.PlaceQuery{}); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Statement(t.Context(), "alice", client.StatementQuery{}); err != nil {
				t.Fatal(err)
			}
		}
		if n := r.readsBy("redis", "replica") + r.readsBy("postgres", "replica"); n != 0 {
			t.Errorf("roles %s: %v reads came from replicas", roles, n)
		}
	}
}

func TestMinVersionWithACutOffReplica(t *testing.T) {
	t.Parallel()
	r := newReplicated(t)
	r.awaitScore("alice", 1)
	r.cutOff()
	r.onStandby(`select pg_wal_replay_pause()`)
	for range 3 {
		version := r.add("alice")
		if p := r.score("alice", version); p.Score < version {
			t.Fatalf("got the score %d, want that of version %d: %+v", p.Score, version, p)
		}
	}
	// A new user is in no replica.
	version := r.add("carol")
	if p := r.score("carol", version); p.Score != version {
		t.Errorf("got %+v, want the score of the first event", p)
	}
	if p := r.score("carol", 0); p.Score != version {
		t.Errorf("got %+v for a user whom no replica has", p)
	}
}

func TestReplicaOfRedisCutOff(t *testing.T) {
	t.Parallel()
	r := newReplicated(t)
	r.await("the replica to have alice", func() bool { // before, PostgreSQL answers: not_ranked_yet
		p := r.score("alice", 0)
		return p.Score == 1 && !p.Degraded
	})
	r.cutOff()
	r.add("alice")
	// While the primary answers, it is read once the replica is too far behind.
	r.awaitUsable("redis", false)
	if p := r.awaitScore("alice", 2); p.Degraded {
		t.Errorf("got %+v, want the answer of the primary", p)
	}
	// Without the primary, the replica answers and says that it is behind.
	r.redis.Stop()
	var p client.Place
	var err error
	defer func() { t.Logf("the last answer without the primary: %+v, %v", p, err) }()
	r.await("the replica to answer", func() (ok bool) {
		p, err = r.reader.Score(t.Context(), "alice", client.PlaceQuery{})
		return err == nil && p.DegradedReason == "replica_behind"
	})
	if p.Score != 1 || !p.Degraded || p.Version != nil || time.Since(p.AsOf) < 5*time.Second {
		t.Errorf("got %+v, want what the replica had when it was cut off", p)
	}
	if r.readsBy("redis", "behind") == 0 {
		t.Error("the metric does not count reads of a replica that is behind")
	}
	r.redis.Start()
	r.reconnect()
	r.awaitUsable("redis", true)
	r.await("the answer to be healthy again", func() bool {
		p, err := r.reader.Score(t.Context(), "alice", client.PlaceQuery{})
		return err == nil && !p.Degraded && p.Score == 2
	})
}

func TestReplicaOfPostgresPaused(t *testing.T) {
	t.Parallel()
	r := newReplicated(t)
	r.awaitScore("alice", 1)
	r.redis.Stop()
	r.replica.Stop() // reads fall back to PostgreSQL
	r.await("the fallback to answer", func() bool {
		p, err := r.reader.Score(t.Context(), "alice", client.PlaceQuery{})
		return err == nil && p.Degraded && r.readsBy("postgres", "replica") > 0
	})
	settled := time.Now()
	r.await("the moment to be settled on the replica", func() bool {
		var done bool
		err := r.replay.QueryRow(t.Context(), `select as_of > $1 from standings_state`, settled).Scan(&done)
		return err == nil && done
	})
	r.onStandby(`select pg_wal_replay_pause()`)
	version := r.add("alice")
	if p := r.score("alice", version); p.Score != version {
		t.Errorf("got %+v, want version %d", p, version)
	}
	r.awaitUsable("postgres", false)
	r.awaitScore("alice", 2) // of the primary
	r.primary.Stop()
	r.await("the paused replica to say that it is behind", func() bool {
		p, err := r.reader.Score(t.Context(), "alice", client.PlaceQuery{})
		return err == nil && p.Degraded && p.Score == 1 && time.Since(p.AsOf) > 5*time.Second
	})
	r.pastOfReplicaBehind(settled)
	r.primary.Start()
	r.onStandby(`select pg_wal_replay_resume()`)
	r.awaitUsable("postgres", true)
	r.awaitScore("alice", 2)
}

// pastOfReplicaBehind reads past standings while only a replica that is behind can answer. Who
// was hidden since may be in them, so they say it; what cannot say it is not answered.
func (r *replicated) pastOfReplicaBehind(at time.Time) {
	r.t.Helper()
	ctx := r.t.Context()
	p, err := r.reader.Score(ctx, "alice", client.PlaceQuery{At: at})
	if err != nil || p.Score != 1 || p.DegradedReason != "replica_behind" {
		r.t.Errorf("standing of the past: got %+v, %v", p, err)
	}
	top, err := r.reader.Top(ctx, client.TopQuery{At: at})
	if err != nil || len(top.Entries) != 1 || top.DegradedReason != "replica_behind" {
		r.t.Errorf("top of the past: got %+v, %v", top, err)
	}
	if _, err := r.reader.RankHistory(ctx, "alice", client.HistoryQuery{From: at, To: at}); err == nil {
		r.t.Error("a rank history came from the replica without a mark")
	}
	if _, err := r.reader.Timeline(ctx, client.TimelineQuery{From: at, To: at}); err == nil {
		r.t.Error("a timeline came from the replica without a mark")
	}
	st, err := r.reader.Statement(ctx, "alice", client.StatementQuery{})
	if err != nil || len(st.Entries) != 1 || st.AsOf == nil || time.Since(*st.AsOf) < 5*time.Second {
		r.t.Errorf("statement: got %+v, %v", st, err)
	}
}

func TestPromotedReplicaIsNotRead(t *testing.T) {
	t.Parallel()
	r := newReplicated(t)
	r.awaitScore("alice", 1)
	r.onStandby(`select pg_promote()`)
	if err := r.rdb.Do(t.Context(), "replicaof", "no", "one").Err(); err != nil {
		t.Fatal(err)
	}
	r.awaitUsable("postgres", false)
	r.awaitUsable("redis", false)
	// What is written to them now is no truth.
	r.onStandby(`update user_score_histories set new_score = 99`)
	keys, err := r.rdb.Keys(t.Context(), "sb:{global}:*").Result()
	if err != nil || len(keys) == 0 {
		t.Fatal(keys, err)
	}
	if err := r.rdb.Del(t.Context(), keys...).Err(); err != nil {
		t.Fatal(err)
	}
	before := r.readsBy("redis", "replica") + r.readsBy("postgres", "replica")
	for range 10 {
		if p := r.score("alice", 0); p.Score != 1 || p.Degraded {
			t.Fatalf("got %+v, want the answer of the primary", p)
		}
		st, err := r.reader.Statement(t.Context(), "alice", client.StatementQuery{})
		if err != nil || len(st.Entries) != 1 || st.Entries[0].NewScore != 1 {
			t.Fatalf("got %+v, %v, want the statement of the primary", st, err)
		}
	}
	if after := r.readsBy("redis", "replica") + r.readsBy("postgres", "replica"); after != before {
		t.Errorf("%v reads came from promoted replicas", after-before)
	}
}

func TestReplicaOfAnotherDatabaseIsNotRead(t *testing.T) {
	t.Parallel()
	r, other := newReplicated(t), newReplicated(t)
	n := r.start("read", "postgres-replica-url", other.standby.URL, "redis-replica-url", other.replica.URL)
	r.reads, r.reader = n, n.client("reader", auth.ScopeUpdate)
	r.await("the replicas to be compared", func() bool {
		return r.metric(`scoreboard_replica_behind_seconds{backend="postgres"}`) >= 0 &&
			strings.Contains(n.Log(), "history") && strings.Count(n.Log(), "replica not read") >= 2
	})
	other.add("mallory")
	if p := r.awaitScore("alice", 1); p.Degraded {
		t.Errorf("got %+v", p)
	}
	if n := r.readsBy("redis", "replica") + r.readsBy("postgres", "replica"); n != 0 {
		t.Errorf("%v reads came from another installation", n)
	}
}

// TestReplicaReadsAreHonest pauses both replicas at random while users write and read: no
// read is older than min_version asks for, and none lacks what was acknowledged before its
// as_of, unless it says so.
func TestReplicaReadsAreHonest(t *testing.T) {
	t.Parallel()
	r := newReplicated(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	end := time.Now().Add(12 * time.Second)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() { r.writeAndRead(fmt.Sprintf("user-%d", i), end) })
	}
	for time.Now().Before(end) {
		switch random.IntN(4) {
		case 0:
			r.cutOff()
		case 1:
			r.reconnect()
		case 2:
			r.onStandby(`select pg_wal_replay_pause()`)
		case 3:
			r.onStandby(`select pg_wal_replay_resume()`)
		}
		time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond)
	}
	all.Wait()
	if r.readsBy("redis", "replica") == 0 || r.readsBy("postgres", "replica") == 0 {
		t.Error("no read came from a replica: the test shows nothing")
	}
}

// writeAndRead has one user write and read until end.
func (r *replicated) writeAndRead(user string, end time.Time) {
	var acknowledged []time.Time // of version i+1
	included := func(asOf time.Time) (n int64) {
		for _, at := range acknowledged {
			if !at.After(asOf) {
				n++
			}
		}
		return n
	}
	for time.Now().Before(end) {
		receipt, err := r.game.Submit(r.t.Context(), client.Increment{User: user, Delta: 1})
		if err != nil {
			r.t.Error(err)
			return
		}
		acknowledged = append(acknowledged, time.Now())
		version := receipt.Version
		p, err := r.reader.Score(r.t.Context(), user, client.PlaceQuery{MinVersion: version})
		if err != nil || p.Score < version {
			r.t.Errorf("min_version %d: got the score %d of %+v, %v", version, p.Score, p, err)
		}
		for range 3 {
			p, err = r.reader.Score(r.t.Context(), user, client.PlaceQuery{})
			if err != nil || p.Score < included(p.AsOf) {
				r.t.Errorf("as of %s: got the score %d, want %d: %+v, %v", p.AsOf, p.Score, included(p.AsOf), p, err)
			}
			at := acknowledged[len(acknowledged)-1]
			p, err = r.reader.Score(r.t.Context(), user, client.PlaceQuery{At: at})
			if err != nil && wire.CodeOf(err) != wire.CodeNotSettled || err == nil && p.Score != version {
				r.t.Errorf("at %s: got the score %d, want %d: %v", at, p.Score, version, err)
			}
			st, err := r.reader.Statement(r.t.Context(), user, client.StatementQuery{Limit: 1})
			switch {
			case err != nil && !strings.Contains(err.Error(), "no score"):
				r.t.Error(err)
			case err != nil || len(st.Entries) == 0:
			case st.AsOf != nil && st.Entries[0].Version < included(*st.AsOf):
				r.t.Errorf("statement as of %s: got %+v, want version %d", st.AsOf, st.Entries, included(*st.AsOf))
			case st.AsOf == nil && st.Entries[0].Version < version:
				r.t.Errorf("statement of the primary: version %d, want %d", st.Entries[0].Version, version)
			}
		}
	}
}
