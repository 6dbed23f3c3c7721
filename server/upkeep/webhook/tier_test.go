package webhook

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// tierStore has one batch of moves until it is saved.
type tierStore struct {
	Store
	moves scoreboard.TierMoves
	saved []scoreboard.WebhookUserMessage
	saves int
}

func (s *tierStore) TierMoves(context.Context, []scoreboard.BoardID) (scoreboard.TierMoves, error) {
	return s.moves, nil
}

func (s *tierStore) SaveTierMoves(
	_ context.Context, _ *scoreboard.TierMoves, messages []scoreboard.WebhookUserMessage,
) error {
	s.saved, s.saves = append(s.saved, messages...), s.saves+1
	return nil
}

type tierBoards struct{ Boards }

func (tierBoards) All(context.Context) (map[scoreboard.BoardID]*scoreboard.Board, error) {
	return map[scoreboard.BoardID]*scoreboard.Board{"arena": {
		ID: "arena", Family: "arena", Order: scoreboard.OrderHighest, Status: scoreboard.StatusActive,
		Period: scoreboard.PeriodNone,
		Tiers:  scoreboard.Tiers{{Name: "gold", Rank: 10}},
	}}, nil
}

// staleRanking has everybody first, and never hears of carl's move.
type staleRanking struct{ Ranking }

func (staleRanking) Place(
	_ context.Context, _ *scoreboard.Board, user scoreboard.UserID, _ int,
) (*scoreboard.Place, error) {
	p := &scoreboard.Place{User: user, Rank: 1, Total: 1, Score: 5, Revision: 1}
	if user == "carl" {
		p.Revision = 0
	}
	return p, nil
}

func (staleRanking) Around(
	context.Context, *scoreboard.Board, *scoreboard.Position, int, int,
) (*scoreboard.Top, error) {
	return &scoreboard.Top{Total: 1}, nil
}

// A move that the ranking lacks holds back the others for ten seconds, and not for good.
func TestMoveThatTheRankingLacks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		move := func(user scoreboard.UserID) scoreboard.TierMove {
			return scoreboard.TierMove{
				Board: "arena", User: user, After: scoreboard.Position{Key: -5, User: user}, Revision: 1,
			}
		}
		moves := []scoreboard.TierMove{move("bob"), move("carl"), move("dan")}
		store := &tierStore{moves: scoreboard.TierMoves{Moves: moves}}
		w := New(Options{
			Store: store, Boards: tierBoards{}, Ranking: staleRanking{},
			Hide: func(scoreboard.BoardID, []scoreboard.Entry) {}, Log: slog.New(slog.DiscardHandler),
		})
		hooks := []scoreboard.Webhook{{ID: "wh_1", Types: []scoreboard.WebhookType{scoreboard.WebhookTierUpdated}}}
		began := time.Now()
		for store.saves == 0 {
			if err := w.compareTiers(t.Context(), hooks); err != nil {
				t.Fatal(err)
			}
			if time.Since(began) > time.Minute {
				t.Fatal("nothing is reported after a minute")
			}
			time.Sleep(time.Second)
		}
		if waited := time.Since(began); waited < maxTierWait || len(store.saved) != 2 {
			t.Errorf("after %s got %d messages, want bob's and dan's after %s", waited, len(store.saved), maxTierWait)
		}
	})
}
