package loadgen

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// expected are the scores that the server must have, of users who have one.
func (a *audit) expected() map[string]int64 {
	want := make(map[string]int64, len(a.book.expected))
	for user, score := range a.book.expected {
		if score != 0 && !a.book.touched[user] {
			want[a.plan.name(uint64(user))] = score
		}
	}
	for user, score := range a.extras {
		want[user] = score
	}
	return want
}

// boards are those that users play on, where it is not the default.
func (a *audit) boards() map[string]string {
	if len(a.plan.Boards) == 0 {
		return nil
	}
	boards := make(map[string]string, a.plan.Users)
	for user := range uint64(a.plan.Users) {
		boards[a.plan.name(user)] = a.plan.board(user)
	}
	return boards
}

// sums reads the score of every user and compares it with the book.
func (a *audit) sums(ctx context.Context) error {
	want := a.expected()
	users := make([]string, 0, len(want))
	for user := range want {
		users = append(users, user)
	}
	slices.Sort(users)
	a.scores = make(map[string]int64, len(users))
	var mu sync.Mutex
	boards := a.boards()
	moved := time.Now() // when a score was seen to rise last: what was accepted for later is on its way
	read := func(ctx context.Context, user string) error {
		place, err := a.client.Score(ctx, user, client.PlaceQuery{Board: boards[user]})
		if err != nil && scoreboard.CodeOf(err) != scoreboard.CodeNotFound {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if place.Score != a.scores[user] {
			moved = time.Now()
		}
		a.scores[user] = place.Score // 0 where there is none
		return nil
	}
	wrong := users
	began := time.Now()
	for first := true; ; first = false {
		if err := each(ctx, wrong, read); err != nil {
			return fmt.Errorf("read the scores: %w", err)
		}
		wrong = slices.DeleteFunc(slices.Clone(wrong), func(u string) bool { return a.scores[u] == want[u] })
		if len(wrong) == 0 {
			// What was right at the first look had been so before.
			if a.measured["drained"] = 0; !first {
				a.measured["drained"] = float64(time.Since(began).Milliseconds())
			}
			break
		}
		if time.Since(moved) > a.settle || time.Since(began) > drainFor {
			break
		}
		if !pause(ctx, 500*time.Millisecond) {
			return ctx.Err()
		}
	}
	return a.explain(ctx, wrong, want)
}

// explain finds the events behind sums that are wrong.
func (a *audit) explain(ctx context.Context, wrong []string, want map[string]int64) error {
	a.short = map[string]bool{}
	for i, user := range wrong {
		if i < 5 {
			a.notes = append(a.notes, fmt.Sprintf("%s has %d, and was told %d", user, a.scores[user], want[user]))
		}
		if a.scores[user] < want[user] {
			a.short[user] = true
		}
	}
	var suspects []uint64
	for n, s := range a.book.events {
		if len(a.short) == 0 || len(suspects) == mostAsked {
			break
		}
		if s&acked != 0 && a.short[a.plan.name(a.draw.event(uint64(n)).user)] {
			suspects = append(suspects, uint64(n))
		}
	}
	var mu sync.Mutex
	err := each(ctx, suspects, func(ctx context.Context, n uint64) error {
		there, _, err := a.recorded(ctx, n)
		mu.Lock()
		defer mu.Unlock()
		if !there && err == nil {
			a.lost[n] = true
		}
		return err
	})
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("look for lost events: %w", err)
	}
	a.measured["doubled"] = float64(a.book.doubled) + float64(len(wrong)-len(a.short))
	return nil
}

// count says how many increments were lost. A score that is short although its
// events are there has lost one at least.
func (a *audit) count() {
	explained := map[string]bool{}
	for n := range a.lost {
		explained[a.plan.name(a.draw.event(n).user)] = true
	}
	lost := len(a.lost)
	for user := range a.short {
		if !explained[user] {
			lost++
		}
	}
	a.measured["lost"] = float64(lost)
}
