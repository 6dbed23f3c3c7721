package bulk

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

const (
	// batchLines and batchBytes bound one request, far below what the API
	// takes: several of them wait at once, and the server refuses to let
	// increments wait for long.
	batchLines = 200
	batchBytes = 256 << 10
	// tries is how often a line is sent that the server was too busy for.
	tries = 5
	// retryPause is before the second of them, and doubles.
	retryPause = 200 * time.Millisecond
)

// work sends the lines of a lane: as many at once as are waiting.
func (r *run) work(ctx context.Context, lane <-chan item) {
	batch := make([]item, 0, batchLines)
	for it := range lane {
		if batch = gather(append(batch[:0], it), lane); !r.ended() {
			r.send(ctx, batch)
		}
	}
}

// ended says that nothing more is to be sent. What was read and not sent has
// no result, so the next run reads it again.
func (r *run) ended() bool {
	select {
	case <-r.stopped:
		return true
	default:
		return false
	}
}

// gather adds to a batch what is in the lane already.
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

// weight is about how many bytes a line is in a request.
func weight(it *item) int {
	return 128 + len(it.in.User) + len(it.in.EventID) + len(it.in.Board) + len(it.in.Action)
}

// send has lines counted, and sends again those that the server was too busy
// for.
func (r *run) send(ctx context.Context, batch []item) {
	pause := r.job.pause
	if pause == 0 {
		pause = retryPause
	}
	for n := 1; ; n++ {
		busy, err := r.submit(ctx, batch, n == tries)
		if err != nil {
			r.refuseAll(ctx, batch, err)
			return
		}
		if batch = busy; len(batch) == 0 {
			return
		}
		select {
		case <-time.After(pause << (n - 1)):
		case <-r.stopped:
			n = tries - 1 // the last one
		}
	}
}

// submit sends a batch once and tells what became of its lines. Those that may
// fare better later are returned, unless this is the last try. The error is
// that of the batch as a whole.
func (r *run) submit(ctx context.Context, batch []item, last bool) (busy []item, err error) {
	if r.singly.Load() {
		for _, it := range batch {
			if r.ended() {
				return nil, nil
			}
			receipt, err := r.s.Submit(ctx, it.in) // has its own tries
			r.out <- settled(it, receipt, err)
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
	var through bool
	for i, result := range results {
		late := result.Err != nil && temporary(result.Err)
		if through = through || !late; late && !last {
			busy = append(busy, batch[i])
			continue
		}
		r.out <- settled(batch[i], result.Receipt, result.Err)
	}
	if through {
		r.note(nil)
	} else if last {
		r.note(results[0].Err)
	}
	return busy, nil
}

// refuseAll deals with a batch that was refused as a whole. One that is wrong
// is halved until the line at fault stands alone; where the token may not send
// batches, lines go one by one from now on.
func (r *run) refuseAll(ctx context.Context, batch []item, err error) {
	final := !temporary(err) && statusOf(err) != http.StatusUnauthorized
	switch {
	case final && scoreboard.CodeOf(err) == scoreboard.CodeForbidden:
		r.singly.Store(true)
		r.send(ctx, batch)
	case final && len(batch) > 1:
		half := len(batch) / 2
		r.send(ctx, batch[:half:half])
		r.send(ctx, batch[half:])
	default:
		for _, it := range batch {
			r.out <- refused(it, err)
		}
		r.note(err)
	}
}

// note stops the run after an error that every line would meet, and when each
// worker in a row was left without an answer.
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
		r.stop(fmt.Errorf("%w: %w", ErrAway, err))
	}
}

// settled is the result of a line that was answered by itself.
func settled(it item, receipt client.Receipt, err error) Result {
	if err != nil {
		return refused(it, err)
	}
	result := Result{Line: it.line, User: it.in.User, EventID: it.in.EventID, Status: Done, Replayed: receipt.Replayed, Sum: it.sum}
	if receipt.Status == Pending {
		result.Status = Pending
	} else {
		result.Score = &receipt.NewScore
	}
	return result
}

// refused is the result of a line that was not counted.
func refused(it item, err error) Result {
	result := Result{
		Line: it.line, User: it.in.User, EventID: it.in.EventID, Status: Refused,
		Code: scoreboard.CodeOf(err), Message: err.Error(), Err: err,
	}
	var e *scoreboard.Error
	if errors.As(err, &e) && e.Message != "" {
		result.Message = e.Message
	}
	if it.err == nil && (temporary(err) || statusOf(err) == http.StatusUnauthorized) {
		result.Status, result.Sum = Unsent, it.sum // it may have been counted
	}
	return result
}

// temporary says that the same line may be counted later.
func temporary(err error) bool {
	var e *client.Error
	return !errors.As(err, &e) || e.Temporary()
}

// statusOf is the HTTP status of a refusal, 0 without one.
func statusOf(err error) int {
	var e *client.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Status
}
