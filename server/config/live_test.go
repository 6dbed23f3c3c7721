package config_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// bad are values of every setting that operators can turn which must not come into
// force. A setting that is added must be thought of here.
var bad = map[string][]string{
	"auth.jwks_url": nil, // its keys are read before it is stored: server/knobs_test.go
	"auth.issuer":   {""}, "auth.audience": {""}, "auth.max_token_life": {"-1s", "soon"}, "auth.signature": {"maybe"},
	"ingest.overflow": {"drop"}, "ingest.async": {"perhaps"}, "ingest.actions": {"kill", "kill:2:1"},
	"ingest.least_delta": {"-9007199254740992", "1.5"}, "ingest.most_delta": {"9007199254740992", ""},
	"transport": {"pigeons"}, "outbox.batch": {"0", "10001"}, "outbox.poll": {"0s", "50"}, "outbox.pause": {"-1ms"},
	"retention.addresses": {"-1h"}, "realtime.enabled": {"maybe"}, "realtime.window": {"0s", "2s"}, "realtime.ping": {"0s", "61s"},
	"realtime.pong_wait": {"1s"}, "realtime.slow_after": {"0s"}, "realtime.connections_per_user": {"-1"},
	"realtime.connections_per_address": {"-1"}, "realtime.connections_per_node": {"-1"}, "realtime.joins_per_second": {"-1"},
	"reads.anonymous": {"maybe"}, "reads.top_n": {"0", "101"},
	"limit.updates_per_minute": perMinute, "limit.top_per_minute": perMinute, "limit.rank_per_minute": perMinute,
	"limit.tickets_per_minute": perMinute, "limit.anonymous_per_minute": perMinute, "limit.address_per_minute": perMinute,
	"limit.auth_failures_per_minute": perMinute,
	"anomaly.size":                   {"loud"}, "anomaly.size_factor": {"1"}, "anomaly.frequency": {"loud"}, "anomaly.frequency_most": {"0/1m", "1001/1m", "5"},
	"anomaly.amount": {"loud"}, "anomaly.amount_most": {"0/1h", "5/745h"}, "anomaly.travel": {"loud"}, "anomaly.travel_window": {"0s", "745h"},
	"anomaly.country_header": {"CF IPCountry", "A:B"},
}

var perMinute = []string{"-1", "1000001", "many"}

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
		values, known := bad[v.Name]
		if !known {
			t.Errorf("%s can be turned: what can it not be?", v.Name)
		}
		for _, value := range values {
			_, err := c.With([]scoreboard.StoredSetting{{Name: v.Name, Value: &value}})
			if err == nil || !strings.Contains(err.Error(), v.Name) {
				t.Errorf("%s as %q: got %v, want it refused by its name", v.Name, value, err)
			}
		}
	}
}

// What is done again and again by itself has a least time between, at the start
// and when it is turned; who asks for less is told which.
func TestTheLeastTimes(t *testing.T) {
	t.Parallel()
	deployed, _, err := config.Load(lookup(), lookup(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, least := range map[string]time.Duration{
		"realtime.ping": time.Second, "realtime.window": 10 * time.Millisecond, "outbox.poll": 10 * time.Millisecond,
	} {
		for value, good := range map[string]bool{least.String(): true, (least - 1).String(): false, "1ns": false} {
			_, _, started := config.Load(lookup(config.FlagName(name), value), lookup(), nil)
			_, turned := deployed.With([]scoreboard.StoredSetting{{Name: name, Value: &value}})
			for how, err := range map[string]error{"started": started, "turned": turned} {
				if good && err != nil || !good && (err == nil || !strings.Contains(err.Error(), name+" must be at least "+least.String()+",")) {
					t.Errorf("%s with %s=%s: got %v, want at least %s", how, name, value, err, least)
				}
			}
		}
	}
}

// What specification C wants operators to change without a deploy.
func TestWhatOperatorsChangeWithoutADeploy(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"reads.top_n", "ingest.least_delta", "ingest.most_delta", "limit.updates_per_minute", "limit.top_per_minute", "limit.rank_per_minute",
		"auth.jwks_url", "auth.issuer", "auth.audience", "outbox.poll", "outbox.batch", "realtime.ping",
		"realtime.window", "anomaly.travel_window", "ingest.actions", "anomaly.size", "anomaly.frequency", "anomaly.amount", "anomaly.travel",
		"realtime.enabled", "ingest.async", "transport",
	} {
		if !config.Live(name) {
			t.Errorf("%s is set at the start of the daemon only", name)
		}
	}
}

// Metrics, health and profiles are for who is on the machine, unless an
// operator says otherwise.
func TestThePortOfOperationsIsNotPublic(t *testing.T) {
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
