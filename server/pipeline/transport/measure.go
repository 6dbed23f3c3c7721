package transport

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/scoreboard/scoreboard/internal/metric"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// NewProduceCalls returns the metrics of producers, which Measured feeds.
func NewProduceCalls() *metric.Calls {
	return metric.NewCalls("scoreboard_broker_produce", "of writes of batches to a topic or stream", "topic")
}

// Measured returns a producer that measures p, which writes to topic.
func Measured(p Producer, topic string, c *metric.Calls) Producer {
	c.Declare(topic)
	return measuredProducer{p, topic, c}
}

type measuredProducer struct {
	Producer
	topic string
	calls *metric.Calls
}

func (p measuredProducer) Produce(ctx context.Context, messages []Message) (int, error) {
	began := time.Now()
	n, err := p.Producer.Produce(ctx, messages)
	// Without a consumer the caller does not queue: nothing has failed.
	failed := err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, scoreboard.ErrNoConsumer)
	p.calls.Observe(p.topic, began, failed)
	return n, err
}

func (p measuredProducer) Broadcast(ctx context.Context, key, value []byte) error {
	began := time.Now()
	err := p.Producer.Broadcast(ctx, key, value)
	p.calls.Observe(p.topic, began, err != nil && !errors.Is(err, context.Canceled))
	return err
}

// Measurable is a consumer whose lag can be measured, also while nothing consumes.
type Measurable interface {
	// MeasureLag also sets the metric NewLagGauge.
	MeasureLag(ctx context.Context) (int64, error)
}

const (
	lagInterval = 5 * time.Second
	lagTimeout  = 5 * time.Second
)

// LagMonitor measures the lag of groups, whether or not their consumers run: while they
// are stopped, the lag grows and nobody else would tell.
type LagMonitor struct {
	consumers []Measurable
	log       *slog.Logger
}

// NewLagMonitor returns a monitor; Run measures.
func NewLagMonitor(consumers []Measurable, log *slog.Logger) *LagMonitor {
	return &LagMonitor{consumers, log}
}

// Run measures until ctx ends. A backend that hangs delays its own lag only.
func (m *LagMonitor) Run(ctx context.Context) error {
	var g errgroup.Group
	for _, c := range m.consumers {
		g.Go(func() error { m.watch(ctx, c); return nil })
	}
	return g.Wait()
}

func (m *LagMonitor) watch(ctx context.Context, c Measurable) {
	tick := time.NewTicker(lagInterval)
	defer tick.Stop()
	for {
		limited, cancel := context.WithTimeout(ctx, lagTimeout)
		if _, err := c.MeasureLag(limited); err != nil && ctx.Err() == nil {
			m.log.Debug("lag not measured", "err", err)
		}
		cancel()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
