package config

import (
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Config is the effective value of every setting.
type Config struct {
	Addr    string
	OpsAddr string

	TLSCert        string
	TLSKey         string
	TLSClientCA    string
	TLSClientNames []string
	TrustedProxies []string

	Roles []string

	PostgresURL        string
	PostgresDirectURL  string
	PostgresMaxConns   int
	PostgresDescribe   bool
	RedisURL           string
	KafkaBrokers       []string
	KafkaTopic         string
	KafkaDeadTopic     string
	KafkaGroup         string
	KafkaPartitions    int
	KafkaReplicas      int
	KafkaRetention     time.Duration
	KafkaCleanup       string
	KafkaLinger        time.Duration
	KafkaCompression   string
	KafkaAcks          string
	KafkaDeadRetention time.Duration

	KafkaNoticesTopic      string
	KafkaNoticesPartitions int
	KafkaNoticesRetention  time.Duration
	KafkaNoticesCleanup    string
	KafkaNoticesInterval   time.Duration

	KafkaIncrementsTopic      string
	KafkaIncrementsPartitions int
	KafkaIncrementsRetention  time.Duration
	KafkaIncrementsDeadTopic  string
	KafkaSeasonsTopic         string
	KafkaSeasonsRetention     time.Duration
	KafkaIntakeGroup          string

	AuthJWTSecret string
	AuthJWKSURL   string
	AuthIssuer    string
	AuthAudience  string
	AuthMaxLife   time.Duration

	AuthAttestationURL string
	AuthMasterKey      string
	AuthSignature      string
	AuthDevIssuer      bool

	IngestLanes int
	IngestBatch int
	IngestQueue int
	IngestWait  time.Duration

	IngestOverflow   string
	IngestAsync      bool
	IngestActions    scoreboard.Rules
	IngestLeastDelta int64
	IngestMostDelta  int64

	AnomalySize          string
	AnomalySizeFactor    int
	AnomalyFrequency     string
	AnomalyFrequencyMost scoreboard.Quota
	AnomalyAmount        string
	AnomalyAmountMost    scoreboard.Quota
	AnomalyTravel        string
	AnomalyTravelWindow  time.Duration
	AnomalyCountryHeader string
	AnomalyCountryFile   string

	OutboxShards int
	OutboxBatch  int
	OutboxPoll   time.Duration
	OutboxPause  time.Duration
	OutboxLease  time.Duration

	BoardsCloseGrace time.Duration

	LedgerArchive string
	LedgerKeep    time.Duration

	RetentionAddresses time.Duration

	ProjectionBatch int
	Transport       string
	StreamsName     string
	StreamsShards   int
	StreamsLength   int
	ReconcileRepair bool
	ReconcileEvery  time.Duration

	RealtimeEnabled               bool
	RealtimeWindow                time.Duration
	RealtimeMaxWindow             time.Duration
	RealtimeLag                   time.Duration
	RealtimeFramesPerMinute       int
	RealtimePing                  time.Duration
	RealtimePongWait              time.Duration
	RealtimeSlowAfter             time.Duration
	RealtimeLifetime              time.Duration
	RealtimeDrainPercent          int
	RealtimeReconnectWithin       time.Duration
	RealtimeBus                   string
	RealtimeOrigins               []string
	RealtimeConnectionsPerUser    int
	RealtimeConnectionsPerAddress int
	RealtimeConnectionsPerNode    int
	RealtimeJoinsPerSecond        int

	ReadsUserCache time.Duration
	ReadsAnonymous bool
	ReadsTopN      int

	LimitUpdatesPerMinute      int
	LimitTopPerMinute          int
	LimitRankPerMinute         int
	LimitTicketsPerMinute      int
	LimitAnonymousPerMinute    int
	LimitAddressPerMinute      int
	LimitAuthFailuresPerMinute int

	LogLevel string

	values []Value // as they were read
}

// Roles that a process may have.
const (
	RoleAPI       = "api"
	RoleRead      = "read"
	RoleIntake    = "intake"
	RoleRelay     = "relay"
	RoleProjector = "projector"
	RoleGateway   = "gateway"
	RoleUpkeep    = "maintenance"
)

// setting is one line of the table: where its value goes and what it means.
type knob struct {
	name    string
	meaning string
	value   string // the default
	secret  bool
	to      any // *string, *int, *bool, *time.Duration, *int64, *[]string, *scoreboard.Rules or *scoreboard.Quota
}

func (c *Config) knobs() []knob {
	return []knob{
		{"addr", "address of the API", ":8080", false, &c.Addr},
		{"ops.addr", "address of metrics, health and profiles", "127.0.0.1:8081", false, &c.OpsAddr},
		{"tls.cert", "PEM file of the API's certificate, read again when it changes; plain HTTP when empty", "", false, &c.TLSCert},
		{"tls.key", "PEM file of its key", "", false, &c.TLSKey},
		{"tls.client_ca", "PEM file of who vouches for servers that come with a certificate", "", false, &c.TLSClientCA},
		{"tls.client_names", "names in such certificates, exactly, that may act for any user as score:update does", "", false, &c.TLSClientNames},
		{"trusted_proxies", "addresses and networks of proxies whose X-Forwarded-For and country are believed", "", false, &c.TrustedProxies},
		{"roles", "what this process does", "api,intake,relay,projector,gateway,maintenance", false, &c.Roles},
		{"postgres.url", "the truth; may be PgBouncer", "", true, &c.PostgresURL},
		{"postgres.direct_url", "for migrations, which PgBouncer cannot carry; postgres.url when empty", "", true, &c.PostgresDirectURL},
		{"postgres.max_conns", "connections of this process", "12", false, &c.PostgresMaxConns},
		{"postgres.describe", "no named prepared statements, as PgBouncer before 1.21 needs; a lone write then takes over twice as long, a batch of a hundred a few percent more", "false", false, &c.PostgresDescribe},
		{"redis.url", "the ranking and the realtime bus", "", true, &c.RedisURL},
		{"kafka.brokers", "comma-separated host:port", "", false, &c.KafkaBrokers},
		{"kafka.topic", "events of committed changes", "scoreboard.events.v1", false, &c.KafkaTopic},
		{"kafka.dead_topic", "events that cannot be applied", "scoreboard.events.v1.dlq", false, &c.KafkaDeadTopic},
		{"kafka.group", "consumer group of the projection", "scoreboard-projection", false, &c.KafkaGroup},
		{"kafka.partitions", "of the event topic", "16", false, &c.KafkaPartitions},
		{"kafka.replicas", "of topics that are made; -1 is the broker's default", "-1", false, &c.KafkaReplicas},
		{"kafka.retention", "of the event topic; shorter than repeats are recognised", "24h", false, &c.KafkaRetention},
		{"kafka.cleanup", "of the event topic: delete, or compact,delete, which also forgets all but a user's last event", "delete", false, &c.KafkaCleanup},
		{"kafka.linger", "how long a produce request waits for more", "2ms", false, &c.KafkaLinger},
		{"kafka.compression", "of what is produced: none, gzip, snappy, lz4 or zstd", "lz4", false, &c.KafkaCompression},
		{"kafka.acks", "all replicas, or one: quicker, and lost with the leader", "all", false, &c.KafkaAcks},
		{"kafka.dead_retention", "of both dead-letter topics", "720h", false, &c.KafkaDeadRetention},
		{"kafka.notices_topic", "what boards look like, for whoever follows them without Redis", "scoreboard.boards.v1", false, &c.KafkaNoticesTopic},
		{"kafka.notices_partitions", "of the topic of notices", "3", false, &c.KafkaNoticesPartitions},
		{"kafka.notices_retention", "of the topic of notices", "1h", false, &c.KafkaNoticesRetention},
		{"kafka.notices_cleanup", "of the topic of notices: compact keeps a board's last one", "compact,delete", false, &c.KafkaNoticesCleanup},
		{"kafka.notices_interval", "between two notices of a board, unless who is in its top ten has changed", "500ms", false, &c.KafkaNoticesInterval},
		{"kafka.increments_topic", "increments that were accepted with 202", "score-increments.v1", false, &c.KafkaIncrementsTopic},
		{"kafka.increments_partitions", "of the topic of accepted increments", "16", false, &c.KafkaIncrementsPartitions},
		{"kafka.increments_retention", "of the topic of accepted increments; shorter than repeats are recognised", "168h", false, &c.KafkaIncrementsRetention},
		{"kafka.increments_dead_topic", "accepted increments that cannot be recorded", "score-increments.dlq", false, &c.KafkaIncrementsDeadTopic},
		{"kafka.seasons_topic", "ends of the periods of boards", "season-events", false, &c.KafkaSeasonsTopic},
		{"kafka.seasons_retention", "of the topic of ended periods", "720h", false, &c.KafkaSeasonsRetention},
		{"kafka.intake_group", "consumer group of the intake", "score-intake", false, &c.KafkaIntakeGroup},
		{"auth.jwt_secret", "HS256 secret of bearer tokens (development); excludes auth.jwks_url", "", true, &c.AuthJWTSecret},
		{"auth.jwks_url", "the identity provider's key set: bearer tokens are RS256, ES256 or EdDSA", "", false, &c.AuthJWKSURL},
		{"auth.issuer", "required iss of bearer tokens", "scoreboard-dev", false, &c.AuthIssuer},
		{"auth.audience", "required aud of bearer tokens", "scoreboard", false, &c.AuthAudience},
		{"auth.max_token_life", "the longest exp − iat of a bearer token; 0 is any", "24h", false, &c.AuthMaxLife},
		{"auth.attestation_jwks_url", "key set of the servers that attest increments; none are verified when empty", "", false, &c.AuthAttestationURL},
		{"auth.master_key", "32 bytes in hex that seal the secrets of signing keys", "", true, &c.AuthMasterKey},
		{"auth.signature", "required, or optional", "required", false, &c.AuthSignature},
		{"auth.dev_issuer", "serve POST /v1/admin/tokens; for development only", "false", false, &c.AuthDevIssuer},
		{"ingest.lanes", "transactions that gather and commit side by side", "1", false, &c.IngestLanes},
		{"ingest.batch", "increments in one transaction", "500", false, &c.IngestBatch},
		{"ingest.queue", "increments that may wait in one lane", "8192", false, &c.IngestQueue},
		{"ingest.wait", "the longest estimated wait before 503", "500ms", false, &c.IngestWait},
		{"ingest.overflow", "what a full lane does: refuse (503), or async (202 onto the broker)", "refuse", false, &c.IngestOverflow},
		{"ingest.async", "202 for who asks; off, they get 200 once it is recorded", "true", false, &c.IngestAsync},
		{"ingest.actions", "rules of actions, comma-separated name:least:most, then as wanted ;cooldown=5s ;most=10/1m ;once=30s ;by=servers (or nobody, or KEY+KEY); the name * is of all others", "", false, &c.IngestActions},
		{"ingest.least_delta", "of every increment, beside the bounds of its boards", "-9007199254740991", false, &c.IngestLeastDelta},
		{"ingest.most_delta", "of every increment, beside the bounds of its boards", "9007199254740991", false, &c.IngestMostDelta},
		{"anomaly.size", "a delta far above the user's own: off, log, flag or enforce", "off", false, &c.AnomalySize},
		{"anomaly.size_factor", "how often the greatest of the user's last deltas is far above", "20", false, &c.AnomalySizeFactor},
		{"anomaly.frequency", "more events of a user than a person makes: off, log, flag or enforce", "off", false, &c.AnomalyFrequency},
		{"anomaly.frequency_most", "how many are not, and in which time", "120/1m", false, &c.AnomalyFrequencyMost},
		{"anomaly.amount", "more points of a user on a board than a person makes: off, log, flag or enforce", "off", false, &c.AnomalyAmount},
		{"anomaly.amount_most", "how many are not, and in which time", "1000000/1h", false, &c.AnomalyAmountMost},
		{"anomaly.travel", "a user in two countries within a time: off, log, flag or enforce", "off", false, &c.AnomalyTravel},
		{"anomaly.travel_window", "within which nobody is in two countries", "1h", false, &c.AnomalyTravelWindow},
		{"anomaly.country_header", "in which the edge says the country, such as CF-IPCountry; believed from trusted_proxies", "", false, &c.AnomalyCountryHeader},
		{"anomaly.country_file", "an mmdb file of countries by address", "", false, &c.AnomalyCountryFile},
		{"outbox.shards", "independent cursors that relays share", "1", false, &c.OutboxShards},
		{"outbox.batch", "rows read and published at once", "500", false, &c.OutboxBatch},
		{"outbox.poll", "between looks at an idle shard", "50ms", false, &c.OutboxPoll},
		{"outbox.pause", "between two batches that were not full", "10ms", false, &c.OutboxPause},
		{"outbox.lease", "how long a dead relay's shard stays its own", "1500ms", false, &c.OutboxLease},
		{"boards.close_grace", "how long after the end of a period what was accepted in it may still be recorded", "1m", false, &c.BoardsCloseGrace},
		{"ledger.archive", "folder, or s3://bucket/prefix?endpoint=URL&region=NAME, for old partitions of the ledger; empty keeps them in the database", "", false, &c.LedgerArchive},
		{"ledger.keep", "partitions wholly older leave for the archive; what may be repeated stays anyway", "2160h", false, &c.LedgerKeep},
		{"retention.addresses", "how long the ledger keeps addresses and agents; 0s is as long as itself", "2160h", false, &c.RetentionAddresses},
		{"projection.batch", "records applied at once", "500", false, &c.ProjectionBatch},
		{"transport", "what carries events: kafka, streams (Redis) or direct (relay and projector in one process)", TransportKafka, false, &c.Transport},
		{"streams.name", "of the Redis streams", "sb:stream", false, &c.StreamsName},
		{"streams.shards", "streams that users are spread over", "4", false, &c.StreamsShards},
		{"streams.length", "entries of one stream at which the relay waits", "100000", false, &c.StreamsLength},
		{"reconcile.repair", "whether the sampler and the full pass put right what differs from the store", "true", false, &c.ReconcileRepair},
		{"reconcile.every", "between two full passes over every board; 0 is off", "24h", false, &c.ReconcileEvery},
		{"realtime.enabled", "streams; off, they end and clients ask again and again instead", "true", false, &c.RealtimeEnabled},
		{"realtime.window", "between two frames of a board", "200ms", false, &c.RealtimeWindow},
		{"realtime.max_window", "what the window widens to, stepwise, while this node is behind", "1s", false, &c.RealtimeMaxWindow},
		{"realtime.lag", "commit to notice, or frames not written, beyond which this node is behind", "1s", false, &c.RealtimeLag},
		{"realtime.frames_per_minute", "to one connection; 600 is 10 in any second, 20 is one in 3 s", "600", false, &c.RealtimeFramesPerMinute},
		{"realtime.ping", "between signs of life to an idle client", "30s", false, &c.RealtimePing},
		{"realtime.pong_wait", "silence of a WebSocket's client after which it is dropped", "60s", false, &c.RealtimePongWait},
		{"realtime.slow_after", "how long a client may not take what was written before it is closed (4408)", "10s", false, &c.RealtimeSlowAfter},
		{"realtime.lifetime", "a connection ends after 0.75 to 1.25 of it, so that nodes fill evenly; 0 is off", "1h", false, &c.RealtimeLifetime},
		{"realtime.drain_percent", "of the connections that a stop closes each 100 ms", "2", false, &c.RealtimeDrainPercent},
		{"realtime.reconnect_within", "clients who were said goodbye come back at a random time within it", "2s", false, &c.RealtimeReconnectWithin},
		{"realtime.bus", "where a gateway hears of changes: redis, at once, or kafka (kafka.notices_topic), each 500 ms", BusRedis, false, &c.RealtimeBus},
		{"realtime.origins", "origins whose pages may connect and use the API, exactly; none when empty", "", false, &c.RealtimeOrigins},
		{"realtime.connections_per_user", "0 is off", "5", false, &c.RealtimeConnectionsPerUser},
		{"realtime.connections_per_address", "0 is off", "0", false, &c.RealtimeConnectionsPerAddress},
		{"realtime.connections_per_node", "0 is off", "0", false, &c.RealtimeConnectionsPerNode},
		{"realtime.joins_per_second", "of a node; 0 is off", "1000", false, &c.RealtimeJoinsPerSecond},
		{"reads.user_cache", "how long a node tells a user's standing again, 0 to 500ms", "250ms", false, &c.ReadsUserCache},
		{"reads.top_n", "rows of a board's head, read or streamed, where none are asked for", "10", false, &c.ReadsTopN},
		{"reads.anonymous", "reads and streams of public boards without a token", "false", false, &c.ReadsAnonymous},
		{"limit.updates_per_minute", "of a user, repeats too; servers have 600000; 0 is off for both", "10", false, &c.LimitUpdatesPerMinute},
		{"limit.top_per_minute", "reads of a board's head by a user; servers have 600000; 0 is off for both", "60", false, &c.LimitTopPerMinute},
		{"limit.rank_per_minute", "reads of standings by a user; servers have 600000; 0 is off for both", "30", false, &c.LimitRankPerMinute},
		{"limit.tickets_per_minute", "join tickets of a user; servers have 600000; 0 is off for both", "60", false, &c.LimitTicketsPerMinute},
		{"limit.anonymous_per_minute", "reads without a token by an address; 0 is off", "60", false, &c.LimitAnonymousPerMinute},
		{"limit.address_per_minute", "all requests of an address; off, for behind a proxy all users have one", "0", false, &c.LimitAddressPerMinute},
		{"limit.auth_failures_per_minute", "wrong credentials of an address before they get 429; 0 is off", "60", false, &c.LimitAuthFailuresPerMinute},
		{"log.level", "debug, info, warn or error", "info", false, &c.LogLevel},
	}
}
