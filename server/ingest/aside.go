package ingest

import (
	"context"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

const (
	// asidePatience is how long a locked user is tried before the caller is
	// told to come again.
	asidePatience = 2 * time.Second
	// asidePause is between two tries, each of which waits for the lock, too.
	asidePause = 20 * time.Millisecond
)

// aside tries the increments of users whom another transaction has locked, so
// that the lane need not wait for them. As long as one of a user is here, that
// user's next ones come here too: the order of a user is kept. It holds at
// most one batch, and a quarter of it of one user.
type aside struct {
	lane  *lane
	wake  chan struct{}
	lanes chan struct{} // closed when the lane brings nothing more

	mu      sync.Mutex
	waiting []*call // in the order of their coming
	users   map[scoreboard.UserID]int
}

func newAside(l *lane) *aside {
	return &aside{
		lane: l, wake: make(chan struct{}, 1), lanes: make(chan struct{}), users: make(map[scoreboard.UserID]int),
	}
}

// divert keeps the calls of users who are here already and returns the rest of
// the batch, and who found no room.
func (a *aside) divert(batch []*call) (rest, refused []*call) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.users) == 0 {
		return batch, nil
	}
	rest = batch[:0]
	for _, c := range batch {
		switch {
		case a.users[c.increment.User] == 0:
			rest = append(rest, c)
		case !a.put(c):
			refused = append(refused, c)
		}
	}
	return rest, refused
}

// add takes calls whose users are locked and returns who found no room.
func (a *aside) add(calls []*call) (refused []*call) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range calls {
		if !a.put(c) {
			refused = append(refused, c)
		}
	}
	return refused
}

func (a *aside) put(c *call) bool {
	most := a.lane.ingest.o.Batch
	user := c.increment.User
	if len(a.waiting) >= most || a.users[user] > most/4 {
		a.lane.ingest.metrics.refused.Inc()
		c.outcome = scoreboard.Outcome{Err: overloaded(asidePatience)}
		return false
	}
	c.aside = time.Now()
	a.waiting = append(a.waiting, c)
	a.users[user]++
	a.lane.ingest.metrics.aside.Inc()
	select {
	case a.wake <- struct{}{}:
	default:
	}
	return true
}

// run tries what is here until the lane has ended and nothing is left.
func (a *aside) run() {
	for {
		select {
		case <-a.wake:
		case <-a.lanes:
			for a.try() {
			}
			return
		}
		for a.try() {
		}
	}
}

// try records whom it can in one transaction of its own and answers those,
// and who has waited for too long. It returns false when nothing is here.
func (a *aside) try() bool {
	batch := a.present()
	if len(batch) == 0 {
		return false
	}
	time.Sleep(asidePause)
	ctx, cancel := context.WithTimeout(context.Background(), recordBudget)
	defer cancel()
	var done attempt
	a.lane.record(ctx, batch, &done)
	a.lane.ingest.commit()
	answered := done.answered
	for _, c := range done.locked {
		if time.Since(c.aside) > asidePatience {
			answered = append(answered, c)
		}
	}
	a.forget(answered)
	if len(answered) > 0 {
		a.lane.answered <- answered
	}
	return true
}

// present returns what is here, without those whose callers have hung up.
func (a *aside) present() []*call {
	a.mu.Lock()
	defer a.mu.Unlock()
	var batch, gone []*call
	for _, c := range a.waiting {
		if c.ctx.Err() == nil {
			batch = append(batch, c)
		} else {
			gone = append(gone, c)
		}
	}
	a.remove(gone)
	return batch
}

func (a *aside) forget(calls []*call) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.remove(calls)
}

func (a *aside) remove(calls []*call) {
	if len(calls) == 0 {
		return
	}
	gone := make(map[*call]bool, len(calls))
	for _, c := range calls {
		gone[c] = true
		user := c.increment.User
		if a.users[user]--; a.users[user] == 0 {
			delete(a.users, user)
		}
	}
	left := a.waiting[:0]
	for _, c := range a.waiting {
		if !gone[c] {
			left = append(left, c)
		}
	}
	clear(a.waiting[len(left):])
	a.waiting = left
}
