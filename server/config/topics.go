package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// RepeatWindow is how long at least a repeat is recognised, rounded down: the
// ledger's current and previous partition, a month each. Nothing may be carried
// again that is older, so no topic that is read again keeps it for longer.
const RepeatWindow = 25 * 24 * time.Hour

// checkTopics refuses settings of topics that Kafka would, or that would break
// what is promised.
func (c *Config) checkTopics() error {
	for _, k := range []struct {
		name, is string
		allowed  []string
	}{
		{"kafka.compression", c.KafkaCompression, []string{"none", "gzip", "snappy", "lz4", "zstd"}},
		{"kafka.acks", c.KafkaAcks, []string{"all", "one"}},
		{"kafka.cleanup", c.KafkaCleanup, []string{"delete", "compact,delete"}},
		{"kafka.notices_cleanup", c.KafkaNoticesCleanup, []string{"delete", "compact", "compact,delete"}},
	} {
		if !slices.Contains(k.allowed, k.is) {
			return fmt.Errorf("knob %s must be one of %s, not %q", k.name, strings.Join(k.allowed, " | "), k.is)
		}
	}
	for name, d := range map[string]time.Duration{"kafka.retention": c.KafkaRetention, "kafka.increments_retention": c.KafkaIncrementsRetention} {
		if d > RepeatWindow {
			return fmt.Errorf("knob %s must be at most %s, for which repeats are recognised, not %s", name, RepeatWindow, d)
		}
	}
	names := map[string]string{}
	for knob, topic := range map[string]string{
		"kafka.topic": c.KafkaTopic, "kafka.dead_topic": c.KafkaDeadTopic, "kafka.notices_topic": c.KafkaNoticesTopic,
		"kafka.increments_topic": c.KafkaIncrementsTopic, "kafka.increments_dead_topic": c.KafkaIncrementsDeadTopic,
		"kafka.seasons_topic": c.KafkaSeasonsTopic,
	} {
		if topic == "" {
			return fmt.Errorf("knob %s must name a topic", knob)
		}
		if other, taken := names[topic]; taken {
			return fmt.Errorf("knobs %s and %s name the same topic %s", min(knob, other), max(knob, other), topic)
		}
		names[topic] = knob
	}
	return nil
}
