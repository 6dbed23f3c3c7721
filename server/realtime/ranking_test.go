package realtime_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// ranking is a synthetic source of boards: scores by user, and a version that rises
// when the top changes.
type ranking struct {
	mu      sync.Mutex
	boards  map[scoreboard.BoardID]*scores
	tops    map[[2]int64][]scoreboard.Entry // the tops by epoch and version
	err     error                           // returned by reads, if set
	reason  string                          // why reads are degraded; empty if they are not
	state   scoreboard.BoardState           // of reads; notices do not know it
	reads   int
	lookups int // calls of ReadPlaces
	// tookPlaces is how long each takes, after which it answers what was then.
	tookPlaces time.Duration
	errPlaces  error // of each; nil: none
}

type scores struct {
	of       map[scoreboard.UserID]scoreboard.Score
	moves    map[scoreboard.UserID]int64
	reached  map[scoreboard.UserID]time.Time
	epoch    int64
	version  int64
	top      []scoreboard.Entry
	instance scoreboard.BoardID
	shared   bool // equal scores share a rank
	// subscores are those of users; nil: the board has none. A higher one ranks first.
	subscores map[scoreboard.UserID]scoreboard.Score
}

func newRanking(boards ...scoreboard.BoardID) *ranking {
	r := &ranking{
		boards: make(map[scoreboard.BoardID]*scores),
		tops:   make(map[[2]int64][]scoreboard.Entry),
	}
	for i, id := range boards {
		r.boards[id] = &scores{
			of: make(map[scoreboard.UserID]scoreboard.Score), moves: make(map[scoreboard.UserID]int64),
			reached: make(map[scoreboard.UserID]time.Time),
			epoch:   int64(10 + i), version: 1, instance: id,
		}
	}
	return r
}

// set gives users scores and returns the notice of it.
func (r *ranking) set(id scoreboard.BoardID, of map[scoreboard.UserID]scoreboard.Score) scoreboard.Notice {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.boards[id]
	n := scoreboard.Notice{Board: b.instance}
	for user, score := range of {
		b.of[user] = score
		b.moves[user]++
		b.reached[user] = reachedAt(score)
		n.Moved = append(n.Moved, scoreboard.Moved{
			User: user, Score: score, Subscore: b.subscores[user], Version: b.moves[user],
			Revision: b.moves[user], ReachedAt: b.reached[user],
		})
	}
	all := b.ranked()
	top := all[:min(len(all), scoreboard.TopSize)]
	if !slices.Equal(top, b.top) {
		b.version++
		b.top = top
		r.tops[[2]int64{b.epoch, b.version}] = top
		n.Top = r.answer(b)
		n.Top.Reached = nil
		if n.Top.State = ""; r.state != "" { // no board in doubt says how current it is
			n.Top.AsOf = time.Time{}
		}
	}
	return n
}

// reachedAt is when users reach a score.
func reachedAt(score scoreboard.Score) time.Time {
	return time.Unix(1_760_000_000+int64(score), 0).UTC()
}

func (b *scores) ranked() []scoreboard.Entry {
	all := make([]scoreboard.Entry, 0, len(b.of))
	for user, score := range b.of {
		all = append(all, scoreboard.Entry{User: user, Score: score, Subscore: b.subscores[user]})
	}
	slices.SortFunc(all, func(x, y scoreboard.Entry) int {
		return cmp.Or(
			cmp.Compare(y.Score, x.Score), cmp.Compare(y.Subscore, x.Subscore), cmp.Compare(x.User, y.User),
		)
	})
	for i := range all {
		all[i].Rank = int64(i + 1)
	}
	if b.shared {
		scoreboard.ShareRanks(all, 1)
	}
	return all
}

func (r *ranking) answer(b *scores) *scoreboard.Top {
	t := &scoreboard.Top{
		Board: b.instance, Epoch: b.epoch, Version: b.version, UpdatedAt: time.Now(), AsOf: time.Now(),
		Total: int64(len(b.of)), Entries: slices.Clone(b.top), State: cmp.Or(r.state, scoreboard.StateHealthy),
		Subscores: b.subscores != nil,
	}
	for _, e := range b.top {
		t.Reached = append(t.Reached, b.reached[e.User])
	}
	if r.reason != "" {
		t.Degraded, t.Epoch, t.Version = r.reason, 0, 0
	}
	return t
}

func (r *ranking) ReadTop(_ context.Context, id scoreboard.BoardID) (*scoreboard.Top, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads++
	b := r.boards[id]
	switch {
	case r.err != nil:
		return nil, r.err
	case b == nil:
		return nil, scoreboard.Errorf(wire.CodeNotFound, "no such board")
	}
	return r.answer(b), nil
}

func (r *ranking) ReadPlaces(
	_ context.Context, id scoreboard.BoardID, users []scoreboard.UserID,
) (*scoreboard.List, error) {
	r.mu.Lock()
	defer time.Sleep(r.tookPlaces)
	defer r.mu.Unlock()
	r.lookups++
	if r.errPlaces != nil {
		return nil, r.errPlaces
	}
	b := r.boards[id]
	list := &scoreboard.List{Board: b.instance, Epoch: b.epoch, Version: b.version, AsOf: time.Now()}
	for _, e := range b.ranked() {
		if slices.Contains(users, e.User) {
			list.Entries = append(list.Entries, e)
		}
	}
	return list, nil
}

func (r *ranking) edit(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

func user(i int) scoreboard.UserID { return scoreboard.UserID(fmt.Sprintf("u%03d", i)) }

// manyUsers returns n users, the first with the highest score.
func manyUsers(n int) map[scoreboard.UserID]scoreboard.Score {
	of := make(map[scoreboard.UserID]scoreboard.Score, n)
	for i := range n {
		of[user(i)] = scoreboard.Score(1000 * (n - i))
	}
	return of
}
