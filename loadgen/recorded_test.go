package loadgen

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/clienttest"
	"github.com/scoreboard/scoreboard/loadgen/record"
	"github.com/scoreboard/scoreboard/loadgen/report"
)

// disk is one with so much room.
type disk struct{ room int }

var errFull = errors.New("no space left on device")

func (d *disk) Write(b []byte) (int, error) {
	if d.room -= len(b); d.room < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestADiskThatFillsUpEndsTheRun(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	o := load(t, s.URL, "500/1h", nil)
	session, err := newSession(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	defer session.close()
	r := &run{Options: o, session: session, book: newBook(&o.Plan), ending: record.Ending{Measured: map[string]float64{}}}
	began := time.Now()
	if err := r.all(t.Context(), &disk{room: 10_000}); !errors.Is(err, errFull) || time.Since(began) > 30*time.Second {
		t.Errorf("after %v: got %v", time.Since(began), err)
	}
}

// The report that is made from the record later is the one that the run made.
func TestTheRecordMakesTheSameReport(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	o := load(t, s.URL, "100", func(p *Plan) { p.Reads = 0.5 })
	o.Out = filepath.Join(t.TempDir(), "a", "b")
	play(t, t.Context(), o)
	raw, err := os.Open(filepath.Join(o.Out, RawFile))
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	later, _, err := report.Make(raw)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := later.JSON(&got); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(o.Out, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var a, b map[string]any
	if err := errors.Join(json.Unmarshal(got.Bytes(), &a), json.Unmarshal(want, &b)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"verdict", "sent", "asked", "rate", "criteria", "statuses"} {
		x, _ := json.Marshal(a[name])
		y, _ := json.Marshal(b[name])
		if !bytes.Equal(x, y) {
			t.Errorf("%s: got %s later, %s at first", name, x, y)
		}
	}
}
