package transport

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/internal/metric"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Message is what a producer sends. Messages with the same key keep their order.
type Message struct {
	Key     []byte
	Value   []byte
	Headers []Header
}

// Header is metadata of a message.
type Header struct {
	Key   string
	Value []byte
}

// Producer writes messages: kafka.Producer, streams.Transport or
// direct.Transport.
type Producer interface {
	// Produce returns how many messages from the front are acknowledged, also
	// with an error.
	Produce(ctx context.Context, messages []Message) (int, error)
	// Broadcast writes one message to every partition.
	Broadcast(ctx context.Context, key, value []byte) error
	Partitions(ctx context.Context) (int, error)
}

// Handler processes records, in the order of each partition. To pause a
// partition it returns the offset of the first record that it did not process:
// from there on nothing is committed, nor delivered again to this consumer.
type Handler = func(ctx context.Context, records []scoreboard.Record) (paused map[int]int64, err error)

// Consumer reads what a Producer writes, as a member of a group.
type Consumer interface {
	// Consume calls handle until ctx ends, and commits after it has returned.
	Consume(ctx context.Context, handle Handler) error
	// Intact reports whether the records that were delivered so far are of one log, with
	// none missing because the log was replaced.
	Intact(ctx context.Context) bool
	// MeasureLag counts the records that the group has not consumed, and sets the metric
	// of NewLagGauge.
	MeasureLag(ctx context.Context) (int64, error)
}

// Transport is both ends of one connection between relay and projection.
type Transport struct {
	Name     string // value of the setting "transport"
	Producer Producer
	Consumer Consumer
	// BeforeHeartbeat is called before the relay sends a heartbeat; nil: nothing is.
	BeforeHeartbeat func(context.Context, scoreboard.Heartbeat) error
}

// ConsumerStatus is what a consumer knows about itself without a request.
type ConsumerStatus struct {
	Topic string
	Lag   int64 // records not consumed, as last measured
	// Damages counts how often the topic's log was found cut or replaced since the start
	// of the process; Lost are the records that were not consumed before, as far as
	// known.
	Damages, Lost int64
	Damaged       time.Time // when last; zero: never
}

// NewLagGauge returns the metric of the lag of a consumer in a group.
func NewLagGauge(topic, group string) *metric.Expiring {
	return metric.NewGauge(prometheus.GaugeOpts{
		Name: "scoreboard_broker_lag_records", Help: "Records of the topic that the group has not consumed.",
		ConstLabels: prometheus.Labels{"topic": topic, "group": group},
	})
}
