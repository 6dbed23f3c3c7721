package loadgen

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/instance"
	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/loadgen/report"
)

// disk is a disk with limited space.
type disk struct{ space int }

var errFull = errors.New("no space left on device")

func (d *disk) Write(b []byte) (int, error) {
	if d.space -= len(b); d.space < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestFullDiskEndsTheRun(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	o := load(t, s.URL, "500/1h", nil)
	session, err := newSession(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	defer session.close()
	r := newRun(o, session)
	start := time.Now()
	if err := r.run(t.Context(), &disk{space: 10_000}); !errors.Is(err, errFull) || time.Since(start) > 30*time.Second {
		t.Errorf("after %v: got %v", time.Since(start), err)
	}
}

// A report made later from the record equals that of the run.
func TestRecordGivesTheSameReport(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	o := load(t, s.URL, "100", func(p *plan.Plan) { p.Reads = 0.5 })
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
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("got from the record:\n%s\nfrom the run:\n%s", got.Bytes(), want)
	}
	page, err := os.ReadFile(filepath.Join(o.Out, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	got.Reset()
	if err := later.HTML(&got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), page) {
		t.Error("the page from the record differs from that of the run")
	}
}
