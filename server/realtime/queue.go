package realtime

import (
	"sync"
	"time"
)

// Flusher writes the messages of a connection that are due.
type Flusher interface{ Flush() }

// queue holds connections that may have messages to write. A connection is in it
// at most once, so it is bounded by their number.
type queue struct {
	mu       sync.Mutex
	nonEmpty sync.Cond
	conns    []Flusher
	head     int
	since    time.Time // when it last stopped being empty
	closed   bool
}

// queueBatch is how many connections a writer takes at a time: enough to make
// the lock cheap, few enough for the writers to end together.
const queueBatch = 16

func newQueue() *queue {
	q := &queue{}
	q.nonEmpty.L = &q.mu
	return q
}

// Enqueue makes a writer flush c, which must not be queued already.
func (h *Hub) Enqueue(c Flusher) { h.queue.push(c) }

func (q *queue) push(c Flusher) {
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
	q.nonEmpty.Signal()
}

// take waits for connections and moves some to buf; none once the queue is closed.
func (q *queue) take(buf []Flusher) []Flusher {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.head == len(q.conns) && !q.closed {
		q.nonEmpty.Wait()
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

// lag is how long the queue has not been empty.
func (q *queue) lag(now time.Time) time.Duration {
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
	q.nonEmpty.Broadcast()
	q.mu.Unlock()
}

// write runs one of the hub's writers until the queue is closed.
func (q *queue) write() {
	buf := make([]Flusher, 0, queueBatch)
	for {
		buf = q.take(buf)
		if len(buf) == 0 {
			return
		}
		for _, c := range buf {
			c.Flush()
		}
		clear(buf)
	}
}
