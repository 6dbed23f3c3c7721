package server

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/server/broker"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/repair"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// kept is a transport's log.
type kept interface {
	Spans(ctx context.Context) ([]scoreboard.Extent, error)
	At(ctx context.Context, span scoreboard.Extent, at time.Time) (int64, error)
	Read(ctx context.Context, span scoreboard.Extent, do func([]broker.Record) error) error
}

// history is a transport's log as repair sees it.
type history struct {
	kept
	gaps bool // between offsets
}

func (h history) Read(ctx context.Context, span scoreboard.Extent, do func([]repair.Record) error) error {
	return h.kept.Read(ctx, span, func(in []broker.Record) error {
		out := make([]repair.Record, len(in))
		for i, r := range in {
			out[i] = repair.Record{Partition: r.Partition, Offset: r.Offset, Value: r.Value, Time: r.Time}
		}
		return do(out)
	})
}

// makeJobs makes what operators have done.
func (s *Server) makeJobs(catalog *store.Catalog) jobs {
	c := s.config
	j := jobs{catalog: catalog, store: s.store, ranking: s.ranking, histories: map[string]history{c.StreamsName: {s.makeStreams().Log(), true}}}
	topics := map[string]string{config.TransportStreams: c.StreamsName}
	if s.kafka != nil {
		topics[config.TransportKafka] = c.KafkaTopic
		for _, topic := range []string{c.KafkaTopic, c.KafkaDeadTopic} {
			j.histories[topic] = history{s.kafka.Log(topic), false}
		}
	}
	j.topic = func() string { return topics[s.knobs.current.Load().Transport] }
	return j
}

// Replay implements api.Jobs.
func (j jobs) Replay(ctx context.Context, r *protocol.ReplayRequest, progress func(records, total int64)) (*protocol.Replayed, error) {
	known := store.KnownSince(time.Now())
	told := func(done *repair.Replayed) { progress(done.Records, done.Total) }
	if r.DLQ {
		q := repair.Requeue{Letters: j.store, Known: known, Topic: r.Topic, Partition: r.Partition, Dry: r.DryRun, Progress: told}
		done, err := q.Run(ctx)
		return replayed(r, r.Topic, done), err
	}
	topic := r.Topic
	if topic == "" {
		topic = j.topic()
	}
	log, ok := j.histories[topic]
	if !ok && topic == "" {
		return nil, scoreboard.Invalid("topic", "the transport of now keeps nothing; name one of %s", strings.Join(slices.Sorted(maps.Keys(j.histories)), ", "))
	}
	if !ok {
		return nil, scoreboard.Invalid("topic", "there is no topic %q to replay; there are: %s", topic,
			strings.Join(slices.Sorted(maps.Keys(j.histories)), ", "))
	}
	replay := repair.Replay{
		Log: log, Ranking: j.ranking, Cold: ranking.ErrCold, Known: known, Partition: r.Partition, Offset: r.FromOffset, Time: r.FromTime,
		Gaps: log.gaps, Dry: r.DryRun, Progress: told,
	}
	done, err := replay.Run(ctx)
	return replayed(r, topic, done), err
}

func replayed(r *protocol.ReplayRequest, topic string, done *repair.Replayed) *protocol.Replayed {
	if done == nil {
		return nil
	}
	return &protocol.Replayed{
		Topic: topic, DryRun: r.DryRun, Records: done.Records, Changed: done.Newer, Unchanged: done.Same, Unreadable: done.Unreadable,
		TooNew: done.TooNew, TooOld: done.TooOld, NotHeld: done.Cold, TookMS: done.Took.Milliseconds(),
	}
}
