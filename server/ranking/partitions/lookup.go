package partitions

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/server/ranking/piece"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// A rank asks every partition, and so does each of a hundred that are asked for at the same
// time. So what is asked about a board while an answer is awaited is then asked at once: the
// busier the servers, the fewer calls for each rank.

// lookup asks where users of a board in partitions stand.
type lookup struct {
	users []scoreboard.UserID
	// place returns the position to count up to for user i with this state, or false.
	place        func(i int, state string) (position, bool)
	before, from int // rows to return on both sides of the first user's position
	// guess is the likely position of the only user: the state comes with the counts then, and
	// is not asked for before. May be nil.
	guess *position

	states   []string // read at the moment of the counts, or last
	attempts int      // that found a user at another place than asked for
	counts   []int64  // up to the position; -1 without one
	index    int      // of the first user's position
	rows     []row

	ctx      context.Context // of the caller
	snapshot *snapshot
	err      error
	done     chan struct{} // closed when the answer is there
}

// lookups are those that wait while others of the same board are asked; a board that is asked
// about has an entry.
type lookups struct {
	sync.Mutex
	waiting map[piece.Layout][]*lookup
}

// Bounds of what is asked at once: users, rows beside them in each partition, and how long it may
// take. What is left waits: as long as its callers do.
const (
	maxLookedUp   = 256
	maxRowsBeside = 1024
	lookupTimeout = time.Second
)

// look answers lookups, each from one snapshot. It returns their first error.
func (r *Boards) look(ctx context.Context, l piece.Layout, list ...*lookup) error {
	for _, q := range list {
		q.ctx, q.done = ctx, make(chan struct{})
	}
	r.lookups.Lock()
	waiting, asking := r.lookups.waiting[l]
	r.lookups.waiting[l] = append(waiting, list...)
	r.lookups.Unlock()
	if !asking {
		go r.answer(context.WithoutCancel(ctx), l)
	}
	for _, q := range list {
		select {
		case <-q.done:
			if q.err != nil {
				return q.err
			}
		case <-ctx.Done():
			return piece.Translate(ctx.Err())
		}
	}
	return nil
}

// answer answers the lookups of a board until none is waiting.
func (r *Boards) answer(ctx context.Context, l piece.Layout) {
	for {
		batch := r.lookups.next(l)
		if len(batch) == 0 {
			return
		}
		r.answerBatch(ctx, l, batch)
	}
}

// next takes lookups to answer at once, without those whose callers have gone; if none is waiting,
// the board's entry is removed.
func (w *lookups) next(l piece.Layout) (batch []*lookup) {
	w.Lock()
	defer w.Unlock()
	waiting, users, rows := w.waiting[l], 0, 0
	for len(waiting) > 0 {
		if q := waiting[0]; q.ctx.Err() == nil {
			users, rows = users+len(q.users), rows+q.before+q.from
			if len(batch) > 0 && (users > maxLookedUp || rows > maxRowsBeside) {
				break
			}
			batch = append(batch, q)
		}
		waiting[0] = nil // the array stays
		waiting = waiting[1:]
	}
	if len(batch) == 0 {
		delete(w.waiting, l)
	} else {
		w.waiting[l] = waiting
	}
	return batch
}

// again has lookups asked for before those that wait.
func (w *lookups) again(l piece.Layout, list []*lookup) {
	w.Lock()
	defer w.Unlock()
	w.waiting[l] = append(list, w.waiting[l]...)
}

// answerBatch answers lookups from the same snapshot. One of which a user's place changed between the two
// calls is asked for again beside others, which do not wait for it.
func (r *Boards) answerBatch(ctx context.Context, l piece.Layout, batch []*lookup) {
	ctx, cancel := context.WithDeadline(ctx, lastDeadline(batch))
	defer cancel()
	err := retryRead(ctx, func(last bool) (bool, error) {
		s, err := r.askBatch(ctx, l, batch, last)
		return s != nil, err
	})
	var changed []*lookup
	for _, q := range batch {
		switch q.err = err; {
		case err != nil || q.snapshot != nil:
		case q.attempts < readAttempts:
			changed = append(changed, q)
			continue
		default:
			q.err = piece.Unavailable("the standing keeps changing", errors.New("a standing changed with every read"))
		}
		close(q.done)
	}
	if len(changed) > 0 {
		r.lookups.again(l, changed)
	}
}

