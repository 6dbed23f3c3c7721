package server

import (
	"time"

	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/pipeline/mirror"
	"github.com/scoreboard/scoreboard/server/pipeline/transport"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/streams"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// mirrorMargin is how much longer than a transport keeps its records the mirror keeps
// the versions that recognise them.
const mirrorMargin = time.Hour

// makeMirror makes the feeds for consumers of other specifications. Each reads every
// transport that has records, always, like the projection, so a switch loses nothing.
func (s *Server) makeMirror() {
	c := s.config
	if !c.Has(config.RoleMirror) {
		return
	}
	var feeds []mirror.Feed
	for _, name := range c.MirrorFeeds() {
		f := mirror.Feed{Name: name, Sources: s.mirrorSources(c.Mirror.FeedGroup(name))}
		switch name {
		case config.FeedPlain:
			f.Board = scoreboard.BoardID(c.Dialects.Plain.Board)
			f.Sink = transport.NewScoreFeed(s.producer(c.Mirror.PlainTopic))
			f.Snapshot = &mirror.Snapshot{
				Standings: s.store.Recovery, Mark: mirror.NewRedisMark(s.redis, c.Mirror.PlainTopic),
			}
		case config.FeedCloudEvents:
			f.Sink = transport.NewCloudEventsFeed(s.producer(c.Mirror.CloudEventsTopic))
		case config.FeedDelta:
			stream := mirror.NewStream(mirror.StreamOptions{
				Key: c.Mirror.DeltaStream, Length: int64(c.Mirror.DeltaLength), Retention: c.Mirror.Retention,
				Remember: max(c.Kafka.Retention, c.Streams.Retention) + mirrorMargin,
			}, s.redis, s.store.Increments, s.log)
			s.add("mirror stream", stream)
			f.Board, f.Sink = scoreboard.BoardID(c.Dialects.Delta.Board), stream
		}
		feeds = append(feeds, f)
	}
	s.mirror = mirror.New(feeds, s.log)
	s.add("mirror", s.mirror)
}

// mirrorSources opens the transports that have records for a group.
func (s *Server) mirrorSources(group string) (sources []mirror.Source) {
	c := s.config
	if c.Supports(config.TransportKafka) {
		consumer := s.kafka.Consumer(c.Kafka.Topic, group, c.Projection.Batch, s.log)
		s.register(consumer.Collectors()...)
		s.lags = append(s.lags, consumer)
		sources = append(sources, consumer)
	}
	// Without a retention: what may be removed is the projection's to say.
	consumer := streams.New(streams.Options{
		Name: c.Streams.Name, Group: group, Shards: c.Streams.Shards, Length: int64(c.Streams.Length),
		Batch: c.Projection.Batch,
	}, s.redis).Consumer(s.log)
	s.register(consumer.Collectors()...)
	s.lags = append(s.lags, consumer)
	return append(sources, consumer)
}
