package loadgen

import (
	"sort"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/client"
)

// sights matches what was committed with what one observer sees of it. A score
// only rises, so an increment is seen once its score or a higher one is.
type sights struct {
	sample func(at time.Time, took time.Duration)

	mu      sync.Mutex
	pending map[string][]sight // commits that were not seen yet, by user
	seen    map[string][]sight // the newest scores, for receipts that come later than the sight
}

type sight struct {
	score int64
	at    time.Time
}

// maxSights bounds what is kept of a user. Past it the oldest go; a commit that
// goes has waited longest and counts as seen now, which no later sight betters.
const maxSights = 1024

func newSights(users []string, sample func(at time.Time, took time.Duration)) *sights {
	s := &sights{sample: sample, pending: map[string][]sight{}, seen: map[string][]sight{}}
	for _, u := range users {
		s.seen[u] = nil
	}
	return s
}

// committed says that a user got a score at a time.
func (s *sights) committed(user string, score int64, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen[user]
	if i := sort.Search(len(seen), func(i int) bool { return seen[i].score >= score }); i < len(seen) {
		s.sample(at, seen[i].at.Sub(at))
		return
	}
	waiting := append(s.pending[user], sight{score, at})
	if len(waiting) > maxSights {
		s.sample(waiting[0].at, at.Sub(waiting[0].at))
		waiting = waiting[1:]
	}
	s.pending[user] = waiting
}

// observe takes what the observer sees now.
func (s *sights) observe(entries []client.Entry, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		seen, followed := s.seen[e.UserID]
		if !followed || len(seen) > 0 && seen[len(seen)-1].score >= e.Score {
			continue
		}
		if seen = append(seen, sight{e.Score, now}); len(seen) > maxSights {
			seen = seen[1:]
		}
		s.seen[e.UserID] = seen
		waiting := s.pending[e.UserID]
		kept := waiting[:0]
		for _, c := range waiting {
			if c.score <= e.Score {
				s.sample(c.at, now.Sub(c.at))
			} else {
				kept = append(kept, c)
			}
		}
		s.pending[e.UserID] = kept
	}
}

// waiting is how many commits were not seen yet.
func (s *sights) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, w := range s.pending {
		n += len(w)
	}
	return n
}

// close counts what was never seen as if it were seen now.
func (s *sights) close(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for user, waiting := range s.pending {
		for _, c := range waiting {
			s.sample(c.at, now.Sub(c.at))
		}
		delete(s.pending, user)
	}
}
