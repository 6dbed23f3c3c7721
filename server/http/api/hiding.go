package api

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/internal/share"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Bounds of what the store is asked for requests over a limit.
const (
	// hidingReads is how many questions a process asks at a time: a caller's leave one of them to others.
	hidingReads = 2
	hidingTime  = 5 * time.Second // for the turn and the answer
	maxAsked    = 1000            // requests of one question
)

var errNotAsked = errors.New("the store was not asked")

// hiding asks the store about requests over a limit: whether they show their user to fewer people, and so
// are served nevertheless. However many come at once, those about one user are one question. Else the
// queue would be full of repeats, with a stolen token, and the request that hides would find no place.
type hiding[A any] struct {
	turns *share.Pool
	ask   func(ctx context.Context, user scoreboard.UserID, others []scoreboard.UserID) (A, error)

	mu   sync.Mutex
	next map[scoreboard.UserID]*question[A] // that wait for their turn
}

// question is one question for all requests about a user that came before it was asked.
type question[A any] struct {
	others   []scoreboard.UserID
	answered chan struct{}
	answer   A
	err      error
}

func newHiding[A any](
	turns *share.Pool, ask func(context.Context, scoreboard.UserID, []scoreboard.UserID) (A, error),
) *hiding[A] {
	return &hiding[A]{turns: turns, ask: ask, next: make(map[scoreboard.UserID]*question[A])}
}

// hides asks about a user, and perhaps another, and reports what is of the answer. Where so many ask that
// the store cannot be asked for all, the request is served: what hides is never limited.
func (h *hiding[A]) hides(ctx context.Context, user, other scoreboard.UserID, is func(A) bool) bool {
	q, first := h.join(user, other)
	if q == nil {
		return true
	}
	if first {
		h.put(ctx, user, q)
	}
	select {
	case <-q.answered:
		return errors.Is(q.err, share.ErrFull) || q.err == nil && is(q.answer)
	case <-ctx.Done():
		return false
	}
}

// join returns the question that a request is part of, and whether it is the first, which asks; nil if
// too many are.
func (h *hiding[A]) join(user, other scoreboard.UserID) (q *question[A], first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	q = h.next[user]
	if first = q == nil; first {
		q = &question[A]{answered: make(chan struct{}), err: errNotAsked}
		h.next[user] = q
	}
	if len(q.others) == maxAsked {
		return nil, false
	}
	q.others = append(q.others, other)
	return q, first
}

// put asks a question when it is its turn. Requests that come later are another question, because the
// answer may be from before them. It does not end with the first request: others wait for it.
func (h *hiding[A]) put(ctx context.Context, user scoreboard.UserID, q *question[A]) {
	defer close(q.answered)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), hidingTime)
	defer cancel()
	release, err := h.turns.Take(ctx, share.Claim{})
	h.mu.Lock()
	delete(h.next, user)
	h.mu.Unlock()
	if err != nil {
		q.err = err
		return
	}
	defer release()
	q.answer, q.err = h.ask(ctx, user, q.others)
}
