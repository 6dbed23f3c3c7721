package health

import (
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/pipeline/ingest"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/upkeep/repair"
)

// Rates are measured from the oldest sample within rateWindow to now.
const (
	rateWindow    = 10 * time.Second
	minRateWindow = 500 * time.Millisecond // a rate over less is noise
	maxSamples    = 32
)

// Sources are the components that a node's status is read from; nil where the
// process does not run one.
type Sources struct {
	Ingest  interface{ Status() ingest.Status }
	Hub     interface{ Status() realtime.Status }
	Sampler interface{ Status() repair.Compared }
	Pass    interface{ Status() repair.Compared } // nil without full comparisons
	Lag     func() map[string]int64               // records to consume, by topic; never nil
	Damaged func() map[string]int64               // records lost in damaged logs, by topic; never nil
	Outbox  Outbox                                // counted for the history; nil for none
}

// NodeStatus reports rates and counts of this node, as they are and as they were in the last hour.
type NodeStatus struct {
	sources Sources
	node    string
	roles   []string
	started time.Time

	mu      sync.Mutex
	samples []sample            // oldest first
	history []wire.StatusSample // of the last hour, oldest first
}

// sample is what rates are computed from: counts since the start.
type sample struct {
	at time.Time
	ingest.Status
}

// NewNodeStatus returns the status of a process of a name that starts now.
func NewNodeStatus(node string, roles []string, sources Sources) *NodeStatus {
	return &NodeStatus{sources: sources, node: node, roles: roles, started: time.Now()}
}

// Status implements api.NodeStatus.
func (n *NodeStatus) Status() wire.Status {
	s := wire.Status{
		Node: n.node, Roles: n.roles, UptimeSeconds: int64(time.Since(n.started).Seconds()),
		ConsumerLag: n.sources.Lag(),
		DamagedLogs: n.sources.Damaged(),
	}
	if n.sources.Hub != nil {
		s.Connections = n.sources.Hub.Status().Connections
	}
	if n.sources.Sampler != nil {
		all := n.sources.Sampler.Status()
		if n.sources.Pass != nil {
			all = all.Plus(n.sources.Pass.Status())
		}
		s.Parity = parity(all)
	}
	if n.sources.Ingest != nil {
		n.rates(&s, sample{time.Now(), n.sources.Ingest.Status()})
	}
	return s
}

func parity(s repair.Compared) *wire.Parity {
	p := &wire.Parity{Checked: s.Checked, Drifted: s.Drifted, Repaired: s.Repaired, Percent: 100}
	if s.Checked > 0 {
		p.Percent = 100 * float64(s.Checked-s.Drifted) / float64(s.Checked)
	}
	return p
}

// rates compares now with the oldest sample of the window, and keeps now.
func (n *NodeStatus) rates(s *wire.Status, now sample) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.samples) > 0 && (now.at.Sub(n.samples[0].at) > rateWindow || len(n.samples) == maxSamples) {
		n.samples = n.samples[1:]
	}
	n.samples = append(n.samples, now)
	before := n.samples[0]
	window := now.at.Sub(before.at)
	if window < minRateWindow {
		return
	}
	rate := float64(now.Accepted-before.Accepted) / window.Seconds()
	s.WindowMS, s.IncrementsPerSecond = window.Milliseconds(), &rate
	s.LatencyP95MS = p95(before.Status, now.Status)
}

// quantile estimates a quantile, in seconds, of the latencies between two
// samples, interpolated within its bucket. It is false if there were none. A
// quantile above the last bound is reported as that bound.
func quantile(before, now ingest.Status, q float64) (float64, bool) {
	total := now.Answered - before.Answered
	if total == 0 {
		return 0, false
	}
	want := q * float64(total)
	lower, below := 0.0, 0.0
	for i, b := range now.Latency {
		n := float64(b.Count - before.Latency[i].Count)
		if n >= want {
			return lower + (b.Seconds-lower)*(want-below)/(n-below), true
		}
		lower, below = b.Seconds, n
	}
	return lower, true
}
