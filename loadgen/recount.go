package loadgen

import (
	"context"
	"fmt"
	"slices"

	"github.com/scoreboard/scoreboard/client"
)

// recount compares the server's top and standings of a board with ranks counted
// from the scores of the book. Others may be on the board too: then a rank lies
// between what it is among ours and that plus theirs.
func recount(ctx context.Context, c *client.Client, board string, want map[string]int64, own func(ctx context.Context, user string) (*client.Client, error)) (top, me float64, note string, err error) {
	scores := make([]int64, 0, len(want))
	for _, score := range want {
		scores = append(scores, score)
	}
	slices.Sort(scores)
	page, err := c.Top(ctx, client.TopQuery{Board: board, Limit: 100})
	if err != nil {
		return 0, 0, "", fmt.Errorf("read the top: %w", err)
	}
	others := max(page.Total-int64(len(want)), 0)
	note = "ranks were recounted exactly: all users of the board are ours"
	if others > 0 {
		note = fmt.Sprintf("ranks were recounted to within the %d other users of the board", others)
	}
	top = topCorrect(page, want)
	if own == nil {
		return top, 0, note, nil
	}
	sample := page.Entries
	if len(sample) > 10 {
		sample = sample[:10]
	}
	users := map[string]bool{}
	for _, e := range sample {
		if _, ours := want[e.UserID]; ours {
			users[e.UserID] = true
		}
	}
	for user := range want { // in no order
		if len(users) >= 20 {
			break
		}
		users[user] = true
	}
	right := 0
	for user := range users {
		mine, err := own(ctx, user)
		if err != nil {
			return 0, 0, "", err
		}
		place, err := mine.Me(ctx, client.PlaceQuery{Board: board})
		mine.Close()
		if err != nil {
			return 0, 0, "", fmt.Errorf("read the standing of %s: %w", user, err)
		}
		if placeCorrect(place, want[user], scores, others) {
			right++
		}
	}
	if len(users) > 0 {
		me = 100 * float64(right) / float64(len(users))
	}
	return top, me, note, nil
}

// placeCorrect says whether a standing fits. scores are sorted.
func placeCorrect(p client.Place, score int64, scores []int64, others int64) bool {
	above := int64(len(scores)) - int64(upper(scores, score))
	alike := int64(upper(scores, score) - lower(scores, score))
	return p.Score == score && p.Rank >= 1+above && p.Rank <= above+alike+others
}

func lower(scores []int64, score int64) int {
	i, _ := slices.BinarySearch(scores, score)
	return i
}

func upper(scores []int64, score int64) int { return lower(scores, score+1) }

// topCorrect is the share of rows that are right: numbered from 1, none better
// than the one before, ours with the score of the book; and with none of ours
// left out that is better than the last.
func topCorrect(page client.Top, want map[string]int64) float64 {
	right, shown := 0, map[string]bool{}
	for i, e := range page.Entries {
		score, ours := want[e.UserID]
		ordered := i == 0 || page.Entries[i-1].Score >= e.Score
		if e.Rank == int64(i+1) && ordered && (!ours || score == e.Score) && !shown[e.UserID] {
			right++
		}
		shown[e.UserID] = true
	}
	missing := 0
	for user, score := range want {
		full := len(page.Entries) >= 100
		if !shown[user] && (!full || score > page.Entries[len(page.Entries)-1].Score) {
			missing++
		}
	}
	if len(page.Entries)+missing == 0 {
		return 0
	}
	return 100 * float64(right) / float64(len(page.Entries)+missing)
}
