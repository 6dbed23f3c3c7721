package config_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// invalid are values that must be rejected, for every setting that operators can
// change. A new setting needs an entry.
var invalid = map[string][]string{
	"auth.jwks_url": nil, // its keys are read before it is stored: server/settings_test.go
	"auth.issuer":   {""}, "auth.audience": {""}, "auth.client_ids": nil,
	"auth.scope_claims":  {"scope,sub", "nickname"},
	"auth.user_claim":    {"", "iss", "name"},
	"auth.max_token_ttl": {"-1s", "soon"}, "auth.signature": {"maybe"},
	"auth.default_key": {"a key"}, "realtime.rank_lookups": {"9", "many"},
	"ingest.overflow": {"drop"}, "ingest.async": {"perhaps"}, "ingest.actions": {"kill", "kill:2:1"},
	"ingest.min_delta": {"-9007199254740992", "1.5"}, "ingest.max_delta": {"9007199254740992", ""},
	"transport": {"pigeons"}, "outbox.batch": {"0", "10001"}, "outbox.poll": {"0s", "50"}, "outbox.pause": {"-1ms"},
	"retention.addresses": {"-1h"}, "realtime.enabled": {"maybe"}, "realtime.window": {"0s", "2s"},
	"realtime.ping": {"0s", "61s"}, "realtime.pong_wait": {"1s"}, "realtime.slow_after": {"0s"},
	"realtime.connections_per_user": {"-1"}, "realtime.connections_per_address": {"-1"},
	"realtime.anonymous_per_address": {"-1"},
	"realtime.connections_per_node":  {"-1"}, "realtime.joins_per_second": {"-1"},
	"reads.anonymous": {"maybe"}, "reads.top_n": {"0", "101"},
	"limit.updates_per_minute": invalidRates, "limit.top_per_minute": invalidRates,
	"limit.rank_per_minute": invalidRates, "limit.events_per_minute": invalidRates,
	"limit.admin_per_minute":   invalidRates,
	"limit.tickets_per_minute": invalidRates, "limit.anonymous_per_minute": invalidRates,
	"limit.updates_window":     {"0s", "24h1m", "60"},
	"limit.ipv6_prefix":        {"47", "129", "/64"},
	"limit.address_per_minute": invalidRates, "limit.auth_failures_per_minute": invalidRates,
	"anomaly.size": {"loud"}, "anomaly.size_factor": {"1"},
	"anomaly.frequency": {"loud"}, "anomaly.frequency_max": {"0/1m", "1001/1m", "5"},
	"anomaly.amount": {"loud"}, "anomaly.amount_max": {"0/1h", "5/745h"},
	"anomaly.travel": {"loud"}, "anomaly.travel_window": {"0s", "745h"},
	"anomaly.country_header": {
		"CF IPCountry", "A:B", "Authorization", "content-type", "X-Scoreboard-Signature", "HOST", "Cookie", "Forwarded",
		"X-Forwarded-For", "Accept", "Upgrade", "Transfer-Encoding", "User-Agent", "Origin", "X-Request-Id",
	},
}

var invalidRates = []string{"-1", "1000001", "many"}

