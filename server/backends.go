package server

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/metric"
	"github.com/scoreboard/scoreboard/internal/redisurl"
	"github.com/scoreboard/scoreboard/internal/tlsfiles"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/leaderboard"
	"github.com/scoreboard/scoreboard/server/pipeline/transport"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/kafka"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/streams"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
	"github.com/scoreboard/scoreboard/server/store/history"
	"github.com/scoreboard/scoreboard/server/upkeep"
)

// Limits that have not needed a setting.
const (
	lockWait         = 100 * time.Millisecond
	statementTimeout = 5 * time.Second
	produceTimeout   = 5 * time.Second
	rejectedAttempts = 5
)

// backends are the clients of PostgreSQL, Redis and Kafka that this process uses.
type backends struct {
	*process
	store     *store.Store
	redis     redis.UniversalClient
	ranking   *ranking.Ranking
	upkeep    *upkeep.Runner // of the work beside requests, under leases
	replicas  replicas
	kafka     *kafka.Client
	producers []*kafka.Producer
	produced  *metric.Calls // by all producers
}

// open opens the clients that the roles need. policy returns the rules of increments in force.
func (b *backends) open(ctx context.Context, policy func() *scoreboard.IngestPolicy) (err error) {
	c := b.config
	if err := c.CheckRequired(); err != nil {
		return err
	}
	var files *tlsfiles.Client
	if c.Postgres.TLS != (config.Files{}) {
		if files, err = b.openFiles("postgres.tls", c.Postgres.TLS); err != nil {
			return err
		}
	}
	b.store, err = store.Open(ctx, store.Options{
		URL: c.Postgres.URL, TLS: files, MaxConns: c.Postgres.MaxConns, LockWait: lockWait, Timeout: statementTimeout,
		Shards: c.Outbox.Shards, Window: c.Ledger.RepeatWindow(), CloseGrace: c.Boards.CloseGrace,
		Describe: c.Postgres.Describe,
		Policy:   policy, Log: b.log,
	})
	if err != nil {
		return err
	}
	if b.redis, err = b.openRedis(); err != nil {
		return err
	}
	b.Register(b.store.Collectors()...)
	b.Register(metric.MeasureRedis(b.redis)...)
	b.ranking = ranking.New(b.redis)
	b.Register(countSetAside(b.ranking, b.log))
	b.upkeep = upkeep.NewRunner(b.name, b.store.Leases, b.log)
	b.Register(b.upkeep.Collectors()...)
	if err := b.openReplicas(ctx, files); err != nil {
		return err
	}
	usesKafka := c.NeedsKafka(c.Transport) || c.Records() || c.UsesTransport() || c.Has(config.RoleMaintenance)
	if len(c.Kafka.Brokers) > 0 && usesKafka {
		return b.openKafka()
	}
	return nil
}

func (b *backends) openKafka() (err error) {
	c := b.config.Kafka
	o := kafka.Options{Brokers: c.Brokers, Timeout: produceTimeout, Compression: c.Compression, Acks: c.Acks}
	if c.UseTLS {
		if o.TLS, err = b.openFiles("kafka.tls", c.TLS); err != nil {
			return err
		}
	}
	if c.SASL != "" {
		if o.SASL, err = kafka.NewSASL(c.SASL, c.SASLUser, c.SASLPassword); err != nil {
			return err
		}
	}
	b.kafka = kafka.New(o)
	return nil
}

// openFiles reads the files for connections to a backend, and has them reloaded.
func (b *backends) openFiles(setting string, files config.Files) (*tlsfiles.Client, error) {
	t, err := tlsfiles.New(setting, tlsfiles.Files(files), b.log)
	if err == nil {
		b.add("files of "+setting, t)
	}
	return t, err
}

