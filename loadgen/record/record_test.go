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

// collect keeps all entries of a record.
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
		headers: []Header{
			{
				Format:     format,
				Began:      time.Unix(1, 0).UTC(),
				Profile:    "A",
				Scaled:     true,
				Checks:     []Check{{"lost == 0", "A"}},
				Parameters: map[string]any{"rate": "5", "seed": json.Number("18446744073709551615")},
				Scheduled:  []uint64{5, 5},
				Duration:   2 * time.Second,
				Shard:      Shard{2, 5},
			},
		},
		samples: []Sample{{"redis", time.Second, time.Millisecond}},
		ticks:   []Tick{{time.Second, 3, 7, 40}},
		endings: []Ending{
			{
				2 * time.Second,
				true,
				Measured{"lost": 0},
				map[string]string{"alerts.loaded": "not requested"},
				[]string{"a note"},
			},
		},
	}
	w, err := NewWriter(&out, want.headers[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := range hits {
		h := Hit{
			Kind(i % Kinds),
			1 + i%500,
			time.Duration(i) * time.Microsecond,
			7 * time.Microsecond,
			time.Second,
			200,
			"",
		}
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

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	out, want := full(t, 10_000)
	if per := float64(out.Len()) / 10_000; per > 12 {
		t.Errorf("a hit takes %.1f bytes, want at most 12", per)
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

// A report made while a run records equals one of the record.
func TestHitsAreReturnedAsRecorded(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{})
	if err != nil {
		t.Fatal(err)
	}
	var want, got collect
	for i := range 2 * maxProblems {
		at := time.Duration(i) * 1_234_567
		want.hits = append(want.hits, w.Hit(Hit{
			N: 1, Scheduled: at, Late: -at, Service: at / 3, Problem: fmt.Sprint("port ", i),
		}))
	}
	if err := w.Close(Ending{}); err != nil {
		t.Fatal(err)
	}
	if err := Visit(&out, got.visitor()); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.hits, want.hits) {
		t.Errorf("got %+v, want %+v", got.hits, want.hits)
	}
}

// A crashed run leaves a truncated record.
func TestTruncatedRecordsAreRead(t *testing.T) {
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

func TestInvalidRecordsAreRejected(t *testing.T) {
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
		"no header":  {packed("r"), "does not start"},
		"newer":      {packed("h\x0c" + `{"format":9}`), "format 9 is not supported"},
		"huge":       {packed("h\xff\xff\xff\xff\xff\x01"), "too large"},
		"no problem": {packed("h\x0c" + `{"format":1}` + "r\x00\x01\x01\x01\x01\x01\x07"), "undefined problem"},
		"no kind":    {packed("h\x0c" + `{"format":1}` + "r\x09"), "unknown kind 9"},
	} {
		var got collect
		if err := Visit(strings.NewReader(c.text), got.visitor()); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// disk is a disk with limited space.
type disk struct{ space int }

var errFull = errors.New("no space left on device")

func (d *disk) Write(b []byte) (int, error) {
	if d.space -= len(b); d.space < 0 {
		return 0, errFull
	}
	return len(b), nil
}

var _ io.Writer = (*disk)(nil)

func TestFullDiskIsReported(t *testing.T) {
	t.Parallel()
	if _, err := NewWriter(&disk{}, Header{}); !errors.Is(err, errFull) {
		t.Errorf("full disk: got %v", err)
	}
	w, err := NewWriter(&disk{space: 10_000}, Header{})
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
