package config

import (
	"slices"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/internal/redisurl"
)

// Postgres is the connection to PostgreSQL.
type Postgres struct {
	URL        string
	ReplicaURL string
	DirectURL  string
	MaxConns   int
	Describe   bool
	TLS        Files
}

func (s *Postgres) settings() []setting {
	return append([]setting{
		{
			"postgres.url", "URL of PostgreSQL, or of PgBouncer, with the daemon's role; it need not own the schema",
			"", secret, &s.URL,
		},
		{
			"postgres.replica_url", "URL of a streaming replica; only processes with the single role read use it, " +
				"for reads that may lag; postgres.url serves the other reads",
			"", secret, &s.ReplicaURL,
		},
		{
			"postgres.direct_url", "URL of PostgreSQL for migrations, with the role that owns the schema, and not " +
				"through PgBouncer; only sbctl migrate and scoreboardd dev use it; postgres.url if empty",
			"", secret, &s.DirectURL,
		},
		{"postgres.max_conns", "maximum number of connections of this process", "12", fixed, &s.MaxConns},
		{
			"postgres.describe", "avoid named prepared statements, which PgBouncer before 1.21 does not support; a " +
				"single write then takes over three times as long, a batch of a hundred about 5 % longer",
			"false", fixed, &s.Describe,
		},
	}, s.TLS.settings("postgres", "PostgreSQL; with any of the three, connections use TLS and verify the server, "+
		"whatever sslmode the URL has")...)
}

func (s *Postgres) check(p *problems) {
	p.atLeast("postgres.max_conns", s.MaxConns, 1)
	s.TLS.check("postgres", p)
}

// Files are the paths of PEM files for connections to a backend by TLS.
type Files struct{ CA, Cert, Key string }

// settings are those of a backend; what is said of it ends the meaning of the first.
func (f *Files) settings(backend, said string) []setting {
	return []setting{
		{
			backend + ".tls_ca", "PEM file of the authority that verifies " + said +
				"; the system's authorities if empty; reloaded when it changes, like the next two",
			"", fixed, &f.CA,
		},
		{backend + ".tls_cert", "PEM file of the certificate that this process presents", "", fixed, &f.Cert},
		{backend + ".tls_key", "PEM file of its key", "", fixed, &f.Key},
	}
}

func (f *Files) check(backend string, p *problems) {
	if (f.Cert == "") != (f.Key == "") {
		p.add(backend+".tls_cert", "and %s.tls_key must be set together", backend)
	}
}

// Redis is the connection to Redis.
type Redis struct {
	URL        string
	ReplicaURL string
	TLS        Files
}

func (r *Redis) settings() []setting {
	return append([]setting{{
		"redis.url", "URL of Redis, for rankings, limits and realtime notices: redis:// for one server, " +
			"redis+cluster://HOST:PORT,HOST:PORT for a cluster, redis+sentinel://HOST:PORT,HOST:PORT/PRIMARY for " +
			"sentinels; rediss instead of redis uses TLS",
		"", secret, &r.URL,
	}, {
		"redis.replica_url", "URL of replicas of Redis, of the same kind as redis.url: one replica, a cluster or " +
			"sentinels; only processes with the single role read use it, for leaderboards; redis.url serves the " +
			"other reads",
		"", secret, &r.ReplicaURL,
	}}, r.TLS.settings("redis", "Redis; requires a URL with rediss")...)
}

func (r *Redis) check(p *problems) {
	r.TLS.check("redis", p)
	r.checkURL(p, "redis.url", r.URL)
	r.checkURL(p, "redis.replica_url", r.ReplicaURL)
	if r.URL == "" || r.ReplicaURL == "" {
		return
	}
	main, err := redisurl.Parse(r.URL)
	if err != nil {
		return
	}
	replica, err := redisurl.Parse(r.ReplicaURL)
	if err == nil && main.IsClusterMode != replica.IsClusterMode {
		p.add("redis.replica_url", "must be the URL of a cluster if and only if redis.url is one: key names differ")
	}
}

func (r *Redis) checkURL(p *problems, setting, url string) {
	if url == "" { // CheckRequired
		return
	}
	if r.TLS != (Files{}) && !strings.HasPrefix(url, "rediss") {
		p.add(setting, "must begin with rediss, for TLS, if redis.tls_ca or redis.tls_cert is set")
	}
	if _, err := redisurl.Parse(url); err != nil {
		p.add(setting, "cannot be used: %s", err)
	}
}

