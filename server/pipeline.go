package server

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/admin"
	"github.com/scoreboard/scoreboard/server/api"
	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/health"
	"github.com/scoreboard/scoreboard/server/outbox"
	"github.com/scoreboard/scoreboard/server/projection"
	"github.com/scoreboard/scoreboard/server/repair"
	"github.com/scoreboard/scoreboard/server/rollover"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/settings"
	"github.com/scoreboard/scoreboard/server/store"
	"github.com/scoreboard/scoreboard/server/transport"
	"github.com/scoreboard/scoreboard/server/transport/direct"
	"github.com/scoreboard/scoreboard/server/transport/streams"
)

// makePipeline makes the relay and the projection, as this process has the
// roles, over all transports that it can work with. It returns what wakes the
// relay.
func (s *Server) makePipeline(cold func(scoreboard.BoardID)) (wake func()) {
	c := s.config
	if !c.RunsPipeline() {
		return func() {}
	}
	transports := s.makeTransports()
	if c.Has(config.RoleProjector) {
		s.makeProjection(transports, cold)
	}
	if !c.Has(config.RoleRelay) {
		return func() {}
	}
	s.switcher = transport.NewSwitch(transport.SwitchOptions{
		CheckInterval: settings.PollInterval,
		Overlap:       2*settings.PollInterval + 2*produceTimeout + 3*time.Second,
	}, transports, c.Transport, s.log)
	s.add("transport switch", s.switcher)
	s.makeRelay()
	return s.relay.Wake
}

// makeTransports makes both ends of every transport that this process supports.
// They connect when they are used.
func (s *Server) makeTransports() []*transport.Transport {
	c := s.config
	redisStreams := s.makeStreams()
	all := []*transport.Transport{
		{Name: config.TransportStreams, Producer: redisStreams, Consumer: redisStreams.Consumer(s.log)},
	}
	if c.Supports(config.TransportKafka) {
		s.events = s.kafka.Producer(c.Kafka.Topic)
		consumer := s.kafka.Consumer(c.Kafka.Topic, c.Kafka.Group, c.Projection.Batch, s.log)
		all = append(all, &transport.Transport{Name: config.TransportKafka, Producer: s.events, Consumer: consumer})
	}
	if c.Supports(config.TransportDirect) {
		t := direct.New()
		all = append(all, &transport.Transport{Name: config.TransportDirect, Producer: t, Consumer: t})
	}
	return all
}

func (s *Server) makeStreams() *streams.Transport {
	c := s.config
	return streams.New(streams.Options{
		Name: c.Streams.Name, Group: c.Kafka.Group, Shards: c.Streams.Shards, Length: int64(c.Streams.Length), Batch: c.Projection.Batch,
	}, s.redis)
}

func (s *Server) makeProjection(transports []*transport.Transport, cold func(scoreboard.BoardID)) {
	dead := []projection.DeadLetters{s.store}
	if s.kafka != nil {
		s.dead = s.kafka.Producer(s.config.Kafka.DeadTopic)
		dead = append(dead, transport.NewDeadLetters(s.dead))
	}
	sources := make([]projection.Source, len(transports))
	for i, t := range transports {
		sources[i] = t.Consumer
		if measured, ok := t.Consumer.(interface{ Collectors() []prometheus.Collector }); ok {
			s.register(measured.Collectors()...)
		}
		if l, ok := t.Consumer.(lagging); ok {
			s.lags = append(s.lags, l)
		}
	}
	s.project = projection.New(sources, s.ranking, s.store, dead, cold, s.log)
	s.register(s.project.Collectors()...)
	s.add("projection", s.project)
}

func (s *Server) makeRelay() {
	c := s.config
	s.relay = outbox.NewRelay(outbox.Options{
		Owner: processName(), Shards: c.Outbox.Shards, BatchSize: c.Outbox.Batch,
		PollInterval: c.Outbox.Poll, BatchPause: c.Outbox.Pause, HeartbeatInterval: time.Second, LeaseDuration: c.Outbox.Lease,
		MaxAttempts: rejectedAttempts,
	}, s.store, s.switcher, s.log)
	s.register(s.relay.Collectors()...)
	s.add("relay", s.relay)
}

