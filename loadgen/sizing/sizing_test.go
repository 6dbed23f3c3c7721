package sizing

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestSimulate compares the model with results that are known without it.
func TestSimulate(t *testing.T) {
	t.Parallel()
	const n = 200_000
	alone := Simulate(1, n, &Lane{First: time.Millisecond, Each: time.Microsecond, Batch: 500})
	if alone.P50 != time.Millisecond || alone.P95 > 2*time.Millisecond || alone.Batch > 1.01 {
		t.Errorf("one a second: got %+v, want the time of a transaction, alone", alone)
	}
	// Without batches it is a queue of random arrivals and equal services (M/D/1). Half of the arrivals
	// to one that is busy half of the time do not wait at all.
	single := &Lane{First: time.Millisecond, Batch: 1, Each: time.Millisecond}
	half, busy := Simulate(500, n, single), Simulate(900, n, single)
	if half.P50 > 1050*time.Microsecond || half.P95 < 2500*time.Microsecond || half.P95 > 3500*time.Microsecond {
		t.Errorf("a queue that is busy half of the time: got %+v, want a median of 1 and a p95 of about 3 ms", half)
	}
	if busy.P95 < 10*time.Millisecond || busy.P95 > 20*time.Millisecond {
		t.Errorf("a queue that is busy 90 %% of the time: got %+v, want 10 to 20 ms", busy)
	}
	// With batches a lane keeps up with far more than one transaction's rate: what comes while one is in
	// flight is in the next.
	many := Simulate(10_000, n, &Lane{First: time.Millisecond, Each: 10 * time.Microsecond, Batch: 500})
	if want := 10_000 * 0.001 / (1 - 10_000*10e-6); math.Abs(many.Batch-want) > 1 {
		t.Errorf("10,000 a second: got %.1f in a transaction, want about %.1f", many.Batch, want)
	}
	if many.P95 > 5*time.Millisecond {
		t.Errorf("10,000 a second: got %+v", many)
	}
	around := Simulate(1, n, &Lane{
		First: time.Millisecond, Batch: 1, Every: time.Second,
		Course: []Interval{{More: Distribution{time.Millisecond}, Around: Distribution{0, time.Millisecond}}},
	})
	if d := around.P50 - 2500*time.Microsecond; d.Abs() > 20*time.Microsecond {
		t.Errorf("twice the time and up to 1 ms around: got %+v, want a median of 2.5 ms", around)
	}
	// A tenth of the time is slow: too little for the median, and all of the slowest twentieth.
	slow := make([]Interval, 10)
	slow[3] = Interval{More: Distribution{4 * time.Millisecond}, Around: Distribution{10 * time.Millisecond}}
	intervals := Simulate(100, n, &Lane{First: time.Millisecond, Batch: 100, Every: time.Second, Course: slow})
	if intervals.P50 > 1500*time.Microsecond ||
		intervals.P95 < 15*time.Millisecond || intervals.P95 > 21*time.Millisecond {
		t.Errorf("slow for a tenth of the time: got %+v, want medians of 1 ms and a p95 of 15 to 20 ms", intervals)
	}
	if again := Simulate(10_000, n, &Lane{
		First: time.Millisecond, Each: 10 * time.Microsecond, Batch: 500,
	}); again != many {
		t.Errorf("the same arguments: got %+v and %+v", many, again)
	}
}

// The day of a simulation has the increments of the load.
func TestDayHasTheUpdates(t *testing.T) {
	t.Parallel()
	for _, peak := range []float64{1, 2, 10, 100} {
		rates := dayRates(1000, peak)
		sum := (rates[24] - 1000) / 144
		for _, r := range rates[:24] {
			sum += r / 24
		}
		if math.Abs(sum-1000) > 1 {
			t.Errorf("peak %v: the day has an average of %.1f, want 1000", peak, sum)
		}
	}
}

// An estimate grows with the load, keeps a node to spare, and never plans a lane beyond its share.
func TestEstimate(t *testing.T) {
	t.Parallel()
	small := Load{
		Users: 1000, Boards: 1, UpdatesPerDay: 1000, Peak: 2, Viewers: 10, RetentionDays: 30,
		Window: 200 * time.Millisecond,
	}
	last := map[string]float64{}
	for factor := int64(1); factor <= 1_000_000; factor *= 10 {
		l := small
		l.Users, l.UpdatesPerDay, l.Viewers = l.Users*factor, l.UpdatesPerDay*factor, l.Viewers*factor
		if err := l.Check(); err != nil {
			t.Fatal(err)
		}
		p := Estimate(l)
		for _, part := range p.Parts {
			size := float64(part.Nodes) * float64(part.VCPU) * part.MemoryGiB
			if part.Nodes < 2 || size < last[part.Name] || part.Why == "" {
				t.Errorf("%d times the load: got %+v, want at least %v", factor, part, last[part.Name])
			}
			last[part.Name] = size
			rate := float64(l.UpdatesPerDay) / 86400 * l.Peak
			if part.Name == "api" && rate*56e-6/float64(part.Nodes) > 0.6 {
				t.Errorf("%d times the load: %d lanes have no time for %.0f/s", factor, part.Nodes, rate)
			}
		}
		for _, a := range p.Amounts {
			if math.IsNaN(a.Value) || math.IsInf(a.Value, 0) || a.Value <= 0 {
				t.Errorf("%d times the load: %+v", factor, a)
			}
		}
	}
}

func TestLoadsOutOfBounds(t *testing.T) {
	t.Parallel()
	valid := Load{Users: 1, Boards: 1, UpdatesPerDay: 1, Peak: 1, RetentionDays: 2, Window: time.Second}
	if err := valid.Check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Load){
		"users": func(l *Load) { l.Users = 0 }, "boards": func(l *Load) { l.Boards = -1 },
		"updates-per-day": func(l *Load) { l.UpdatesPerDay = math.MaxInt64 },
		"peak-factor":     func(l *Load) { l.Peak = math.NaN() }, "viewers": func(l *Load) { l.Viewers = -1 },
		"retention-days": func(l *Load) { l.RetentionDays = 1 }, "window": func(l *Load) { l.Window = 0 },
	} {
		l := valid
		change(&l)
		if err := l.Check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s out of bounds: got %v", want, err)
		}
	}
}

// Every coefficient says where it is from.
func TestCoefficientsHaveASource(t *testing.T) {
	t.Parallel()
	for _, c := range Coefficients() {
		_, err := time.Parse(time.DateOnly, c.Date)
		if c.Name == "" || c.Value <= 0 || c.Command == "" || len(c.Commit) < 7 || err != nil {
			t.Errorf("got %+v", c)
		}
	}
}

// Fewer boards than servers of Redis need partitions.
func TestFewBoardsNeedPartitions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		users, boards int64
		want          bool
	}{{1000, 1, false}, {300_000_000, 1, true}, {15_000_000, 20, false}} {
		p := Estimate(Load{
			Users: c.users, Boards: c.boards, UpdatesPerDay: 1000, Peak: 2, RetentionDays: 30,
			Window: 200 * time.Millisecond,
		})
		i := slices.IndexFunc(p.Parts, func(part Part) bool { return part.Name == "Redis" })
		if got := strings.Contains(p.Parts[i].Why, "boards in partitions"); got != c.want {
			t.Errorf("%d users on %d boards: %q", c.users, c.boards, p.Parts[i].Why)
		}
	}
}
