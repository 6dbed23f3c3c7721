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
	// MaxWorkers limits the requests in flight.
	MaxWorkers = 256
	// flushInterval is how often the result file is flushed and progress reported.
	flushInterval = 200 * time.Millisecond
	// drainTimeout limits the requests in flight after the context ended.
	drainTimeout = 15 * time.Second
)

// Submitter submits increments, as *client.Client does.
type Submitter interface {
	Submit(ctx context.Context, in client.Increment) (client.Receipt, error)
	SubmitBatch(ctx context.Context, ins []client.Increment) ([]client.Result, error)
}

// Job is a stream of increments to submit.
type Job struct {
	Source  io.Reader
	CSV     bool   // NDJSON otherwise
	Results string // path of the result file; empty keeps none
	Workers int    // 1 to MaxWorkers
	// Progress receives the tally several times a second, and at the end.
	Progress func(Tally)
	// Failed receives every line that was rejected or not sent.
	Failed func(Result)

	pause time.Duration // between tries of a line while the server is overloaded; 0 means retryPause
}

// Tally counts lines.
type Tally struct {
	Done     int `json:"done"`     // counted, including repeats
	Replayed int `json:"replayed"` // repeats of events that were already counted
	Rejected int `json:"rejected"`
	Unsent   int `json:"unsent"`  // the server was unreachable; the next run tries again
	Skipped  int `json:"skipped"` // finished by an earlier run
	// Lines is the number of lines read. At the end each is in Done, Rejected,
	// Unsent or Skipped.
	Lines int `json:"lines"`
	// Whole is true if the source was read to its end.
	Whole bool `json:"-"`
	// Bytes is the number of bytes read from the source.
	Bytes int64 `json:"-"`
}

// ErrUnreachable ends a run when the server stays unreachable or overloaded.
var ErrUnreachable = errors.New("the server is unreachable")

// Run submits the stream and returns the tally, even with an error: the context's,
// the source's, the result file's (ErrSourceChanged), ErrUnreachable, or an error
// that applies to every line (unauthorized).
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
	if seekable && kept.sums.last > 0 {
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
	// The end of ctx stops reading; requests in flight may still finish.
	defer context.AfterFunc(ctx, func() {
		select {
		case <-sending.Done():
		case <-time.After(drainTimeout):
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
	t.Unsent = t.Lines - t.Done - t.Rejected - t.Skipped // including lines that workers dropped
	return r.tally, err
}

func (j *Job) open(r io.Reader) (source, error) {
	if j.CSV {
		return newCSV(r)
	}
	return newNDJSON(r), nil
}

// run is the state that the goroutines of one Run share.
type run struct {
	job     *Job
	s       Submitter
	kept    *results
	stop    context.CancelCauseFunc
	stopped <-chan struct{} // closed when nothing more must be sent
	out     chan Result
	tally   Tally       // owned by the collector
	lines   int         // owned by the reader: lines read
	whole   bool        // owned by the reader: whether it reached the end
	singly  atomic.Bool // send lines one by one: the token may not send batches
	mu      sync.Mutex
	unsent  int // consecutive requests without a response
}

// read sends every line that is not finished to the lane of its user.
func (r *run) read(ctx context.Context, src source, lanes []chan item) error {
	seed := maphash.MakeSeed()
	for started := false; ctx.Err() == nil; {
		it, err := src.next()
		if errors.Is(err, io.EOF) {
			r.whole = true
			return nil
		}
		if err != nil {
			return err
		}
		if !started {
			if err := r.kept.begin(src.identity()); err != nil {
				return err
			}
			started = true
		}
		if err := r.kept.checkUnchanged(&it); err != nil {
			return err
		}
		r.lines++
		if r.kept.finished.has(it.line) {
			r.out <- Result{Line: it.line} // without a status: counted as skipped
			continue
		}
		if it.err != nil {
			r.out <- rejected(it, it.err)
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

// collect writes results to the file and reports progress. After a failed write it
// keeps receiving, so that no worker blocks.
func (r *run) collect(read *countingReader) {
	ticks := time.NewTicker(flushInterval)
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
	case Rejected:
		r.tally.Rejected++
	case Unsent:
		r.tally.Unsent++
	}
	if r.job.Failed != nil {
		r.job.Failed(result)
	}
}
