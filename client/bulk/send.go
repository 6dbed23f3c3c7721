package bulk

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
)

const (
	// batchLines and batchBytes limit one request, far below the API's limits: many
	// large requests would queue on the server, which rejects increments that wait
	// for long.
	batchLines = 200
	batchBytes = 256 << 10
	// tries limits how often a line is sent while the server is overloaded.
	tries = 5
	// retryPause is the pause before the second try; it doubles after each.
	retryPause = 200 * time.Millisecond
)

// work sends the lines of a lane in batches of those that are waiting.
func (r *run) work(ctx context.Context, lane <-chan item) {
	batch := make([]item, 0, batchLines)
	for it := range lane {
		if batch = gather(append(batch[:0], it), lane); !r.ended() {
			r.send(ctx, batch)
		}
	}
}

// ended reports whether the run was stopped. Lines that were read but not sent have
// no result, so the next run sends them.
func (r *run) ended() bool {
	select {
	case <-r.stopped:
		return true
	default:
		return false
	}
}

// gather adds the waiting lines of the lane to a batch.
func gather(batch []item, lane <-chan item) []item {
	for size := weight(&batch[0]); len(batch) < batchLines && size < batchBytes; {
		select {
		case it, open := <-lane:
			if !open {
				return batch
			}
			batch = append(batch, it)
			size += weight(&it)
		default:
			return batch
		}
	}
	return batch
}

// weight is the approximate size of a line in a request.
func weight(it *item) int {
	size := 128 + len(it.in.User) + len(it.in.EventID) + len(it.in.Board) + len(it.in.Action) + len(it.in.IfPeriod) +
		len(it.in.Metadata)
	for name, value := range it.in.Attributes {
		size += 8 + len(name) + len(value)
	}
	return size
}

// send submits lines, with retries while the server is overloaded.
func (r *run) send(ctx context.Context, batch []item) {
	pause := r.job.pause
	if pause == 0 {
		pause = retryPause
	}
	for n := 1; ; n++ {
		busy, err := r.submit(ctx, batch, n == tries)
		if err != nil {
			r.splitBatch(ctx, batch, err)
			return
		}
		if batch = busy; len(batch) == 0 {
			return
		}
		select {
		case <-time.After(pause << (n - 1)):
		case <-r.stopped:
			n = tries - 1 // one last try
		}
	}
}

// submit sends a batch once and reports the results of its lines. It returns the
// lines to retry, unless this is the last try. The error is that of the whole batch.
func (r *run) submit(ctx context.Context, batch []item, last bool) (busy []item, err error) {
	if r.singly.Load() {
		for _, it := range batch {
			if r.ended() {
				return nil, nil
			}
			receipt, err := r.s.Submit(ctx, it.in) // retries by itself
			r.out <- resultOf(it, receipt, err)
			r.note(err)
		}
		return nil, nil
	}
	ins := make([]client.Increment, len(batch))
	for i := range batch {
		ins[i] = batch[i].in
	}
	results, err := r.s.SubmitBatch(ctx, ins)
	if err != nil {
		return nil, err
	}
	var accepted bool
	for i, result := range results {
		retry := result.Err != nil && temporary(result.Err)
		if accepted = accepted || !retry; retry && !last {
			busy = append(busy, batch[i])
			continue
		}
		r.out <- resultOf(batch[i], result.Receipt, result.Err)
	}
	if accepted {
		r.note(nil)
	} else if last {
		r.note(results[0].Err)
	}
	return busy, nil
}

// splitBatch handles a batch that was rejected as a whole. It halves an invalid batch
// until it has found the invalid line. If the token may not send batches, it sends
// lines one by one from now on.
func (r *run) splitBatch(ctx context.Context, batch []item, err error) {
	final := !temporary(err) && statusOf(err) != http.StatusUnauthorized
	switch {
	case final && wire.CodeOf(err) == wire.CodeForbidden:
		r.singly.Store(true)
		r.send(ctx, batch)
	case final && len(batch) > 1:
		half := len(batch) / 2
		r.send(ctx, batch[:half:half])
		r.send(ctx, batch[half:])
	default:
		for _, it := range batch {
			r.out <- rejected(it, err)
		}
		r.note(err)
	}
}

// note stops the run after an error that applies to every line, or after as many
// consecutive requests without a response as there are workers.
func (r *run) note(err error) {
	if statusOf(err) == http.StatusUnauthorized {
		r.stop(err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil || !temporary(err) {
		r.unsent = 0
		return
	}
	if r.unsent++; r.unsent >= r.job.Workers {
		r.stop(fmt.Errorf("%w: %w", ErrUnreachable, err))
	}
}

// resultOf is the result of a line with a receipt or an error of its own.
func resultOf(it item, receipt client.Receipt, err error) Result {
	if err != nil {
		return rejected(it, err)
	}
	return Result{
		Line: it.line, User: it.in.User, EventID: it.in.EventID, Status: Done, Score: &receipt.NewScore,
		Replayed: receipt.Replayed, Sum: it.sum,
	}
}

// rejected is the result of a line that was not counted.
func rejected(it item, err error) Result {
	result := Result{
		Line: it.line, User: it.in.User, EventID: it.in.EventID, Status: Rejected,
		Code: wire.CodeOf(err), Message: err.Error(), Err: err,
	}
	var e *client.Error
	if errors.As(err, &e) && e.Message != "" {
		result.Message = e.Message
	}
	if it.err == nil && (temporary(err) || statusOf(err) == http.StatusUnauthorized) {
		result.Status, result.Sum = Unsent, it.sum // may have been counted
	}
	return result
}

// temporary reports whether a retry of the line may succeed.
func temporary(err error) bool {
	var e *client.Error
	return !errors.As(err, &e) || e.Temporary()
}

// statusOf is the HTTP status of an error, 0 without a response.
func statusOf(err error) int {
	var e *client.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Status
}
