package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"

	"github.com/scoreboard/scoreboard/internal/test/torture/contract"
)

// Boards with subscores, beside the court and the ladder: on goals both numbers are added, on the duel the better
// pair is kept. Few scores differ, so the subscores decide.
const (
	boardGoals = "goals"
	boardDuel  = "duel"
)

// pair is a score with its subscore, which is 0 on a board without subscores.
type pair struct{ score, subscore int64 }

// hasSubscores reports whether a board has subscores.
func (s *site) hasSubscores(board string) bool {
	switch familyOf(board) {
	case boardGoals, boardDuel, boardCourt, boardLadder:
		return true
	}
	return false
}

// compare is negative where p is the better pair on a board.
func (p pair) compare(q pair, board string) int {
	second := cmp.Compare(q.subscore, p.subscore)
	if board == boardDuel { // the lowest subscore ranks first
		second = -second
	}
	return cmp.Or(cmp.Compare(q.score, p.score), second)
}

// nextPair is a pair after an increment, by the board's mode; version counts the increments before it.
func nextPair(board string, version int64, before, submitted pair) pair {
	best := board == boardBest || board == boardDuel
	switch {
	case board == boardLatest || best && (version == 0 || submitted.compare(before, board) < 0):
		return submitted
	case best:
		return before
	}
	return pair{before.score + submitted.score, before.subscore + submitted.subscore}
}

// submitted is what an increment submits to a board.
func (s *site) submitted(in contract.Increment, board string) pair {
	p := pair{score: in.Delta}
	if in.Subscore != nil && s.hasSubscores(board) {
		p.subscore = *in.Subscore
	}
	return p
}

// after is what a receipt says of the user's pair.
func after(r contract.Receipt) pair {
	p := pair{score: r.NewScore}
	if r.NewSubscore != nil {
		p.subscore = *r.NewSubscore
	}
	return p
}

func pairOf(e contract.Entry) pair { return pair{e.Score, e.Subscore} }

func pairAfter(row contract.Row) pair { return pair{row.NewScore, row.NewSubscore} }

// outOfOrder reports whether a row has another rank than its place, or a better pair than the row before it.
func outOfOrder(rows []contract.Entry, i int, board string) bool {
	return rows[i].Rank != int64(i)+1 || i > 0 && pairOf(rows[i]).compare(pairOf(rows[i-1]), board) < 0
}

// subscore draws one for an increment of a board, nil where there are none.
func (s *site) subscore(rng *rand.Rand) *int64 {
	if rng.IntN(8) == 0 {
		return nil // it counts as 0
	}
	return new(rng.Int64N(7) - 3)
}

// createPairs creates the boards with subscores.
func (r *run) createPairs(ctx context.Context) error {
	node := r.cluster.First("api")
	for _, board := range []map[string]any{
		{"board": boardGoals, "mode": "increment", "min_delta": 0, "subscore": "highest"},
		{"board": boardDuel, "mode": "best", "min_delta": 0, "subscore": "lowest"},
	} {
		status, err := r.server.Call(ctx, node.URL(), http.MethodPost, "/v1/boards", board, nil)
		if err != nil || status >= 300 {
			return fmt.Errorf("create board %s: status %d, %w", board["board"], status, err)
		}
	}
	return nil
}
