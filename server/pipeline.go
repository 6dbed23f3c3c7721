package server

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/server/admin"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/http/api"
	"github.com/scoreboard/scoreboard/server/leaderboard"
	"github.com/scoreboard/scoreboard/server/pipeline/announce"
	"github.com/scoreboard/scoreboard/server/pipeline/ingest"
	"github.com/scoreboard/scoreboard/server/pipeline/mirror"
	"github.com/scoreboard/scoreboard/server/pipeline/outbox"
	"github.com/scoreboard/scoreboard/server/pipeline/projection"
	"github.com/scoreboard/scoreboard/server/pipeline/transport"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/kafka"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/streams"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
	"github.com/scoreboard/scoreboard/server/upkeep"
	"github.com/scoreboard/scoreboard/server/upkeep/repair"
)

// pipeline is the way of a change from the request to the ranking, as far as this process
// has a part in it.
type pipeline struct {
	*backends
	catalog   *store.Catalog
	rebuild   func() // reports a board that Redis does not hold
	consumers consumers

	ingest   *ingest.Ingest
	relay    *outbox.Relay
	switcher *transport.Switch
	queue    *streams.Consumer // of accepted increments
	rollover *upkeep.Rollover
	mirror   *mirror.Mirror
}

// make makes the relay and the projection, if this process has the roles,
// with every transport that it supports.
func (p *pipeline) make() {
	c := p.config
	if !c.RunsPipeline() {
		return
	}
	transports := p.makeTransports()
	if c.Has(config.RoleProjector) {
		p.makeProjection(transports)
	}
	if c.Has(config.RoleRelay) {
		p.makeRelay(transports)
	}
}

