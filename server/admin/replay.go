package admin

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/server/broker"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/repair"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// Log is the log that a transport keeps of published events.
type Log interface {
	Spans(ctx context.Context) ([]scoreboard.Extent, error)
	At(ctx context.Context, span scoreboard.Extent, at time.Time) (int64, error)
	Read(ctx context.Context, span scoreboard.Extent, do func([]broker.Record) error) error
}

// EventLog adapts a transport's log to repair.
type EventLog struct {
	Log
	Gaps bool // offsets are not consecutive
}

// Read implements repair.Log.
func (h EventLog) Read(ctx context.Context, span scoreboard.Extent, do func([]repair.Record) error) error {
	return h.Log.Read(ctx, span, func(in []broker.Record) error {
		out := make([]repair.Record, len(in))
		for i, r := range in {
			out[i] = repair.Record{Partition: r.Partition, Offset: r.Offset, Value: r.Value, Time: r.Time}
		}
		return do(out)
	})
}

// Replay implements api.Jobs.
func (j Jobs) Replay(ctx context.Context, r *protocol.ReplayRequest, progress func(records, total int64)) (*protocol.Replayed, error) {
	known := store.KnownSince(time.Now())
	told := func(done *repair.ReplayResult) { progress(done.Records, done.Total) }
	if r.DLQ {
		q := repair.Requeue{Letters: j.Store, DedupeSince: known, Topic: r.Topic, Partition: r.Partition, DryRun: r.DryRun, Progress: told}
		done, err := q.Run(ctx)
		return replayed(r, r.Topic, done), err
	}
	topic := r.Topic
	if topic == "" {
		topic = j.Topic()
	}
	log, ok := j.Logs[topic]
	if !ok && topic == "" {
		return nil, scoreboard.Invalid("topic", "the current transport keeps no log; choose one of %s", strings.Join(slices.Sorted(maps.Keys(j.Logs)), ", "))
	}
	if !ok {
		return nil, scoreboard.Invalid("topic", "unknown topic %q; choose one of %s", topic,
			strings.Join(slices.Sorted(maps.Keys(j.Logs)), ", "))
	}
	replay := repair.Replay{
		Log: log, Ranking: j.Ranking, DedupeSince: known, Partition: r.Partition, Offset: r.FromOffset, Time: r.FromTime,
		Gaps: log.Gaps, DryRun: r.DryRun, Progress: told,
	}
	done, err := replay.Run(ctx)
	return replayed(r, topic, done), err
}

func replayed(r *protocol.ReplayRequest, topic string, done *repair.ReplayResult) *protocol.Replayed {
	if done == nil {
		return nil
	}
	return &protocol.Replayed{
		Topic: topic, DryRun: r.DryRun, Records: done.Records, Changed: done.Newer, Unchanged: done.Same, Unreadable: done.Unreadable,
		TooNew: done.TooNew, TooOld: done.TooOld, NotHeld: done.NotLoaded, TookMS: done.Elapsed.Milliseconds(),
	}
}
