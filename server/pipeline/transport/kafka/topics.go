package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// Topic is the wanted configuration of a topic.
type Topic struct {
	Name       string
	Partitions int
	Retention  time.Duration
	Cleanup    string // delete, compact or both; empty is delete
	Replicas   int    // -1: the broker's default
}

// settings are the topic settings that matter to the server.
func (t *Topic) settings() map[string]string {
	cleanup := t.Cleanup
	if cleanup == "" {
		cleanup = "delete"
	}
	return map[string]string{
		"retention.ms":   strconv.FormatInt(t.Retention.Milliseconds(), 10),
		"cleanup.policy": cleanup,
	}
}

// ErrTooFewPartitions reports a topic with fewer partitions than wanted. Adding
// partitions moves keys to other partitions, which an operator must decide.
var ErrTooFewPartitions = errors.New("the topic has too few partitions")

// Ensure creates the topics that are missing, and rejects one with fewer
// partitions than wanted. When it returns, records can be produced to all. Settings
// of existing topics are not changed; it returns a line for each that differs.
func (c *Client) Ensure(ctx context.Context, topics ...Topic) (differences []string, err error) {
	request := &kafkago.CreateTopicsRequest{}
	for _, t := range topics {
		config := kafkago.TopicConfig{Topic: t.Name, NumPartitions: t.Partitions, ReplicationFactor: t.Replicas}
		for name, value := range t.settings() {
			entry := kafkago.ConfigEntry{ConfigName: name, ConfigValue: value}
			config.ConfigEntries = append(config.ConfigEntries, entry)
		}
		request.Topics = append(request.Topics, config)
	}
	created, err := c.api.CreateTopics(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("create %d topics: %w", len(topics), err)
	}
	for name, err := range created.Errors {
		if err != nil && !errors.Is(err, kafkago.TopicAlreadyExists) {
			return nil, fmt.Errorf("create topic %s: %w", name, err)
		}
	}
	for _, t := range topics {
		n, err := c.partitions(ctx, t.Name)
		if err != nil {
			return nil, err
		}
		if n < t.Partitions {
			return nil, fmt.Errorf("topic %s has %d, want %d: %w", t.Name, n, t.Partitions, ErrTooFewPartitions)
		}
		if err := c.awaitLeaders(ctx, t.Name, n); err != nil {
			return nil, err
		}
	}
	return c.compare(ctx, topics)
}

// leadersTimeout bounds the wait for the leaders of a topic that was just created.
const leadersTimeout = 10 * time.Second

// awaitLeaders waits until every partition of a topic has a leader that answers.
// Before that a produce request fails.
func (c *Client) awaitLeaders(ctx context.Context, topic string, partitions int) error {
	ctx, cancel := context.WithTimeout(ctx, leadersTimeout)
	defer cancel()
	for {
		_, err := c.endsOf(ctx, topic, partitions)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the leaders of topic %s: %w", topic, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// compare returns a line for each topic setting that differs from the wanted.
func (c *Client) compare(ctx context.Context, topics []Topic) (differences []string, err error) {
	request := &kafkago.DescribeConfigsRequest{}
	wanted := make(map[string]map[string]string, len(topics))
	for i := range topics {
		wanted[topics[i].Name] = topics[i].settings()
		request.Resources = append(request.Resources, kafkago.DescribeConfigRequestResource{
			ResourceType: kafkago.ResourceTypeTopic, ResourceName: topics[i].Name,
			ConfigNames: []string{"retention.ms", "cleanup.policy"},
		})
	}
	found, err := c.api.DescribeConfigs(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("read the settings of %d topics: %w", len(topics), err)
	}
	for _, r := range found.Resources {
		if r.Error != nil {
			return nil, fmt.Errorf("read the settings of topic %s: %w", r.ResourceName, r.Error)
		}
		for _, e := range r.ConfigEntries {
			if want, ok := wanted[r.ResourceName][e.ConfigName]; ok && !sameList(want, e.ConfigValue) {
				differences = append(differences,
					fmt.Sprintf("%s of topic %s is %s, not %s", e.ConfigName, r.ResourceName, e.ConfigValue, want))
			}
		}
	}
	slices.Sort(differences)
	return differences, nil
}

// sameList compares comma-separated lists in any order.
func sameList(a, b string) bool {
	x, y := strings.Split(a, ","), strings.Split(b, ",")
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}
