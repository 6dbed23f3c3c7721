package health

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/pipeline/ingest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/upkeep/repair"
)

func latencies(counts ...uint64) ingest.Status {
	s := ingest.Status{Answered: counts[len(counts)-1]}
	for i, n := range counts[:len(counts)-1] {
		s.Latency = append(s.Latency, ingest.LatencyBucket{Seconds: float64(i + 1), Count: n})
	}
	return s
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, now ingest.Status
		want        float64
		ok          bool
	}{
		"no requests":           {latencies(3, 3, 3), latencies(3, 3, 3), 0, false},
		"within the 1st bucket": {latencies(0, 0, 0), latencies(100, 100, 100), 0.95, true},
		"within the 2nd bucket": {latencies(0, 0, 0), latencies(90, 100, 100), 1.5, true},
		"only new requests":     {latencies(100, 100, 100), latencies(100, 200, 200), 1.95, true},
		"above the last bound":  {latencies(0, 0, 0), latencies(0, 0, 10), 2, true},
	} {
		if got, ok := quantile(c.before, c.now, 0.95); ok != c.ok || math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: got %g, %t, want %g, %t", name, got, ok, c.want, c.ok)
		}
	}
}

type fixedIngest struct{ now *ingest.Status }

func (f fixedIngest) Status() ingest.Status { return *f.now }

type fixedSampler repair.Compared

func (f fixedSampler) Status() repair.Compared { return repair.Compared(f) }

func TestNodeStatus(t *testing.T) {
	t.Parallel()
	now := latencies(0, 0, 0)
	n := NewNodeStatus("node", []string{"api"}, Sources{
		Ingest: fixedIngest{&now}, Sampler: fixedSampler{Checked: 150, Repaired: 1},
		Pass:    fixedSampler{Checked: 50, Drifted: 1},
		Lag:     func() map[string]int64 { return map[string]int64{"events": 7} },
		Damaged: func() map[string]int64 { return map[string]int64{"events": 3} },
	})
	s := n.Status()
	if s.IncrementsPerSecond != nil || s.Connections != nil {
		t.Errorf("first status: got %+v, want no rate yet and no connections", s)
	}
	if s.DamagedLogs["events"] != 3 {
		t.Errorf("got damaged logs %v, want 3 records of events", s.DamagedLogs)
	}
	if s.ConsumerLag["events"] != 7 || s.Parity == nil || s.Parity.Percent != 99.5 {
		t.Errorf("got lag %v and parity %+v, want 7 records and 99.5 %%", s.ConsumerLag, s.Parity)
	}
	n.samples[0].at = n.samples[0].at.Add(-2 * time.Second)
	now = latencies(100, 100, 100)
	now.Accepted = 100
	s = n.Status()
	if s.IncrementsPerSecond == nil || math.Abs(*s.IncrementsPerSecond-50) > 5 || s.LatencyP95MS == nil {
		t.Errorf("got %+v, want 50 increments a second and a latency", s)
	}
}

type fixedOutbox scoreboard.OutboxStatus

func (f fixedOutbox) OutboxStatus(context.Context) (*scoreboard.OutboxStatus, error) {
	return (*scoreboard.OutboxStatus)(&f), nil
}

func TestOutboxCheckNamesAnAgeOnlyOfRows(t *testing.T) {
	t.Parallel()
	for want, shard := range map[string]scoreboard.ShardStatus{
		"0 changes pending":                   {},
		"1 change pending, the oldest for 2s": {Depth: 1, OldestAge: 2 * time.Second},
	} {
		d := Doctor{Outbox: fixedOutbox{Shards: []scoreboard.ShardStatus{shard}}}
		if got := d.outbox(t.Context()); got.Detail != want || got.Status != wire.CheckOK {
			t.Errorf("got %+v, want %q", got, want)
		}
	}
}

// The history has a sample for each ten seconds of the last hour, of that time only. What does not answer is
// missing from it.
func TestNodeHistory(t *testing.T) {
	t.Parallel()
	now, depth, fails := latencies(0, 0, 0), int64(0), false
	n := NewNodeStatus("node", []string{"api"}, Sources{
		Ingest: fixedIngest{&now}, Lag: func() map[string]int64 { return map[string]int64{"a": 2, "b": 3} },
		Outbox: outboxFunc(func() (*scoreboard.OutboxStatus, error) {
			if fails {
				return nil, errors.New("down")
			}
			return &scoreboard.OutboxStatus{Shards: []scoreboard.ShardStatus{{Depth: depth}, {Depth: 1}}}, nil
		}),
	})
	if got := n.History(); got == nil || len(got) != 0 {
		t.Errorf("at the start: got %v, want an empty list", got)
	}
	before := n.counts()
	before.at = before.at.Add(-10 * time.Second)
	now = latencies(90, 100, 100)
	now.Accepted, depth = 100, 6
	before = n.record(t.Context(), before)
	fails = true
	before.at = before.at.Add(-10 * time.Second)
	before = n.record(t.Context(), before)
	all := n.History()
	if len(all) != 2 {
		t.Fatalf("got %d samples, want 2", len(all))
	}
	first, second := all[0], all[1]
	if math.Abs(*first.IncrementsPerSecond-10) > 1 || math.Abs(*first.LatencyP95MS-1500) > 1 ||
		*first.OutboxDepth != 7 || *first.RecordsBehind != 5 {
		t.Errorf("got %+v, want 10 increments a second", first)
	}
	if *second.IncrementsPerSecond != 0 || second.LatencyP95MS != nil || second.OutboxDepth != nil {
		t.Errorf("got %+v, want no increment and an unknown outbox", second)
	}
	for range historyLength {
		before = n.record(t.Context(), before)
	}
	if got := n.History(); len(got) != historyLength || !got[0].At.After(second.At) {
		t.Errorf("got %d samples from %v, want the newest %d", len(got), got[0].At, historyLength)
	}
}
