package freshness

import (
	"sort"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/client"
)

// sightings matches commits with what one observer sees. Scores only increase, so
// a commit is visible once its score or a higher one is.
type sightings struct {
	sample func(at time.Time, took time.Duration)

	mu      sync.Mutex
	pending map[string][]sighting // commits that are not visible yet, by user
	// seen are the latest scores, for a receipt that arrives after its score was
	// seen.
	seen map[string][]sighting
}

type sighting struct {
	score int64
	at    time.Time
}

// maxSightings bounds the memory per user. The oldest pending commit is dropped
// and counts as visible now, which understates its time.
const maxSightings = 1024

func newSightings(users []string, sample func(at time.Time, took time.Duration)) *sightings {
	s := &sightings{sample: sample, pending: map[string][]sighting{}, seen: map[string][]sighting{}}
	for _, u := range users {
		s.seen[u] = nil
	}
	return s
}

// committed records that a user's score was committed at a time.
func (s *sightings) committed(user string, score int64, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen[user]
	if i := sort.Search(len(seen), func(i int) bool { return seen[i].score >= score }); i < len(seen) {
		s.sample(at, seen[i].at.Sub(at))
		return
	}
	waiting := append(s.pending[user], sighting{score, at})
	if len(waiting) > maxSightings {
		s.sample(waiting[0].at, at.Sub(waiting[0].at))
		waiting = waiting[1:]
	}
	s.pending[user] = waiting
}

// observe records the entries that are visible now.
func (s *sightings) observe(entries []client.Entry, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		seen, monitored := s.seen[e.UserID]
		if !monitored || len(seen) > 0 && seen[len(seen)-1].score >= e.Score {
			continue
		}
		if seen = append(seen, sighting{e.Score, now}); len(seen) > maxSightings {
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

// waiting is the number of commits that are not visible yet.
func (s *sightings) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, w := range s.pending {
		n += len(w)
	}
	return n
}

// close counts the remaining commits as visible now.
func (s *sightings) close(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for user, waiting := range s.pending {
		for _, c := range waiting {
			s.sample(c.at, now.Sub(c.at))
		}
		delete(s.pending, user)
	}
}
