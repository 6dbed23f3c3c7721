package server

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/admin"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/config/settings"
	"github.com/scoreboard/scoreboard/server/http/api"
	"github.com/scoreboard/scoreboard/server/leaderboard"
	"github.com/scoreboard/scoreboard/server/pipeline/announce"
	"github.com/scoreboard/scoreboard/server/pipeline/ingest"
	"github.com/scoreboard/scoreboard/server/pipeline/mirror"
	"github.com/scoreboard/scoreboard/server/pipeline/outbox"
	"github.com/scoreboard/scoreboard/server/pipeline/projection"
	"github.com/scoreboard/scoreboard/server/pipeline/transport"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/direct"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/kafka"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/streams"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
	"github.com/scoreboard/scoreboard/server/upkeep"
	"github.com/scoreboard/scoreboard/server/upkeep/repair"
)

// makePipeline makes the relay and the projection, if this process has the roles,
// with every transport that it supports.
func (s *Server) makePipeline() {
	c := s.config
	if !c.RunsPipeline() {
		return
	}
	transports := s.makeTransports()
	if c.Has(config.RoleProjector) {
		s.makeProjection(transports)
	}
	if c.Has(config.RoleRelay) {
		s.makeRelay(transports)
	}
}

// makeTransports makes both ends of every transport that this process supports.
// They connect when they are used.
func (s *Server) makeTransports() []*transport.Transport {
	c := s.config
	redisStreams := s.makeStreams()
	reader := redisStreams.Consumer(s.log)
	reader.OnMove(s.dropRankings)
	all := []*transport.Transport{
		{
			Name: config.TransportStreams, Producer: witnessed{transport.Measured(redisStreams, c.Streams.Name,
				s.produced), s.ranking},
			Consumer: reader, BeforeHeartbeat: s.ranking.BeforeHeartbeat,
		},
	}
	if c.Supports(config.TransportKafka) {
		consumer := s.kafka.Consumer(c.Kafka.Topic, c.Kafka.Group, c.Projection.Batch, s.log)
		consumer.OnDamage(func(ctx context.Context, _ *kafka.Damage) error { return s.dropRankings(ctx) })
		all = append(all, &transport.Transport{
			Name: config.TransportKafka, Producer: s.producer(c.Kafka.Topic), Consumer: consumer,
		})
	}
	if c.Supports(config.TransportDirect) {
		t := direct.New()
		all = append(all, &transport.Transport{Name: config.TransportDirect, Producer: t, Consumer: t})
	}
	return all
}

// witnessed is a producer to the Redis that has the rankings: what it wrote to a server that is
// left in a failover may be missing on the next one.
type witnessed struct {
	transport.Producer
	ranking *ranking.Ranking
}

// Produce implements transport.Producer.
func (w witnessed) Produce(ctx context.Context, messages []transport.Message) (int, error) {
	end, err := w.ranking.Publishing(ctx)
	if err != nil {
		return 0, err
	}
	defer end()
	return w.Producer.Produce(ctx, messages)
}

func (s *Server) makeStreams() *streams.Transport {
	c := s.config
	return streams.New(streams.Options{
		Name: c.Streams.Name, Group: c.Kafka.Group, Shards: c.Streams.Shards, Length: int64(c.Streams.Length),
		Batch: c.Projection.Batch, Retention: c.Streams.Retention,
	}, s.redis)
}

func (s *Server) makeProjection(transports []*transport.Transport) {
	dead := []projection.DeadLetters{s.store.DeadLetters}
	if s.kafka != nil {
		dead = append(dead, transport.NewDeadLetters(s.producer(s.config.Kafka.DeadTopic)))
	}
	sources := make([]projection.Source, len(transports))
	for i, t := range transports {
		sources[i] = t.Consumer
		if m, ok := t.Consumer.(measured); ok {
			s.Register(m.Collectors()...)
		}
		if c, ok := t.Consumer.(consumer); ok {
			s.consumers = append(s.consumers, c)
			s.lags = append(s.lags, t.Consumer)
		}
	}
	s.add("projection", projection.New(sources, s.ranking, s.store.Boards, dead, s.triggerRebuild(), s.tracer, s.log))
}

