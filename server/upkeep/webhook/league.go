package webhook

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The bounds of what one pass queues about leagues.
const (
	leagueRuns      = 20  // periods
	leagueMessages  = 10  // of a period
	movesPerMessage = 100 // players
)

// queueMoves queues messages about players whom the ends of periods have moved, a number of players in each.
func (w *Worker) queueMoves(ctx context.Context, hooks []scoreboard.Webhook) error {
	for range leagueMessages {
		runs, err := w.Store.LeagueMoves(ctx, leagueRuns, movesPerMessage)
		if err != nil {
			return err
		}
		more := false
		for i := range runs {
			m := &runs[i]
			to := wanting(hooks, scoreboard.WebhookLeagueMoved, m.Board)
			if to == nil {
				m.Moves, m.Last = nil, m.Decided
			}
			if len(m.Moves) == 0 && !m.Last {
				continue
			}
			payload, err := w.movesMessage(m)
			if err == nil {
				err = w.Store.SaveLeagueMoves(ctx, m, scoreboard.NewWebhookMessageID(), payload, to)
			}
			if err != nil {
				return err
			}
			more = more || !m.Last
		}
		if !more {
			return nil
		}
	}
	return nil
}

// wanting returns the enabled webhooks that subscribe to a type of message about a board; nil for none.
func wanting(hooks []scoreboard.Webhook, t scoreboard.WebhookType, board scoreboard.BoardID) (ids []string) {
	for i := range hooks {
		if hooks[i].Disabled.IsZero() && hooks[i].Wants(t, board) {
			ids = append(ids, hooks[i].ID)
		}
	}
	return ids
}

// movesMessage returns the message about moves; "" for none. Hidden users have their pseudonym.
func (w *Worker) movesMessage(m *scoreboard.LeagueMoves) (string, error) {
	if len(m.Moves) == 0 {
		return "", nil
	}
	out := wire.LeagueMoved{Board: string(m.Board), Family: string(m.Board.Family())}
	for i := range m.Moves {
		o := &m.Moves[i]
		row := []scoreboard.Entry{{Rank: o.Rank, User: o.User}}
		w.Hide(m.Board, row)
		out.Moves = append(out.Moves, wire.LeagueMove{
			UserID: protocol.Entries(row)[0].UserID, Rank: o.Rank, Players: o.Players, From: o.From, To: o.To,
		})
	}
	data, err := json.Marshal(out)
	if err != nil {
		return "", fmt.Errorf("encode moves of a league: %w", err)
	}
	return protocol.EncodeWebhook(scoreboard.WebhookLeagueMoved, m.Moves[0].Decided, data), nil
}
