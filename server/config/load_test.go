package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/config"
)

func lookup(pairs ...string) config.Lookup {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func TestFlagOverEnvironmentOverFileOverDefault(t *testing.T) {
	t.Parallel()
	file := strings.NewReader("ingest.batch: 100\noutbox.poll: 30ms\nredis.url: redis://file\n")
	c, values, err := config.Load(
		lookup("ingest-batch", "300"),
		lookup("SCOREBOARD_INGEST_BATCH", "200", "SCOREBOARD_OUTBOX_POLL", "40ms", "SCOREBOARD_KAFKA_BROKERS", "a:1, b:2"), file)
	if err != nil {
		t.Fatal(err)
	}
	if c.IngestBatch != 300 || c.OutboxPoll != 40*time.Millisecond || c.RedisURL != "redis://file" || c.IngestLanes != 1 {
		t.Errorf("got batch %d, poll %s, redis %q, lanes %d", c.IngestBatch, c.OutboxPoll, c.RedisURL, c.IngestLanes)
	}
	if len(c.KafkaBrokers) != 2 || c.KafkaBrokers[1] != "b:2" {
		t.Errorf("brokers: got %q", c.KafkaBrokers)
	}
	want := map[string]config.Source{
		"ingest.batch": config.FromFlag, "outbox.poll": config.FromEnv, "redis.url": config.FromFile, "ingest.lanes": config.FromDefault,
	}
	for _, v := range values {
		if source, ok := want[v.Name]; ok && v.Source != source {
			t.Errorf("%s: got it from the %s, want from the %s", v.Name, v.Source, source)
		}
		if v.Name == "redis.url" && v.Text != "********" {
			t.Errorf("a secret is shown: %q", v.Text)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		env  config.Lookup
		file string
		want string
	}{
		"a word for a number": {lookup("SCOREBOARD_INGEST_BATCH", "many"), "", "ingest.batch"},
		"no level":            {lookup("SCOREBOARD_LOG_LEVEL", "loud"), "", `knob log.level must be debug, info, warn or error, not "loud"`},
		"no batch":            {lookup("SCOREBOARD_INGEST_BATCH", "0"), "", "ingest.batch"},
		"an unknown role":     {lookup("SCOREBOARD_ROLES", "api,judge"), "", `"judge"`},
		"an unknown knob":     {lookup(), "ingest.bach: 1\n", `"ingest.bach"`},
		"a length without":    {lookup("SCOREBOARD_OUTBOX_POLL", "50"), "", "outbox.poll"},
		"a limit below 0":     {lookup("SCOREBOARD_LIMIT_TOP_PER_MINUTE", "-1"), "", "limit.top_per_minute"},
		"a limit without end": {lookup("SCOREBOARD_LIMIT_UPDATES_PER_MINUTE", "1000001"), "", "limit.updates_per_minute"},
		"two issuers":         {lookup("SCOREBOARD_AUTH_JWKS_URL", "https://id.example.com/keys", "SCOREBOARD_AUTH_JWT_SECRET", "s"), "", "auth.jwks_url"},
		"two ways to mint":    {lookup("SCOREBOARD_AUTH_JWKS_URL", "https://id.example.com/keys", "SCOREBOARD_AUTH_DEV_ISSUER", "true"), "", "auth.dev_issuer"},
		"no acknowledgement":  {lookup("SCOREBOARD_KAFKA_ACKS", "none"), "", "kafka.acks"},
		"a topic compacted":   {lookup("SCOREBOARD_KAFKA_CLEANUP", "compact"), "", "kafka.cleanup"},
		"an unknown codec":    {lookup("SCOREBOARD_KAFKA_COMPRESSION", "lzma"), "", "kafka.compression"},
		"kept past repeats":   {lookup("SCOREBOARD_KAFKA_RETENTION", "1000h"), "", "kafka.retention"},
		"one topic for two":   {lookup("SCOREBOARD_KAFKA_DEAD_TOPIC", "scoreboard.events.v1"), "", "kafka.dead_topic"},
		"a bad signature":     {lookup("SCOREBOARD_AUTH_SIGNATURE", "maybe"), "", "auth.signature"},
		"nobody is believed":  {lookup("SCOREBOARD_ANOMALY_COUNTRY_HEADER", "CF-IPCountry"), "", "trusted_proxies"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := config.Load(lookup(), c.env, strings.NewReader(c.file))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want it to name %s", err, c.want)
			}
		})
	}
}