func (b *backends) openRedis() (redis.UniversalClient, error) {
	o, err := b.redisOptions("redis.url", b.config.Redis.URL)
	if err != nil {
		return nil, err
	}
	// A blocking read of a stream occupies a connection.
	o.PoolSize += b.config.Streams.Shards * (1 + len(b.config.MirrorFeeds()))
	if b.config.Has(config.RoleIntake) {
		o.PoolSize += queueShards
	}
	o.OnConnect = func(ctx context.Context, conn *redis.Conn) error { return b.ranking.Connected(ctx, conn) }
	return o.Open(), nil
}

func (b *backends) redisOptions(setting, url string) (*redisurl.Options, error) {
	c := b.config
	o, err := redisurl.Parse(url)
	if err != nil {
		return nil, fmt.Errorf("setting %s: %w", setting, err)
	}
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = 500*time.Millisecond, time.Second, time.Second
	if o.TLSConfig != nil && (c.Redis.TLS != (config.Files{}) || !o.TLSConfig.InsecureSkipVerify) {
		files, err := b.openFiles("redis.tls", c.Redis.TLS)
		if err != nil {
			return nil, err
		}
		o.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, o.DialTimeout)
			defer cancel()
			return files.Dial(ctx, network, address)
		}
	}
	if !o.IsClusterMode { // a client of a cluster repeats what failed on another server
		o.MaxRetries = 1
	}
	o.ContextTimeoutEnabled = true // callers with a fallback wait for less
	if o.PoolSize == 0 {
		o.PoolSize = 10 * runtime.GOMAXPROCS(0)
	}
	return o, nil
}

// producer opens a producer that Close closes.
func (b *backends) producer(topic string) transport.Producer {
	p := b.kafka.Producer(topic)
	b.producers = append(b.producers, p)
	return transport.Measured(p, topic, b.produced)
}

func (b *backends) close() {
	for _, p := range b.producers {
		if err := p.Close(); err != nil {
			b.log.Warn("closing a producer failed", "err", err)
		}
	}
	if b.kafka != nil {
		b.kafka.Close()
	}
	if err := b.replicas.close(); err != nil {
		b.log.Warn("close the Redis replica", "err", err)
	}
	if b.redis != nil {
		if err := b.redis.Close(); err != nil {
			b.log.Warn("closing Redis failed", "err", err)
		}
	}
	if b.store != nil {
		b.store.Close()
	}
}

// openReplicas opens the clients of the replicas. files are those of postgres.tls_ca.
func (b *backends) openReplicas(ctx context.Context, files *tlsfiles.Client) (err error) {
	c := b.config
	watch := func(setting, backend string, replica, primary leaderboard.Copy) *leaderboard.Replica {
		state := leaderboard.NewReplica(backend, replica, primary, b.log)
		b.replicas.states = append(b.replicas.states, replicaState{setting, state})
		b.add("replica of "+backend, state)
		return state
	}
	if c.Postgres.ReplicaURL != "" {
		b.replicas.store, err = store.OpenReplica(ctx, store.Options{
			URL: c.Postgres.ReplicaURL, TLS: files, MaxConns: c.Postgres.MaxConns, LockWait: lockWait,
			Timeout: statementTimeout, Describe: c.Postgres.Describe,
		})
		if err != nil {
			return fmt.Errorf("setting postgres.replica_url: %w", err)
		}
		state := watch("postgres.replica_url", "postgres", b.replicas.store, b.store.Reads)
		b.replicas.fallback = &leaderboard.Replicated[leaderboard.Standings]{
			Source: func(check scoreboard.ProgressCheck) leaderboard.Standings { return b.replicas.store.Reads(check) },
			State:  state,
		}
	}
	if c.Redis.ReplicaURL == "" {
		return nil
	}
	o, err := b.redisOptions("redis.replica_url", c.Redis.ReplicaURL)
	if err != nil {
		return err
	}
	b.replicas.redis = o.OpenReplica()
	r := ranking.NewReplica(b.replicas.redis)
	state := watch("redis.replica_url", "redis", r, b.ranking)
	b.replicas.ranking = &leaderboard.Replicated[leaderboard.Ranking]{
		Source: func(scoreboard.ProgressCheck) leaderboard.Ranking { return r }, State: state,
	}
	return nil
}

