package store_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Final standings of a board that shares ranks say 1 + the users with a better score and subscore, in pages of any size
// and copied in chunks, and leaves and hash are over these ranks; also where users are banned during the copy, or
// copied rows lack their shared rank. An export says the same before the end.
func TestFinalStandingsShareRanks(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 94))
		order := []scoreboard.Order{scoreboard.OrderHighest, scoreboard.OrderLowest}[r.IntN(2)]
		subscore := []scoreboard.Order{"", scoreboard.OrderHighest, scoreboard.OrderLowest}[seed%3]
		scores, subscores := make(map[scoreboard.UserID]int64), make(map[scoreboard.UserID]*scoreboard.Score)
		for i := range 1 + r.IntN(40) {
			user := scoreboard.UserID(fmt.Sprintf("t%d-u%d", seed, i))
			scores[user] = r.Int64N(6)
			if subscore != "" && r.IntN(4) > 0 {
				subscores[user] = new(scoreboard.Score(r.Int64N(4) - 2))
			}
		}
		id := cupOf(t, s, &scoreboard.Board{
			ID: scoreboard.BoardID(fmt.Sprint("ties", seed)), Order: order,
			Ties: scoreboard.TiesShared, Subscore: subscore,
		}, scores, func(user scoreboard.UserID) *scoreboard.Score { return subscores[user] })
		of := func(user scoreboard.UserID) (n scoreboard.Score) {
			if s := subscores[user]; s != nil {
				n = *s
			}
			return n
		}
		naive := func(user scoreboard.UserID) int64 {
			rank := int64(1)
			for other, score := range scores {
				key, own := order.Key(scoreboard.Score(score)), order.Key(scoreboard.Score(scores[user]))
				if key < own || key == own && subscore.Key(of(other)) < subscore.Key(of(user)) {
					rank++
				}
			}
			return rank
		}
		board, err := s.Boards.FindBoard(t.Context(), id)
		if err != nil || !board.SharesRanks() || board.Subscore != subscore {
			t.Fatalf("got %+v, %v, want shared ranks in the period", board, err)
		}
		if err := s.Reads.Export(t.Context(), board, func(chunk []scoreboard.FinalStanding) error {
			for _, f := range chunk {
				if f.Rank != naive(f.User) || f.Subscore != of(f.User) {
					t.Errorf("seed %d: exported %+v, want rank %d", seed, f.Entry, naive(f.User))
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		conn.Do(t, `update boards set period_end = clock_timestamp() where board_id = $1`, id)
		if err := s.Boards.CloseBoard(t.Context(), board); err != nil {
			t.Fatal(err)
		}
		for sealed := false; !sealed; {
			if _, err := s.Boards.CopyStandings(t.Context(), id, 1+r.IntN(5), anyTime); err != nil {
				t.Fatal(err)
			}
			switch r.IntN(3) {
			case 0:
				for user := range scores {
					if len(scores) == 1 {
						break
					}
					if _, err := s.Moderation.Ban(t.Context(), user, because("user.ban", user)); err != nil {
						t.Fatal(err)
					}
					delete(scores, user)
					break
				}
			case 1:
				conn.Do(t, `update board_standings set shared_rank = null where board_id = $1 and rank > 2`, id)
			}
			if sealed, err = s.Boards.SealStandings(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		checkSharedStandings(t, s.Boards.FinalStandings, id, 1+r.IntN(7), int64(len(scores)), naive)
	}
}

func checkSharedStandings(t *testing.T,
	read func(context.Context, scoreboard.BoardID, int64, int) (scoreboard.EndedPeriod, []scoreboard.FinalStanding,
		error),
	id scoreboard.BoardID, limit int, users int64, naive func(scoreboard.UserID) int64,
) {
	t.Helper()
	sum := sha256.New()
	var after int64
	for {
		e, rows, err := read(t.Context(), id, after, limit)
		if err != nil || e.Users != users {
			t.Fatalf("%s: %+v, %v, want %d users", id, e, err, users)
		}
		for i := range rows {
			f := &rows[i]
			if f.Rank != naive(f.User) || f.Ordinal != after+int64(i)+1 || f.Leaf != f.HashLeaf(&e.Board) {
				t.Errorf("%s: got %+v, want rank %d, number %d", id, *f, naive(f.User), after+int64(i)+1)
			}
			sum.Write([]byte(f.Leaf + "\n"))
		}
		if len(rows) < limit {
			if got := hex.EncodeToString(sum.Sum(nil)); got != e.Board.StandingsHash {
				t.Errorf("%s: the rows have the hash %s, want %s", id, got, e.Board.StandingsHash)
			}
			return
		}
		after = rows[len(rows)-1].Ordinal
	}
}

// A what-if of a board that shares ranks compares shared ranks, unless it asks for others.
func TestWhatIfOfSharedRanks(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	id := cup(t, s, "cup", scoreboard.OrderHighest, nil, map[scoreboard.UserID]int64{
		"ada": 9, "bob": 7, "cy": 7, "dan": 5,
	}, scoreboard.TiesShared)
	conn.Do(t, `update scores set reached_at = recorded_at + interval '1 second' where user_id = 'cy'`)
	board, err := s.Boards.FindBoard(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for ties, want := range map[scoreboard.Ties]map[scoreboard.UserID][2]int64{
		"":                    {"bob": {2, 1}, "cy": {2, 1}, "dan": {4, 3}},
		scoreboard.TiesShared: {"bob": {2, 1}, "cy": {2, 1}, "dan": {4, 3}},
		scoreboard.TiesFirst:  {"bob": {2, 1}, "dan": {4, 3}},
		scoreboard.TiesLast:   {"cy": {2, 1}, "dan": {4, 3}},
	} {
		w := &scoreboard.WhatIf{Since: time.Now().Add(-time.Hour), Limit: 10, Rules: scoreboard.WhatIfRules{
			VoidUsers: []scoreboard.UserID{"ada"}, Ties: ties,
		}}
		result, err := s.PastBoards.WhatIf(t.Context(), board, w, func(int64) {})
		if err != nil {
			t.Fatal(err)
		}
		got := make(map[scoreboard.UserID][2]int64)
		for _, c := range result.Changes {
			if c.User != "ada" {
				got[c.User] = [2]int64{c.Rank, c.NewRank}
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("ties %q: got %v, want %v", ties, got, want)
		}
	}
	for ties, invalid := range map[scoreboard.Ties]bool{scoreboard.TiesFirst: false, scoreboard.TiesShared: true} {
		rules := scoreboard.WhatIfRules{Ties: ties}
		if err := rules.CheckFor(board); (err != nil) != invalid {
			t.Errorf("ties %q alone: got %v", ties, err)
		}
	}
}