// makeTransports makes both ends of every transport that this process supports.
// They connect when they are used.
func (p *pipeline) makeTransports() []*transport.Transport {
	c := p.config
	redisStreams := p.makeStreams()
	reader := redisStreams.Consumer(p.log)
	reader.OnMove(p.dropRankings)
	all := []*transport.Transport{
		{
			Name: config.TransportStreams, Producer: witnessed{transport.Measured(redisStreams, c.Streams.Name,
				p.produced), p.ranking},
			Consumer: reader, BeforeHeartbeat: p.ranking.BeforeHeartbeat,
		},
	}
	if c.Supports(config.TransportKafka) {
		consumer := p.kafka.Consumer(c.Kafka.Topic, c.Kafka.Group, c.Projection.Batch, p.log)
		consumer.OnDamage(func(ctx context.Context, _ *kafka.Damage) error { return p.dropRankings(ctx) })
		all = append(all, &transport.Transport{
			Name: config.TransportKafka, Producer: p.producer(c.Kafka.Topic), Consumer: consumer,
		})
	}
	if c.Supports(config.TransportDirect) {
		t := transport.NewDirect()
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

func (p *pipeline) makeProjection(transports []*transport.Transport) {
	dead := []projection.DeadLetters{p.store.DeadLetters}
	if p.kafka != nil {
		dead = append(dead, transport.NewDeadLetters(p.producer(p.config.Kafka.DeadTopic)))
	}
	sources := make([]projection.Source, len(transports))
	for i, t := range transports {
		sources[i] = t.Consumer
		if m, ok := t.Consumer.(measured); ok {
			p.Register(m.Collectors()...)
		}
		if c, ok := t.Consumer.(consumer); ok {
			p.consumers.all = append(p.consumers.all, c)
			p.consumers.lags = append(p.consumers.lags, t.Consumer)
		}
	}
	p.add("projection", projection.New(sources, p.ranking, p.store.Boards, dead, p.rebuild, p.tracer, p.log))
}

func (p *pipeline) makeRelay(transports []*transport.Transport) {
	c := p.config
	p.switcher = transport.NewSwitch(transport.SwitchOptions{
		CheckInterval: config.PollInterval,
		// Another relay may publish to the previous transport until it reads the
		// setting, finishes its batch and loses its lease.
		Overlap: 2*config.PollInterval + 2*produceTimeout + 3*time.Second,
		Tracer:  p.tracer,
	}, transports, c.Transport, p.log)
	p.add("transport switch", p.switcher)
	p.relay = outbox.NewRelay(outbox.Options{
		Owner: processName(), Shards: c.Outbox.Shards, BatchSize: c.Outbox.Batch,
		PollInterval: c.Outbox.Poll, BatchPause: c.Outbox.Pause, HeartbeatInterval: time.Second,
		LeaseDuration: c.Outbox.Lease,
		MaxAttempts:   rejectedAttempts,
	}, p.store.Outbox, p.switcher, p.log)
	p.add("relay", p.relay)
}

// measurable is a consumer whose lag is a metric.
type measurable interface {
	consumer
	measured
	transport.Measurable
}

// makeLagMonitor measures the lag of the groups that this process is a member of. A
// process with the role maintenance measures all of them for the metrics, because no member
// may run, and one with the role api for the status and the checks that it answers.
func (p *pipeline) makeLagMonitor() {
	c := p.config
	all := c.Has(config.RoleMaintenance) || c.Has(config.RoleAPI)
	watch := func(m measurable) {
		if c.Has(config.RoleMaintenance) {
			p.Register(m.Collectors()...)
		}
		p.consumers.all = append(p.consumers.all, m)
		p.consumers.lags = append(p.consumers.lags, m)
	}
	if all && !c.Has(config.RoleProjector) {
		watch(p.makeStreams().Consumer(p.log))
		if p.kafka != nil {
			watch(p.kafka.Consumer(c.Kafka.Topic, c.Kafka.Group, 1, p.log))
		}
	}
	if all && !c.Has(config.RoleIntake) {
		watch(p.makeQueue().Consumer(p.log))
		if p.kafka != nil {
			watch(p.kafka.Consumer(c.Kafka.IncrementsTopic, c.Kafka.IntakeGroup, 1, p.log))
		}
	}
	p.add("lag monitor", transport.NewLagMonitor(p.consumers.lags, p.log))
}

// dropRankings drops every board from the ranking after changes were lost between the
// outbox and the projection. Reads come from the store until the boards are rebuilt.
func (p *pipeline) dropRankings(ctx context.Context) error {
	boards, err := repair.RankedBoards(ctx, p.catalog)
	if err != nil {
		return err
	}
	for i := range boards {
		if err := p.ranking.Drop(ctx, &boards[i]); err != nil {
			return err
		}
	}
	p.rebuild()
	return nil
}

// consumers are those of this process, and those of other processes whose lag it measures.
type consumers struct {
	all  []consumer
	lags []transport.Measurable // of the groups whose lag this process measures
}

// damageShown is how long a damaged log is reported.
const damageShown = 24 * time.Hour

// damage describes the damaged logs of this process's consumers; "" if there are
// none.
func (c *consumers) damage() string {
	var all []string
	for _, one := range c.all {
		if st := one.Status(); st.Damages > 0 && time.Since(st.Damaged) < damageShown {
			all = append(all, fmt.Sprintf("the log of topic %s was cut or replaced and read again, %d times, "+
				"last at %s; records lost: %d", st.Topic, st.Damages, st.Damaged.UTC().Format(time.RFC3339), st.Lost))
		}
	}
	return strings.Join(all, "; ")
}

// lost returns the topics whose logs this process found damaged, with the
// records that were lost; nil without any.
func (c *consumers) lost() map[string]int64 {
	var all map[string]int64
	for _, one := range c.all {
		if st := one.Status(); st.Damages > 0 {
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

// lag returns the records that are yet to be consumed, by topic; nil in a process that
// measures none.
func (c *consumers) lag() map[string]int64 {
	if len(c.all) == 0 {
		return nil
	}
	all := make(map[string]int64, len(c.all))
	for _, one := range c.all {
		status := one.Status()
		all[status.Topic] += status.Lag
	}
	return all
}

// makeWrites makes ingest, the acceptor of increments for later recording, and the
// intake that records those.
func (p *pipeline) makeWrites(o *api.Options, reads *leaderboard.Leaderboard) {
	c := p.config
	lanes := ingest.Options{
		Lanes: c.Ingest.Lanes, Batch: c.Ingest.Batch, Queue: c.Ingest.Queue, Wait: c.Ingest.Wait, Tracer: p.tracer,
	}
	ranker := leaderboard.NewRanker(reads)
	wake := func() {}
	if p.relay != nil {
		wake = p.relay.Wake
	}
	p.ingest = ingest.New(lanes, p.store.Increments, ranker, wake, p.log)
	p.add("ingest", p.ingest)
	markers := ingest.NewRedisMarkers(p.redis)
	clock := ingest.NewClock(p.store.Now, p.log)
	p.add("clock", clock)
	// A node writes to one queue. An intake reads both: nodes may have other brokers, or have
	// had them.
	queue := p.makeQueue()
	queued := queue.Consumer(p.log)
	queues := []intakeSource{queued}
	var producer transport.Producer
	var backlog ingest.Backlog = queued
	if p.kafka == nil {
		producer = transport.Measured(queue, c.Streams.Increments, p.produced)
	} else {
		producer = p.producer(c.Kafka.IncrementsTopic)
		topic := p.kafka.Consumer(c.Kafka.IncrementsTopic, c.Kafka.IntakeGroup, c.Ingest.Batch, p.log)
		backlog, queues = topic, append(queues, topic)
	}
	if c.Has(config.RoleIntake) {
		sources := make([]ingest.Source, len(queues))
		for i, q := range queues {
			sources[i] = q
			p.consumers.all = append(p.consumers.all, q)
			p.consumers.lags = append(p.consumers.lags, q)
			p.Register(q.Collectors()...)
		}
		p.queue = queued
		dead := []ingest.DeadLetters{p.store.DeadLetters, transport.NewDeadLetters(p.makeIncrementsDead())}
		p.add("intake", ingest.NewIntake(
			sources, p.ingest, dead, p.store.Increments, markers, c.Ledger.RepeatWindow(), clock, p.log,
		))
	}
	if !c.Has(config.RoleAPI) {
		return
	}
	o.Submitter, o.Events, o.Ranker = p.ingest, p.store.Increments, ranker
	acceptor := ingest.NewAcceptor(
		lanes, markers, p.store.Increments, transport.NewAccepted(producer, p.tracer), backlog, clock.Now, p.log,
	)
	p.add("acceptor", acceptor)
	o.Acceptor = acceptor
}

// intakeSource is a consumer of accepted increments.
type intakeSource interface {
	ingest.Source
	measurable
}

// A process that dies is replaced as announcer after announceLease. A lost notice
// is made up for within announceSweep.
const (
	announceLease = 3 * time.Second
	announceSweep = 10 * time.Second
)

// makeAnnouncer makes the announcer of notices over Kafka.
func (p *pipeline) makeAnnouncer() {
	c := p.config
	if p.kafka == nil || !c.Has(config.RoleProjector) {
		return
	}
	p.add("announcer", announce.New(announce.Options{
		Owner: processName(), Interval: c.Kafka.NoticesInterval, LeaseDuration: announceLease,
		SweepInterval:   announceSweep,
		RefreshInterval: c.Kafka.NoticesRetention / 2,
	}, rankedNotices{p.ranking, p.catalog}, rankedBoards{p.catalog},
		transport.NewNotices(p.producer(c.Kafka.NoticesTopic)), p.log))
}

// rankedBoards lists the boards that have a ranking.
type rankedBoards struct{ catalog *store.Catalog }

func (r rankedBoards) Ranked(ctx context.Context) ([]scoreboard.Board, error) {
	return repair.RankedBoards(ctx, r.catalog)
}

// makeRollover makes the component that ends periods, and runs it in processes
// with the role maintenance. Ends are announced over Kafka, else over a Redis
// stream.
func (p *pipeline) makeRollover() {
	c := p.config
	var producer transport.Producer
	if p.kafka != nil {
		producer = p.producer(c.Kafka.SeasonsTopic)
	} else {
		producer = transport.Measured(streams.New(streams.Options{
			Name: c.Kafka.SeasonsTopic, Shards: 1, Length: int64(c.Streams.Length),
		}, p.redis), c.Kafka.SeasonsTopic, p.produced)
	}
	p.rollover = upkeep.NewRollover(
		p.store.Boards, p.catalog, transport.NewSeasons(producer), p.upkeep,
	)
	if c.Has(config.RoleMaintenance) {
		p.add("rollover", p.rollover)
	}
}

// makeJobs makes the jobs that operators start.
func (s *Server) makeJobs() admin.Jobs {
	c := s.config
	j := admin.Jobs{
		Catalog:     s.catalog,
		Store:       s.store.Recovery,
		Teams:       s.store.Teams,
		Rewards:     s.store.Rewards,
		DeadLetters: s.store.DeadLetters,
		Ranking:     s.ranking,
		Runner:      s.upkeep,
		Window:      c.Ledger.RepeatWindow(),
		Logs:        map[string]admin.EventLog{c.Streams.Name: {Log: s.makeStreams().Log(), Gaps: true}},
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
func (p *pipeline) makeMirror() {
	c := p.config
	if !c.Has(config.RoleMirror) {
		return
	}
	var feeds []mirror.Feed
	for _, name := range c.MirrorFeeds() {
		f := mirror.Feed{Name: name, Sources: p.mirrorSources(c.Mirror.FeedGroup(name))}
		switch name {
		case config.FeedPlain:
			f.Board = scoreboard.BoardID(c.Dialects.Plain.Board)
			f.Sink = transport.NewScoreFeed(p.producer(c.Mirror.PlainTopic))
			f.Snapshot = &mirror.Snapshot{
				Standings: p.store.Recovery, Written: mirror.NewRedisWritten(p.redis, c.Mirror.PlainTopic),
			}
		case config.FeedHighscore:
			f.Board = scoreboard.BoardID(c.Dialects.Highscore.Board)
			f.Sink = transport.NewHighscoreFeed(p.producer(c.Mirror.HighscoreTopic))
		case config.FeedCloudEvents:
			f.Sink = transport.NewCloudEventsFeed(p.producer(c.Mirror.CloudEventsTopic))
		case config.FeedDelta:
			stream := mirror.NewStream(mirror.StreamOptions{
				Key: c.Mirror.DeltaStream, Length: int64(c.Mirror.DeltaLength), Retention: c.Mirror.Retention,
				Remember: max(c.Kafka.Retention, c.Streams.Retention) + mirrorMargin,
			}, p.redis, p.store.Increments, p.log)
			p.add("mirror stream", stream)
			f.Board, f.Sink = scoreboard.BoardID(c.Dialects.Delta.Board), stream
		}
		feeds = append(feeds, f)
	}
	p.mirror = mirror.New(feeds, p.log)
	p.add("mirror", p.mirror)
}

// mirrorSources opens the transports that have records for a group.
func (p *pipeline) mirrorSources(group string) (sources []mirror.Source) {
	c := p.config
	if c.Supports(config.TransportKafka) {
		consumer := p.kafka.Consumer(c.Kafka.Topic, group, c.Projection.Batch, p.log)
		p.Register(consumer.Collectors()...)
		p.consumers.lags = append(p.consumers.lags, consumer)
		sources = append(sources, consumer)
	}
	// Without a retention: what may be removed is the projection's to say.
	consumer := streams.New(streams.Options{
		Name: c.Streams.Name, Group: group, Shards: c.Streams.Shards, Length: int64(c.Streams.Length),
		Batch: c.Projection.Batch,
	}, p.redis).Consumer(p.log)
	p.Register(consumer.Collectors()...)
	p.consumers.lags = append(p.consumers.lags, consumer)
	return append(sources, consumer)
}

// rankedNotices is a ranking whose notices fit their boards.
type rankedNotices struct {
	*ranking.Ranking
	catalog *store.Catalog
}

// Follow calls do with every notice until ctx ends.
func (r rankedNotices) Follow(ctx context.Context, do func(scoreboard.Notice), bad func(error)) error {
	return boardNotices{r.Ranking, r.catalog}.Follow(ctx, do, bad)
}

// boardNotices is a source whose notices have shared ranks on the boards that share them: Redis
// has only the order of a board.
type boardNotices struct {
	notices
	catalog *store.Catalog
}

// boardLookup bounds how long a notice of a board that this process does not know yet waits.
const boardLookup = time.Second

// Follow calls do with every notice until ctx ends. One whose board cannot be looked up, or has
// subscores that its rows lack, has no rows, as if its top had not changed: readers then get the
// change from the ranking.
func (s boardNotices) Follow(ctx context.Context, do func(scoreboard.Notice), bad func(error)) error {
	return s.notices.Follow(ctx, func(n scoreboard.Notice) {
		if n.Top != nil {
			switch board := s.board(ctx, n.Board); {
			case board == nil, board.HasSubscores() != n.Subscores && len(n.Top.Entries) > 0:
				n.Top = nil // the board in Redis is not as it was built
			default:
				n.Top.Subscores = board.HasSubscores()
				if board.SharesRanks() {
					scoreboard.ShareRanks(n.Top.Entries, 1)
				}
			}
		}
		do(n)
	}, bad)
}

// board returns a board, nil if it cannot be looked up.
func (s boardNotices) board(ctx context.Context, id scoreboard.BoardID) *scoreboard.Board {
	board := s.catalog.Known(id)
	if board == nil && !s.catalog.Unavailable() {
		ctx, cancel := context.WithTimeout(ctx, boardLookup)
		defer cancel()
		board, _ = s.catalog.Board(ctx, id) // of which there is none on an error
	}
	return board
}
