package plan

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/scoreboard/scoreboard/loadgen/record"
)

func parse(t *testing.T, rate string) Schedule {
	t.Helper()
	s, err := ParseSchedule(rate, 0)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The parts of a run have users of their own and add up to the whole.
func TestPartsAddUpToTheWhole(t *testing.T) {
	t.Parallel()
	whole := Plan{Schedule: parse(t, "1000..3000/10s"), Users: 100, Prefix: "r-", Mode: Sync}
	ids, total := map[string]bool{}, uint64(0)
	for no := 1; no <= 5; no++ {
		p := whole.Part(record.Shard{No: no, Of: 5})
		total += p.Schedule.Total()
		if p.Schedule.Duration() != whole.Schedule.Duration() || p.Seed == whole.Seed {
			t.Errorf("part %d: got %+v", no, p)
		}
		for user := range uint64(p.Users) {
			ids[p.UserID(user)] = true
		}
	}
	if total != whole.Schedule.Total() || len(ids) != 100 {
		t.Errorf("got %d increments by %d users, want %d by 100", total, len(ids), whole.Schedule.Total())
	}
}

// The user, the delta and the id depend on the seed and the number alone.
func TestEventsDependOnTheNumberAlone(t *testing.T) {
	t.Parallel()
	p := Plan{
		Schedule: parse(t, "100/60s"), Seed: 7, Mode: Sync,
		Users: 1000, Skew: 1.3, Repeats: 0.1, Conflicts: 0.1, Forged: 0.1,
	}
	start := time.Now()
	a, b := NewEvents(&p, start), NewEvents(&p, start)
	kinds := map[record.Kind]int{}
	ids := map[uuid.UUID]uint64{}
	for n := uint64(5999); n > 0; n-- {
		e := a.At(n)
		if again := b.At(n); e != again {
			t.Fatalf("%d: got %+v and %+v", n, e, again)
		}
		kinds[e.Kind]++
		original := a.At(e.Of)
		switch e.Kind {
		case record.Increment, record.Forged:
			if e.Of != n || ids[e.ID] != 0 {
				t.Fatalf("%d has the id of %d: %+v", n, ids[e.ID], e)
			}
			ids[e.ID] = n
		case record.Repeat:
			if original.Kind = record.Repeat; original != e || e.Of >= n {
				t.Fatalf("%d repeats %+v as %+v", n, original, e)
			}
		case record.Conflict:
			if original.ID != e.ID || original.Delta == e.Delta ||
				p.Schedule.At(n)-p.Schedule.At(e.Of) < conflictAfter {
				t.Fatalf("%d conflicts with %+v as %+v", n, original, e)
			}
		}
	}
	for kind, want := range map[record.Kind]int{
		record.Increment: 4200, record.Repeat: 600, record.Conflict: 540, record.Forged: 600,
	} {
		if got := kinds[kind]; got < want*8/10 || got > want*12/10 {
			t.Errorf("%v: got %d of 6000, want about %d", kind, got, want)
		}
	}
}
