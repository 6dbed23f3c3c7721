package server

import (
	"context"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/server/api"
	"github.com/scoreboard/scoreboard/server/broker"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/ingest"
	"github.com/scoreboard/scoreboard/server/leaderboard"
)

// writes says whether this process records increments.
func (s *Server) writes() bool {
	return s.config.Has(config.RoleAPI) || s.config.Has(config.RoleIntake)
}

// makeWrites makes ingest, what accepts increments for later, and what records
// those.
func (s *Server) makeWrites(reads *leaderboard.Leaderboard, wake func(), o *api.Options) {
	c := s.config
	lanes := ingest.Options{Lanes: c.IngestLanes, Batch: c.IngestBatch, Queue: c.IngestQueue, Wait: c.IngestWait}
	ranker := leaderboard.NewRanker(reads)
	s.ingest = ingest.New(lanes, s.store, ranker, wake, s.log)
	s.register(s.ingest.Collectors()...)
	s.add("ingest", s.ingest)
	marks := ingest.NewRedisMarks(s.redis)
	if c.Has(config.RoleIntake) {
		s.refused = s.kafka.Producer(c.KafkaIncrementsDeadTopic)
		consumer := s.kafka.Consumer(c.KafkaIncrementsTopic, c.KafkaIntakeGroup, c.IngestBatch, s.log)
		s.lags = append(s.lags, consumer)
		s.register(consumer.Collectors()...) // its lag: what was accepted and is not recorded yet
		intake := ingest.NewIntake(accepted{consumer}, s.ingest, refused{s.refused}, s.store, marks, config.RepeatWindow, s.log)
		s.register(intake.Collectors()...)
		s.add("intake", intake)
	}
	if c.Has(config.RoleAPI) {
		o.Submitter, o.Events, o.Ranker = s.ingest, s.store, ranker
	}
	if c.Has(config.RoleAPI) && s.kafka != nil {
		s.accepted = s.kafka.Producer(c.KafkaIncrementsTopic)
		acceptor := ingest.NewAcceptor(lanes, marks, s.store, broker.NewAccepted(s.accepted), s.log)
		s.add("acceptor", acceptor)
		o.Acceptor = acceptor
	}
}

// accepted is the broker as the intake sees it.
type accepted struct{ consumer *broker.Consumer }

func (a accepted) Consume(ctx context.Context, handle func(context.Context, []ingest.Record) error) error {
	return a.consumer.Consume(ctx, func(ctx context.Context, in []broker.Record) (map[int]int64, error) {
		out := make([]ingest.Record, len(in))
		for i, r := range in {
			out[i] = ingest.Record{Partition: r.Partition, Offset: r.Offset, Value: r.Value}
		}
		return nil, handle(ctx, out)
	})
}

// refused is the dead-letter topic of accepted increments.
type refused struct{ producer *broker.Producer }

func (r refused) Bury(ctx context.Context, record ingest.Record, reason string) error {
	return bury(ctx, r.producer, record.Partition, record.Offset, record.Value, reason)
}

// bury writes a record to a dead-letter topic, with where it came from and why.
func bury(ctx context.Context, p *broker.Producer, partition int, offset int64, value []byte, reason string) error {
	_, err := p.Produce(ctx, []broker.Message{{
		Key: []byte(strconv.Itoa(partition)), Value: value,
		Headers: []broker.Header{
			{Key: "reason", Value: []byte(reason)},
			{Key: "partition", Value: []byte(strconv.Itoa(partition))},
			{Key: "offset", Value: []byte(strconv.FormatInt(offset, 10))},
			{Key: "buried_at", Value: []byte(time.Now().UTC().Format(time.RFC3339Nano))},
		},
	}})
	return err
}
