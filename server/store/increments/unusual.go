package increments

import (
	"slices"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

const (
	unusualFor = time.Second
	maxUnusual = 1_000
)

// unusual are users and boards that have just needed a decision: batches with them are
// not tried as additions, which would be in vain and cost as much again.
type unusual struct {
	mu     sync.Mutex
	since  time.Time // of the oldest
	users  map[scoreboard.UserID]bool
	boards map[scoreboard.BoardID]bool
}

func (u *unusual) any(items []scoreboard.Increment) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.users)+len(u.boards) == 0 {
		return false
	}
	if time.Since(u.since) > unusualFor {
		clear(u.users)
		clear(u.boards)
		return false
	}
	for i := range items {
		if u.users[items[i].User] {
			return true
		}
		unusual := func(board scoreboard.BoardID) bool { return u.boards[board] }
		if slices.ContainsFunc(items[i].Boards, unusual) || slices.ContainsFunc(items[i].Matched, unusual) {
			return true
		}
	}
	return false
}

func (u *unusual) remember(users, boards []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.users)+len(u.boards) == 0 {
		u.since = time.Now()
		u.users, u.boards = make(map[scoreboard.UserID]bool), make(map[scoreboard.BoardID]bool)
	}
	for _, id := range users {
		if len(u.users) < maxUnusual {
			u.users[scoreboard.UserID(id)] = true
		}
	}
	for _, id := range boards {
		u.boards[scoreboard.BoardID(id)] = true
	}
}
