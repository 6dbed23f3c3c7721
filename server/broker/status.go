package broker

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// ConsumerStatus is what a consumer knows about itself without a request.
type ConsumerStatus struct {
	Topic string
	Lag   int64 // records not consumed, as last measured
}

// Status returns the consumer's lag.
func (c *Consumer) Status() ConsumerStatus { return ConsumerStatus{c.topic, gaugeValue(c.lag)} }

// Status returns the consumer's lag.
func (c *StreamConsumer) Status() ConsumerStatus {
	return ConsumerStatus{c.streams.o.Name, gaugeValue(c.lag)}
}

func gaugeValue(g prometheus.Gauge) int64 {
	var m dto.Metric
	_ = g.Write(&m) // fails only for metrics that are made wrongly
	return int64(m.GetGauge().GetValue())
}
