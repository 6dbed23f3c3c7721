package config

import (
	"log/slog"
	"slices"
	"strings"
	"time"
)

// Config is the value of every setting.
type Config struct {
	Addr           string
	OpsAddr        string
	OpsHosts       []string
	TLS            TLS
	TrustedProxies []string
	Roles          []string
	Postgres       Postgres
	Redis          Redis
	Kafka          Kafka
	Auth           Auth
	Ingest         Ingest
	Anomaly        Anomaly
	Outbox         Outbox
	Boards         Boards
	Ledger         Ledger
	Import         Import
	Retention      Retention
	Webhooks       Webhooks
	Projection     Projection
	Transport      string
	Streams        Streams
	Mirror         Mirror
	Reconcile      Reconcile
	Realtime       Realtime
	Reads          Reads
	Web            Web
	Limit          Limit
	Dialects       Dialects
	Console        Console
	OTLP           OTLP
	DrainDelay     time.Duration
	LogLevel       string

	values []Value // as they were read
}

// Roles that a process may have.
const (
	RoleAPI         = "api"
	RoleRead        = "read"
	RoleIntake      = "intake"
	RoleRelay       = "relay"
	RoleProjector   = "projector"
	RoleGateway     = "gateway"
	RoleMaintenance = "maintenance"
	RoleMirror      = "mirror" // not among the default roles
)

var roles = []string{RoleAPI, RoleRead, RoleIntake, RoleRelay, RoleProjector, RoleGateway, RoleMaintenance, RoleMirror}

// Has reports whether the process has a role.
func (c *Config) Has(role string) bool { return slices.Contains(c.Roles, role) }

// settings is the table of all settings, in the order in which they are listed.
func (c *Config) settings() []setting {
	return slices.Concat(
		[]setting{
			{"addr", "address of the API", ":8080", fixed, &c.Addr},
			{
				"ops.addr", "address of metrics, health checks and profiles (these for clients on the same machine)",
				"127.0.0.1:8081", fixed, &c.OpsAddr,
			},
			{
				"ops.hosts", "host names at which metrics and profiles may be requested, besides localhost, IP " +
					"addresses, names without a dot and names in .local, .internal and .svc",
				"", fixed, &c.OpsHosts,
			},
		},
		c.TLS.settings(),
		[]setting{
			{
				"trusted_proxies", "addresses and networks of proxies whose X-Forwarded-For (or, without one, " +
					"Forwarded) and country headers are trusted",
				"", fixed, &c.TrustedProxies,
			},
			{
				"roles", "roles of this process: " + strings.Join(roles, ", "),
				"api,intake,relay,projector,gateway,maintenance", fixed, &c.Roles,
			},
			{
				"drain.delay", "time for which a stopping process still answers requests, while /readyz " +
					"returns 503 so that load balancers remove it",
				"5s", fixed, &c.DrainDelay,
			},
		},
		c.Postgres.settings(), c.Redis.settings(), c.Kafka.settings(), c.Auth.settings(), c.Ingest.settings(),
		c.Anomaly.settings(), c.Outbox.settings(), c.Boards.settings(), c.Ledger.settings(), c.Import.settings(),
		c.Retention.settings(), c.Webhooks.settings(),
		c.Projection.settings(),
		[]setting{
			{
				"transport", "transport of events: kafka, streams (Redis) or direct (relay and projector in one " +
					"process)",
				TransportKafka, live, &c.Transport,
			},
		},
		c.Streams.settings(), c.Mirror.settings(), c.Reconcile.settings(), c.Realtime.settings(), c.Reads.settings(),
		c.Web.settings(), c.Limit.settings(), c.Dialects.settings(), c.Console.settings(), c.OTLP.settings(),
		[]setting{{"log.level", "lowest level that is logged: debug, info, warn or error", "info", fixed, &c.LogLevel}},
	)
}

// maxDrainDelay is longer than load balancers take to forget a process.
const maxDrainDelay = 10 * time.Minute