func (s *Server) makeRelay(transports []*transport.Transport) {
	c := s.config
	s.switcher = transport.NewSwitch(transport.SwitchOptions{
		CheckInterval: settings.PollInterval,
		// Another relay may publish to the previous transport until it reads the
		// setting, finishes its batch and loses its lease.
		Overlap: 2*settings.PollInterval + 2*produceTimeout + 3*time.Second,
		Tracer:  s.tracer,
	}, transports, c.Transport, s.log)
	s.add("transport switch", s.switcher)
	s.relay = outbox.NewRelay(outbox.Options{
		Owner: processName(), Shards: c.Outbox.Shards, BatchSize: c.Outbox.Batch,
		PollInterval: c.Outbox.Poll, BatchPause: c.Outbox.Pause, HeartbeatInterval: time.Second,
		LeaseDuration: c.Outbox.Lease,
		MaxAttempts:   rejectedAttempts,
	}, s.store.Outbox, s.switcher, s.log)
	s.add("relay", s.relay)
}

// measurable is a consumer whose lag is a metric.
type measurable interface {
	measured
	transport.Measurable
}

// makeLagMonitor measures the lag of the groups that this process is a member of. A
// process with the role maintenance measures all of them, because no member may run.
func (s *Server) makeLagMonitor() {
	c := s.config
	watch := func(m measurable) {
		s.Register(m.Collectors()...)
		s.lags = append(s.lags, m)
	}
	if c.Has(config.RoleMaintenance) && !c.Has(config.RoleProjector) {
		watch(s.makeStreams().Consumer(s.log))
		if s.kafka != nil {
			watch(s.kafka.Consumer(c.Kafka.Topic, c.Kafka.Group, 1, s.log))
		}
	}
	if c.Has(config.RoleMaintenance) && !c.Has(config.RoleIntake) {
		watch(s.makeQueue().Consumer(s.log))
		if s.kafka != nil {
			watch(s.kafka.Consumer(c.Kafka.IncrementsTopic, c.Kafka.IntakeGroup, 1, s.log))
		}
	}
	s.add("lag monitor", transport.NewLagMonitor(s.lags, s.log))
}

// dropRankings drops every board from the ranking after changes were lost between the
// outbox and the projection. Reads come from the store until the boards are rebuilt.
func (s *Server) dropRankings(ctx context.Context) error {
	boards, err := repair.RankedBoards(ctx, s.catalog)
	if err != nil {
		return err
	}
	for i := range boards {
		if err := s.ranking.Drop(ctx, &boards[i]); err != nil {
			return err
		}
	}
	s.triggerRebuild()()
	return nil
}

// damageShown is how long a damaged log is reported.
const damageShown = 24 * time.Hour

// logDamage describes the damaged logs of this process's consumers; "" if there are
// none.
func (s *Server) logDamage() string {
	var all []string
	for _, c := range s.consumers {
		if st := c.Status(); st.Damages > 0 && time.Since(st.Damaged) < damageShown {
			all = append(all, fmt.Sprintf("the log of topic %s was cut or replaced and read again, %d times, "+
				"last at %s; records lost: %d", st.Topic, st.Damages, st.Damaged.UTC().Format(time.RFC3339), st.Lost))
		}
	}
	return strings.Join(all, "; ")
}

// damagedLogs returns the topics whose logs this process found damaged, with the
// records that were lost; nil without any.
func (s *Server) damagedLogs() map[string]int64 {
	var all map[string]int64
	for _, c := range s.consumers {
		if st := c.Status(); st.Damages > 0 {
			if all == nil {
				all = make(map[string]int64)
			}
			all[st.Topic] += st.Lost
		}
	}
	return all
}

// consumer is a consumer that measures its lag.
type consumer interface {
	Status() transport.ConsumerStatus
}

// consumerLag returns the records that this process has yet to consume, by
// topic; nil in a process without consumers.
func (s *Server) consumerLag() map[string]int64 {
	if len(s.consumers) == 0 {
		return nil
	}
	all := make(map[string]int64, len(s.consumers))
	for _, c := range s.consumers {
		status := c.Status()
		all[status.Topic] += status.Lag
	}
	return all
}