// Kafka is the connection to Kafka, with the topics and groups.
type Kafka struct {
	Brokers       []string
	UseTLS        bool
	TLS           Files
	SASL          string // "", SASLPlain or SASLScram
	SASLUser      string
	SASLPassword  string
	Topic         string
	DeadTopic     string
	Group         string
	Partitions    int
	Replicas      int
	Retention     time.Duration
	Cleanup       string
	Compression   string
	Acks          string
	DeadRetention time.Duration

	NoticesTopic      string
	NoticesPartitions int
	NoticesRetention  time.Duration
	NoticesCleanup    string
	NoticesInterval   time.Duration

	IncrementsTopic      string
	IncrementsPartitions int
	IncrementsRetention  time.Duration
	IncrementsDeadTopic  string
	SeasonsTopic         string
	SeasonsRetention     time.Duration
	IntakeGroup          string
}

// SASL mechanisms of Kafka.
const (
	SASLPlain = "plain"
	SASLScram = "scram-sha-512"
)

func (k *Kafka) settings() []setting {
	return slices.Concat([]setting{
		{"kafka.brokers", "addresses of the brokers: comma-separated host:port", "", fixed, &k.Brokers},
		{"kafka.tls", "connect to the brokers by TLS, and verify them", "false", fixed, &k.UseTLS},
	}, k.TLS.settings("kafka", "the brokers; requires kafka.tls"), []setting{
		{
			"kafka.sasl", "how this process authenticates to the brokers: plain or scram-sha-512; not by SASL if empty",
			"", fixed, &k.SASL,
		},
		{"kafka.sasl_user", "name of the user for kafka.sasl", "", fixed, &k.SASLUser},
		{"kafka.sasl_password", "password of the user for kafka.sasl", "", secret, &k.SASLPassword},
		{"kafka.topic", "topic of committed changes", "scoreboard.events.v1", fixed, &k.Topic},
		{"kafka.dead_topic", "topic of events that cannot be applied", "scoreboard.events.v1.dlq", fixed, &k.DeadTopic},
		{"kafka.group", "consumer group of the projection", "scoreboard-projection", fixed, &k.Group},
		{"kafka.partitions", "partitions of kafka.topic", "16", fixed, &k.Partitions},
		{
			"kafka.replicas", "replication factor of created topics; -1 uses the broker's default",
			"-1", fixed, &k.Replicas,
		},
		{
			"kafka.retention",
			"retention of kafka.topic; at most the time in which repeats are recognised, 600h with the default " +
				"ledger.window",
			"24h", fixed, &k.Retention,
		},
		{
			"kafka.cleanup", "cleanup policy of kafka.topic: delete, or compact,delete to keep only each user's " +
				"last event",
			"delete", fixed, &k.Cleanup,
		},
		{
			"kafka.compression", "compression of batches of 1 KiB and more: none, gzip, snappy, lz4 or zstd",
			"lz4", fixed, &k.Compression,
		},
		{
			"kafka.acks",
			"replicas that must acknowledge a message: all, or one, which is faster but loses messages with the leader",
			"all", fixed, &k.Acks,
		},
		{"kafka.dead_retention", "retention of both dead-letter topics", "720h", fixed, &k.DeadRetention},
		{
			"kafka.notices_topic", "topic with the current top of each board, for consumers without Redis",
			"scoreboard.boards.v1", fixed, &k.NoticesTopic,
		},
		{"kafka.notices_partitions", "partitions of kafka.notices_topic", "3", fixed, &k.NoticesPartitions},
		{"kafka.notices_retention", "retention of kafka.notices_topic", "1h", fixed, &k.NoticesRetention},
		{
			"kafka.notices_cleanup", "cleanup policy of kafka.notices_topic; compact keeps each board's last notice",
			"compact,delete", fixed, &k.NoticesCleanup,
		},
		{
			"kafka.notices_interval", "minimum time between two notices of a board, unless its top 10 users change",
			"500ms", fixed, &k.NoticesInterval,
		},
		{
			"kafka.increments_topic", "topic of increments that were accepted with 202",
			"score-increments.v1", fixed, &k.IncrementsTopic,
		},
		{"kafka.increments_partitions", "partitions of kafka.increments_topic", "16", fixed, &k.IncrementsPartitions},
		{
			"kafka.increments_retention",
			"retention of kafka.increments_topic; at most the time in which repeats are recognised, 600h with the " +
				"default ledger.window",
			"168h", fixed, &k.IncrementsRetention,
		},
		{
			"kafka.increments_dead_topic", "topic of accepted increments that cannot be recorded; without " +
				"kafka.brokers a Redis stream",
			"score-increments.dlq", fixed, &k.IncrementsDeadTopic,
		},
		{"kafka.seasons_topic", "topic of ended board periods", "season-events", fixed, &k.SeasonsTopic},
		{"kafka.seasons_retention", "retention of kafka.seasons_topic", "720h", fixed, &k.SeasonsRetention},
		{"kafka.intake_group", "consumer group of the intake", "score-intake", fixed, &k.IntakeGroup},
	})
}

