package admin

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/upkeep/repair"
)

// EventLog is the log that a transport keeps of published events.
type EventLog struct {
	repair.Log
	Gaps bool // offsets are not consecutive
}

// Replay implements api.Jobs.
func (j Jobs) Replay(
	ctx context.Context, r *wire.ReplayRequest, progress func(records, total int64),
) (*wire.Replayed, error) {
	known := j.Window.Since(time.Now())
	report := func(done *repair.ReplayResult) { progress(done.Records, done.Total) }
	if r.DLQ {
		q := repair.Requeue{
			Letters: j.DeadLetters, DedupeSince: known, Topic: r.Topic, Partition: r.Partition, DryRun: r.DryRun,
			Progress: report,
		}
		done, err := q.Run(ctx)
		return replayed(r, r.Topic, done), err
	}
	topic := r.Topic
	if topic == "" {
		topic = j.Topic()
	}
	log, ok := j.Logs[topic]
	if !ok {
		topics := strings.Join(slices.Sorted(maps.Keys(j.Logs)), ", ")
		if topic == "" {
			return nil, scoreboard.Invalid("topic", "the current transport keeps no log; choose one of %s", topics)
		}
		return nil, scoreboard.Invalid("topic", "unknown topic %q; choose one of %s", topic, topics)
	}
	replay := repair.Replay{
		Log: log.Log, Ranking: j.Ranking, DedupeSince: known, Partition: r.Partition, Offset: r.FromOffset,
		Time: r.FromTime, Gaps: log.Gaps, DryRun: r.DryRun, Progress: report,
	}
	done, err := replay.Run(ctx)
	return replayed(r, topic, done), err
}

func replayed(r *wire.ReplayRequest, topic string, done *repair.ReplayResult) *wire.Replayed {
	if done == nil {
		return nil
	}
	return &wire.Replayed{
		Topic: topic, DryRun: r.DryRun, Records: done.Records, Changed: done.Newer, Unchanged: done.Same,
		Unreadable: done.Unreadable,
		TooNew:     done.TooNew, TooOld: done.TooOld, NoRanking: done.NotLoaded, TookMS: done.Elapsed.Milliseconds(),
	}
}
