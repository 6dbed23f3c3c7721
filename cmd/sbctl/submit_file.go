package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/bulk"
	"github.com/scoreboard/scoreboard/internal/english"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// maxPrintedFailures limits the rejected lines that are printed; the result file has
// all of them.
const maxPrintedFailures = 20

// summary is the outcome of a submitted file.
type summary struct {
	bulk.Tally
	Seconds float64 `json:"seconds"`
	Results string  `json:"results,omitempty"`
}

func submitFile(server *connector, out *output, cmd *cobra.Command, c *client.Client, f *submitFlags) error {
	for _, flag := range []string{"user", "delta", "event-id", "board", "action", "attribute"} {
		if cmd.Flags().Changed(flag) {
			return usagef("--%s cannot be used with --file; set it in the lines", flag)
		}
	}
	if f.workers < 1 || f.workers > bulk.MaxWorkers {
		return usagef("--workers must be 1 to %d", bulk.MaxWorkers)
	}
	source, size, err := openSource(out.stdin, f.file)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	results := f.results
	if results == "" && f.file != "-" {
		results = f.file + ".results"
	}
	now := time.Now()
	bar := &progressBar{out: out, size: size, started: now, drawnAt: now, terminal: out.redraws(out.stderr)}
	job := bulk.Job{
		Source: source, CSV: strings.HasSuffix(strings.ToLower(f.file), ".csv"), Results: results,
		Workers: f.workers, Progress: bar.draw, Failed: bar.lineFailed,
	}
	tally, err := job.Run(noteWaits(cmd.Context(), bar.infof), c)
	bar.end(tally)
	if err != nil && tally.Lines == 0 {
		return err // no line was read
	}
	if printErr := printSummary(out, summary{tally, time.Since(bar.started).Seconds(), results}); printErr != nil {
		return printErr
	}
	switch {
	case errors.Is(err, bulk.ErrUnreachable):
		return resumable(fmt.Errorf("%w: %w", bulk.ErrUnreachable, server.humanize(err)), results)
	case errors.Is(err, bulk.ErrSourceChanged):
		return err
	case err != nil:
		return resumable(err, results)
	case tally.Unsent > 0:
		return resumable(fmt.Errorf("%s not sent: %w", english.Count(tally.Unsent, "line"),
			server.humanize(bar.unsent)),
			results)
	case tally.Rejected > 0:
		return errCheckFailed
	}
	return nil
}

// openSource opens a file or stdin; size is 0 if unknown.
func openSource(stdin io.Reader, name string) (io.ReadCloser, int64, error) {
	if name == "-" {
		return io.NopCloser(stdin), 0, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		_ = file.Close()
		return nil, 0, fmt.Errorf("%s is a directory", name)
	}
	if err != nil || !info.Mode().IsRegular() {
		return file, 0, err
	}
	return file, info.Size(), nil
}

func resumable(err error, results string) error {
	var e *client.Error
	if results == "" || errors.As(err, &e) && !e.Temporary() {
		return err // the server's error has its own next step
	}
	return &hintedError{err, "run the same command again to resume; nothing is counted twice"}
}

func printSummary(out *output, s summary) error {
	return out.print(s, func() *table {
		t := newTable()
		lines := number(int64(s.Lines))
		if !s.Whole {
			lines += " (the rest was not read)"
		}
		t.add("lines", lines)
		t.add("counted", number(int64(s.Done-s.Replayed)))
		for _, part := range []struct {
			name string
			n    int
		}{{"repeats", s.Replayed}, {"rejected", s.Rejected}, {"not sent", s.Unsent}, {"skipped", s.Skipped}} {
			if part.n > 0 {
				t.add(part.name, number(int64(part.n)))
			}
		}
		t.add("took", fmt.Sprintf("%.1f s", s.Seconds))
		if s.Results != "" {
			t.add("results", s.Results)
		}
		return t
	})
}

// progressBar shows the progress of a file on stderr: a bar on a terminal, else a
// line every few seconds.
type progressBar struct {
	out      *output
	size     int64 // of the source, 0 if unknown
	started  time.Time
	terminal bool

	mu       sync.Mutex
	failures int
	unsent   error // why the first unsent line was not sent
	drawnAt  time.Time
	drawn    bool // a bar is on the current line of the terminal
}

// progressInterval is the time between progress lines without a terminal.
const progressInterval = 5 * time.Second

func (b *progressBar) draw(t bulk.Tally) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.out.quiet || !b.terminal && now.Sub(b.drawnAt) < progressInterval {
		return
	}
	b.drawnAt = now
	text := b.text(t, now.Sub(b.started))
	if b.terminal {
		fmt.Fprintf(b.out.stderr, "\r\x1b[K%s", text)
		b.drawn = true
		return
	}
	fmt.Fprintln(b.out.stderr, text)
}

func (b *progressBar) text(t bulk.Tally, elapsed time.Duration) string {
	now := t.Done + t.Rejected + t.Unsent // by this run
	lines := now + t.Skipped              // of the file
	rate := float64(now) / elapsed.Seconds()
	text := fmt.Sprintf("%s, %.0f/s", english.Count(int64(lines), "line"), rate)
	if t.Skipped > 0 {
		text += fmt.Sprintf(", %d by an earlier run", t.Skipped)
	}
	if t.Rejected > 0 {
		text += fmt.Sprintf(", %d rejected", t.Rejected)
	}
	if t.Unsent > 0 {
		text += fmt.Sprintf(", %d not sent", t.Unsent)
	}
	if b.size == 0 {
		return text
	}
	share := min(float64(t.Bytes)/float64(b.size), 1)
	const width = 24
	full := int(share * width)
	text = fmt.Sprintf("[%s%s] %3.0f %%  %s", strings.Repeat("#", full), strings.Repeat(".", width-full), share*100,
		text)
	if share > 0 && share < 1 && now > 0 {
		// Lines of an earlier run took no time in this one.
		left := time.Duration(float64(elapsed) * (1 - share) / share * float64(lines) / float64(now))
		text += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	return text
}

// lineFailed prints a rejected line. Unsent lines have one common cause, which is
// printed at the end.
func (b *progressBar) lineFailed(r bulk.Result) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.Status == bulk.Unsent {
		b.unsent = cmp.Or(b.unsent, r.Err)
		return
	}
	if b.failures++; b.failures > maxPrintedFailures {
		return
	}
	b.clear()
	fmt.Fprintf(b.out.stderr, "line %d: %s: %s (%s)\n",
		r.Line, r.Status, scoreboard.Escape(r.Message), scoreboard.Escape(string(r.Code)))
	if b.failures == maxPrintedFailures {
		fmt.Fprintln(b.out.stderr, "further rejected lines are only in the result file")
	}
}

// infof prints a message between two drawings.
func (b *progressBar) infof(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clear()
	b.out.infof(format, args...)
}

func (b *progressBar) end(t bulk.Tally) {
	b.draw(t)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.drawn {
		fmt.Fprintln(b.out.stderr)
	}
}

// clear removes the bar before another line is printed.
func (b *progressBar) clear() {
	if b.drawn {
		fmt.Fprint(b.out.stderr, "\r\x1b[K")
	}
}
