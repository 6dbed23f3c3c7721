package config_test

import (
	"errors"
	"slices"
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

func TestSourcesByPrecedence(t *testing.T) {
	t.Parallel()
	file := strings.NewReader("ingest.batch: 100\noutbox.poll: 30ms\nredis.url: redis://file\n")
	env := lookup(
		"SCOREBOARD_INGEST_BATCH", "200", "SCOREBOARD_OUTBOX_POLL", "40ms", "SCOREBOARD_KAFKA_BROKERS", "a:1, b:2",
	)
	c, values, err := config.Load(lookup("ingest-batch", "300"), env, file)
	if err != nil {
		t.Fatal(err)
	}
	if c.Ingest.Batch != 300 || c.Outbox.Poll != 40*time.Millisecond || c.Redis.URL != "redis://file" ||
		c.Ingest.Lanes != 1 {
		t.Errorf("got batch %d, poll %s, redis %q, lanes %d", c.Ingest.Batch, c.Outbox.Poll, c.Redis.URL,
			c.Ingest.Lanes)
	}
	if len(c.Kafka.Brokers) != 2 || c.Kafka.Brokers[1] != "b:2" {
		t.Errorf("brokers: got %q", c.Kafka.Brokers)
	}
	want := map[string]config.Source{
		"ingest.batch": config.FromFlag, "outbox.poll": config.FromEnv,
		"redis.url": config.FromFile, "ingest.lanes": config.FromDefault,
	}
	for _, v := range values {
		if source, ok := want[v.Name]; ok && v.Source != source {
			t.Errorf("%s: got the source %s, want %s", v.Name, v.Source, source)
		}
		if v.Name == "redis.url" && v.Text != "********" {
			t.Errorf("a secret is not masked: %q", v.Text)
		}
	}
}

// A secret, like every value, ends before the end of a line that an editor, Windows or a
// secret store leaves behind it.
func TestSecretsWithoutLineEnds(t *testing.T) {
	t.Parallel()
	const secret = "0123456789abcdef0123456789abcdef"
	for name, c := range map[string]struct {
		flags, env config.Lookup
		file       string
	}{
		"variable":       {lookup(), lookup("SCOREBOARD_AUTH_JWT_SECRET", secret+"\r\n"), ""},
		"flag":           {lookup("auth-jwt-secret", secret+"\r"), lookup(), ""},
		"file":           {lookup(), lookup(), "auth.jwt_secret: " + secret + "\r\ningest.batch: 7\r\n"},
		"quoted in file": {lookup(), lookup(), `auth.jwt_secret: "` + secret + `\r\n"`},
		"block in file":  {lookup(), lookup(), "auth.jwt_secret: |\r\n  " + secret + "\r\n"},
	} {
		got, _, err := config.Load(c.flags, c.env, strings.NewReader(c.file))
		if err != nil || got.Auth.JWTSecret != secret {
			t.Errorf("%s: got %q, %v", name, got.Auth.JWTSecret, err)
		}
	}
	env := lookup("SCOREBOARD_DIALECTS", "delta\r", "RATE_LIMIT_DURATION", "10\r\n")
	if got, _, err := config.Load(lookup(), env, nil); err != nil || got.Limit.UpdatesWindow != 10*time.Second {
		t.Errorf("a name of specification C: got %v, %v", got.Limit.UpdatesWindow, err)
	}
}

// A list in the file may be a list of YAML. The end of a line that Windows leaves in a
// variable is no part of the value.
func TestListsAndLineEnds(t *testing.T) {
	t.Parallel()
	file := "kafka.brokers: [a:1, b:2]\nrealtime.origins:\n  - https://a.example\n  - capacitor://localhost\n" +
		"tls.client_names: []\noutbox.batch: 100\nreads.anonymous: true\n"
	variables := lookup("SCOREBOARD_AUTH_ISSUER", "https://id.example/\r\n")
	c, _, err := config.Load(lookup(), variables, strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Kafka.Brokers, []string{"a:1", "b:2"}) || len(c.Realtime.Origins) != 2 || !c.Reads.Anonymous ||
		len(c.TLS.ClientNames) != 0 || c.Outbox.Batch != 100 || c.Auth.Issuer != "https://id.example/" {
		t.Errorf("got %q, %q, issuer %q", c.Kafka.Brokers, c.Realtime.Origins, c.Auth.Issuer)
	}
	for _, text := range []string{"kafka.brokers: ['a:1,b:2']\n", "kafka.brokers: {a: 1}\n", "kafka.brokers: [[a]]\n"} {
		if _, _, err := config.Load(lookup(), lookup(), strings.NewReader(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// An origin that no browser sends would never match.
func TestOriginsThatNeverMatch(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"https://game.example": true, "http://localhost:8000": true, "capacitor://localhost": true,
		"http://[::1]:8000": true, "https://game.example/": false, "https://Game.example": false,
		"https://game.example:443": false, "http://game.example:80": false, "game.example": false,
		"https://*.game.example": false, "*": false, "null": false, "https://game.example/play": false,
		"https://user@game.example": false,
	} {
		_, _, err := config.Load(lookup("realtime-origins", text), lookup(), nil)
		if got := err == nil; got != want {
			t.Errorf("%s: got %v, want accepted: %t", text, err, want)
		}
	}
}

func TestLoadRejects(t *testing.T) {
	t.Parallel()
	const jwks = "SCOREBOARD_AUTH_JWKS_URL"
	cases := map[string]struct {
		env  config.Lookup
		file string
		want string
	}{
		"not a number": {lookup("SCOREBOARD_INGEST_BATCH", "many"), "", "ingest.batch"},
		"unknown level": {
			lookup("SCOREBOARD_LOG_LEVEL", "loud"), "",
			`log.level must be debug, info, warn or error, not "loud"`,
		},
		"batch of 0":              {lookup("SCOREBOARD_INGEST_BATCH", "0"), "", "ingest.batch"},
		"batch of 1001":           {lookup("SCOREBOARD_INGEST_BATCH", "1001"), "", "ingest.batch"},
		"unknown role":            {lookup("SCOREBOARD_ROLES", "api,judge"), "", `"judge"`},
		"unknown setting":         {lookup(), "ingest.bach: 1\n", "ingest.bach is unknown"},
		"duration without a unit": {lookup("SCOREBOARD_OUTBOX_POLL", "50"), "", "outbox.poll"},
		"negative limit":          {lookup("SCOREBOARD_LIMIT_TOP_PER_MINUTE", "-1"), "", "limit.top_per_minute"},
		"excessive limit": {
			lookup("SCOREBOARD_LIMIT_UPDATES_PER_MINUTE", "1000001"), "",
			"limit.updates_per_minute",
		},
		"excessive limit in a window": {
			lookup("SCOREBOARD_LIMIT_UPDATES_PER_MINUTE", "20000", "SCOREBOARD_LIMIT_UPDATES_WINDOW", "1s"), "",
			"limit.updates_window (1s) with limit.updates_per_minute (20000) must not exceed 1000000 updates a minute",
		},
		"two token verifiers": {
			lookup(jwks, "https://id.example.com/keys", "SCOREBOARD_AUTH_JWT_SECRET", "s"), "",
			"auth.jwks_url",
		},
		"two token issuers": {
			lookup(jwks, "https://id.example.com/keys", "SCOREBOARD_AUTH_DEV_ISSUER", "true"),
			"", "auth.dev_issuer",
		},
		"no acknowledgement":     {lookup("SCOREBOARD_KAFKA_ACKS", "none"), "", "kafka.acks"},
		"compacted event topic":  {lookup("SCOREBOARD_KAFKA_CLEANUP", "compact"), "", "kafka.cleanup"},
		"unknown compression":    {lookup("SCOREBOARD_KAFKA_COMPRESSION", "lzma"), "", "kafka.compression"},
		"retention over repeats": {lookup("SCOREBOARD_KAFKA_RETENTION", "1000h"), "", "kafka.retention"},
		"same topic twice": {
			lookup("SCOREBOARD_KAFKA_DEAD_TOPIC", "scoreboard.events.v1"), "",
			"kafka.dead_topic",
		},
		"group of two consumers": {
			lookup("SCOREBOARD_KAFKA_INTAKE_GROUP", "scoreboard-projection"), "",
			"kafka.group and kafka.intake_group must not name the same consumer group scoreboard-projection",
		},
		"stream of two uses": {
			lookup("SCOREBOARD_STREAMS_NAME", "season-events"), "",
			"kafka.seasons_topic and streams.name must not name the same stream season-events",
		},
		"mirror's topic is native": {
			lookup("SCOREBOARD_ROLES", "mirror", "SCOREBOARD_KAFKA_TOPIC", "score-events"), "",
			"kafka.topic and mirror.plain.topic must not name the same topic score-events",
		},
		"mirror's topics are one": {
			lookup("SCOREBOARD_ROLES", "mirror", "SCOREBOARD_MIRROR_CLOUDEVENTS_TOPIC", "score-events"), "",
			"mirror.cloudevents.topic and mirror.plain.topic must not name the same topic score-events",
		},
		"mirror's group is the projection's": {
			lookup("SCOREBOARD_ROLES", "mirror", "SCOREBOARD_KAFKA_GROUP", "scoreboard-mirror-delta"), "",
			"kafka.group and mirror.group must not name the same consumer group scoreboard-mirror-delta",
		},
		"mirror's stream is native": {
			lookup("SCOREBOARD_ROLES", "mirror", "SCOREBOARD_STREAMS_NAME", "leaderboard:stream"), "",
			"mirror.delta.stream and streams.name must not name the same stream leaderboard:stream",
		},
		"mirror's stream is a native key": {
			lookup("SCOREBOARD_ROLES", "mirror", "SCOREBOARD_MIRROR_DELTA_STREAM", "{sb:stream}:0"), "",
			"mirror.delta.stream must not begin with {sb:stream}:",
		},
		"mirror's stream is a native key of a cluster": {
			lookup("SCOREBOARD_ROLES", "mirror", "SCOREBOARD_MIRROR_DELTA_STREAM", "{sb:stream:0}"), "",
			"mirror.delta.stream must not begin with {sb:stream:",
		},
		"mirror without a feed": {
			lookup("SCOREBOARD_ROLES", "mirror", "SCOREBOARD_MIRROR_DELTA_STREAM", "",
				"SCOREBOARD_MIRROR_PLAIN_TOPIC", "", "SCOREBOARD_MIRROR_CLOUDEVENTS_TOPIC", ""), "",
			"roles must not name mirror without",
		},
		"mirror of direct": {
			lookup("SCOREBOARD_TRANSPORT", "direct", "SCOREBOARD_ROLES", "relay,projector,mirror"), "",
			"transport must not be direct with the role mirror",
		},
		"unknown signature mode": {lookup("SCOREBOARD_AUTH_SIGNATURE", "maybe"), "", "auth.signature"},
		"country header untrusted": {
			lookup("SCOREBOARD_ANOMALY_COUNTRY_HEADER",
				"CF-IPCountry"), "", "anomaly.country_header requires trusted_proxies",
		},
		"not a network": {
			lookup("SCOREBOARD_AUTH_JWKS_NETWORKS", "10.0.0.0/8,10.0.0.1"), "",
			`auth.jwks_networks must be a list of networks such as 10.0.0.0/8,fd00::/8, not "10.0.0.0/8,10.0.0.1"`,
		},
		"imports that never finish": {
			lookup("SCOREBOARD_IMPORT_RECORDS_PER_SECOND", "499"), "",
			"import.records_per_second must be 500 to 1000000",
		},
		"certificate without a key": {lookup("SCOREBOARD_TLS_CERT", "c.pem"), "", "tls.cert and tls.key"},
		"client certificate without a key": {
			lookup("SCOREBOARD_POSTGRES_TLS_CERT", "c.pem"), "",
			"postgres.tls_cert and postgres.tls_key must be set together",
		},
		"authority without TLS": {lookup("SCOREBOARD_KAFKA_TLS_CA", "c.pem"), "", "kafka.tls must be true"},
		"authority of an unencrypted Redis": {
			lookup("SCOREBOARD_REDIS_TLS_CA", "c.pem", "SCOREBOARD_REDIS_URL", "redis://host"), "",
			"redis.url must begin with rediss",
		},
		"malformed URL of Redis": {
			lookup("SCOREBOARD_REDIS_URL", "redis://user:se cret@host:x"), "",
			"redis.url cannot be used: the Redis URL is invalid: want redis://USER:PASSWORD@HOST:PORT/DATABASE",
		},
		"malformed URL of a replica of Redis": {
			lookup("SCOREBOARD_REDIS_REPLICA_URL", "redis://user:se cret@host:x"), "",
			"redis.replica_url cannot be used: the Redis URL is invalid",
		},
		"replica of another kind": {
			lookup("SCOREBOARD_REDIS_URL", "redis+cluster://host", "SCOREBOARD_REDIS_REPLICA_URL", "redis://host"), "",
			"redis.replica_url must be the URL of a cluster if and only if redis.url is one",
		},
		"SASL without a password": {
			lookup("SCOREBOARD_KAFKA_SASL", "plain", "SCOREBOARD_KAFKA_SASL_USER", "ada"), "",
			"kafka.sasl and kafka.sasl_user and kafka.sasl_password must be set together",
		},
		"user without SASL": {
			lookup("SCOREBOARD_KAFKA_SASL_USER", "ada", "SCOREBOARD_KAFKA_SASL_PASSWORD", "x"), "",
			"kafka.sasl and kafka.sasl_user",
		},
		"unknown SASL": {
			lookup("SCOREBOARD_KAFKA_SASL", "gssapi", "SCOREBOARD_KAFKA_SASL_USER", "ada",
				"SCOREBOARD_KAFKA_SASL_PASSWORD", "x"), "",
			"kafka.sasl must be plain or scram-sha-512",
		},
		"direct without a projector": {
			lookup("SCOREBOARD_TRANSPORT", "direct", "SCOREBOARD_ROLES", "relay"), "",
			"transport must not be direct",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := config.Load(lookup(), c.env, strings.NewReader(c.file))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

// Every mistake is reported at once, sorted by setting, whichever source it came
// from and whether it was found while parsing or checking.
func TestLoadReportsAllMistakes(t *testing.T) {
	t.Parallel()
	want := `7 settings are invalid:
  auth.issuer must not be empty: tokens of other issuers or for other audiences would be accepted
  ingest.bach is unknown (from the file); did you mean ingest.batch?
  ingest.batch must be a whole number, not "many" (from the environment)
  kafka.retention must be greater than 0, not 0s
  limit.top_per_minute must be 0 to 1000000, not -1
  outbox.poll must be at least 10ms, not 1ms
  realtime.max_window (1s) must not be below realtime.window (2s)`
	for range 10 { // maps are iterated in random order
		_, _, err := config.Load(
			lookup("outbox-poll", "1ms", "realtime-window", "2s", "limit-top-per-minute", "-1"),
			lookup("SCOREBOARD_INGEST_BATCH", "many", "SCOREBOARD_AUTH_ISSUER", ""),
			strings.NewReader("ingest.bach: 1\nkafka.retention: 0s\n"))
		if err == nil || err.Error() != want {
			t.Fatalf("got\n%v\nwant\n%s", err, want)
		}
		var invalid *config.InvalidError
		if !errors.As(err, &invalid) || !slices.IsSortedFunc(invalid.Problems, func(a, b config.Problem) int {
			return strings.Compare(a.Setting, b.Setting)
		}) {
			t.Fatalf("got %#v, want an InvalidError sorted by setting", err)
		}
	}
}

func TestCheckRequired(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flags config.Lookup
		want  []string // settings
	}{
		"nothing set": {lookup(), []string{"auth.jwks_url", "kafka.brokers", "postgres.url", "redis.url"}},
		"reads without Kafka": {
			lookup("roles", "read", "postgres-url", "p", "redis-url", "redis://r", "auth-jwt-secret", "s"), nil,
		},
		"reads without tokens": {
			lookup("roles", "read", "postgres-url", "p", "redis-url", "redis://r"), []string{"auth.jwks_url"},
		},
		"key set": {
			lookup("roles", "gateway", "postgres-url", "p",
				"redis-url", "redis://r", "auth-jwks-url", "https://id/keys"), nil,
		},
		"relay needs no tokens": {
			lookup("roles", "relay", "transport", "streams", "postgres-url", "p", "redis-url", "redis://r"), nil,
		},
		"intake over streams": {
			lookup("roles", "intake", "transport", "streams", "postgres-url", "p", "redis-url", "redis://r"), nil,
		},
		"intake over Kafka": {
			lookup("roles", "intake", "postgres-url", "p", "redis-url", "redis://r"), []string{"kafka.brokers"},
		},
		"every role but mirror, direct": {
			lookup("roles", "api,read,intake,relay,projector,gateway,maintenance", "transport", "direct",
				"postgres-url", "p", "redis-url", "redis://r", "auth-jwt-secret", "s", "auth-master-key", "m"), nil,
		},
		"gateway over Kafka": {
			lookup("roles", "gateway", "realtime-bus", "kafka", "postgres-url", "p", "redis-url",
				"redis://r", "auth-jwt-secret", "s"), []string{"kafka.brokers"},
		},
		"mirror to Kafka": {
			lookup("roles", "mirror", "transport", "streams", "postgres-url", "p", "redis-url", "redis://r"),
			[]string{"kafka.brokers"},
		},
		"mirror to Redis": {
			lookup("roles", "mirror", "transport", "streams", "postgres-url", "p", "redis-url", "redis://r",
				"mirror-plain-topic", "", "mirror-cloudevents-topic", ""), nil,
		},
		"everything over streams": {
			lookup("roles", "api,relay,projector", "transport", "streams", "postgres-url", "p",
				"redis-url", "redis://r",
				"auth-jwt-secret", "s"), nil,
		},
	} {
		loaded, _, err := config.Load(c.flags, lookup(), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []string
		var invalid *config.InvalidError
		if errors.As(loaded.CheckRequired(), &invalid) {
			for _, p := range invalid.Problems {
				got = append(got, p.Setting)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got problems with %q, want %q", name, got, c.want)
		}
	}
}