// makeJobs makes the jobs that operators start.
func (s *Server) makeJobs(catalog *store.Catalog) admin.Jobs {
	c := s.config
	j := admin.Jobs{
		Catalog: catalog, Store: s.store, Ranking: s.ranking,
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

// makePass makes the full comparison of all rankings with the store.
func (s *Server) makePass(catalog *store.Catalog) {
	c := s.config
	if c.Reconcile.Every == 0 {
		return
	}
	check := repair.Check{Ledger: s.store, Ranking: s.ranking, Repair: c.Reconcile.Repair, Progress: func(*repair.VerifyResult) {}}
	pass := repair.NewPass(c.Reconcile.Every, check, catalog, s.ranking, s.rebuilder.Halted, s.log)
	s.register(pass.Collectors()...)
	s.add("full pass", pass)
}

// makeRollover makes the component that ends periods, and runs it in processes
// with the role maintenance. Ends are announced over Kafka, else over a Redis
// stream.
func (s *Server) makeRollover(catalog *store.Catalog) {
	c := s.config
	var producer transport.Producer = streams.New(streams.Options{Name: c.Kafka.SeasonsTopic, Shards: 1, Length: int64(c.Streams.Length)}, s.redis)
	if s.kafka != nil {
		s.seasons = s.kafka.Producer(c.Kafka.SeasonsTopic)
		producer = s.seasons
	}
	s.rollover = rollover.New(processName(), s.store, catalog, transport.NewSeasons(producer), s.log)
	if c.Has(config.RoleMaintenance) {
		s.add("rollover", s.rollover)
		s.register(s.rollover.Collectors()...)
	}
}

// lagging is a consumer that measures its lag.
type lagging interface {
	Status() transport.ConsumerStatus
}

// consumerLag returns the records that this process has yet to consume, by
// topic; nil in a process without consumers.
func (s *Server) consumerLag() map[string]int64 {
	if len(s.lags) == 0 {
		return nil
	}
	all := make(map[string]int64, len(s.lags))
	for _, c := range s.lags {
		status := c.Status()
		all[status.Topic] += status.Lag
	}
	return all
}

func (s *Server) makeNodeStatus() *health.NodeStatus {
	sources := health.Sources{Lag: s.consumerLag}
	if s.ingest != nil {
		sources.Ingest = s.ingest
	}
	if s.hub != nil {
		sources.Hub = s.hub
	}
	if s.sampler != nil {
		sources.Sampler = s.sampler
	}
	return health.NewNodeStatus(s.config.Roles, sources)
}

func (s *Server) makeDoctor() health.Doctor {
	d := health.Doctor{
		Postgres: s.store.Ping, Redis: s.ranking.Ping, Outbox: s.store, Lag: s.consumerLag,
		History: func(ctx context.Context) (*repair.HistoryChange, error) {
			return repair.CheckHistory(ctx, s.store, s.ranking)
		},
		Deployed: s.config, Current: s.settings.Current,
	}
	if s.kafka != nil {
		d.Kafka = s.kafka.Ping
	}
	return d
}

func (s *Server) makeReadiness() *health.Readiness {
	r := &health.Readiness{
		Postgres: s.store.Ping, Redis: s.ranking.Ping, Log: s.log,
		NeedsKafka: func() bool { return s.config.NeedsKafka(s.settings.Current().Transport) },
		ReadOnly:   s.config.ReadOnly(),
	}
	if s.kafka != nil {
		r.Kafka = s.kafka.Ping
	}
	return r
}

// makeSettings makes the manager of the settings in force. followSettings tells
// it which components follow changes.
func (s *Server) makeSettings() {
	o := settings.Options{
		Deployed: s.config, Store: s.store, Process: processName(), Pipeline: s.config.RunsPipeline(), Log: s.log,
	}
	if s.keySet != nil {
		o.Keys = s.keySet
	}
	s.settings = settings.New(o)
}

func (s *Server) followSettings() {
	s.settings.OnChange(func(c *config.Config) {
		s.tokens.Configure(auth.Policy{Issuer: c.Auth.Issuer, Audience: c.Auth.Audience, MaxLife: c.Auth.MaxTokenLife})
		s.limits.Configure(ratesOf(c))
		s.api.Configure(policyOf(c))
		if s.relay != nil {
			s.relay.Configure(c.Outbox.Batch, c.Outbox.Poll, c.Outbox.Pause)
		}
		if s.hub != nil {
			s.hub.Configure(hubOptions(c))
		}
	})
	s.settings.OnPoll(func(c *config.Config) {
		if s.hub != nil && !c.Realtime.Enabled {
			s.hub.Configure(hubOptions(c)) // closes another share of the connections
		}
	})
	if s.switcher != nil {
		s.settings.OnTransport(s.switcher.SwitchTo)
	}
}

func policyOf(c *config.Config) api.Policy {
	return api.Policy{
		SignatureOptional: c.Auth.Signature == "optional", Async: c.Ingest.Async, OverflowAsync: c.Ingest.Overflow == "async",
		AnonymousReads: c.Reads.Anonymous, TopN: c.Reads.TopN, CountryHeader: c.Anomaly.CountryHeader,
	}
}
