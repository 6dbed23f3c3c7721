package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/internal/buildinfo"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/protocol"
)

// The bounds of what a healthy installation shows.
const (
	checkTime   = 2 * time.Second // of one check
	slowBackend = 250 * time.Millisecond
	oldOutbox   = 10 * time.Second // the relay publishes within milliseconds
	deadOutbox  = time.Minute
	oldHorizon  = time.Minute
	longLag     = 50_000 // records: a few seconds of full load
	scarceDisk  = 0.10   // of it free
	noDisk      = 0.03
)

// doctor is the server as it looks at itself.
type doctor struct{ s *Server }

// Checks makes every check at once, so that a backend that hangs holds up
// nothing but its own.
func (d doctor) Checks(ctx context.Context) protocol.Checks {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	checks := []func(context.Context) protocol.Check{d.postgres, d.redis, d.kafka, d.history, d.outbox, d.lag, d.disk, d.configuration}
	found := make([]protocol.Check, len(checks))
	var all sync.WaitGroup
	for i, check := range checks {
		all.Go(func() { found[i] = check(ctx) })
	}
	all.Wait()
	return protocol.Checks{Version: buildinfo.Read().Version, Checks: found}
}

// ping checks a backend by asking it anything.
func ping(ctx context.Context, name, next string, ask func(context.Context) error) protocol.Check {
	began := time.Now()
	if err := ask(ctx); err != nil {
		return protocol.Check{Name: name, Status: protocol.CheckFail, Detail: "does not answer", NextStep: next}
	}
	c := protocol.Check{Name: name, Status: protocol.CheckOK, Detail: fmt.Sprintf("answers in %v", time.Since(began).Round(100*time.Microsecond))}
	if time.Since(began) > slowBackend {
		c.Status, c.NextStep = protocol.CheckWarn, "it is slow: look at its load and at the network between"
	}
	return c
}

func (d doctor) postgres(ctx context.Context) protocol.Check {
	return ping(ctx, "postgres", "nothing is written until it is back: look at PostgreSQL, at PgBouncer if there is one, and at postgres.url", d.s.store.Ping)
}

func (d doctor) redis(ctx context.Context) protocol.Check {
	return ping(ctx, "redis", "reads come from PostgreSQL until it is back: look at Redis and at redis.url", d.s.ranking.Ping)
}

func (d doctor) kafka(ctx context.Context) protocol.Check {
	if d.s.kafka == nil {
		return protocol.Check{Name: "kafka", Status: protocol.CheckSkipped, Detail: "this process does not use it (transport " + d.s.knobs.current.Load().Transport + ")"}
	}
	return ping(ctx, "kafka", "changes wait in the outbox until it is back: look at the brokers and at kafka.brokers", d.s.kafka.Ping)
}

func (d doctor) outbox(ctx context.Context) protocol.Check {
	status, err := d.s.store.OutboxStatus(ctx)
	if err != nil {
		return protocol.Check{Name: "outbox", Status: protocol.CheckSkipped, Detail: "PostgreSQL does not say"}
	}
	var depth int64
	var oldest time.Duration
	var stuck string
	for _, shard := range status.Shards {
		depth += shard.Depth
		oldest = max(oldest, shard.OldestAge)
		if shard.Attempts > 0 {
			stuck = fmt.Sprintf("shard %d has tried %d times: %s", shard.Shard, shard.Attempts, shard.LastError)
		}
	}
	c := protocol.Check{Name: "outbox", Status: protocol.CheckOK, Detail: fmt.Sprintf("%d changes wait, the oldest for %v", depth, oldest.Round(time.Millisecond))}
	switch {
	case oldest > deadOutbox:
		c.Status, c.NextStep = protocol.CheckFail, "nothing is published: is a process with the role relay running? \"sbctl outbox status\" tells who has which shard"
	case stuck != "":
		c.Status, c.Detail, c.NextStep = protocol.CheckWarn, c.Detail+"; "+stuck, "look at the broker; what cannot be published at all goes to the dead letters"
	case status.HorizonAge > oldHorizon:
		c.Status, c.Detail = protocol.CheckWarn, fmt.Sprintf("%s; a transaction has been writing for %v", c.Detail, status.HorizonAge.Round(time.Second))
		c.NextStep = "nothing behind it is published: end it (pg_stat_activity), and set idle_in_transaction_session_timeout"
	case oldest > oldOutbox:
		c.Status, c.NextStep = protocol.CheckWarn, "the relay is behind: look at its log and at the broker"
	}
	return c
}

// lag is what the consumers of this process have before them.
func (d doctor) lag(context.Context) protocol.Check {
	const metric = "scoreboard_broker_lag_records"
	c := protocol.Check{Name: "lag", Status: protocol.CheckSkipped, Detail: "this process does not read from the broker"}
	families, err := d.s.registry.Gather()
	if err != nil {
		c.Detail = "its own metrics are not to be had"
		return c
	}
	for _, family := range families {
		if family.GetName() != metric {
			continue
		}
		var records float64
		for _, m := range family.GetMetric() {
			records += m.GetGauge().GetValue()
		}
		c.Status, c.Detail = protocol.CheckOK, fmt.Sprintf("%.0f records to be read", records)
		if records > longLag {
			c.Status, c.NextStep = protocol.CheckWarn, "the consumers are behind: look at Redis (projector) and PostgreSQL (intake), or add processes with these roles"
		}
	}
	return c
}

func (d doctor) disk(context.Context) protocol.Check {
	free, total, err := diskOf(".")
	if err != nil || total == 0 {
		return protocol.Check{Name: "disk", Status: protocol.CheckSkipped, Detail: "not known on this system"}
	}
	share := float64(free) / float64(total)
	c := protocol.Check{Name: "disk", Status: protocol.CheckOK, Detail: fmt.Sprintf("%.1f GiB free where the server runs, %.0f %%", float64(free)/(1<<30), 100*share)}
	if share < scarceDisk {
		c.Status, c.NextStep = protocol.CheckWarn, "make room, or put archives and data elsewhere"
	}
	if share < noDisk {
		c.Status = protocol.CheckFail
	}
	return c
}

// configuration names settings that are for development.
func (d doctor) configuration(context.Context) protocol.Check {
	c := d.s.config
	check := protocol.Check{Name: "configuration", Status: protocol.CheckOK, Detail: fmt.Sprintf("roles %v, transport %s", c.Roles, d.s.knobs.current.Load().Transport)}
	var odd string
	switch {
	case c.AuthSignature == "optional":
		odd = "auth.signature is optional: whoever has a token writes without a key"
	case c.AuthDevIssuer:
		odd = "auth.dev_issuer is on: whoever has score:admin makes tokens for anybody"
	case c.LimitUpdatesPerMinute == 0 && c.Has(config.RoleAPI):
		odd = "limit.updates_per_minute is off"
	}
	if odd != "" {
		check.Status, check.Detail, check.NextStep = protocol.CheckWarn, odd, "right for development; change it elsewhere, \"sbctl knobs list\" shows where it came from"
	}
	return check
}
