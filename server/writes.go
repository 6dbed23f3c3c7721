package server

import (
	"github.com/scoreboard/scoreboard/server/api"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/ingest"
	"github.com/scoreboard/scoreboard/server/leaderboard"
	"github.com/scoreboard/scoreboard/server/transport"
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
		dead := transport.NewDeadLetters(s.refused)
		intake := ingest.NewIntake(consumer, s.ingest, dead, s.store, marks, config.RepeatWindow, s.log)
		s.register(intake.Collectors()...)
		s.add("intake", intake)
	}
	if c.Has(config.RoleAPI) {
		o.Submitter, o.Events, o.Ranker = s.ingest, s.store, ranker
	}
	if c.Has(config.RoleAPI) && s.kafka != nil {
		s.accepted = s.kafka.Producer(c.KafkaIncrementsTopic)
		acceptor := ingest.NewAcceptor(lanes, marks, s.store, transport.NewAccepted(s.accepted), s.log)
		s.add("acceptor", acceptor)
		o.Acceptor = acceptor
	}
}
