package metric_test

import (
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/metric"
)

// A call is measured once or twice for each batch of increments.
func BenchmarkObserve(b *testing.B) {
	c := metric.NewCalls("x", "of calls to X", "call")
	for b.Loop() {
		c.Observe("get", time.Now(), false)
	}
}