// check collects every invalid setting.
func (c *Config) check(p *problems) {
	c.TLS.check(p)
	c.checkRoles(p)
	if c.DrainDelay < 0 || c.DrainDelay > maxDrainDelay {
		p.add("drain.delay", "must be 0 to %s, not %s", maxDrainDelay, c.DrainDelay)
	}
	c.Postgres.check(p)
	c.Ledger.check(p)
	c.Import.check(p)
	c.Redis.check(p)
	c.Kafka.check(p, c.Ledger.RepeatWindow().Guaranteed())
	c.Auth.check(p)
	if c.Auth.JWKSURL != "" && len(c.Auth.MasterKeys) == 0 && c.Has(RoleRead) {
		p.add("auth.master_key", "must be set, to the same value on all nodes that serve reads: it signs page cursors")
	}
	c.Ingest.check(p)
	c.Anomaly.check(p, c.TrustedProxies)
	c.Outbox.check(p)
	c.Retention.check(p)
	c.Projection.check(p)
	p.oneOf("transport", c.Transport, transports...)
	c.Streams.check(p)
	c.Mirror.check(p)
	c.checkNames(p)
	c.Reconcile.check(p)
	c.Realtime.check(p)
	c.Reads.check(p)
	c.Web.check(p)
	c.Limit.check(p)
	c.Dialects.check(p)
	c.checkConsole(p)
	c.OTLP.check(p)
	if new(slog.Level).UnmarshalText([]byte(c.LogLevel)) != nil {
		p.add("log.level", "must be debug, info, warn or error, not %q", c.LogLevel)
	}
}

func (c *Config) checkRoles(p *problems) {
	if len(c.Roles) == 0 {
		p.add("roles", "must name at least one of %s", strings.Join(roles, ", "))
	}
	for _, role := range c.Roles {
		if !slices.Contains(roles, role) {
			p.add("roles", "must be one or more of %s, not %q", strings.Join(roles, ", "), role)
		}
	}
}

// CheckRequired reports what the roles need and is not set: backends, and what
// verifies tokens. Load does not: "scoreboardd config" works without them.
func (c *Config) CheckRequired() error {
	var p problems
	if len(c.RequestRoles()) > 0 && c.Auth.JWKSURL == "" && c.Auth.JWTSecret == "" {
		p.add("auth.jwks_url", "or auth.jwt_secret must be set: without one, every token is rejected; "+
			"a secret, such as from \"openssl rand -hex 32\", lets \"scoreboardd token\" issue tokens")
	}
	for name, url := range map[string]string{"postgres.url": c.Postgres.URL, "redis.url": c.Redis.URL} {
		if url == "" {
			p.add(name, "must be set, by flag (--%s), environment (%s) or file; \"scoreboardd dev\" starts its own",
				FlagName(name), EnvName(name))
		}
	}
	if (c.Has(RoleGateway) || c.Has(RoleRead)) && c.Dialects.Has(DialectDelta) && len(c.Auth.MasterKeys) == 0 {
		p.add("auth.master_key", "must be set, to the same value on all nodes: it signs the stream tokens of the "+
			"dialect delta")
	}
	if c.NeedsKafka(c.Transport) && len(c.Kafka.Brokers) == 0 {
		p.add("kafka.brokers", "must be set: transport=kafka requires it for the roles api, intake, relay and "+
			"projector, and realtime.bus=kafka for gateway; with transport=streams or direct, and "+
			"realtime.bus=redis, PostgreSQL and Redis are enough")
	} else if c.mirrorsToKafka() && len(c.Kafka.Brokers) == 0 {
		p.add("kafka.brokers", "must be set for the role mirror, or mirror.plain.topic and mirror.cloudevents.topic "+
			"must be empty")
	}
	return p.err()
}

// RequestRoles are the roles of this process that serve requests, which carry tokens.
func (c *Config) RequestRoles() []string {
	served := []string{RoleAPI, RoleRead, RoleGateway}
	return slices.DeleteFunc(served, func(role string) bool { return !c.Has(role) })
}

// NeedsKafka reports whether a role of this process cannot work without Kafka. An intake
// that has brokers reads what other nodes have accepted there, with any transport. The
// feeds of the role mirror do not count: without Kafka they wait.
func (c *Config) NeedsKafka(transport string) bool {
	switch {
	case c.Has(RoleGateway) && c.Realtime.Bus == BusKafka:
		return true
	case c.Has(RoleIntake) && len(c.Kafka.Brokers) > 0:
		return true
	}
	return transport == TransportKafka && (c.UsesTransport() || c.Records())
}

// RunsPipeline reports whether this process runs an end of the pipeline from the outbox
// to the rankings.
func (c *Config) RunsPipeline() bool { return c.Has(RoleRelay) || c.Has(RoleProjector) }

// UsesTransport reports whether this process writes to the transport or reads from it.
func (c *Config) UsesTransport() bool { return c.RunsPipeline() || c.Has(RoleMirror) }

// Records reports whether this process records increments.
func (c *Config) Records() bool { return c.Has(RoleAPI) || c.Has(RoleIntake) }

// ReadsReplicas reports whether this process answers reads from replicas. A process that
// writes answers from what it writes to; a gateway compares what it reads with notices,
// which are ahead of replicas.
func (c *Config) ReadsReplicas() bool { return len(c.Roles) == 1 && c.Has(RoleRead) }
