package verify

import (
	"context"
	"fmt"
	"slices"

	"github.com/scoreboard/scoreboard/client"
)

// maxRanked is how many users' own ranks are compared per board.
const maxRanked = 20

// PlaceOf reads a user's own standing, with the user's own token.
type PlaceOf func(ctx context.Context, board, user string) (client.Place, error)

// Ranks compares the top of every board that was played on, and the ranks of some
// of its users, with ranks computed from the expected scores. The worst board is
// the result. If place is nil, only the top is compared.
func (v *Verifier) Ranks(ctx context.Context, place PlaceOf) error {
	wants := map[string]map[string]int64{v.Board: {}}
	boards := v.boards()
	for user, score := range v.expected() {
		board := boards(user)
		if wants[board] == nil {
			wants[board] = map[string]int64{}
		}
		wants[board][user] = score
	}
	for board, want := range wants {
		if err := v.boardRanks(ctx, board, want, place); err != nil {
			// Without this board, the results of the others are incomplete.
			delete(v.Measured, "top.correct")
			delete(v.Measured, "me.correct")
			return err
		}
	}
	return nil
}

// boardRanks compares one board. Its other users, outside the run, make a rank
// uncertain by their number.
func (v *Verifier) boardRanks(
	ctx context.Context, board string, want map[string]int64, placeOf PlaceOf,
) error {
	scores := make([]int64, 0, len(want))
	for _, score := range want {
		scores = append(scores, score)
	}
	slices.Sort(scores)
	page, err := v.Client.Top(ctx, client.TopQuery{Board: board, Limit: 100})
	if err != nil {
		return fmt.Errorf("read the top: %w", err)
	}
	others := max(page.Total-int64(len(want)), 0)
	if placeOf != nil {
		users := pickUsers(page, want)
		right := 0
		for user := range users {
			place, err := placeOf(ctx, board, user)
			if err != nil {
				return fmt.Errorf("read the rank of %s: %w", user, err)
			}
			if placeCorrect(place, want[user], scores, others) {
				right++
			}
		}
		if len(users) > 0 {
			v.Measured.Worst("me.correct", 100*float64(right)/float64(len(users)))
		} else {
			v.Measured.Worst("me.correct", 0)
		}
	}
	v.Measured.Worst("top.correct", topCorrect(page.Entries, 100, want))
	if v.Shown != nil && board == v.Board {
		rows, limit, err := v.Shown(ctx)
		if err != nil {
			return fmt.Errorf("read the top: %w", err)
		}
		v.Measured.Worst("top.correct", topCorrect(rows, limit, want))
	}
	if others > 0 {
		v.Notes = append(
			v.Notes,
			fmt.Sprintf("the board has %d other users, so expected ranks are uncertain by that many", others),
		)
	} else {
		v.Notes = append(v.Notes, "expected ranks are exact: the board has no other users")
	}
	return nil
}

// pickUsers returns users of the run whose ranks are compared: those in the top 10,
// and some others.
func pickUsers(page client.Top, want map[string]int64) map[string]bool {
	users := map[string]bool{}
	for _, e := range page.Entries[:min(len(page.Entries), 10)] {
		if _, ours := want[e.UserID]; ours {
			users[e.UserID] = true
		}
	}
	for user := range want { // map order is random
		if len(users) >= maxRanked {
			break
		}
		users[user] = true
	}
	return users
}

// placeCorrect reports whether a place is possible for a score. scores are sorted;
// others is the number of users with unknown scores.
func placeCorrect(p client.Place, score int64, scores []int64, others int64) bool {
	above := int64(len(scores)) - int64(lowerBound(scores, score+1))
	tied := int64(lowerBound(scores, score+1) - lowerBound(scores, score))
	return p.Score == score && p.Rank >= 1+above && p.Rank <= above+tied+others
}

func lowerBound(scores []int64, score int64) int {
	i, _ := slices.BinarySearch(scores, score)
	return i
}

// topCorrect is the percentage of rows that are correct: ranks count from 1,
// scores do not increase, and users of the run have their expected scores. Users
// of the run that are missing count as wrong rows, if there are fewer than limit rows or
// their scores are higher than the last one.
func topCorrect(rows []client.Entry, limit int, want map[string]int64) float64 {
	right, shown := 0, map[string]bool{}
	for i, e := range rows {
		score, ours := want[e.UserID]
		ordered := i == 0 || rows[i-1].Score >= e.Score
		if e.Rank == int64(i+1) && ordered && (!ours || score == e.Score) && !shown[e.UserID] {
			right++
		}
		shown[e.UserID] = true
	}
	missing := 0
	for user, score := range want {
		full := len(rows) >= limit
		if !shown[user] && (!full || score > rows[len(rows)-1].Score) {
			missing++
		}
	}
	if len(rows)+missing == 0 {
		return 0
	}
	return 100 * float64(right) / float64(len(rows)+missing)
}
