package ingest

import (
	"context"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

const (
	// lockedTimeout is how long an increment of a locked user is retried before
	// its caller gets an error.
	lockedTimeout = 2 * time.Second
	// lockedRetryInterval is the pause before each attempt, which itself waits
	// for the lock, too.
	lockedRetryInterval = 20 * time.Millisecond
)

// lockedQueue retries the increments of users whom another transaction has
// locked, so that the lane need not wait for them. While it holds one increment
// of a user, that user's later ones join it: their order is kept. It holds at
// most one batch, and a quarter of a batch for one user.
type lockedQueue struct {
	lane     *lane
	wake     chan struct{}
	laneDone chan struct{} // closed when the lane adds no more

	mu      sync.Mutex
	waiting []*call // in order of arrival
	users   map[scoreboard.UserID]int
}

func newLockedQueue(l *lane) *lockedQueue {
	return &lockedQueue{
		lane: l, wake: make(chan struct{}, 1), laneDone: make(chan struct{}), users: make(map[scoreboard.UserID]int),
	}
}

// divert takes the calls of users who are in the queue already. It returns the
// rest of the batch, and the calls that found the queue full.
func (q *lockedQueue) divert(batch []*call) (rest, rejected []*call) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.users) == 0 {
		return batch, nil
	}
	rest = batch[:0]
	for _, c := range batch {
		switch {
		case q.users[c.increment.User] == 0:
			rest = append(rest, c)
		case !q.put(c):
			rejected = append(rejected, c)
		}
	}
	return rest, rejected
}

// add takes calls whose users are locked, and returns those that found the
// queue full.
func (q *lockedQueue) add(calls []*call) (rejected []*call) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range calls {
		if !q.put(c) {
			rejected = append(rejected, c)
		}
	}
	return rejected
}

func (q *lockedQueue) put(c *call) bool {
	limit := q.lane.ingest.o.Batch
	user := c.increment.User
	if len(q.waiting) >= limit || q.users[user] > limit/4 {
		q.lane.ingest.metrics.overloaded.Inc()
		c.outcome = scoreboard.Outcome{Err: overloaded(lockedTimeout)}
		return false
	}
	c.lockedAt = time.Now()
	q.waiting = append(q.waiting, c)
	q.users[user]++
	q.lane.ingest.metrics.locked.Inc()
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return true
}

// run retries the queue until the lane has ended and the queue is empty.
func (q *lockedQueue) run() {
	for {
		select {
		case <-q.wake:
		case <-q.laneDone:
			for q.retry() {
			}
			return
		}
		for q.retry() {
		}
	}
}

// retry attempts the whole queue in one transaction. It answers the calls that
// were recorded, and those that have waited too long. It returns false when the
// queue is empty.
func (q *lockedQueue) retry() bool {
	batch := q.live()
	if len(batch) == 0 {
		return false
	}
	time.Sleep(lockedRetryInterval)
	ctx, cancel := context.WithTimeout(context.Background(), recordTimeout)
	defer cancel()
	var done attempt
	q.lane.recordTraced(ctx, batch, &done)
	q.lane.ingest.committed()
	answered := done.answered
	for _, c := range done.locked {
		if time.Since(c.lockedAt) > lockedTimeout {
			answered = append(answered, c)
		}
	}
	q.mu.Lock()
	q.remove(answered)
	q.mu.Unlock()
	if len(answered) > 0 {
		q.lane.answered <- answered
	}
	return true
}

// live drops the calls whose callers have left, and returns the others.
func (q *lockedQueue) live() []*call {
	q.mu.Lock()
	defer q.mu.Unlock()
	var batch, gone []*call
	for _, c := range q.waiting {
		if c.ctx.Err() == nil {
			batch = append(batch, c)
		} else {
			gone = append(gone, c)
		}
	}
	q.remove(gone)
	return batch
}

// remove needs q.mu.
func (q *lockedQueue) remove(calls []*call) {
	if len(calls) == 0 {
		return
	}
	gone := make(map[*call]bool, len(calls))
	for _, c := range calls {
		gone[c] = true
		user := c.increment.User
		if q.users[user]--; q.users[user] == 0 {
			delete(q.users, user)
		}
	}
	left := q.waiting[:0]
	for _, c := range q.waiting {
		if !gone[c] {
			left = append(left, c)
		}
	}
	clear(q.waiting[len(left):])
	q.waiting = left
}
