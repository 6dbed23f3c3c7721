package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/torture/cluster"
)

// hostFaults are those of the networks between hosts.
var hostFaults = []fault{
	{name: "node partitioned", needs: cluster.Hosts, begin: func(r *run, rng *rand.Rand) func() {
		return r.healed(r.anyNode(rng).Partition(context.Background()))
	}},
	{name: "node with a slow network", needs: cluster.Hosts, begin: func(r *run, rng *rand.Rand) func() {
		delay := time.Duration(20+rng.IntN(180)) * time.Millisecond
		return r.impaired(rng, cluster.Impairment{Delay: delay, Jitter: delay / 4})
	}},
	{name: "node with a network that loses packets", needs: cluster.Hosts, begin: func(r *run, rng *rand.Rand) func() {
		return r.impaired(rng, cluster.Impairment{Delay: 2 * time.Millisecond, Loss: 0.01 + 0.19*rng.Float64()})
	}},
	{name: "edge killed", needs: cluster.Hosts, begin: func(r *run, _ *rand.Rand) func() {
		r.cluster.Edge.Kill()
		return func() { r.mustWithin(r.cluster.Edge.Start) }
	}},
	{name: "edge partitioned", needs: cluster.Hosts, begin: func(r *run, rng *rand.Rand) func() {
		return r.healed(r.cluster.Edge.Partition(context.Background(), r.anyNode(rng)))
	}},
}

// healed ends a partition.
func (r *run) healed(heal func(context.Context) error, err error) func() {
	r.must(err)
	if err != nil {
		return func() {}
	}
	return func() { r.mustWithin(heal) }
}

// impaired changes what a node's network does to its packets.
func (r *run) impaired(rng *rand.Rand, i cluster.Impairment) func() {
	end, err := r.anyNode(rng).Impair(context.Background(), i)
	r.must(err)
	if err != nil {
		return func() {}
	}
	return end
}
