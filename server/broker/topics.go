package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
)

// Topic is a topic as the server wants it.
type Topic struct {
	Name       string
	Partitions int
	Retention  time.Duration
	Cleanup    string // delete, compact or both; empty is delete
	Replicas   int    // -1: the broker's default
}

// settings are those that matter to the server.
func (t *Topic) settings() map[string]string {
	cleanup := t.Cleanup
	if cleanup == "" {
		cleanup = "delete"
	}
	return map[string]string{"retention.ms": strconv.FormatInt(t.Retention.Milliseconds(), 10), "cleanup.policy": cleanup}
}

// ErrTooFewPartitions says that a topic was made with fewer partitions than are
// wanted: a person must decide whether keys may move.
var ErrTooFewPartitions = errors.New("the topic has too few partitions")

// Ensure makes the topics that are missing and refuses one with fewer
// partitions than wanted. It returns which settings of topics that were there
// are others: they are left to whoever made them so.
func (k *Kafka) Ensure(ctx context.Context, topics ...Topic) (others []string, err error) {
	request := &kafka.CreateTopicsRequest{}
	for _, t := range topics {
		config := kafka.TopicConfig{Topic: t.Name, NumPartitions: t.Partitions, ReplicationFactor: t.Replicas}
		for name, value := range t.settings() {
			config.ConfigEntries = append(config.ConfigEntries, kafka.ConfigEntry{ConfigName: name, ConfigValue: value})
		}
		request.Topics = append(request.Topics, config)
	}
	made, err := k.client.CreateTopics(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("make %d topics: %w", len(topics), err)
	}
	for name, err := range made.Errors {
		if err != nil && !errors.Is(err, kafka.TopicAlreadyExists) {
			return nil, fmt.Errorf("make topic %s: %w", name, err)
		}
	}
	for _, t := range topics {
		n, err := k.partitions(ctx, t.Name)
		if err != nil {
			return nil, err
		}
		if n < t.Partitions {
			return nil, fmt.Errorf("topic %s has %d, want %d: %w", t.Name, n, t.Partitions, ErrTooFewPartitions)
		}
	}
	return k.compare(ctx, topics)
}

// compare says which settings of topics are not those that are wanted.
func (k *Kafka) compare(ctx context.Context, topics []Topic) (others []string, err error) {
	request := &kafka.DescribeConfigsRequest{}
	wanted := make(map[string]map[string]string, len(topics))
	for i := range topics {
		wanted[topics[i].Name] = topics[i].settings()
		request.Resources = append(request.Resources, kafka.DescribeConfigRequestResource{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: topics[i].Name, ConfigNames: []string{"retention.ms", "cleanup.policy"},
		})
	}
	found, err := k.client.DescribeConfigs(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("read the settings of %d topics: %w", len(topics), err)
	}
	for _, r := range found.Resources {
		if r.Error != nil {
			return nil, fmt.Errorf("read the settings of topic %s: %w", r.ResourceName, r.Error)
		}
		for _, is := range r.ConfigEntries {
			if want, ok := wanted[r.ResourceName][is.ConfigName]; ok && !sameSetting(want, is.ConfigValue) {
				others = append(others, fmt.Sprintf("%s of topic %s is %s, not %s", is.ConfigName, r.ResourceName, is.ConfigValue, want))
			}
		}
	}
	slices.Sort(others)
	return others, nil
}

// sameSetting compares lists in any order.
func sameSetting(a, b string) bool {
	x, y := strings.Split(a, ","), strings.Split(b, ",")
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}
