package share

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// Bounds of those who wait, and of the callers whose last turn is remembered.
const (
	maxWaiting  = 1024
	maxOfCaller = maxWaiting / 4
	maxServed   = 4096
)

// ErrFull is the error of a question that may not even wait.
var ErrFull = errors.New("too many questions wait")

// Claim is what a slot is for.
type Claim struct {
	Board string // that the question is about; "" for none
	Long  bool   // the question takes long
}

// Pool is a number of slots.
type Pool struct {
	slots int

	mu      sync.Mutex
	free    int
	long    int // slots of questions that take long
	callers map[string]*caller
	boards  map[string]int // slots by board
	waiting []*waiter      // in the order in which they came
	turn    uint64         // counts the slots that were given
}

// caller is how many slots one has and waits for, and when one was given last.
type caller struct {
	held, waiting int
	served        uint64
}

// waiter waits for a slot.
type waiter struct {
	Claim
	name   string
	caller *caller // nil for work of the process itself
	given  chan struct{}
}

// New returns a Pool of slots.
func New(slots int) *Pool {
	return &Pool{slots: slots, free: slots, callers: map[string]*caller{}, boards: map[string]int{}}
}

// Take waits for a slot, which is held until release is called; for ErrFull it does not wait.
func (p *Pool) Take(ctx context.Context, claim Claim) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w, err := p.enter(ctx, claim)
	if err != nil {
		return nil, err
	}
	select {
	case <-w.given:
		return p.releaseOf(w), nil
	case <-ctx.Done():
	}
	if !p.leave(w) { // it was given meanwhile
		p.releaseOf(w)()
	}
	return nil, ctx.Err()
}

// Try is Take without waiting; false if there is no slot now.
func (p *Pool) Try(ctx context.Context, claim Claim) (release func(), ok bool) {
	w, err := p.enter(ctx, claim)
	if err != nil || p.leave(w) {
		return nil, false
	}
	return p.releaseOf(w), true
}

// enter adds a waiter, which may have a slot at once.
func (p *Pool) enter(ctx context.Context, claim Claim) (*waiter, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := &waiter{Claim: claim, given: make(chan struct{})}
	if name, ok := callerOf(ctx); ok {
		w.name, w.caller = name, p.callers[name]
		if w.caller == nil {
			w.caller = new(caller)
		}
	}
	if len(p.waiting) >= maxWaiting || w.caller != nil && w.caller.waiting >= maxOfCaller {
		return nil, ErrFull
	}
	if w.caller != nil {
		p.forget()
		p.callers[w.name] = w.caller
		w.caller.waiting++
	}
	p.waiting = append(p.waiting, w)
	p.give()
	return w, nil
}

// Waiting returns how many wait for a slot.
func (p *Pool) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting)
}

// leave removes a waiter; false if it has a slot.
func (p *Pool) leave(w *waiter) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.waiting, w)
	if i < 0 {
		return false
	}
	p.remove(i)
	return true
}

func (p *Pool) remove(i int) {
	if c := p.waiting[i].caller; c != nil {
		c.waiting--
	}
	p.waiting = slices.Delete(p.waiting, i, i+1)
}

// forget drops callers who have and want nothing, if there are too many to remember.
func (p *Pool) forget() {
	if len(p.callers) < maxServed {
		return
	}
	for name, c := range p.callers {
		if c.held == 0 && c.waiting == 0 {
			delete(p.callers, name)
		}
	}
}

// give gives free slots to those who wait and may have one.
func (p *Pool) give() {
	for p.free > 0 {
		best := -1
		for i, w := range p.waiting {
			if p.may(w) && (best < 0 || p.before(w, p.waiting[best])) {
				best = i
			}
		}
		if best < 0 {
			return
		}
		w := p.waiting[best]
		p.remove(best)
		p.turn++
		p.count(w, 1)
		if w.caller != nil {
			w.caller.served = p.turn
		}
		close(w.given)
	}
}

// may reports whether a waiter's caller, board and kind leave a slot to others.
func (p *Pool) may(w *waiter) bool {
	limit := max(1, p.slots-1)
	return (w.caller == nil || w.caller.held < limit) && (w.Board == "" || p.boards[w.Board] < limit) &&
		(!w.Long || p.long < limit)
}

// before reports whether a gets a slot before b, which came earlier.
func (p *Pool) before(a, b *waiter) bool {
	if x, y := a.held(), b.held(); x != y {
		return x < y
	}
	if x, y := p.boards[a.Board], p.boards[b.Board]; x != y {
		return x < y
	}
	if a.Long != b.Long {
		return b.Long
	}
	return a.served() < b.served()
}

func (w *waiter) held() int {
	if w.caller == nil {
		return 0
	}
	return w.caller.held
}

func (w *waiter) served() uint64 {
	if w.caller == nil {
		return 0
	}
	return w.caller.served
}

// count adds n to the slots that a waiter's caller, board and kind have.
func (p *Pool) count(w *waiter, n int) {
	p.free -= n
	if w.caller != nil {
		w.caller.held += n
	}
	if w.Long {
		p.long += n
	}
	if w.Board == "" {
		return
	}
	if p.boards[w.Board] += n; p.boards[w.Board] == 0 {
		delete(p.boards, w.Board)
	}
}

func (p *Pool) releaseOf(w *waiter) func() {
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.count(w, -1)
		p.give()
	}
}
