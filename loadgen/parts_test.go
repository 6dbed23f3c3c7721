package loadgen

import (
	"testing"

	"github.com/scoreboard/scoreboard/loadgen/record"
)

// The parts of a run have users of their own, and are the whole together.
func TestPartsAreTheWhole(t *testing.T) {
	t.Parallel()
	o := load(t, "", "1000..3000/10s", func(p *Plan) { p.Users, p.Prefix = 100, "r-" })
	names, total := map[string]bool{}, uint64(0)
	for no := 1; no <= 5; no++ {
		p := o.Plan.part(record.Shard{No: no, Of: 5})
		total += p.Pace.Total()
		if p.Pace.Duration() != o.Plan.Pace.Duration() || p.Seed == o.Plan.Seed {
			t.Errorf("part %d: got %+v", no, p)
		}
		for user := range uint64(p.Users) {
			names[p.name(user)] = true
		}
	}
	if total != o.Plan.Pace.Total() || len(names) != 100 {
		t.Errorf("got %d increments of %d by %d users", total, o.Plan.Pace.Total(), len(names))
	}
}
