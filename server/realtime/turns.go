package realtime

import (
	"slices"
	"sync"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// turns is a queue in which users take turns. Whoever opens many streams, or leaves and joins
// boards again and again, waits behind every other user, and no other user waits longer.
type turns[T comparable] struct {
	mu    sync.Mutex
	of    map[scoreboard.UserID][]T // an entry, perhaps empty, for each of users
	users []scoreboard.UserID       // in the order of their turns
	wake  chan struct{}             // something was added
}

func newTurns[T comparable]() *turns[T] {
	return &turns[T]{of: make(map[scoreboard.UserID][]T), wake: make(chan struct{}, 1)}
}

// add queues one of a user's.
func (t *turns[T]) add(user scoreboard.UserID, one T) {
	t.mu.Lock()
	mine, waiting := t.of[user]
	if !waiting {
		t.users = append(t.users, user)
	}
	t.of[user] = append(mine, one)
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// drop removes what nobody waits for any more. The user's turn stays.
func (t *turns[T]) drop(user scoreboard.UserID, one T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if mine, waiting := t.of[user]; waiting {
		t.of[user] = slices.DeleteFunc(mine, func(other T) bool { return other == one })
	}
}

// take removes and returns at most n, one of each user before a second one of any.
func (t *turns[T]) take(n int) []T {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := make([]T, 0, min(n, len(t.users)))
	i := 0
	for ; i < len(t.users) && len(taken) < n; i++ {
		user := t.users[i]
		mine := t.of[user]
		if len(mine) > 0 {
			taken = append(taken, mine[0])
			mine = slices.Delete(mine, 0, 1)
		}
		if len(mine) == 0 {
			delete(t.of, user)
			continue
		}
		t.of[user] = mine
		t.users = append(t.users, user)
	}
	t.users = slices.Delete(t.users, 0, i)
	return taken
}
