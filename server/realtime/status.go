package realtime

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Status is the hub's current load.
type Status struct {
	Connections map[string]int64 // open, by transport
}

// Status returns the current load of this node.
func (m *metrics) Status() Status {
	found := make(chan prometheus.Metric, 8)
	go func() {
		m.connections.Collect(found)
		close(found)
	}()
	s := Status{Connections: make(map[string]int64)}
	for one := range found {
		var gauge dto.Metric
		_ = one.Write(&gauge) // does not fail for a gauge
		for _, label := range gauge.GetLabel() {
			if label.GetName() == "transport" {
				s.Connections[label.GetValue()] += int64(gauge.GetGauge().GetValue())
			}
		}
	}
	return s
}