// check rejects topic settings that Kafka would reject, or that would break a
// guarantee.
func (k *Kafka) check(p *problems, window time.Duration) {
	k.TLS.check("kafka", p)
	if k.TLS != (Files{}) && !k.UseTLS {
		p.add("kafka.tls", "must be true if kafka.tls_ca or kafka.tls_cert is set")
	}
	if k.SASL != "" {
		p.oneOf("kafka.sasl", k.SASL, SASLPlain, SASLScram)
	}
	if user, password := k.SASLUser != "", k.SASLPassword != ""; user != password || user != (k.SASL != "") {
		p.add("kafka.sasl", "and kafka.sasl_user and kafka.sasl_password must be set together")
	}
	p.atLeast("kafka.partitions", k.Partitions, 1)
	p.atLeast("kafka.notices_partitions", k.NoticesPartitions, 1)
	p.atLeast("kafka.increments_partitions", k.IncrementsPartitions, 1)
	p.positive("kafka.retention", k.Retention)
	p.positive("kafka.dead_retention", k.DeadRetention)
	p.positive("kafka.notices_retention", k.NoticesRetention)
	p.positive("kafka.notices_interval", k.NoticesInterval)
	p.positive("kafka.increments_retention", k.IncrementsRetention)
	p.oneOf("kafka.compression", k.Compression, "none", "gzip", "snappy", "lz4", "zstd")
	p.oneOf("kafka.acks", k.Acks, "all", "one")
	p.oneOf("kafka.cleanup", k.Cleanup, "delete", "compact,delete")
	p.oneOf("kafka.notices_cleanup", k.NoticesCleanup, "delete", "compact", "compact,delete")
	for name, d := range map[string]time.Duration{
		"kafka.retention": k.Retention, "kafka.increments_retention": k.IncrementsRetention,
	} {
		if d > window { // what is older must not be delivered again
			p.add(name, "must be at most %s, the time in which repeats are recognised, not %s", window, d)
		}
	}
}

// Streams is the transport over Redis streams.
type Streams struct {
	Name       string
	Shards     int
	Length     int
	Retention  time.Duration
	Increments string
}

func (s *Streams) settings() []setting {
	return []setting{
		{"streams.name", "name prefix of the Redis streams", "sb:stream", fixed, &s.Name},
		{"streams.shards", "number of streams that users are distributed over", "4", fixed, &s.Shards},
		{
			"streams.length", "number of entries in a stream at which the relay waits for consumers, and at which " +
				"increments with Prefer: respond-async are rejected with 503",
			"100000", fixed, &s.Length,
		},
		{
			"streams.retention", "how long an applied entry stays in a stream, with its user's id; at least 1m",
			"24h", fixed, &s.Retention,
		},
		{
			"streams.increments", "name prefix of the eight Redis streams of increments that were accepted with 202, " +
				"which are used instead of kafka.increments_topic without kafka.brokers",
			"score:increments", fixed, &s.Increments,
		},
	}
}

func (s *Streams) check(p *problems) {
	p.atLeast("streams.shards", s.Shards, 1)
	p.atLeast("streams.length", s.Length, 1)
	p.durationAtLeast("streams.retention", s.Retention, time.Minute)
}