// lastDeadline is until when some caller waits.
func lastDeadline(batch []*lookup) time.Time {
	limit := time.Now().Add(lookupTimeout)
	var last time.Time
	for _, q := range batch {
		deadline, ok := q.ctx.Deadline()
		if !ok || deadline.After(limit) {
			return limit
		}
		if deadline.After(last) {
			last = deadline
		}
	}
	return last
}

// askBatch asks once, and sets the answer of every lookup whose places did not change; the
// snapshot is nil if the answers do not fit together.
func (r *Boards) askBatch(ctx context.Context, l piece.Layout, batch []*lookup, last bool) (*snapshot, error) {
	top, err := r.askStates(ctx, l, batch)
	if err != nil {
		return nil, err
	}
	var users []scoreboard.UserID
	for _, q := range batch {
		users = append(users, q.users...)
	}
	mine, index := l.Divide(users)
	list, indexes := seek(batch)
	got, err := r.askParts(ctx, l, top, &query{positions: list, users: mine, shared: l.Shared})
	if err != nil {
		return nil, piece.Translate(err)
	}
	s, err := got.snapshot(l, last)
	if s == nil || err != nil {
		return nil, err
	}
	states, _ := join(s.parts, index, len(users))
	first := 0 // index of the lookup's first user
	for _, q := range batch {
		end := first + len(q.users)
		q.resolve(s, states[first:end], list, indexes[first:end])
		first = end
	}
	return s, nil
}

// askStates reads the merged top, and the states of lookups that have neither those of an earlier attempt
// nor a guess.
func (r *Boards) askStates(ctx context.Context, l piece.Layout, batch []*lookup) (*mergedTop, error) {
	var users []scoreboard.UserID
	for _, q := range batch {
		if q.unknown() {
			users = append(users, q.users...)
		}
	}
	mine, index := l.Divide(users)
	top, found, err := r.askTop(ctx, l, mine)
	if err != nil {
		return nil, piece.Translate(err)
	}
	states, loaded := join(found, index, len(users))
	if !loaded {
		return nil, scoreboard.ErrNotLoaded
	}
	for _, q := range batch {
		if q.unknown() {
			q.states, states = states[:len(q.users):len(q.users)], states[len(q.users):]
		}
	}
	return top, nil
}

func (q *lookup) unknown() bool { return q.states == nil && q.guess == nil }

// at is where user i most likely is.
func (q *lookup) at(i int) (position, bool) {
	if q.states == nil {
		return *q.guess, true
	}
	return q.place(i, q.states[i])
}

// join returns the states of users, which partitions have returned by their index; false if one is
// not loaded.
func join(parts []*partition, index [][]int, users int) ([]string, bool) {
	states := make([]string, users)
	for i, p := range parts {
		for j, at := range index[i] {
			if p == nil {
				return nil, false
			}
			states[at] = p.states[j]
		}
	}
	return states, true
}

// seek returns what to ask of each partition for the users of lookups, and the index of each user's
// position in it, -1 without one.
func seek(batch []*lookup) (list []Position, indexes []int) {
	for _, q := range batch {
		for i := range q.users {
			at, ok := q.at(i)
			if !ok {
				indexes = append(indexes, -1)
				continue
			}
			indexes = append(indexes, len(list))
			s := Position{at: &at}
			if i == 0 {
				s.Before, s.from = q.before, q.from
			}
			list = append(list, s)
		}
	}
	return list, indexes
}

// resolve sets the states, and the answer if they have the places that were asked for.
func (q *lookup) resolve(s *snapshot, states []string, list []Position, indexes []int) {
	q.states = states
	q.attempts++
	counts := make([]int64, len(q.users))
	for i, at := range indexes {
		now, ok := q.place(i, states[i])
		if ok != (at >= 0) || ok && now != *list[at].at {
			return
		}
		counts[i] = -1
		if ok {
			counts[i] = s.upTo(at)
		}
	}
	if q.before+q.from > 0 && indexes[0] >= 0 {
		q.index, q.rows = indexes[0], s.rows(indexes[0])
	}
	q.snapshot, q.counts = s, counts
}
