package reads_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// ranked is a user of the naive version of a board with subscores.
type ranked struct {
	scoreboard.Entry
	at time.Time
}

// betterThan is by the scores alone.
func betterThan(b *scoreboard.Board, p, q scoreboard.Pair) bool {
	if p.Score != q.Score {
		return (p.Score > q.Score) == (b.Order == scoreboard.OrderHighest)
	}
	return p.Subscore != q.Subscore && (p.Subscore > q.Subscore) == (b.Subscore == scoreboard.OrderHighest)
}

// naive sorts the users of a board, and ranks them one by one.
func naive(b *scoreboard.Board, all []ranked) {
	slices.SortFunc(all, func(p, q ranked) int {
		switch {
		case betterThan(b, p.Pair(), q.Pair()):
			return -1
		case betterThan(b, q.Pair(), p.Pair()):
			return 1
		}
		return cmp.Or(p.at.Compare(q.at), cmp.Compare(p.User, q.User))
	})
	for i := range all {
		all[i].Rank = int64(i + 1)
		if b.SharesRanks() {
			all[i].Rank = rankAmong(b, all, all[i].Pair())
		}
	}
}

// rankAmong is 1 + the users with a better score and subscore.
func rankAmong(b *scoreboard.Board, all []ranked, of scoreboard.Pair) int64 {
	rank := int64(1)
	for i := range all {
		if betterThan(b, all[i].Pair(), of) {
			rank++
		}
	}
	return rank
}

// Pages, neighbours, lists, hypothetical ranks and exports of boards with subscores are what sorting all users by
// score, subscore, time and id says, with any order of both, unique and shared ranks, and with anchors or without.
func TestReadsOfSubscores(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	orders := []scoreboard.Order{scoreboard.OrderHighest, scoreboard.OrderLowest}
	for seed := range 16 {
		r := rand.New(rand.NewPCG(uint64(seed), 101))
		b := &scoreboard.Board{
			ID: scoreboard.BoardID(fmt.Sprint("b", seed)), Order: orders[seed%2], Subscore: orders[seed/2%2],
			Ties: []scoreboard.Ties{"", scoreboard.TiesShared}[seed/4%2],
		}
		b.Family = b.ID
		var all []ranked
		var users []scoreboard.UserID
		for i := range 1 + r.IntN(60) {
			u := ranked{scoreboard.Entry{
				User: scoreboard.UserID(fmt.Sprintf("u%d", i)), Score: scoreboard.Score(r.IntN(4) - 1),
				Subscore: scoreboard.Score(r.IntN(5) - 2),
			}, time.Unix(int64(r.IntN(3)), 0).UTC()}
			all, users = append(all, u), append(users, u.User)
			key, subKey := b.Keys(u.Pair())
			conn.Do(t, `insert into scores (user_id, board_id, score, order_key, subscore, sub_key, version, revision,
    reached_at, recorded_at)
values ($1, $2, $3, $4, $5, $6, 1, 1, $7, $7)`, u.User, b.ID, u.Score, key, u.Subscore, subKey, u.at)
		}
		naive(b, all)
		storetest.CopyScores(t, s, conn)
		if s.Reads.SetAnchors(10_000, 1000); seed >= 8 {
			s.Reads.SetAnchors(3, 1+r.Int64N(9))
		}
		entries := make([]scoreboard.Entry, len(all))
		for i := range all {
			entries[i] = all[i].Entry
		}
		var after *scoreboard.Position
		for n, limit := 0, 1+r.IntN(9); n < len(all); n += limit {
			page, err := s.Reads.Page(t.Context(), b, after, limit)
			if err != nil || !slices.Equal(page.Entries, entries[n:min(n+limit, len(all))]) {
				t.Fatalf("seed %d, rows from %d: %v, got %+v\nwant %+v", seed, n, err, page, entries[n:])
			}
			if b.SharesRanks() && page.First != int64(n+1) {
				t.Errorf("seed %d: number %d is first, want %d", seed, page.First, n+1)
			}
			after = new(page.Position(len(page.Entries)-1, b))
		}
		for i := range all {
			k := 1 + r.IntN(3)
			p, err := s.Reads.Place(t.Context(), b, all[i].User, k)
			if err != nil || p.Rank != all[i].Rank || p.Pair() != all[i].Pair() ||
				!slices.Equal(p.Neighbours, entries[max(i-k, 0):min(i+k+1, len(all))]) {
				t.Fatalf("seed %d, %s: %v, got %+v\nwant %+v", seed, all[i].User, err, p, entries)
			}
		}
		list, err := s.Reads.List(t.Context(), b, users)
		if err != nil || !slices.Equal(list.Entries, entries) {
			t.Fatalf("seed %d: %v, got %+v\nwant %+v", seed, err, list, entries)
		}
		for range 10 {
			pair := scoreboard.Pair{Score: scoreboard.Score(r.IntN(6) - 2), Subscore: scoreboard.Score(r.IntN(7) - 3)}
			want := rankAmong(b, all, pair)
			for i := range all {
				if !b.SharesRanks() && all[i].Pair() == pair {
					want++ // behind those who have reached it before
				}
			}
			if got, err := s.Reads.RankOf(t.Context(), b, pair); err != nil || got != want {
				t.Errorf("seed %d: %+v has rank %d, %v, want %d", seed, pair, got, err, want)
			}
		}
		var exported []scoreboard.Entry
		if err := s.Reads.Export(t.Context(), b, func(chunk []scoreboard.FinalStanding) error {
			for i := range chunk {
				exported = append(exported, chunk[i].Entry)
			}
			return nil
		}); err != nil || !slices.Equal(exported, entries) {
			t.Errorf("seed %d: %v, exported %+v\nwant %+v", seed, err, exported, entries)
		}
	}
}
