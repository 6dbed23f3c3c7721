package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// collect keeps all that a record holds.
type collect struct {
	headers []Header
	hits    []Hit
	samples []Sample
	ticks   []Tick
	endings []Ending
}

func (c *collect) visitor() Visitor {
	return Visitor{
		Header: func(h Header) { c.headers = append(c.headers, h) },
		Hit:    func(h Hit) { c.hits = append(c.hits, h) },
		Sample: func(s Sample) { c.samples = append(c.samples, s) },
		Tick:   func(t Tick) { c.ticks = append(c.ticks, t) },
		Ending: func(e Ending) { c.endings = append(c.endings, e) },
	}
}

func full(t *testing.T, hits int) (*bytes.Buffer, collect) {
	t.Helper()
	var out bytes.Buffer
	want := collect{
		headers: []Header{{
			Format: format, Began: time.Unix(1, 0).UTC(), Profile: "A", Scaled: true, Checks: []Check{{"lost == 0", "A"}},
			Parameters: map[string]any{"rate": "5", "seed": json.Number("18446744073709551615")}, Asked: []uint64{5, 5}, Duration: 2 * time.Second, Shard: Shard{2, 5},
		}},
		samples: []Sample{{"redis", time.Second, time.Millisecond}},
		ticks:   []Tick{{time.Second, 3, 7, 40}},
		endings: []Ending{{2 * time.Second, true, Measured{"lost": 0}, map[string]string{"alerts.loaded": "nobody asked"}, []string{"a note"}}},
	}
	w, err := NewWriter(&out, want.headers[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := range hits {
		h := Hit{Kind(i % Kinds), 1 + i%500, time.Duration(i) * time.Microsecond, 7 * time.Microsecond, time.Second, 200, ""}
		if i%3 == 0 {
			h.Problem, h.Status = fmt.Sprintf("problem %d", i%7), 0
		}
		want.hits = append(want.hits, h)
		w.Hit(h)
	}
	w.Sample(want.samples[0])
	w.Tick(want.ticks[0])
	if err := w.Close(want.endings[0]); err != nil {
		t.Fatal(err)
	}
	return &out, want
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	out, want := full(t, 10_000)
	if per := float64(out.Len()) / 10_000; per > 12 {
		t.Errorf("a hit takes %.1f bytes", per)
	}
	var got collect
	if err := Visit(out, got.visitor()); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got.endings)
	}
}

func TestProblemsAreBounded(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		w.Hit(Hit{N: 1, Problem: fmt.Sprint("port ", i)})
	}
	if err := w.Close(Ending{}); err != nil {
		t.Fatal(err)
	}
	var got collect
	if err := Visit(&out, got.visitor()); err != nil {
		t.Fatal(err)
	}
	problems := map[string]int{}
	for _, h := range got.hits {
		problems[h.Problem]++
	}
	if len(problems) != maxProblems || problems["other"] != 1000-maxProblems+1 {
		t.Errorf("got %d problems, %d of them other", len(problems), problems["other"])
	}
}

// The run that died is the one whose record is wanted most.
func TestARecordThatEndsEarlyIsReadAsFarAsItGoes(t *testing.T) {
	t.Parallel()
	out, _ := full(t, 200_000)
	var got collect
	if err := Visit(bytes.NewReader(out.Bytes()[:out.Len()*2/3]), got.visitor()); err != nil {
		t.Fatal(err)
	}
	if len(got.headers) != 1 || len(got.hits) < 50_000 || len(got.endings) != 0 {
		t.Errorf("got %d headers, %d hits, %d endings", len(got.headers), len(got.hits), len(got.endings))
	}
}

func TestNoRecordIsRefused(t *testing.T) {
	t.Parallel()
	packed := func(s string) string {
		var b bytes.Buffer
		z, _ := zstd.NewWriter(&b)
		_, _ = z.Write([]byte(s))
		_ = z.Close()
		return b.String()
	}
	for name, c := range map[string]struct{ text, want string }{
		"empty":      {"", "EOF"},
		"text":       {"{}", "read the record"},
		"no header":  {packed("r"), "does not begin"},
		"newer":      {packed("h\x0c" + `{"format":9}`), "format is 9"},
		"huge":       {packed("h\xff\xff\xff\xff\xff\x01"), "too long"},
		"no problem": {packed("h\x0c" + `{"format":1}` + "r\x00\x01\x01\x01\x01\x01\x07"), "not named"},
		"no kind":    {packed("h\x0c" + `{"format":1}` + "r\x09"), "no kind 9"},
	} {
		var got collect
		if err := Visit(strings.NewReader(c.text), got.visitor()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// disk is one with so much room.
type disk struct{ room int }

var errFull = errors.New("no space left on device")

func (d *disk) Write(b []byte) (int, error) {
	if d.room -= len(b); d.room < 0 {
		return 0, errFull
	}
	return len(b), nil
}

var _ io.Writer = (*disk)(nil)

func TestAFullDiskIsSaidOnce(t *testing.T) {
	t.Parallel()
	if _, err := NewWriter(&disk{}, Header{}); !errors.Is(err, errFull) {
		t.Errorf("a disk that is full from the start: got %v", err)
	}
	w, err := NewWriter(&disk{room: 10_000}, Header{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for ; w.Err() == nil && n < 1_000_000; n++ {
		w.Hit(Hit{N: n, Service: time.Duration(n*n) * time.Microsecond})
	}
	if err := w.Close(Ending{}); !errors.Is(err, errFull) || n == 1_000_000 {
		t.Errorf("after %d hits: got %v", n, err)
	}
}
