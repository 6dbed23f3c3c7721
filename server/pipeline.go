package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/broker"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/outbox"
	"github.com/scoreboard/scoreboard/server/projection"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// needsKafka says whether a role of this process cannot do without Kafka. With
// another transport only increments that are accepted for later need it.
func (s *Server) needsKafka() bool {
	c := s.config
	carries := c.Has(config.RoleRelay) || c.Has(config.RoleProjector)
	if c.Has(config.RoleGateway) && c.RealtimeBus == config.BusKafka {
		return true
	}
	return c.Has(config.RoleIntake) || c.Transport == config.TransportKafka && (carries || s.writes())
}

// makePipeline makes the relay and the projection, as this process has the
// roles, on both ends of the transport. It returns what wakes the relay.
func (s *Server) makePipeline(cold func(scoreboard.BoardID)) (wake func()) {
	c := s.config
	var to broker.Way
	var from consumer
	topic := c.KafkaTopic
	switch c.Transport {
	case config.TransportStreams:
		streams := s.makeStreams()
		to, from, topic = streams, streams.Consumer(s.log), c.StreamsName
	case config.TransportDirect:
		direct := broker.NewDirect()
		to, from, topic = direct, direct, "direct"
	default:
		if c.Has(config.RoleRelay) {
			s.events = s.kafka.Producer(c.KafkaTopic)
			to = s.events
		}
		if c.Has(config.RoleProjector) {
			from = s.kafka.Consumer(c.KafkaTopic, c.KafkaGroup, c.ProjectionBatch, s.log)
		}
	}
	if c.Has(config.RoleProjector) {
		s.makeProjection(from, topic, cold)
	}
	if !c.Has(config.RoleRelay) {
		return func() {}
	}
	s.makeRelay(to)
	return s.relay.Wake
}

func (s *Server) makeStreams() *broker.Streams {
	c := s.config
	return broker.NewStreams(broker.StreamsOptions{
		Name: c.StreamsName, Group: c.KafkaGroup, Shards: c.StreamsShards, Length: int64(c.StreamsLength), Batch: c.ProjectionBatch,
	}, s.redis)
}

func (s *Server) makeProjection(from consumer, topic string, cold func(scoreboard.BoardID)) {
	dead := deadLetters{store: s.store, topic: topic}
	if s.kafka != nil {
		s.dead = s.kafka.Producer(s.config.KafkaDeadTopic)
		dead.producer = s.dead
	}
	s.project = projection.New(source{from}, s.ranking, s.store, dead, cold, s.log)
	s.register(s.project.Collectors()...)
	if measured, ok := from.(interface{ Collectors() []prometheus.Collector }); ok {
		s.register(measured.Collectors()...)
	}
	s.add("projection", s.project)
}

func (s *Server) makeRelay(to broker.Way) {
	c := s.config
	s.relay = outbox.NewRelay(outbox.Options{
		Owner: processName(), Shards: c.OutboxShards, Batch: c.OutboxBatch,
		Poll: c.OutboxPoll, Pause: c.OutboxPause, Beat: time.Second, Lease: c.OutboxLease, Tries: refusedTries,
	}, s.store, broker.NewEvents(to), s.log)
	s.register(s.relay.Collectors()...)
	s.add("relay", s.relay)
}