func TestEverySettingRejectsInvalidValues(t *testing.T) {
	t.Parallel()
	c, deployed, err := config.Load(lookup("trusted-proxies", "10.0.0.1"), lookup(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range deployed {
		if !config.Live(v.Name) {
			continue
		}
		values, known := invalid[v.Name]
		if !known {
			t.Errorf("%s can be changed at run time, but this test has no invalid values for it", v.Name)
		}
		for _, value := range values {
			_, err := c.With([]scoreboard.StoredSetting{{Name: v.Name, Value: &value}})
			if err == nil || !strings.Contains(err.Error(), v.Name) {
				t.Errorf("%s=%q: got %v, want an error that names it", v.Name, value, err)
			}
		}
	}
}

// Of several settings those are skipped that cannot be in force, not those that need
// each other, whatever their order.
func TestValidSettingsAreKept(t *testing.T) {
	t.Parallel()
	deployed, _, err := config.Load(lookup("ingest-min-delta", "1", "ingest-max-delta", "10"), lookup(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		stored []string // names and values
		want   string   // the skipped ones
	}{
		{[]string{"ingest.min_delta", "50", "ingest.max_delta", "100"}, ""},
		{[]string{"ingest.min_delta", "50", "reads.top_n", "500", "ingest.max_delta", "100"}, "reads.top_n"},
		{
			[]string{"ingest.min_delta", "50", "reads.top_n", "20", "ingest.max_delta", "many"},
			"ingest.max_delta,ingest.min_delta",
		},
		{[]string{"auth.issuer", "", "auth.audience", "others"}, "auth.issuer"},
		{
			[]string{"anomaly.country_header", "CF-IPCountry", "transport", "pigeons"},
			"anomaly.country_header,transport",
		},
	} {
		var stored []scoreboard.StoredSetting
		for i := 0; i < len(test.stored); i += 2 {
			stored = append(stored, scoreboard.StoredSetting{Name: test.stored[i], Value: &test.stored[i+1]})
		}
		c, problems := deployed.WithValid(stored)
		var names []string
		for _, p := range problems {
			names = append(names, p.Setting)
		}
		if got := strings.Join(names, ","); got != test.want {
			t.Errorf("%q: skipped %s, want %s (%v)", test.stored, got, test.want, problems)
		}
		inForce := 0
		for _, v := range c.Values() {
			if v.Source == config.FromStore {
				inForce++
			}
		}
		if want := len(stored) - len(names); inForce != want {
			t.Errorf("%q: %d are in force, want %d", test.stored, inForce, want)
		}
	}
}

// Periodic work has a minimum interval, at the start and at run time. The error
// names it.
func TestMinimumIntervals(t *testing.T) {
	t.Parallel()
	deployed, _, err := config.Load(lookup(), lookup(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, bound := range map[string]time.Duration{
		"realtime.ping": time.Second, "realtime.window": 10 * time.Millisecond, "outbox.poll": 10 * time.Millisecond,
	} {
		for value, valid := range map[string]bool{bound.String(): true, (bound - 1).String(): false, "1ns": false} {
			_, _, started := config.Load(lookup(config.FlagName(name), value), lookup(), nil)
			_, changed := deployed.With([]scoreboard.StoredSetting{{Name: name, Value: &value}})
			want := name + " must be at least " + bound.String() + ","
			for how, err := range map[string]error{"at start": started, "at run time": changed} {
				if valid && err != nil || !valid && (err == nil || !strings.Contains(err.Error(), want)) {
					t.Errorf("%s=%s %s: got %v, want at least %s", name, value, how, err, bound)
				}
			}
		}
	}
}

// The settings that specification C requires to be adjustable at run time.
func TestAdjustableSettings(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"reads.top_n", "ingest.min_delta", "ingest.max_delta",
		"limit.updates_per_minute", "limit.top_per_minute", "limit.rank_per_minute",
		"auth.jwks_url", "auth.issuer", "auth.audience", "outbox.poll", "outbox.batch", "realtime.ping",
		"realtime.window", "anomaly.travel_window", "ingest.actions",
		"anomaly.size", "anomaly.frequency", "anomaly.amount", "anomaly.travel",
		"realtime.enabled", "ingest.async", "transport",
	} {
		if !config.Live(name) {
			t.Errorf("%s cannot be changed at run time", name)
		}
	}
}

// A secret must not be adjustable: its value would be stored and listed.
func TestSecretsAreNotAdjustable(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"auth.jwt_secret", "auth.master_key", "postgres.url", "postgres.direct_url",
		"redis.url",
	} {
		if config.Live(name) {
			t.Errorf("%s can be changed at run time", name)
		}
	}
}

// Metrics, health checks and profiles are local unless an operator exposes them.
func TestOperationsPortIsLocal(t *testing.T) {
	t.Parallel()
	c, _, err := config.Load(lookup(), lookup(), nil)
	if err != nil {
		t.Fatal(err)
	}
	host, _, err := net.SplitHostPort(c.OpsAddr)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		t.Errorf("it listens on %s", c.OpsAddr)
	}
}
