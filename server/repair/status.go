package repair

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// SamplerStatus is what the sampler has found since the process started.
type SamplerStatus struct {
	Checked, Drifted, Repaired int64 // users
}

// Status returns the sampler's counts.
func (s *Sampler) Status() SamplerStatus {
	return SamplerStatus{Checked: count(s.checked), Drifted: count(s.drift), Repaired: count(s.mended)}
}

func count(c prometheus.Counter) int64 {
	var m dto.Metric
	_ = c.Write(&m) // does not fail for a counter
	return int64(m.GetCounter().GetValue())
}