// makeWrites makes ingest, the acceptor of increments for later recording, and the
// intake that records those.
func (s *Server) makeWrites(o *api.Options) {
	c := s.config
	lanes := ingest.Options{
		Lanes: c.Ingest.Lanes, Batch: c.Ingest.Batch, Queue: c.Ingest.Queue, Wait: c.Ingest.Wait, Tracer: s.tracer,
	}
	ranker := leaderboard.NewRanker(s.reads)
	wake := func() {}
	if s.relay != nil {
		wake = s.relay.Wake
	}
	s.ingest = ingest.New(lanes, s.store.Increments, ranker, wake, s.log)
	s.add("ingest", s.ingest)
	marks := ingest.NewRedisMarks(s.redis)
	clock := ingest.NewClock(s.store.Now, s.log)
	s.add("clock", clock)
	// A node writes to one queue. An intake reads both: nodes may have other brokers, or have
	// had them.
	queue := s.makeQueue()
	queued := queue.Consumer(s.log)
	queues := []intakeSource{queued}
	var producer transport.Producer
	var backlog ingest.Backlog = queued
	if s.kafka == nil {
		producer = transport.Measured(queue, c.Streams.Increments, s.produced)
	} else {
		producer = s.producer(c.Kafka.IncrementsTopic)
		topic := s.kafka.Consumer(c.Kafka.IncrementsTopic, c.Kafka.IntakeGroup, c.Ingest.Batch, s.log)
		backlog, queues = topic, append(queues, topic)
	}
	if c.Has(config.RoleIntake) {
		sources := make([]ingest.Source, len(queues))
		for i, q := range queues {
			sources[i] = q
			s.consumers = append(s.consumers, q)
			s.lags = append(s.lags, q)
			s.Register(q.Collectors()...)
		}
		s.queue = queued
		dead := []ingest.DeadLetters{s.store.DeadLetters, transport.NewDeadLetters(s.makeIncrementsDead())}
		s.add("intake", ingest.NewIntake(
			sources, s.ingest, dead, s.store.Increments, marks, c.Ledger.RepeatWindow(), clock, s.log,
		))
	}
	if !c.Has(config.RoleAPI) {
		return
	}
	o.Submitter, o.Events, o.Ranker = s.ingest, s.store.Increments, ranker
	acceptor := ingest.NewAcceptor(
		lanes, marks, s.store.Increments, transport.NewAccepted(producer, s.tracer), backlog, clock.Now, s.log,
	)
	s.add("acceptor", acceptor)
	o.Acceptor = acceptor
}

// intakeSource is a consumer of accepted increments.
type intakeSource interface {
	ingest.Source
	consumer
	measurable
}

// queueShards is how many streams accepted increments are distributed over. It is not a
// setting: nodes with different numbers would break the order of a user's increments, and
// with fewer than before, entries would stay behind.
const queueShards = 8

// makeQueue makes the streams of accepted increments. They are created by the first
// process with the role intake; before, increments are recorded at once.
func (s *Server) makeQueue() *streams.Transport {
	c := s.config
	return streams.New(streams.Options{
		Name: c.Streams.Increments, Group: c.Kafka.IntakeGroup, Shards: queueShards, Length: int64(c.Streams.Length),
		Batch: c.Ingest.Batch, Retention: c.Streams.Retention, Consumed: true,
	}, s.redis)
}

// keptLetters bounds the stream of dead letters. The table in the database has all.
const keptLetters = 10_000

// makeIncrementsDead makes the producer of the dead letters of accepted increments.
func (s *Server) makeIncrementsDead() transport.Producer {
	c := s.config
	if s.kafka != nil {
		return s.producer(c.Kafka.IncrementsDeadTopic)
	}
	return transport.Measured(streams.New(streams.Options{
		Name: c.Kafka.IncrementsDeadTopic, Shards: 1, Length: keptLetters, Retention: c.Kafka.DeadRetention,
		DropOldest: true,
	}, s.redis), c.Kafka.IncrementsDeadTopic, s.produced)
}

// A process that dies is replaced as announcer after announceLease. A lost notice
// is made up for within announceSweep.
const (
	announceLease = 3 * time.Second
	announceSweep = 10 * time.Second
)

