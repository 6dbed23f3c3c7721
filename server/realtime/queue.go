package realtime

import (
	"sync"
	"time"
)

// queue holds the connections that may have something to write. A connection is
// in it at most once, so it is bounded by their number.
type queue struct {
	mu     sync.Mutex
	some   sync.Cond
	conns  []*link
	head   int
	since  time.Time // when it last stopped being empty
	closed bool
}

// queueBatch is how many connections a writer takes at a time: enough to make
// the lock cheap, little enough for the writers to end together.
const queueBatch = 16

func newQueue() *queue {
	q := &queue{}
	q.some.L = &q.mu
	return q
}

func (q *queue) push(c *link) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.head == len(q.conns) {
		q.conns, q.head = q.conns[:0], 0
		q.since = time.Now()
	} else if len(q.conns) == cap(q.conns) && q.head > len(q.conns)/2 {
		n := copy(q.conns, q.conns[q.head:])
		clear(q.conns[n:])
		q.conns, q.head = q.conns[:n], 0
	}
	q.conns = append(q.conns, c)
	q.some.Signal()
}

// take waits for connections and moves some to buf; none when closed.
func (q *queue) take(buf []*link) []*link {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.head == len(q.conns) && !q.closed {
		q.some.Wait()
	}
	if q.closed {
		return nil
	}
	n := min(len(q.conns)-q.head, queueBatch)
	buf = append(buf[:0], q.conns[q.head:q.head+n]...)
	clear(q.conns[q.head : q.head+n])
	q.head += n
	return buf
}

// behind is how long the queue has not been empty.
func (q *queue) behind(now time.Time) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.head == len(q.conns) {
		return 0
	}
	return now.Sub(q.since)
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.some.Broadcast()
	q.mu.Unlock()
}

// write is one of the hub's writers.
func (q *queue) write() {
	buf := make([]*link, 0, queueBatch)
	for {
		buf = q.take(buf)
		if len(buf) == 0 {
			return
		}
		for _, c := range buf {
			c.flush()
		}
		clear(buf)
	}
}
