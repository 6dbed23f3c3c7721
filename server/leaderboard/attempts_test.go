package leaderboard_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scoreboard/scoreboard/server/leaderboard"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// hangingCounter never answers.
type hangingCounter struct{ calls int }

func (h *hangingCounter) Attempts(ctx context.Context, _ scoreboard.BoardID, _ scoreboard.UserID) (int64, error) {
	h.calls++
	<-ctx.Done()
	return 0, ctx.Err()
}

// A standing from the ranking does not wait for a store that hangs: at first for a quarter of a
// second, then not at all, but for one probe a second.
func TestAttemptsDoNotWaitForTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &hangingCounter{}
		l := leaderboard.New(leaderboard.Options{AttemptCounts: store})
		for i := range 10 {
			began := time.Now()
			if _, err := l.AttemptsUsed(t.Context(), "cup", "ada"); err == nil {
				t.Error("a store that hangs has answered")
			}
			most := time.Duration(0)
			if i < 3 {
				most = 250 * time.Millisecond
			}
			if took := time.Since(began); took > most {
				t.Errorf("read %d took %s, want at most %s", i, took, most)
			}
		}
		if store.calls != 3 {
			t.Errorf("the store was asked %d times, want 3", store.calls)
		}
	})
}
