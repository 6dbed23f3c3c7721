package metric

import (
	"maps"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

func TestValuesExpire(t *testing.T) {
	t.Parallel()
	g := NewGauge(prometheus.GaugeOpts{Name: "depth", Help: "Rows."}, "shard")
	now := time.Unix(1_795_000_000, 0)
	g.now = func() time.Time { return now }
	collect := func() map[string]float64 {
		found := make(chan prometheus.Metric, 10)
		g.Collect(found)
		close(found)
		values := make(map[string]float64)
		for m := range found {
			var d dto.Metric
			if err := m.Write(&d); err != nil {
				t.Fatal(err)
			}
			values[d.GetLabel()[0].GetValue()] = d.GetGauge().GetValue()
		}
		return values
	}
	g.Set(3, "0")
	g.Set(4, "1")
	now = now.Add(MaxAge)
	g.Set(5, "1")
	if got, want := collect(), (map[string]float64{"0": 3, "1": 5}); !maps.Equal(got, want) {
		t.Errorf("after %v got %v, want %v", MaxAge, got, want)
	}
	now = now.Add(time.Second)
	if got, want := collect(), (map[string]float64{"1": 5}); !maps.Equal(got, want) {
		t.Errorf("got %v, want the one that was set again, %v", got, want)
	}
	g.Set(7, "0")
	if got, want := collect(), (map[string]float64{"0": 7, "1": 5}); !maps.Equal(got, want) {
		t.Errorf("after another measurement got %v, want %v", got, want)
	}
}
