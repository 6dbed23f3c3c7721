package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// rewardPages bounds the pages of rewards that a run queues for a webhook.
const rewardPages = 5

// queueRewards queues a message for each reward, for the webhooks that want it. Each webhook has its own place in the
// table of grants: one whose receiver does not answer delays no other.
func (w *Worker) queueRewards(ctx context.Context, hooks []scoreboard.Webhook) error {
	var to []*scoreboard.Webhook
	for i := range hooks {
		if hooks[i].Disabled.IsZero() && hooks[i].Subscribes(scoreboard.WebhookRewardGranted) {
			to = append(to, &hooks[i])
		}
	}
	if to == nil {
		return nil
	}
	if err := w.Store.RewardHorizon(ctx, &w.rewards); err != nil {
		return err
	}
	var errs []error
	for _, hook := range to {
		for range rewardPages {
			more, err := w.Store.QueueRewards(ctx, hook, w.rewards.Safe, w.rewardMessage)
			if err != nil {
				errs = append(errs, err)
			}
			if !more {
				break
			}
		}
	}
	return errors.Join(errs...)
}

func (w *Worker) rewardMessage(g *scoreboard.RewardGrant) (string, error) {
	row := []scoreboard.Entry{{Rank: g.Rank, User: g.User}}
	w.Hide(g.Board, row)
	data, err := json.Marshal(wire.RewardGranted{
		ID: g.ID, Board: string(g.Board), Family: string(g.Board.Family()), UserID: protocol.Entries(row)[0].UserID,
		Rank: g.Rank, Reward: json.RawMessage(g.Reward), Revision: g.Revision, ExpiresAt: g.Expires,
	})
	if err != nil {
		return "", fmt.Errorf("encode reward %d: %w", g.ID, err)
	}
	return protocol.EncodeWebhook(scoreboard.WebhookRewardGranted, g.Granted, data), nil
}
