package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/loadgen/record"
)

// A weak machine makes missed rates, times and errors undecidable, and nothing else: what is lost
// fails, and what is met passes.
func TestWeakMachine(t *testing.T) {
	t.Parallel()
	weak := &record.Capacity{HTTP: 9000, Transactions: 40}
	strong := &record.Capacity{HTTP: 9000, Transactions: 76}
	for name, c := range map[string]struct {
		capacity *record.Capacity
		lost     float64
		rate     string // asked for; the run reaches 50/s
		want     string
	}{
		"not measured":             {nil, 0, "increments.rate >= 75", Failed},
		"strong":                   {strong, 0, "increments.rate >= 75", Failed},
		"strong, by HTTP alone":    {&record.Capacity{HTTP: 76}, 0, "increments.rate >= 75", Failed},
		"weak":                     {weak, 0, "increments.rate >= 75", Undecidable},
		"weak, by HTTP alone":      {&record.Capacity{HTTP: 40}, 0, "increments.rate >= 75", Undecidable},
		"weak, but met":            {weak, 0, "increments.rate >= 45", Passed},
		"weak, and loses":          {weak, 1, "increments.rate >= 75", Failed},
		"weak, and loses, but met": {weak, 1, "increments.rate >= 45", Failed},
		"reads need HTTP only":     {weak, 0, "reads.rate >= 75", Failed},
	} {
		var out bytes.Buffer
		w, err := record.NewWriter(&out, record.Header{
			Began: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), Profile: "A", Duration: 2 * time.Second,
			Scheduled: []uint64{50, 50}, Machine: record.Machine{Capacity: c.capacity},
			Checks: []record.Check{{Text: c.rate, Source: "A"}, {Text: "lost == 0", Source: "A"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			w.Hit(record.Hit{
				Kind: record.Increment, N: 1, Scheduled: time.Duration(i) * 20 * time.Millisecond,
				Service: time.Millisecond, Status: 200,
			})
		}
		if err := w.Close(record.Ending{
			Lasted: 2 * time.Second, Measured: map[string]float64{"lost": c.lost},
		}); err != nil {
			t.Fatal(err)
		}
		r, _, err := Make(bytes.NewReader(out.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := r.Text(&text); err != nil {
			t.Fatal(err)
		}
		if r.Verdict != c.want {
			t.Errorf("%s: got %s, want %s:\n%s", name, r.Verdict, c.want, text.String())
		}
		if said := strings.Contains(text.String(), "but this machine gives"); said != (c.want == Undecidable) {
			t.Errorf("%s: the reason stands in the text: %v\n%s", name, said, text.String())
		}
	}
}