// makeAnnouncer makes the announcer of notices over Kafka.
func (s *Server) makeAnnouncer() {
	c := s.config
	if s.kafka == nil || !c.Has(config.RoleProjector) {
		return
	}
	s.add("announcer", announce.New(announce.Options{
		Owner: processName(), Interval: c.Kafka.NoticesInterval, LeaseDuration: announceLease,
		SweepInterval:   announceSweep,
		RefreshInterval: c.Kafka.NoticesRetention / 2,
	}, s.ranking, rankedBoards{s.catalog}, transport.NewNotices(s.producer(c.Kafka.NoticesTopic)), s.log))
}

// rankedBoards lists the boards that have a ranking.
type rankedBoards struct{ catalog *store.Catalog }

func (r rankedBoards) Ranked(ctx context.Context) ([]scoreboard.Board, error) {
	return repair.RankedBoards(ctx, r.catalog)
}

// makeRollover makes the component that ends periods, and runs it in processes
// with the role maintenance. Ends are announced over Kafka, else over a Redis
// stream.
func (s *Server) makeRollover() {
	c := s.config
	var producer transport.Producer
	if s.kafka != nil {
		producer = s.producer(c.Kafka.SeasonsTopic)
	} else {
		producer = transport.Measured(streams.New(streams.Options{
			Name: c.Kafka.SeasonsTopic, Shards: 1, Length: int64(c.Streams.Length),
		}, s.redis), c.Kafka.SeasonsTopic, s.produced)
	}
	s.rollover = upkeep.NewRollover(
		s.store.Boards, s.catalog, transport.NewSeasons(producer), s.upkeep,
	)
	if c.Has(config.RoleMaintenance) {
		s.add("rollover", s.rollover)
	}
}

// makeJobs makes the jobs that operators start.
func (s *Server) makeJobs() admin.Jobs {
	c := s.config
	j := admin.Jobs{
		Catalog: s.catalog, Store: s.store.Recovery, Teams: s.store.Teams, DeadLetters: s.store.DeadLetters,
		Ranking: s.ranking, Runner: s.upkeep, Window: c.Ledger.RepeatWindow(),
		Logs: map[string]admin.EventLog{c.Streams.Name: {Log: s.makeStreams().Log(), Gaps: true}},
	}
	topics := map[string]string{config.TransportStreams: c.Streams.Name}
	if s.kafka != nil {
		topics[config.TransportKafka] = c.Kafka.Topic
		for _, topic := range []string{c.Kafka.Topic, c.Kafka.DeadTopic} {
			j.Logs[topic] = admin.EventLog{Log: s.kafka.Log(topic)}
		}
	}
	j.Topic = func() string { return topics[s.settings.Current().Transport] }
	return j
}

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
		case config.FeedHighscore:
			f.Board = scoreboard.BoardID(c.Dialects.Highscore.Board)
			f.Sink = transport.NewHighscoreFeed(s.producer(c.Mirror.HighscoreTopic))
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
		s.Register(consumer.Collectors()...)
		s.lags = append(s.lags, consumer)
		sources = append(sources, consumer)
	}
	// Without a retention: what may be removed is the projection's to say.
	consumer := streams.New(streams.Options{
		Name: c.Streams.Name, Group: group, Shards: c.Streams.Shards, Length: int64(c.Streams.Length),
		Batch: c.Projection.Batch,
	}, s.redis).Consumer(s.log)
	s.Register(consumer.Collectors()...)
	s.lags = append(s.lags, consumer)
	return append(sources, consumer)
}

// countSetAside logs and counts the boards that this process sets aside because of what their
// keys in Redis hold.
func countSetAside(r *ranking.Ranking, log *slog.Logger) prometheus.Collector {
	count := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "scoreboard_ranking_set_aside_total",
		Help: "Boards removed from Redis, to be rebuilt, because a key of theirs was of another type or malformed.",
	})
	r.OnSetAside(func(board scoreboard.BoardID, reason error) {
		count.Inc()
		log.Error("board set aside, to be rebuilt: a key of it in Redis is broken", "board", board, "err", reason)
	})
	return count
}
