package boards

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

const (
	maxWaitingJoins = 10_000
	maxJoinBatch    = 500
	joinTimeout     = 5 * time.Second // of a batch
)

// join is a join that waits to be decided.
type join struct {
	name   scoreboard.BoardID // as the client has it
	user   scoreboard.UserID
	result scoreboard.Participation
	err    error
	done   chan struct{} // closed when it is decided
}

// joinQueue decides joins in batches, one at a time. All joins of a period change one row, which a transaction locks
// until it is on disk: one for each join would be as slow as the disk, and those that wait would take the connections
// that increments need. Whoever waits and finds that nobody runs a batch runs the next one, so there is no goroutine to
// start and to stop.
type joinQueue struct {
	mu      sync.Mutex
	waiting []*join
	turn    chan struct{} // full while a batch runs
}

func newJoinQueue() *joinQueue { return &joinQueue{turn: make(chan struct{}, 1)} }

// join waits until a join is decided by run, which gets joins of one name and sets their results. If ctx ends earlier,
// it may be decided nevertheless.
func (q *joinQueue) join(
	ctx context.Context, name scoreboard.BoardID, user scoreboard.UserID,
	run func(context.Context, scoreboard.BoardID, []*join) error,
) (scoreboard.Participation, error) {
	j := &join{name: name, user: user, done: make(chan struct{})}
	if !q.add(j) {
		return j.result, &scoreboard.Error{
			Code: wire.CodeOverloaded, Message: "too many joins are waiting", RetryAfter: time.Second,
		}
	}
	for {
		select {
		case <-j.done:
			return j.result, j.err
		case <-ctx.Done():
			q.remove(j)
			return scoreboard.Participation{}, ctx.Err()
		case q.turn <- struct{}{}:
			func() {
				defer func() { <-q.turn }()
				q.runNext(ctx, run)
			}()
		}
	}
}

func (q *joinQueue) add(j *join) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= maxWaitingJoins {
		return false
	}
	q.waiting = append(q.waiting, j)
	return true
}

func (q *joinQueue) remove(j *join) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiting, j); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
}

// next takes the first join that waits, with others of the same name.
func (q *joinQueue) next() (batch []*join) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = slices.DeleteFunc(q.waiting, func(j *join) bool {
		if len(batch) == maxJoinBatch || len(batch) > 0 && batch[0].name != j.name {
			return false
		}
		batch = append(batch, j)
		return true
	})
	return batch
}

// runNext decides a batch. It ends with it, not with the client of ctx: others wait for the batch, too.
func (q *joinQueue) runNext(ctx context.Context, run func(context.Context, scoreboard.BoardID, []*join) error) {
	batch := q.next()
	if len(batch) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), joinTimeout)
	defer cancel()
	err := run(ctx, batch[0].name, batch)
	for _, j := range batch {
		if err != nil {
			j.err = err
		}
		close(j.done)
	}
}
