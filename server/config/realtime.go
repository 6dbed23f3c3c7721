package config

import "time"

// What carries notices to gateways.
const (
	BusRedis = "redis"
	BusKafka = "kafka"
)

// Realtime is the gateway: WebSockets and event streams.
type Realtime struct {
	Enabled               bool
	Window                time.Duration
	MaxWindow             time.Duration
	Lag                   time.Duration
	MessagesPerMinute     int
	Ping                  time.Duration
	PongWait              time.Duration
	SlowAfter             time.Duration
	Lifetime              time.Duration
	DrainPercent          int
	ReconnectWithin       time.Duration
	Bus                   string
	Origins               []string
	ConnectionsPerUser    int
	ConnectionsPerAddress int
	AnonymousPerAddress   int
	ConnectionsPerNode    int
	JoinsPerSecond        int
	RankLookups           int
}

func (r *Realtime) settings() []setting {
	return []setting{
		{
			"realtime.enabled",
			"accept streams; if off, open streams are closed and clients poll instead", "true", live,
			&r.Enabled,
		},
		{"realtime.window", "minimum time between two messages of a board", "200ms", live, &r.Window},
		{
			"realtime.max_window", "maximum of the window, which widens while this node is behind", "1s", fixed,
			&r.MaxWindow,
		},
		{
			"realtime.lag", "delay from commit to notice, or age of unsent messages, above which this node is behind",
			"1s", fixed, &r.Lag,
		},
		{
			"realtime.messages_per_minute",
			"maximum number of messages per connection; 600 is 10 in any second, 20 is one in 3 s",
			"600", fixed, &r.MessagesPerMinute,
		},
		{"realtime.ping", "interval between keepalives to an idle client", "30s", live, &r.Ping},
		{"realtime.pong_wait", "silence after which a WebSocket client is disconnected", "60s", live, &r.PongWait},
		{
			"realtime.slow_after", "time after which the connection of a client that does not read is closed (4408)",
			"10s", live, &r.SlowAfter,
		},
		{
			"realtime.lifetime", "time after which a connection is closed, ±25 % at random, to balance nodes; " +
				"0 disables it",
			"1h", fixed, &r.Lifetime,
		},
		{
			"realtime.drain_percent", "percentage of connections closed every 100 ms during shutdown",
			"2", fixed, &r.DrainPercent,
		},
		{
			"realtime.reconnect_within", "time over which disconnected clients spread their reconnects",
			"2s", fixed, &r.ReconnectWithin,
		},
		{
			"realtime.bus", "source of notices for gateways: redis (immediate), or kafka (kafka.notices_topic, at " +
				"kafka.notices_interval)",
			BusRedis, fixed, &r.Bus,
		},
		{
			"realtime.origins", "exact web origins that may connect and call the API; none if empty",
			"", fixed, &r.Origins,
		},
		{
			"realtime.connections_per_user",
			"maximum number of a user's connections to all nodes together, and to each node while Redis is " +
				"unavailable; a user may join 24 times as often a minute; 0 disables both limits",
			"5", live, &r.ConnectionsPerUser,
		},
		{
			"realtime.connections_per_address",
			"maximum number of connections from an address to this node; 0 disables the limit",
			"0", live, &r.ConnectionsPerAddress,
		},
		{
			"realtime.anonymous_per_address",
			"maximum number of connections without a token from an address to this node; 0 disables the limit",
			"100", live, &r.AnonymousPerAddress,
		},
		{
			"realtime.connections_per_node", "maximum number of connections to this node; 0 disables the limit",
			"0", live, &r.ConnectionsPerNode,
		},
		{
			"realtime.rank_lookups",
			"maximum number of viewers whose rank this node reads in a second, at joins and moves below the top 100; " +
				"it reads more slowly while the ranking is busy",
			"20000", live, &r.RankLookups,
		},
		{
			"realtime.joins_per_second",
			"maximum number of new connections per second to this node; 0 disables the limit",
			"1000", live, &r.JoinsPerSecond,
		},
	}
}

const (
	// Every watcher of a board gets its messages, every idle client a keepalive: at
	// shorter intervals a node would be busy with them alone.
	minRealtimeWindow = 10 * time.Millisecond
	minRealtimePing   = time.Second

	// A connection keeps 4 bytes for each message of a second.
	maxMessagesPerMinute = 6000
)

// joinsPerConnection is how often a minute a user may replace each connection.
const joinsPerConnection = 24

// JoinsPerMinute is how often a user may join a stream; 0: unlimited.
func (c *Config) JoinsPerMinute() int {
	return min(c.Realtime.ConnectionsPerUser, maxPerMinute/joinsPerConnection) * joinsPerConnection
}

func (r *Realtime) check(p *problems) {
	for _, origin := range r.Origins {
		if !isAnyOrigin(origin) {
			p.add("realtime.origins", "must be origins as browsers send them, such as https://example.com: a scheme "+
				"and a host in lower case, without a path and a default port, not %q", origin)
		}
	}
	p.atLeast("realtime.connections_per_user", r.ConnectionsPerUser, 0)
	p.atLeast("realtime.connections_per_address", r.ConnectionsPerAddress, 0)
	p.atLeast("realtime.anonymous_per_address", r.AnonymousPerAddress, 0)
	p.atLeast("realtime.connections_per_node", r.ConnectionsPerNode, 0)
	p.atLeast("realtime.rank_lookups", r.RankLookups, 10)
	p.atLeast("realtime.joins_per_second", r.JoinsPerSecond, 0)
	p.positive("realtime.lag", r.Lag)
	p.positive("realtime.slow_after", r.SlowAfter)
	p.positive("realtime.reconnect_within", r.ReconnectWithin)
	p.oneOf("realtime.bus", r.Bus, BusRedis, BusKafka)
	p.durationAtLeast("realtime.window", r.Window, minRealtimeWindow)
	p.durationAtLeast("realtime.ping", r.Ping, minRealtimePing)
	if r.MaxWindow < r.Window {
		p.add("realtime.max_window", "(%s) must not be below realtime.window (%s)", r.MaxWindow, r.Window)
	}
	if r.PongWait <= r.Ping {
		p.add("realtime.pong_wait", "(%s) must be greater than realtime.ping (%s)", r.PongWait, r.Ping)
	}
	p.between("realtime.messages_per_minute", r.MessagesPerMinute, 1, maxMessagesPerMinute)
	p.between("realtime.drain_percent", r.DrainPercent, 1, 100)
	p.durationAtLeast("realtime.lifetime", r.Lifetime, 0)
}
