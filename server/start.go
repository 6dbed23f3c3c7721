package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/http/dialect"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/kafka"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// preparation creates something that the process uses in a backend. A start waits for it,
// but not for long: a process without it still serves what does not need it, and catches
// up when the backend answers.
type preparation struct {
	name   string
	create func(context.Context) error
	// outage reports whether an error can end by itself; a start with another one fails.
	outage func(error) bool
	log    *slog.Logger

	problem atomic.Pointer[error] // nil: none
}

// Bounds of a preparation.
const (
	prepareTimeout = 10 * time.Second // of a start
	prepareRetry   = 250 * time.Millisecond
	prepareAgain   = time.Second // after the start
	attemptTimeout = 20 * time.Second
	attemptsQuiet  = 60 // between two lines of the log
)

// try runs create once and notes the outcome.
func (p *preparation) try(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	err := p.create(ctx)
	if err == nil {
		p.problem.Store(nil)
	} else {
		p.problem.Store(&err)
	}
	return err
}

// missing is why it is not created, nil if it is or was not tried yet.
func (p *preparation) missing() error {
	if problem := p.problem.Load(); problem != nil {
		return *problem
	}
	return nil
}

// start tries until it is created, wait is over or ctx ends. An error is not an outage.
func (p *preparation) start(ctx context.Context, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		err := p.try(ctx)
		if err == nil || ctx.Err() == nil && !p.outage(err) {
			return err
		}
		select {
		case <-ctx.Done():
			p.log.Error(p.name+" not created at the start; the process goes on without, and tries again", "err", err)
			return nil
		case <-time.After(prepareRetry):
		}
	}
}

// Run tries until it is created, if the start has not, or until ctx ends.
func (p *preparation) Run(ctx context.Context) error {
	for failures := 0; p.missing() != nil; failures++ {
		if err := p.try(ctx); err != nil && failures%attemptsQuiet == attemptsQuiet-1 && ctx.Err() == nil {
			p.log.Error(p.name+" still not created", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(prepareAgain):
		}
	}
	<-ctx.Done()
	return nil
}

// preparations are what a start prepares.
type preparations struct {
	server         *Server
	topics, boards *preparation // nil: none needed
}

// newPreparations returns those of the roles. They are added before the components that
// need them.
func newPreparations(s *Server) *preparations {
	p := &preparations{server: s}
	if s.kafka != nil {
		p.topics = &preparation{
			name: "topics", create: p.createTopics, log: s.log,
			outage: func(err error) bool { return !errors.Is(err, kafka.ErrTooFewPartitions) },
		}
		s.add("topics", p.topics)
	}
	if s.config.Has(config.RoleAPI) {
		p.boards = &preparation{
			name: "boards of dialects and the default key", log: s.log,
			create: func(ctx context.Context) error {
				if err := dialect.EnsureBoards(ctx, &s.config.Dialects, s.boards()); err != nil {
					return err
				}
				return s.ensureDefaultKey(ctx)
			},
			outage: func(err error) bool { return wire.CodeOf(err) == wire.CodeUnavailable },
		}
		s.add("boards of dialects", p.boards)
	}
	return p
}

// start creates what the process uses, as far as the backends answer soon.
func (p *preparations) start(ctx context.Context) error {
	if p.topics != nil {
		wait := prepareTimeout
		if p.server.settings.SwitchedFromKafka(ctx) { // they were created before the switch
			wait = prepareRetry
		}
		if err := p.topics.start(ctx, wait); err != nil {
			return err
		}
	}
	p.createQueue(ctx)
	if p.boards != nil {
		return p.boards.start(ctx, prepareTimeout)
	}
	return nil
}

// createTopics creates the topics that this process uses, and warns about existing ones
// with other settings.
func (p *preparations) createTopics(ctx context.Context) error {
	others, err := p.server.kafka.Ensure(ctx, topicsOf(p.server.config)...)
	for _, other := range others {
		p.server.log.Warn("topic differs from its settings", "found", other)
	}
	return err
}

// pingKafka returns nil if Kafka answers and has the topics of this process.
func (p *preparations) pingKafka(ctx context.Context) error {
	if err := p.server.kafka.Ping(ctx); err != nil {
		return err
	}
	if err := p.topics.missing(); err != nil {
		return &scoreboard.SetupError{
			Setting: "kafka.brokers", Problem: fmt.Sprintf("topics are not created (%v)", err), Err: err,
			Fix: "the process tries every second; if it persists, create them, or let it create them",
		}
	}
	return nil
}

// queueTimeout bounds createQueue.
const queueTimeout = 2 * time.Second

// createQueue creates the streams of accepted increments, if this process reads them, so
// that the first request can be answered with 202. A Redis that does not answer must not
// prevent the start: the intake creates them later.
func (p *preparations) createQueue(ctx context.Context) {
	if p.server.queue == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, queueTimeout)
	defer cancel()
	if err := p.server.queue.CreateGroups(ctx); err != nil {
		p.server.log.Warn("the streams of accepted increments are created later", "err", err)
	}
}

// topicsOf are the topics of a configuration.
func topicsOf(c *config.Config) []kafka.Topic {
	all := []kafka.Topic{
		{
			Name: c.Kafka.Topic, Partitions: c.Kafka.Partitions, Retention: c.Kafka.Retention, Cleanup: c.Kafka.Cleanup,
			Replicas: c.Kafka.Replicas,
		},
		{Name: c.Kafka.DeadTopic, Partitions: 1, Retention: c.Kafka.DeadRetention, Replicas: c.Kafka.Replicas},
		{
			Name: c.Kafka.NoticesTopic, Partitions: c.Kafka.NoticesPartitions, Retention: c.Kafka.NoticesRetention,
			Cleanup: c.Kafka.NoticesCleanup, Replicas: c.Kafka.Replicas,
		},
		{
			Name: c.Kafka.IncrementsTopic, Partitions: c.Kafka.IncrementsPartitions,
			Retention: c.Kafka.IncrementsRetention, Replicas: c.Kafka.Replicas,
		},
		{Name: c.Kafka.SeasonsTopic, Partitions: 1, Retention: c.Kafka.SeasonsRetention, Replicas: c.Kafka.Replicas},
		{
			Name: c.Kafka.IncrementsDeadTopic, Partitions: 1, Retention: c.Kafka.DeadRetention,
			Replicas: c.Kafka.Replicas,
		},
	}
	for _, feed := range c.MirrorFeeds() {
		if feed != config.FeedDelta {
			all = append(all, kafka.Topic{
				Name: c.Mirror.Name(feed), Partitions: c.Mirror.Partitions, Retention: c.Mirror.Retention,
				Replicas: c.Kafka.Replicas,
			})
		}
	}
	return all
}
