package leaderboard_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scoreboard/scoreboard/server/leaderboard"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// allPrivate shows everyone as private.
type allPrivate struct{}

func (allPrivate) Show(context.Context, scoreboard.BoardID, []scoreboard.Entry, scoreboard.UserID) {}

func (allPrivate) Name(context.Context, []scoreboard.Entry) {}

func (allPrivate) Refresh(
	_ scoreboard.BoardID, rows []scoreboard.Entry, _ scoreboard.UserID,
) []scoreboard.Entry {
	return rows
}

func (allPrivate) Version() uint64 { return 1 }

func (allPrivate) Visibility(scoreboard.UserID) scoreboard.Visibility {
	return scoreboard.VisibilityPrivate
}

// privateStore has a private user's standing of a version.
type privateStore struct {
	plainFallback
	version int64
}

func (s privateStore) Place(
	_ context.Context, _ *scoreboard.Board, user scoreboard.UserID, _ int,
) (*scoreboard.Place, error) {
	return &scoreboard.Place{User: user, UserVersion: s.version, Private: true}, nil
}

func (s privateStore) Scores(
	_ context.Context, _ *scoreboard.Board, users []scoreboard.UserID,
) ([]scoreboard.Place, error) {
	return []scoreboard.Place{{User: users[0], UserVersion: s.version, Private: true}}, nil
}

// A private user who waits for a version gets it from the store itself: its replica is fresh
// enough for other reads, and may lack what was just recorded.
func TestPrivateUserGetsTheVersion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var replica, primary copyAt
		primary.set(time.Now(), "h", false)
		replica.set(time.Now().Add(-4*time.Second), "h", true)
		state := leaderboard.NewReplica("postgres", &replica, &primary, slog.New(slog.DiscardHandler))
		l := leaderboard.New(leaderboard.Options{
			Catalog: oneBoard{}, Ranking: &hanging{}, Fallback: privateStore{version: 3}, Display: allPrivate{},
			FallbackReplica: &leaderboard.Replicated[leaderboard.Standings]{
				Source: func(scoreboard.ProgressCheck) leaderboard.Standings { return privateStore{version: 2} },
				State:  state,
			},
			TriggerRebuild: func() {}, Log: slog.New(slog.DiscardHandler),
		})
		run, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- state.Run(run) }()
		settle()
		for version, want := range map[int64]int64{0: 2, 3: 3} {
			p, err := l.Place(t.Context(), global, "ada", 0, version)
			if err != nil || p.UserVersion != want || !p.Private || p.Degraded != "" {
				t.Errorf("at least version %d: got %+v, %v, want version %d", version, p, err, want)
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
