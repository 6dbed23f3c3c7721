package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
)

// ElectUncleanly has a broker lead a topic that lacks what the leader took alone for a while. The topic
// has two replicas then, and may be led so again.
func (c *Cluster) ElectUncleanly(ctx context.Context, rng *rand.Rand, topic string, alone time.Duration) error {
	order := rng.Perm(len(c.brokers))
	leader, late := c.brokers[order[0]], c.brokers[order[1]]
	err := c.ConfigureTopic(ctx, topic, map[string]string{
		"min.insync.replicas": "1", "unclean.leader.election.enable": "true",
	})
	if err != nil {
		return err
	}
	// The third broker is no replica. It and one of the two decide who leads.
	pair := []int{leader.id(), late.id()}
	if err := c.awaitLeader(ctx, topic, leader.id(), pair, func() error {
		return c.reassign(ctx, topic, func([]int) []int { return slices.Clone(pair) })
	}); err != nil {
		return err
	}
	nothing := func() error { return nil }
	c.KillBackend(late.name)
	if err := c.awaitLeader(ctx, topic, leader.id(), pair[:1], nothing); err != nil {
		return err
	}
	time.Sleep(alone)
	c.KillBackend(leader.name)
	if err := c.StartBackend(ctx, late.name); err != nil {
		return err
	}
	if err := c.awaitLeader(ctx, topic, late.id(), pair[1:], nothing); err != nil {
		return err
	}
	return c.StartBackend(ctx, leader.name)
}

// awaitLeader returns when a broker leads every partition of a topic and exactly those in sync are in
// sync. It tries again what brings that about.
func (k *brokerSet) awaitLeader(ctx context.Context, topic string, leader int, inSync []int, try func() error) error {
	inSync = slices.Sorted(slices.Values(inSync))
	for {
		last := try()
		state := ""
		err := k.onKafka(ctx, func(ctx context.Context, client *kafka.Client) error {
			partitions, err := partitionsOf(ctx, client, topic)
			for _, p := range partitions {
				ids := slices.Sorted(slices.Values(idsOf(p.Isr)))
				if p.Leader.ID != leader || !slices.Equal(ids, inSync) {
					state = fmt.Sprintf("partition %d is led by %d with %v in sync", p.ID, p.Leader.ID, ids)
				}
			}
			return err
		})
		if err == nil && state == "" {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("have broker %d lead %s with %v in sync: %w, %s (%w, %w)",
				leader, topic, inSync, ctx.Err(), state, err, last)
		}
		time.Sleep(200 * time.Millisecond)
	}
}
