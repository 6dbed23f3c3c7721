package realtime

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// slowRanking answers each read of places after a time.
type slowRanking struct {
	took time.Duration

	mu          sync.Mutex
	reads, most int // reads, and the most users of one
	running     int // reads at this moment
	since       time.Time
	busy        time.Duration // time with a read
}

func (r *slowRanking) ReadTop(context.Context, scoreboard.BoardID) (*scoreboard.Top, error) {
	return &scoreboard.Top{}, nil
}

func (r *slowRanking) ReadPlaces(
	_ context.Context, board scoreboard.BoardID, users []scoreboard.UserID,
) (*scoreboard.List, error) {
	r.mu.Lock()
	if r.running++; r.running == 1 {
		r.since = time.Now()
	}
	r.reads, r.most = r.reads+1, max(r.most, len(users))
	r.mu.Unlock()
	time.Sleep(r.took)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running--; r.running == 0 {
		r.busy += time.Since(r.since)
	}
	list := &scoreboard.List{Board: board, Epoch: 1, Version: 1}
	for i, user := range users {
		list.Entries = append(list.Entries, scoreboard.Entry{Rank: int64(1000 + i), User: user, Score: 5})
	}
	return list, nil
}

// The ranks of 10,000 viewers who join at once are known within a second, in few reads of one board each. A
// busy ranking has half of its time for others, and the setting bounds the rate.
func TestRanksOfTenThousandViewers(t *testing.T) {
	t.Parallel()
	const viewers, boards = 10_000, 4
	for name, c := range map[string]struct {
		took      time.Duration
		perSecond int
		min, max  time.Duration
	}{
		"default":        {10 * time.Millisecond, 20_000, 0, time.Second},
		"a busy ranking": {200 * time.Millisecond, 20_000, 5 * time.Second, 12 * time.Second},
		"a lower rate":   {10 * time.Millisecond, 2000, 4 * time.Second, 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				source := &slowRanking{took: c.took}
				h := &Hub{Tiers: noTiers, rankLookups: newRankLookups(source, func() int { return c.perSecond })}
				var all []*board
				for i := range boards {
					id := scoreboard.BoardID(fmt.Sprint("board-", i))
					all = append(all, &board{hub: h, id: id, latest: &scoreboard.Top{Board: id}})
				}
				for i := range viewers {
					b := all[i%boards]
					b.mu.Lock()
					b.attach(scoreboard.UserID(fmt.Sprint("user-", i)), &subscription{})
					b.mu.Unlock()
				}
				ctx, cancel := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() { h.rankLookups.run(ctx) })
				began := time.Now()
				for known := 0; known < viewers; time.Sleep(10 * time.Millisecond) {
					if known = 0; time.Since(began) > time.Minute {
						t.Fatal("not all ranks are known after a minute")
					}
					for _, b := range all {
						b.mu.Lock()
						for _, st := range b.users {
							if st.known {
								known++
							}
						}
						b.mu.Unlock()
					}
				}
				took := time.Since(began)
				cancel()
				running.Wait()
				if took < c.min || took > c.max {
					t.Errorf("all ranks are known after %v, want %v to %v", took, c.min, c.max)
				}
				// Each round has at most one read per board that is not full.
				rounds := viewers/(c.perSecond/10) + 1
				if source.most > maxRankLookup || source.reads > viewers/maxRankLookup+rounds*boards {
					t.Errorf("%d reads of at most %d users, want about %d of %d", source.reads, source.most,
						viewers/maxRankLookup, maxRankLookup)
				}
				if c.took > lookupInterval && source.busy > took*6/10 {
					t.Errorf("the ranking was read for %v of %v, want half of it", source.busy, took)
				}
			})
		})
	}
}
