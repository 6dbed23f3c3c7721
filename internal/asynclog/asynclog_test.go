package asynclog_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/scoreboard/scoreboard/internal/asynclog"
)

func dropped(t *testing.T, w *asynclog.Writer) float64 {
	t.Helper()
	var m dto.Metric
	if err := w.Collectors()[0].(prometheus.Metric).Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}

// A reader that does not read delays nobody. When it reads again, it gets what waited, and
// learns what was dropped.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	w := asynclog.New(out)
	line := []byte(strings.Repeat("x", 1023) + "\n")
	const lines = 2 * asynclog.MaxWaiting / 1024
	for range lines {
		if n, err := w.Write(line); n != len(line) || err != nil {
			t.Fatalf("got %d, %v", n, err)
		}
	}
	if got := dropped(t, w); got != lines/2 {
		t.Errorf("%v lines are dropped, want %d", got, lines/2)
	}
	w.Close(time.Millisecond) // returns although nobody reads
	read := make(chan string)
	go func() {
		text, _ := io.ReadAll(in)
		read <- string(text)
	}()
	w.Close(time.Minute)
	_ = out.Close()
	text := <-read
	if strings.Count(text, "xxx\n") != lines/2 || !strings.Contains(text, `"count":128}`) {
		t.Errorf("the reader gets %d lines and does not learn of the others", strings.Count(text, "\n"))
	}
	if _, err := w.Write(line); err != nil || dropped(t, w) != lines/2+1 {
		t.Errorf("after the end: got %v, %v lines dropped", err, dropped(t, w))
	}
}

// A reader that is gone ends nothing.
func TestReaderIsGone(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	_ = in.CloseWithError(errors.New("gone"))
	w := asynclog.New(out)
	_, err := w.Write([]byte("a line\n"))
	w.Close(time.Minute)
	if err != nil || dropped(t, w) != 1 {
		t.Errorf("got %v and %v lines dropped, want 1", err, dropped(t, w))
	}
}
