package api_test

import (
	"context"
	"fmt"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// standins is a board of users u1 to u25; u1 is first with 25 points.
type standins struct {
	degraded string
	cached   bool // a recent answer is cached
}

const crowd = 25

var someTime = time.UnixMicro(1_800_000_000_000_000).UTC()

func (s *standins) rows(id scoreboard.BoardID, from, limit int) *scoreboard.Top {
	top := &scoreboard.Top{
		Board:     id,
		Version:   7,
		Epoch:     3,
		Total:     crowd,
		AsOf:      time.Now(),
		UpdatedAt: someTime,
		State:     scoreboard.StateHealthy,
		Degraded:  s.degraded,
	}
	for i := from; i <= crowd && len(top.Entries) < limit; i++ {
		top.Entries = append(
			top.Entries,
			scoreboard.Entry{
				Rank:  int64(i),
				User:  scoreboard.UserID(fmt.Sprint("u", i)),
				Score: scoreboard.Score(crowd + 1 - i),
			},
		)
		top.Reached = append(top.Reached, someTime)
	}
	return top
}

func (s *standins) Top(_ context.Context, b *scoreboard.Board, _ int64) (*scoreboard.Top, error) {
	return s.rows(b.ID, 1, scoreboard.TopSize), nil
}

func (s *standins) Page(
	_ context.Context,
	b *scoreboard.Board,
	after *scoreboard.Position,
	limit int,
) (*scoreboard.Top, error) {
	return s.rows(b.ID, crowd+2-int(b.Order.Score(after.Key)), limit), nil
}

func (s *standins) Place(
	_ context.Context,
	b *scoreboard.Board,
	user scoreboard.UserID,
	k int,
	_ int64,
) (*scoreboard.Place, error) {
	if user == "nobody" {
		return nil, scoreboard.Errorf(wire.CodeNotFound, "user %s has no score on board %s", user, b.ID)
	}
	p := &scoreboard.Place{
		Board:     b.ID,
		User:      user,
		Score:     5,
		Rank:      3,
		Total:     10,
		Version:   7,
		Epoch:     3,
		UpdatedAt: someTime,
		AsOf:      time.Now(),
		State:     scoreboard.StateHealthy,
	}
	if k > 0 {
		p.Neighbours = []scoreboard.Entry{
			{
				Rank:    2,
				User:    "x",
				Score:   6,
				Profile: &scoreboard.Profile{DisplayName: "Ex", AvatarURL: "https://x.example/a"},
			},
			{Rank: 3, User: user, Score: 5},
		}
	}
	return p, nil
}

func (s *standins) List(_ context.Context, b *scoreboard.Board, users []scoreboard.UserID) (*scoreboard.List, error) {
	l := &scoreboard.List{Board: b.ID, Version: 7, Epoch: 3, Total: 10, AsOf: time.Now(), Missing: users[1:]}
	l.Entries = []scoreboard.Entry{{Rank: 9, User: users[0], Score: 4}}
	return l, nil
}

func (s *standins) RankOf(context.Context, *scoreboard.Board, scoreboard.Pair) (int64, error) {
	return 17, nil
}

func (s *standins) TierPage(
	_ context.Context, b *scoreboard.Board, _ int, _ *scoreboard.Position, limit int,
) (*scoreboard.Top, bool, error) {
	return s.rows(b.ID, 1, limit), true, nil
}

func (s *standins) HasStanding(_ context.Context, _ scoreboard.BoardID, user scoreboard.UserID) (bool, error) {
	return user != "nobody", nil
}

func (s *standins) CachedTop(board scoreboard.BoardID) *scoreboard.Top {
	if !s.cached {
		return nil
	}
	return s.rows(board, 1, scoreboard.TopSize)
}

func (s *standins) CachedPlace(board scoreboard.BoardID, user scoreboard.UserID, _ int) *scoreboard.Place {
	if !s.cached {
		return nil
	}
	return &scoreboard.Place{Board: board, User: user, Rank: 3, Total: 10}
}

func (*standins) AttemptsUsed(context.Context, scoreboard.BoardID, scoreboard.UserID) (int64, error) {
	return 0, nil
}

func (*standins) MetadataOf(
	context.Context, scoreboard.BoardID, []scoreboard.UserID, scoreboard.UserID,
) ([]scoreboard.Described, error) {
	return nil, nil
}

// frozen always returns the same top.
type frozen struct {
	*standins
	top *scoreboard.Top
}

func (f frozen) Top(context.Context, *scoreboard.Board, int64) (*scoreboard.Top, error) {
	return f.top, nil
}