func (b *backends) makeStreams() *streams.Transport {
	c := b.config
	return streams.New(streams.Options{
		Name: c.Streams.Name, Group: c.Kafka.Group, Shards: c.Streams.Shards, Length: int64(c.Streams.Length),
		Batch: c.Projection.Batch, Retention: c.Streams.Retention,
	}, b.redis)
}

// queueShards is how many streams accepted increments are distributed over. It is not a
// setting: nodes with different numbers would break the order of a user's increments, and
// with fewer than before, entries would stay behind.
const queueShards = 8

// makeQueue makes the streams of accepted increments. They are created by the first
// process with the role intake; before, increments are recorded at once.
func (b *backends) makeQueue() *streams.Transport {
	c := b.config
	return streams.New(streams.Options{
		Name: c.Streams.Increments, Group: c.Kafka.IntakeGroup, Shards: queueShards, Length: int64(c.Streams.Length),
		Batch: c.Ingest.Batch, Retention: c.Streams.Retention, Consumed: true,
	}, b.redis)
}

// keptLetters bounds the stream of dead letters. The table in the database has all.
const keptLetters = 10_000

// makeIncrementsDead makes the producer of the dead letters of accepted increments.
func (b *backends) makeIncrementsDead() transport.Producer {
	c := b.config
	if b.kafka != nil {
		return b.producer(c.Kafka.IncrementsDeadTopic)
	}
	return transport.Measured(streams.New(streams.Options{
		Name: c.Kafka.IncrementsDeadTopic, Shards: 1, Length: keptLetters, Retention: c.Kafka.DeadRetention,
		DropOldest: true,
	}, b.redis), c.Kafka.IncrementsDeadTopic, b.produced)
}

// countSetAside logs and counts the boards that this process sets aside because of what their
// keys in Redis hold.
func countSetAside(r *ranking.Ranking, log *slog.Logger) prometheus.Collector {
	count := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "scoreboard_ranking_set_aside_total",
		Help: "Boards removed from Redis, to be rebuilt, because a key of theirs was of another type or malformed.",
	})
	r.OnSetAside(func(board scoreboard.BoardID, reason error) {
		count.Inc()
		log.Error("board set aside, to be rebuilt: a key of it in Redis is broken", "board", board, "err", reason)
	})
	return count
}

// replicas are the replicas that this process knows. Every process that has their URLs
// watches them, so that metrics and doctor show them; one with the single role read reads
// them.
type replicas struct {
	store  *store.Replica
	redis  redis.UniversalClient
	states []replicaState

	ranking  *leaderboard.Replicated[leaderboard.Ranking]
	fallback *leaderboard.Replicated[leaderboard.Standings]
}

// replicaState is the state of a replica, by the setting that names it.
type replicaState struct {
	setting string
	*leaderboard.Replica
}

func (r *replicas) close() error {
	if r.store != nil {
		r.store.Close()
	}
	if r.redis != nil {
		return r.redis.Close()
	}
	return nil
}

// problem describes the replicas that are not read, "" if all are.
func (r *replicas) problem() string {
	text := ""
	for _, state := range r.states {
		if problem := state.Problem(); problem != "" {
			if text != "" {
				text += "; "
			}
			text += "the replica of " + state.setting + " " + problem
		}
	}
	return text
}

// pastReads reads what is only in PostgreSQL: from its replica while that is fresh. What a
// rank follows from is read from the primary: it is compared with what reads answer now.
type pastReads struct {
	*store.Store
	replica *store.Replica
	state   *leaderboard.Replica
}

// Statement implements api.Statements. It has its time.
func (p pastReads) Statement(
	ctx context.Context, q scoreboard.StatementQuery,
) (*scoreboard.Statement, error) {
	return leaderboard.ReadReplica(ctx, p.state,
		func(ctx context.Context, check scoreboard.ProgressCheck) (*scoreboard.Statement, error) {
			return p.replica.Reads(check).Statement(ctx, q)
		},
		func(ctx context.Context) (*scoreboard.Statement, error) { return p.Reads.Statement(ctx, q) },
		func(*scoreboard.Statement) {})
}

