package tui

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
)

func play(states ...client.State) <-chan client.State {
	c := make(chan client.State, len(states))
	for _, s := range states {
		c <- s
	}
	close(c)
	return c
}

func TestLines(t *testing.T) {
	t.Parallel()
	frames := recorded()
	last := frames[2]
	last.Err = errors.New("the token has expired")
	var out strings.Builder
	err := Lines(t.Context(), &out, Plain{States: play(append(frames, last)...), Explain: error.Error})
	if err == nil || err.Error() != "the token has expired" {
		t.Errorf("got %v, want the error that ended the watch", err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.TrimSpace(line[len(time.TimeOnly):]))
	}
	want := []string{
		"global is live",
		"alice is #1 with 1,284,112",
		"bob is #2 with 1,283,980",
		"健二さくら🎮 is #3 with 998,001",
		"داليا is #4 with 870,500",
		"[31mred is #5 with 655,360",
		"frank.of.the-very.long:name@example.org is #6 with 512,000",
		"grace is #7 with 400,123",
		"heidi is #8 with 99,999",
		"ivan is #9 with 1,024",
		"judy is #10 with 1,024",
		"bob +500 to 1,284,480, #2 → #1",
		"carol is new at #9 with 2,500",
		"judy left the top 10, was #10",
		"global is disconnected: read the stream: connection reset by peer",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A freeze and its end are reported; the expected status is not.
func TestLinesReportTheStatus(t *testing.T) {
	t.Parallel()
	states, status := make(chan client.State), make(chan string)
	ctx, cancel := context.WithCancel(t.Context())
	out := make(lines, 10)
	done := make(chan error, 1)
	go func() { done <- Lines(ctx, out, Plain{States: states, Status: status, Explain: error.Error}) }()
	for _, s := range []string{"active", "frozen", "active"} {
		status <- s
	}
	for _, want := range []string{"the board is frozen and accepts no scores", "the board accepts scores again"} {
		if got := <-out; !strings.HasSuffix(got, "  "+want+"\n") {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	cancel()
	close(states)
	if err := <-done; err != nil || len(out) > 0 {
		t.Errorf("ended with %v, %d lines more", err, len(out))
	}
}

func TestFrames(t *testing.T) {
	t.Parallel()
	states := make(chan client.State, 1)
	out := make(lines, 10)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Frames(ctx, out, Plain{States: states, Explain: error.Error}) }()

	states <- recorded()[0]
	first := <-out
	if !strings.HasPrefix(first, "global  v1041  ") || !strings.Contains(first, "  ws  0 reconnects\n   1  alice ") {
		t.Errorf("first frame:\n%s", first)
	}
	states <- recorded()[1]
	at := time.Now()
	if second := <-out; !strings.Contains(second, "v1042") || !strings.Contains(second, "carol") {
		t.Errorf("second frame:\n%s", second)
	}
	<-out // written although nothing changed
	if took := time.Since(at); took < time.Second || took > 4*time.Second {
		t.Errorf("two frames took %v, want about two seconds", took)
	}
	cancel()
	close(states)
	if err := <-done; err != nil {
		t.Errorf("ended by its context: got %v", err)
	}
}

// lines is a writer that forwards every write.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

func TestAge(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0.0 s", 240 * time.Millisecond: "0.2 s", 42 * time.Second: "42 s", 119 * time.Second: "119 s",
		5 * time.Minute: "5 min", 49 * time.Hour: "49 h",
	} {
		if got := age(d); got != want {
			t.Errorf("age(%v): got %q, want %q", d, got, want)
		}
	}
}

func TestGrouped(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1,000", -1000: "-1,000", -100: "-100", 9007199254740991: "9,007,199,254,740,991",
	} {
		if got := grouped(n); got != want {
			t.Errorf("grouped(%d): got %q, want %q", n, got, want)
		}
	}
}
