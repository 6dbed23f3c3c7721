package bulk

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/client"
)

const (
	// MaxWorkers bounds the requests in flight.
	MaxWorkers = 256
	// beat is how often the result file is flushed and progress told.
	beat = 200 * time.Millisecond
	// drain is how long what is in flight may take once the context ended.
	drain = 15 * time.Second
)

// Submitter counts increments. *client.Client is one.
type Submitter interface {
	Submit(ctx context.Context, in client.Increment) (client.Receipt, error)
	SubmitBatch(ctx context.Context, ins []client.Increment) ([]client.Result, error)
}

// Job is a stream to submit.
type Job struct {
	Source  io.Reader
	CSV     bool   // NDJSON otherwise
	Results string // path of the result file; empty keeps none
	Workers int    // 1 to MaxWorkers
	// Progress is told the tally now and then, and at the end.
	Progress func(Tally)
	// Failed is told of every line that was refused or not sent.
	Failed func(Result)

	pause time.Duration // between tries of a line that the server was too busy for; 0 is retryPause
}

// Tally counts lines.
type Tally struct {
	Done     int `json:"done"`     // counted, replays included
	Replayed int `json:"replayed"` // counted before
	Pending  int `json:"pending"`  // taken by the server for later
	Refused  int `json:"refused"`
	Unsent   int `json:"unsent"`  // read, and the server was away; the next run tries again
	Skipped  int `json:"skipped"` // settled by an earlier run
	// Lines were read. At the end each of them is in Done, Pending, Refused,
	// Unsent or Skipped.
	Lines int `json:"lines"`
	// Whole says that the source was read to its end.
	Whole bool `json:"-"`
	// Bytes of the source that were read.
	Bytes int64 `json:"-"`
}

// ErrAway ends a run when the server can no longer be reached, or has no room
// for long.
var ErrAway = errors.New("nothing gets through to the server")

// Run submits the stream and returns the tally, also when it ends with an
// error: the context's, that of the source or of the result file (ErrOther), ErrAway, or
// a refusal that would meet every line (unauthorized).
func (j *Job) Run(ctx context.Context, s Submitter) (tally Tally, err error) {
	begin, seekable := position(j.Source)
	counted := &countingReader{r: j.Source}
	src, err := j.open(counted)
	if err != nil {
		return tally, err
	}
	kept, err := openResults(j.Results)
	if err != nil {
		return tally, err
	}
	defer func() { err = errors.Join(err, kept.close()) }()
	if seekable && kept.said.last > 0 {
		if err := j.compare(ctx, begin, kept); err != nil {
			return tally, err
		}
		counted = &countingReader{r: j.Source}
		if src, err = j.open(counted); err != nil {
			return tally, err
		}
	}

	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	// The end of ctx stops the reading; what is in flight may go on for a while.
	defer context.AfterFunc(ctx, func() {
		select {
		case <-sending.Done():
		case <-time.After(drain):
			cancel()
		}
	})()

	r := run{job: j, s: s, kept: kept, stop: stop, stopped: ctx.Done(), out: make(chan Result, batchLines)}
	var workers sync.WaitGroup
	lanes := make([]chan item, j.Workers)
	for i := range lanes {
		lanes[i] = make(chan item, batchLines)
		workers.Go(func() { r.work(sending, lanes[i]) })
	}
	var writer sync.WaitGroup
	writer.Go(func() { r.collect(counted) })

	err = r.read(ctx, src, lanes)
	for _, lane := range lanes {
		close(lane)
	}
	workers.Wait()
	close(r.out)
	writer.Wait()
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	t := &r.tally
	t.Lines, t.Whole = r.lines, r.whole
	t.Unsent = t.Lines - t.Done - t.Pending - t.Refused - t.Skipped // also what was dropped on its way
	return r.tally, err
}

func (j *Job) open(r io.Reader) (source, error) {
	if j.CSV {
		return newCSV(r)
	}
	return newNDJSON(r), nil
}

// run is what the goroutines of one Run share.
type run struct {
	job     *Job
	s       Submitter
	kept    *results
	stop    context.CancelCauseFunc
	stopped <-chan struct{} // nothing more is to be sent
	out     chan Result
	tally   Tally       // the collector's, until it has ended
	lines   int         // the reader's: how many it has read,
	whole   bool        // and whether these are all
	singly  atomic.Bool // the token may not send batches
	mu      sync.Mutex
	unsent  int // requests in a row
}

// read gives every line that is not settled to the lane of its user.
func (r *run) read(ctx context.Context, src source, lanes []chan item) error {
	seed := maphash.MakeSeed()
	for begun := false; ctx.Err() == nil; {
		it, err := src.next()
		if errors.Is(err, io.EOF) {
			r.whole = true
			return nil
		}
		if err != nil {
			return err
		}
		if !begun {
			if err := r.kept.begin(src.identity()); err != nil {
				return err
			}
			begun = true
		}
		if err := r.kept.fits(&it); err != nil {
			return err
		}
		r.lines++
		if r.kept.settled.has(it.line) {
			r.out <- Result{Line: it.line} // without a status: counted as skipped
			continue
		}
		if it.err != nil {
			r.out <- refused(it, it.err)
			continue
		}
		if it.in.EventID == "" {
			it.in.EventID = r.kept.eventID(it.line)
		}
		select {
		case lanes[maphash.String(seed, it.in.User)%uint64(len(lanes))] <- it:
		case <-ctx.Done():
		}
	}
	return nil
}

// collect writes the results down and tells the progress. It goes on reading
// after a write has failed, so that no worker waits for it.
func (r *run) collect(read *countingReader) {
	ticks := time.NewTicker(beat)
	defer ticks.Stop()
	broken := false
	check := func(err error) {
		if err != nil && !broken {
			broken = true
			r.stop(fmt.Errorf("write the result file: %w", err))
		}
	}
	for {
		select {
		case result, open := <-r.out:
			if !open {
				r.progress(read)
				return
			}
			r.count(result)
			if result.Status != "" {
				check(r.kept.write(result))
			}
		case <-ticks.C:
			check(r.kept.flush())
			r.progress(read)
		}
	}
}

func (r *run) progress(read *countingReader) {
	r.tally.Bytes = read.n.Load()
	if r.job.Progress != nil {
		r.job.Progress(r.tally)
	}
}

func (r *run) count(result Result) {
	switch result.Status {
	case "":
		r.tally.Skipped++
		return
	case Done:
		r.tally.Done++
		if result.Replayed {
			r.tally.Replayed++
		}
		return
	case Pending:
		r.tally.Pending++
		return
	case Refused:
		r.tally.Refused++
	case Unsent:
		r.tally.Unsent++
	}
	if r.job.Failed != nil {
		r.job.Failed(result)
	}
}
