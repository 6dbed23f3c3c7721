package loadgen

import (
	"math"
	"testing"
)

// A histogram of two calls, and of a wait that is no call.
const twoReadings = `# HELP scoreboard_redis_call_seconds x
# TYPE scoreboard_redis_call_seconds histogram
scoreboard_redis_call_seconds_bucket{call="get",le="0.005"} 100
scoreboard_redis_call_seconds_bucket{call="get",le="0.01"} 190
scoreboard_redis_call_seconds_bucket{call="get",le="+Inf"} 200
scoreboard_redis_call_seconds_sum{call="get"} 1
scoreboard_redis_call_seconds_count{call="get"} 200
scoreboard_redis_call_seconds_bucket{call="evalsha",le="0.005"} 800
scoreboard_redis_call_seconds_bucket{call="evalsha",le="0.01"} 800
scoreboard_redis_call_seconds_bucket{call="evalsha",le="+Inf"} 800
scoreboard_redis_call_seconds_sum{call="evalsha"} 1
scoreboard_redis_call_seconds_count{call="evalsha"} 800
`

func TestQuantilesOfRedisCalls(t *testing.T) {
	t.Parallel()
	all, err := readBuckets(twoReadings, redisCalls)
	if err != nil {
		t.Fatal(err)
	}
	for q, want := range map[float64]float64{45: 2.5, 90: 5, 94.5: 7.5, 99: 10, 99.9: 10} {
		if got, ok := all.quantile(q); !ok || math.Abs(got-want) > 1e-9 {
			t.Errorf("p%g is %gms, %t, want %gms", q, got, ok, want)
		}
	}
	// Before the load there were 900 fast calls: of the 100 during it, 90 took up to 10 ms.
	during := all.since(buckets{0.005: 900, 0.01: 900, math.Inf(1): 900})
	if got, ok := during.quantile(45); !ok || math.Abs(got-7.5) > 1e-9 {
		t.Errorf("during the load p45 is %gms, %t, want 7.5ms", got, ok)
	}
	if _, ok := all.since(all).quantile(95); ok {
		t.Error("no call has a quantile")
	}
	for _, text := range []string{"", "# TYPE scoreboard_redis_call_seconds gauge\nscoreboard_redis_call_seconds 1\n"} {
		if _, err := readBuckets(text, redisCalls); err == nil {
			t.Errorf("%q was read as a histogram", text)
		}
	}
}
