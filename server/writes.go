package server

import (
	"github.com/scoreboard/scoreboard/server/api"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/ingest"
	"github.com/scoreboard/scoreboard/server/leaderboard"
	"github.com/scoreboard/scoreboard/server/transport"
)

// makeWrites makes ingest, what accepts increments for later, and what records
// those.
func (s *Server) makeWrites(reads *leaderboard.Leaderboard, wake func(), o *api.Options) {
	c := s.config
	lanes := ingest.Options{Lanes: c.Ingest.Lanes, Batch: c.Ingest.Batch, Queue: c.Ingest.Queue, Wait: c.Ingest.Wait}
	ranker := leaderboard.NewRanker(reads)
	s.ingest = ingest.New(lanes, s.store, ranker, wake, s.log)
	s.register(s.ingest.Collectors()...)
	s.add("ingest", s.ingest)
	marks := ingest.NewRedisMarks(s.redis)
	if c.Has(config.RoleIntake) {
		s.refused = s.kafka.Producer(c.Kafka.IncrementsDeadTopic)
		consumer := s.kafka.Consumer(c.Kafka.IncrementsTopic, c.Kafka.IntakeGroup, c.Ingest.Batch, s.log)
		s.lags = append(s.lags, consumer)
		s.register(consumer.Collectors()...) // its lag: what was accepted and is not recorded yet
		dead := transport.NewDeadLetters(s.refused)
		intake := ingest.NewIntake(consumer, s.ingest, dead, s.store, marks, config.RepeatWindow, s.log)
		s.register(intake.Collectors()...)
		s.add("intake", intake)
	}
	if c.Has(config.RoleAPI) {
		o.Submitter, o.Events, o.Ranker = s.ingest, s.store, ranker
	}
	if c.Has(config.RoleAPI) && s.kafka != nil {
		s.accepted = s.kafka.Producer(c.Kafka.IncrementsTopic)
		acceptor := ingest.NewAcceptor(lanes, marks, s.store, transport.NewAccepted(s.accepted), s.log)
		s.add("acceptor", acceptor)
		o.Acceptor = acceptor
	}
}
