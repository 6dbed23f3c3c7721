package health

import (
	"context"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/pipeline/ingest"
)

// The history of a node: a sample every historyEvery, for an hour.
const (
	historyEvery  = 10 * time.Second
	historyLength = 360
	queueTimeout  = 2 * time.Second // for the depth of the outbox
)

// Run samples the node until ctx ends. A sample costs one count of the outbox; what does not answer in time is
// missing from it.
func (n *NodeStatus) Run(ctx context.Context) error {
	ticker := time.NewTicker(historyEvery)
	defer ticker.Stop()
	before := n.counts()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			before = n.record(ctx, before)
		}
	}
}

// counts is what the node has counted since its start; zero without the role api.
func (n *NodeStatus) counts() sample {
	if n.sources.Ingest == nil {
		return sample{at: time.Now()}
	}
	return sample{time.Now(), n.sources.Ingest.Status()}
}

// record adds a sample of the time since the one before, and returns the counts from which the next one begins.
func (n *NodeStatus) record(ctx context.Context, before sample) sample {
	now := n.counts()
	s := wire.StatusSample{At: now.at.UTC()}
	if n.sources.Ingest != nil {
		rate := float64(now.Accepted-before.Accepted) / max(now.at.Sub(before.at), time.Millisecond).Seconds()
		s.IncrementsPerSecond, s.LatencyP95MS = &rate, p95(before.Status, now.Status)
	}
	if lags := n.sources.Lag(); len(lags) > 0 {
		sum := int64(0)
		for _, lag := range lags {
			sum += max(lag, 0)
		}
		s.RecordsBehind = &sum
	}
	if n.sources.Outbox != nil {
		ctx, cancel := context.WithTimeout(ctx, queueTimeout)
		defer cancel()
		if status, err := n.sources.Outbox.OutboxStatus(ctx); err == nil {
			depth := int64(0)
			for i := range status.Shards {
				depth += status.Shards[i].Depth
			}
			s.OutboxDepth = &depth
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.history) == historyLength {
		n.history = append(n.history[:0], n.history[1:]...)
	}
	n.history = append(n.history, s)
	return now
}

// History returns the samples of the last hour, oldest first.
func (n *NodeStatus) History() []wire.StatusSample {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]wire.StatusSample{}, n.history...)
}

// p95 is the 95th percentile, in milliseconds, of the latencies between two samples; nil without any.
func p95(before, now ingest.Status) *float64 {
	seconds, ok := quantile(before, now, 0.95)
	if !ok {
		return nil
	}
	ms := 1000 * seconds
	return &ms
}
