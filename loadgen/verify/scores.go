package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/retry"
)

// expected are the scores that users must have, without those of 0.
func (v *Verifier) expected() map[string]int64 {
	want := make(map[string]int64, len(v.Tracker.Expected))
	for user, score := range v.Tracker.Expected {
		if score != 0 && !v.Tracker.Uncertain[user] {
			want[v.Plan.UserID(uint64(user))] = score
		}
	}
	for user, score := range v.Extras {
		want[user] = score
	}
	return want
}

// boards returns which board a user plays on.
func (v *Verifier) boards() func(user string) string {
	boards := map[string]string{}
	if len(v.Plan.Boards) > 0 {
		for user := range uint64(v.Plan.Users) {
			boards[v.Plan.UserID(user)] = v.Plan.Board(user)
		}
	}
	return func(user string) string {
		if board, ok := boards[user]; ok {
			return board
		}
		return v.Board
	}
}

// checkScores reads the score of every user and compares it with the outcomes.
func (v *Verifier) checkScores(ctx context.Context) error {
	want := v.expected()
	users := make([]string, 0, len(want))
	for user := range want {
		users = append(users, user)
	}
	slices.Sort(users)
	v.scores = make(map[string]int64, len(users))
	var mu sync.Mutex
	boards := v.boards()
	// Accepted increments may still be pending: wait while scores keep changing.
	lastChange := time.Now()
	read := func(ctx context.Context, user string) error {
		place, err := v.Client.Score(ctx, user, client.PlaceQuery{Board: boards(user)})
		if err != nil && wire.CodeOf(err) != wire.CodeNotFound {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if place.Score != v.scores[user] {
			lastChange = time.Now()
		}
		v.scores[user] = place.Score // 0 for a user without a score
		return nil
	}
	wrong := users
	start := time.Now()
	for first := true; ; first = false {
		if err := forEach(ctx, wrong, read); err != nil {
			return fmt.Errorf("read the scores: %w", err)
		}
		wrong = slices.DeleteFunc(slices.Clone(wrong), func(u string) bool { return v.scores[u] == want[u] })
		if len(wrong) == 0 {
			if v.Measured["drained"] = 0; !first {
				v.Measured["drained"] = float64(time.Since(start).Milliseconds())
			}
			break
		}
		if time.Since(lastChange) > v.Settle || time.Since(start) > maxDrain {
			break
		}
		if !retry.Sleep(ctx, 500*time.Millisecond) {
			return ctx.Err()
		}
	}
	return v.explain(ctx, wrong, want)
}

// explain finds the lost events behind wrong scores.
func (v *Verifier) explain(ctx context.Context, wrong []string, want map[string]int64) error {
	v.short = map[string]bool{}
	for i, user := range wrong {
		if i < 5 {
			v.Notes = append(
				v.Notes,
				fmt.Sprintf("%s has the score %d, but %d was acknowledged", user, v.scores[user], want[user]),
			)
		}
		if v.scores[user] < want[user] {
			v.short[user] = true
		}
	}
	var suspects []uint64
	for n := range v.Tracker.Events() {
		if len(v.short) == 0 || len(suspects) == maxSuspects {
			break
		}
		if v.Tracker.MustBeRecorded(n) && v.short[v.Plan.UserID(v.Events.At(n).User)] {
			suspects = append(suspects, n)
		}
	}
	var mu sync.Mutex
	err := forEach(ctx, suspects, func(ctx context.Context, n uint64) error {
		recorded, _, err := v.recorded(ctx, n)
		mu.Lock()
		defer mu.Unlock()
		if !recorded && err == nil {
			v.lost[n] = true
		}
		return err
	})
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("look up lost events: %w", err)
	}
	v.Measured["doubled"] = float64(v.Tracker.Doubled) + float64(len(wrong)-len(v.short))
	return nil
}

// countLost counts lost increments. A user whose score is too low although all
// events are recorded has lost at least one.
func (v *Verifier) countLost() {
	explained := map[string]bool{}
	for n := range v.lost {
		explained[v.Plan.UserID(v.Events.At(n).User)] = true
	}
	lost := len(v.lost)
	for user := range v.short {
		if !explained[user] {
			lost++
		}
	}
	v.Measured["lost"] = float64(lost)
}