// past reads past standings. mark is that of leaderboard.ReadReplica: what was recorded at a
// moment never changes, but the users who may be shown do.
func past[T any](
	ctx context.Context, p pastReads, mark func(T), read func(context.Context, *history.PastBoards) (T, error),
) (T, error) {
	return leaderboard.ReadReplica(ctx, p.state,
		func(ctx context.Context, check scoreboard.ProgressCheck) (T, error) {
			return read(ctx, p.replica.PastBoards(check))
		},
		func(ctx context.Context) (T, error) { return read(ctx, p.PastBoards) }, mark)
}

// Board implements api.PastBoards. Nothing in a board of the past hides later.
func (p pastReads) Board(
	ctx context.Context, family scoreboard.BoardID, at time.Time,
) (*scoreboard.Board, error) {
	return past(ctx, p, func(*scoreboard.Board) {},
		func(ctx context.Context, m *history.PastBoards) (*scoreboard.Board, error) {
			return m.Board(ctx, family, at)
		})
}

// Top implements api.PastBoards.
func (p pastReads) Top(
	ctx context.Context, board *scoreboard.Board, at scoreboard.PastTime, after *scoreboard.Position, limit int,
) (*scoreboard.Top, error) {
	return past(ctx, p, func(top *scoreboard.Top) { leaderboard.MarkBehind(&top.Degraded) },
		func(ctx context.Context, m *history.PastBoards) (*scoreboard.Top, error) {
			return m.Top(ctx, board, at, after, limit)
		})
}

// Place implements api.PastBoards.
func (p pastReads) Place(
	ctx context.Context, board *scoreboard.Board, at scoreboard.PastTime, user scoreboard.UserID, k int,
) (*scoreboard.Place, error) {
	return past(ctx, p, func(place *scoreboard.Place) { leaderboard.MarkBehind(&place.Degraded) },
		func(ctx context.Context, m *history.PastBoards) (*scoreboard.Place, error) {
			return m.Place(ctx, board, at, user, k)
		})
}

// History implements api.PastBoards. It cannot say that it is behind.
func (p pastReads) History(
	ctx context.Context, board *scoreboard.Board, at scoreboard.PastTime, user scoreboard.UserID, times []time.Time,
) ([]scoreboard.RankPoint, error) {
	return past(ctx, p, nil, func(ctx context.Context, m *history.PastBoards) ([]scoreboard.RankPoint, error) {
		return m.History(ctx, board, at, user, times)
	})
}

// AllTimeRanks implements api.PastBoards. They cannot say that they are behind.
func (p pastReads) AllTimeRanks(
	ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID,
) (*scoreboard.AllTimeRanks, error) {
	return past(ctx, p, nil, func(ctx context.Context, m *history.PastBoards) (*scoreboard.AllTimeRanks, error) {
		return m.AllTimeRanks(ctx, board, user)
	})
}

// Timeline implements api.PastBoards. It cannot say that it is behind.
func (p pastReads) Timeline(
	ctx context.Context, board *scoreboard.Board, at scoreboard.PastTime, times []time.Time, limit int,
) (frames []scoreboard.Frame, covered int, err error) {
	type shown = []scoreboard.Frame
	frames, err = past(ctx, p, nil, func(ctx context.Context, m *history.PastBoards) (all shown, err error) {
		all, covered, err = m.Timeline(ctx, board, at, times, limit)
		return all, err
	})
	return frames, covered, err
}

// Explain implements api.PastBoards.
func (p pastReads) Explain(
	ctx context.Context, board *scoreboard.Board, user scoreboard.UserID, limit int,
) (*scoreboard.Explanation, error) {
	return p.PastBoards.Explain(ctx, board, user, limit)
}
