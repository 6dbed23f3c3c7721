package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// maxTierWait is how long moves of all boards wait for a ranking that lacks one of them.
const maxTierWait = 10 * time.Second

// errRankingBehind says that the ranking does not have a move yet.
var errRankingBehind = errors.New("the ranking is behind the moves of users between tiers")

// compareTiers queues a message for each user whose own events have moved the user to another tier
// since the last time: where everybody else is now, the user would have been in one tier before,
// and is in another after.
func (w *Worker) compareTiers(ctx context.Context, hooks []scoreboard.Webhook) error {
	if !slices.ContainsFunc(hooks, func(h scoreboard.Webhook) bool {
		return h.Disabled.IsZero() && slices.Contains(h.Types, scoreboard.WebhookTierUpdated)
	}) {
		return nil
	}
	all, err := w.Boards.All(ctx)
	if err != nil {
		return fmt.Errorf("find the boards with tiers: %w", err)
	}
	to := make(map[scoreboard.BoardID][]string) // webhooks by board
	var boards []scoreboard.BoardID
	for id, b := range all {
		if len(b.Tiers) == 0 || b.IsFamily() || b.Ended() {
			continue
		}
		for i := range hooks {
			if hooks[i].Disabled.IsZero() && hooks[i].Wants(scoreboard.WebhookTierUpdated, id) {
				to[id] = append(to[id], hooks[i].ID)
			}
		}
		if to[id] != nil {
			boards = append(boards, id)
		}
	}
	if boards == nil {
		return nil
	}
	moves, err := w.Store.TierMoves(ctx, boards)
	if err != nil {
		return err
	}
	var messages []scoreboard.WebhookUserMessage
	for i := range moves.Moves {
		m := &moves.Moves[i]
		payload, err := w.tierMessage(ctx, all[m.Board], m)
		if errors.Is(err, errRankingBehind) || errors.Is(err, scoreboard.ErrNotLoaded) {
			if w.behind.IsZero() {
				w.behind = time.Now()
			}
			if time.Since(w.behind) < maxTierWait {
				w.Log.Debug("tiers not compared for webhooks", "board", m.Board, "err", err)
				return nil // the next pass begins here again
			}
			w.Log.Warn("no message about a move between tiers: the ranking does not have it",
				"board", m.Board, "err", err)
			continue
		}
		if err != nil {
			return err
		}
		if payload != "" {
			messages = append(messages, scoreboard.WebhookUserMessage{
				ID: scoreboard.NewWebhookMessageID(), Payload: payload, User: m.User, Webhooks: to[m.Board],
			})
		}
	}
	w.behind = time.Time{}
	return w.Store.SaveTierMoves(ctx, &moves, messages)
}

// tierMessage returns the message about a move; "" if it led to no other tier, or the user is on
// no board now.
func (w *Worker) tierMessage(
	ctx context.Context, board *scoreboard.Board, m *scoreboard.TierMove,
) (payload string, err error) {
	place, err := w.Ranking.Place(ctx, board, m.User, 0)
	if wire.CodeOf(err) == wire.CodeNotFound {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the standing of a user who may be in another tier: %w", err)
	}
	if place.Revision < m.Revision {
		return "", errRankingBehind
	}
	before := -1
	if m.Before != nil {
		if before, _, err = w.tierAt(ctx, board, place, m.Before); err != nil {
			return "", err
		}
	}
	after, rank, err := w.tierAt(ctx, board, place, &m.After)
	if err != nil || before == after {
		return "", err
	}
	pair := board.Pair(m.After.Key, m.After.SubKey)
	row := []scoreboard.Entry{{Rank: rank, User: m.User, Score: pair.Score, Subscore: pair.Subscore}}
	w.Hide(board.ID, row)
	data, err := json.Marshal(wire.TierUpdated{
		Board: string(board.ID), Family: string(board.ID.Family()), Tier: board.Tiers.Name(after),
		PreviousTier: board.Tiers.Name(before), Entry: protocol.EntriesOf(board.HasSubscores(), row)[0],
	})
	if err != nil {
		return "", fmt.Errorf("encode a change of a tier: %w", err)
	}
	return protocol.EncodeWebhook(scoreboard.WebhookTierUpdated, m.Recorded, data), nil
}

// tierAt returns the tier and the rank that a user would have at a position, where place is the
// user's own standing.
func (w *Worker) tierAt(
	ctx context.Context, board *scoreboard.Board, place *scoreboard.Place, at *scoreboard.Position,
) (tier int, rank int64, err error) {
	counted := board.RankedAt(*at)
	behind, err := w.Ranking.Around(ctx, board, &counted, 0, 1)
	if err != nil {
		return -1, 0, fmt.Errorf("rank a user who may be in another tier: %w", err)
	}
	ahead := behind.Total
	if len(behind.Entries) > 0 {
		ahead = behind.Ordinal(0) - 1
	}
	own := place.Position(board)
	if own.Compare(&counted) <= 0 {
		ahead-- // the user
	}
	return board.Tiers.Of(board.Order, ahead+1, behind.Total, board.Order.Score(at.Key)), ahead + 1, nil
}
