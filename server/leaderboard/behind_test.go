package leaderboard_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/scoreboard/scoreboard/server/leaderboard"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// returning is a ranking that fails its first read and has old data afterwards, as
// Redis does when it comes back from an old copy.
type returning struct {
	hanging
	reads atomic.Int64
}

func (r *returning) Place(
	_ context.Context, _ *scoreboard.Board, user scoreboard.UserID, _ int,
) (*scoreboard.Place, error) {
	if r.reads.Add(1) == 1 {
		return nil, errors.New("connection reset")
	}
	return &scoreboard.Place{User: user, Rank: 1, UserVersion: 3}, nil
}

// upToDate is a store that has version 5.
type upToDate struct{ plainFallback }

func (upToDate) Place(
	_ context.Context, _ *scoreboard.Board, user scoreboard.UserID, _ int,
) (*scoreboard.Place, error) {
	return &scoreboard.Place{User: user, Rank: 7, UserVersion: 5}, nil
}

func (upToDate) Scores(
	_ context.Context, _ *scoreboard.Board, users []scoreboard.UserID,
) ([]scoreboard.Place, error) {
	return []scoreboard.Place{{User: users[0], UserVersion: 5}}, nil
}

func TestMinVersionWithARankingThatCameBackOld(t *testing.T) {
	t.Parallel()
	l := leaderboard.New(leaderboard.Options{
		Catalog: oneBoard{}, Ranking: &returning{}, Fallback: upToDate{},
		TriggerRebuild: func() {}, Log: slog.New(slog.DiscardHandler),
	})
	if p, err := l.Place(ctx, global, "alice", 0, 5); err != nil || p.UserVersion < 5 {
		t.Errorf("got %+v, %v, want version 5", p, err)
	}
}
