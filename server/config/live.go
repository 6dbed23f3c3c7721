package config

import (
	"fmt"
	"slices"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// FromStore is the source of a setting that an operator has turned at run time. It
// is over flag, environment and file: those are of the deploy, and this came
// after it. Turned back, the setting is as it was deployed.
const FromStore Source = "store"

// Live says whether a setting can be turned while the daemon runs. The others are
// about what a process is made of: addresses, sizes, backends.
func Live(name string) bool {
	return slices.Contains([]string{
		"auth.jwks_url", "auth.issuer", "auth.audience", "auth.max_token_life", "auth.signature",
		"ingest.overflow", "ingest.async", "ingest.actions", "ingest.least_delta", "ingest.most_delta",
		"transport", "outbox.batch", "outbox.poll", "outbox.pause",
		"retention.addresses",
		"realtime.enabled", "realtime.window", "realtime.ping", "realtime.pong_wait", "realtime.slow_after",
		"realtime.connections_per_user", "realtime.connections_per_address", "realtime.connections_per_node", "realtime.joins_per_second",
		"reads.anonymous", "reads.top_n",
		"limit.updates_per_minute", "limit.top_per_minute", "limit.rank_per_minute", "limit.tickets_per_minute",
		"limit.anonymous_per_minute", "limit.address_per_minute", "limit.auth_failures_per_minute",
		"anomaly.size", "anomaly.size_factor", "anomaly.frequency", "anomaly.frequency_most", "anomaly.amount", "anomaly.amount_most",
		"anomaly.travel", "anomaly.travel_window", "anomaly.country_header",
	}, name)
}

// With is c with settings as operators have turned them, or says which cannot be
// so. c stays as it is.
func (c *Config) With(stored []scoreboard.StoredSetting) (*Config, error) {
	next := *c
	knobs := next.knobs()
	next.values = slices.Clone(c.values)
	for _, s := range stored {
		i := slices.IndexFunc(knobs, func(k knob) bool { return k.name == s.Name })
		if i < 0 {
			continue // of another build
		}
		if s.Value == nil {
			continue
		}
		if !Live(s.Name) {
			return nil, fmt.Errorf("knob %s is set at the start of the daemon only", s.Name)
		}
		if err := set(knobs[i].to, *s.Value); err != nil {
			return nil, fmt.Errorf("knob %s: %w", s.Name, err)
		}
		next.values[i].Text, next.values[i].Source = *s.Value, FromStore
	}
	return &next, next.check()
}

// Values are all settings as they are in force, secrets masked.
func (c *Config) Values() []Value { return slices.Clone(c.values) }
