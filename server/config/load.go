package config

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Source says where a value came from.
type Source string

const (
	FromFlag    Source = "flag"
	FromEnv     Source = "environment"
	FromFile    Source = "file"
	FromDefault Source = "default"
)

// Value is one setting as it is in force. A secret's text is masked.
type Value struct {
	Name    string `json:"name"`
	Text    string `json:"value"`
	Source  Source `json:"source"`
	Meaning string `json:"meaning"`
}

// Lookup returns a text and whether it is set.
type Lookup func(name string) (string, bool)

// FlagName is the command line's name of a setting.
func FlagName(knob string) string { return strings.NewReplacer(".", "-", "_", "-").Replace(knob) }

// EnvName is the environment's name of a setting.
func EnvName(knob string) string {
	return "SCOREBOARD_" + strings.ToUpper(strings.ReplaceAll(knob, ".", "_"))
}

// Defaults lists the settings with their defaults, for the help.
func Defaults() []Value {
	var values []Value
	for _, k := range new(Config).knobs() {
		values = append(values, Value{k.name, k.value, FromDefault, k.meaning})
	}
	return values
}

// Misspelt returns the names of an environment that look like settings and are
// none. What an orchestrator adds for a service that is called scoreboard
// (SCOREBOARD_PORT…, SCOREBOARD_SERVICE…) is not meant for us, and what tests
// are told (SCOREBOARD_TEST_…, SCOREBOARD_PROOF) neither.
func Misspelt(environ []string) []string {
	known := EnvNames()
	var names []string
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		rest, ours := strings.CutPrefix(name, "SCOREBOARD_")
		if !ours || slices.Contains(known, name) || rest == "PROOF" {
			continue
		}
		foreign := false
		for _, prefix := range []string{"PORT", "SERVICE_", "TEST_"} {
			foreign = foreign || strings.HasPrefix(rest, prefix)
		}
		if !foreign {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// EnvNames lists the environment's names of all settings.
func EnvNames() []string {
	var names []string
	for _, k := range new(Config).knobs() {
		names = append(names, EnvName(k.name))
	}
	return names
}

// Load reads every setting. flags and env are asked by the names of FlagName and
// EnvName; file, which may be nil, is YAML of setting names.
func Load(flags, env Lookup, file io.Reader) (*Config, []Value, error) {
	c := &Config{}
	knobs := c.knobs()
	inFile, err := readFile(file, knobs)
	if err != nil {
		return nil, nil, err
	}
	var values []Value
	for _, k := range knobs {
		text, source := k.value, FromDefault
		if s, ok := inFile[k.name]; ok {
			text, source = s, FromFile
		}
		if s, ok := env(EnvName(k.name)); ok {
			text, source = s, FromEnv
		}
		if s, ok := flags(FlagName(k.name)); ok {
			text, source = s, FromFlag
		}
		if err := set(k.to, text); err != nil {
			return nil, nil, fmt.Errorf("knob %s from the %s: %w", k.name, source, err)
		}
		if k.secret && text != "" {
			text = "********"
		}
		values = append(values, Value{k.name, text, source, k.meaning})
	}
	c.values = values
	if err := c.check(); err != nil {
		return c, values, err
	}
	if c.Transport == TransportDirect && c.Has(RoleRelay) != c.Has(RoleProjector) {
		return c, values, errors.New("knob transport=direct wants the roles relay and projector in one process")
	}
	return c, values, nil
}

func readFile(file io.Reader, knobs []knob) (map[string]string, error) {
	if file == nil {
		return nil, nil
	}
	found := make(map[string]string)
	if err := yaml.NewDecoder(file).Decode(&found); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the configuration file: %w", err)
	}
	for name := range found {
		if !slices.ContainsFunc(knobs, func(k knob) bool { return k.name == name }) {
			return nil, fmt.Errorf("read the configuration file: there is no knob %q", name)
		}
	}
	return found, nil
}

// set reads a setting's text. What the parsers of Go say is not for who turns it.
func set(to any, text string) (err error) {
	kind := ""
	switch to := to.(type) {
	case *string:
		*to = text
	case *int:
		*to, err = strconv.Atoi(text)
		kind = "a whole number"
	case *bool:
		*to, err = strconv.ParseBool(text)
		kind = "true or false"
	case *time.Duration:
		*to, err = time.ParseDuration(text)
		kind = "a time such as 500ms, 30s or 15m"
	case *[]string:
		*to = list(text)
	case *int64:
		*to, err = strconv.ParseInt(text, 10, 64)
		kind = "a whole number"
	case *scoreboard.Rules:
		*to, err = scoreboard.ParseRules(list(text))
	case *scoreboard.Quota:
		*to, err = scoreboard.ParseQuota(text)
	default:
		err = fmt.Errorf("a knob cannot be a %T", to)
	}
	if err != nil && kind != "" {
		return fmt.Errorf("it takes %s, not %q", kind, text)
	}
	return err
}

// minOutboxPoll keeps a relay with nothing to do from doing nothing but ask.
const minOutboxPoll = 10 * time.Millisecond

// maxOutboxBatch bounds what a relay holds in memory at once.
const maxOutboxBatch = 10_000

// maxPerMinute is what the buckets of package limit measure well.
const maxPerMinute = 1_000_000

// list splits at commas and leaves out what is empty.
func list(text string) []string {
	var parts []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// check refuses values that would make a boundary without a bound.
func (c *Config) check() error {
	positive := map[string]int{
		"postgres.max_conns": c.PostgresMaxConns, "kafka.partitions": c.KafkaPartitions, "ingest.lanes": c.IngestLanes,
		"ingest.batch": c.IngestBatch, "ingest.queue": c.IngestQueue, "outbox.shards": c.OutboxShards,
		"outbox.batch": c.OutboxBatch, "projection.batch": c.ProjectionBatch,
		"kafka.notices_partitions": c.KafkaNoticesPartitions, "kafka.increments_partitions": c.KafkaIncrementsPartitions,
		"streams.shards": c.StreamsShards, "streams.length": c.StreamsLength,
	}
	for name, n := range positive {
		if n < 1 {
			return fmt.Errorf("knob %s must be at least 1, not %d", name, n)
		}
	}
	limits := map[string]int{
		"limit.updates_per_minute": c.LimitUpdatesPerMinute, "limit.top_per_minute": c.LimitTopPerMinute,
		"limit.rank_per_minute": c.LimitRankPerMinute, "limit.anonymous_per_minute": c.LimitAnonymousPerMinute, "limit.tickets_per_minute": c.LimitTicketsPerMinute, "limit.address_per_minute": c.LimitAddressPerMinute,
		"limit.auth_failures_per_minute": c.LimitAuthFailuresPerMinute,
	}
	for name, n := range limits {
		if n < 0 || n > maxPerMinute {
			return fmt.Errorf("knob %s must be 0 to %d, not %d", name, maxPerMinute, n)
		}
	}
	lengths := map[string]time.Duration{
		"ingest.wait": c.IngestWait, "outbox.lease": c.OutboxLease,
		"kafka.linger": c.KafkaLinger, "kafka.retention": c.KafkaRetention, "kafka.dead_retention": c.KafkaDeadRetention,
		"kafka.notices_retention": c.KafkaNoticesRetention, "kafka.notices_interval": c.KafkaNoticesInterval,
		"kafka.increments_retention": c.KafkaIncrementsRetention,
	}
	for name, d := range lengths {
		if d <= 0 {
			return fmt.Errorf("knob %s must be longer than 0, not %s", name, d)
		}
	}
	if c.OutboxPoll < minOutboxPoll {
		return fmt.Errorf("knob outbox.poll must be at least %s, not %s", minOutboxPoll, c.OutboxPoll)
	}
	if c.OutboxPause < 0 {
		return fmt.Errorf("knob outbox.pause must be 0 or longer, not %s", c.OutboxPause)
	}
	if c.OutboxBatch > maxOutboxBatch {
		return fmt.Errorf("knob outbox.batch must be at most %d, not %d", maxOutboxBatch, c.OutboxBatch)
	}
	if c.ReadsUserCache < 0 || c.ReadsUserCache > 500*time.Millisecond {
		return errors.New("knob reads.user_cache must be from 0 to 500ms")
	}
	if err := c.checkTrust(); err != nil {
		return err
	}
	if err := c.checkAuth(); err != nil {
		return err
	}
	if err := c.checkRealtime(); err != nil {
		return err
	}
	if c.AuthSignature != "required" && c.AuthSignature != "optional" {
		return fmt.Errorf("knob auth.signature must be required or optional, not %q", c.AuthSignature)
	}
	if c.IngestOverflow != "refuse" && c.IngestOverflow != "async" {
		return fmt.Errorf("knob ingest.overflow must be refuse or async, not %q", c.IngestOverflow)
	}
	if new(slog.Level).UnmarshalText([]byte(c.LogLevel)) != nil {
		return fmt.Errorf("knob log.level must be debug, info, warn or error, not %q", c.LogLevel)
	}
	if c.ReconcileEvery < 0 {
		return fmt.Errorf("knob reconcile.every must be 0 or longer, not %s", c.ReconcileEvery)
	}
	if err := c.checkTopics(); err != nil {
		return err
	}
	if !slices.Contains(transports, c.Transport) {
		return fmt.Errorf("knob transport must be kafka, streams or direct, not %q", c.Transport)
	}
	roles := []string{RoleAPI, RoleRead, RoleIntake, RoleRelay, RoleProjector, RoleGateway, RoleUpkeep}
	for _, role := range c.Roles {
		if !slices.Contains(roles, role) {
			return fmt.Errorf("there is no role %q; the roles are %s", role, strings.Join(roles, ", "))
		}
	}
	if len(c.Roles) == 0 {
		return fmt.Errorf("knob roles must name at least one of %s", strings.Join(roles, ", "))
	}
	return nil
}

// Has reports whether the process has a role.
func (c *Config) Has(role string) bool { return slices.Contains(c.Roles, role) }
