package webhook

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// queued are the types that this version reads from the outbox.
var queued = []scoreboard.WebhookType{scoreboard.WebhookSeasonClosed, scoreboard.WebhookUserFlagged}

// topSize is the number of rows in a message about a season.
const topSize = 10

// queueMessages moves what is in the outbox to the deliveries of the webhooks that want it.
func (w *Worker) queueMessages(ctx context.Context, hooks []scoreboard.Webhook) error {
	messages, err := w.Store.Messages(ctx, queued, messagesPerRun)
	if err != nil {
		return err
	}
	for i := range messages {
		m := &messages[i]
		var to []string
		for j := range hooks {
			if hooks[j].Wants(m.Type, m.Board) {
				to = append(to, hooks[j].ID)
			}
		}
		payload := ""
		var users []scoreboard.UserID
		if len(to) > 0 {
			var data json.RawMessage
			data, users, err = w.data(ctx, m)
			switch {
			case wire.CodeOf(err) == wire.CodeNotFound:
				to = nil // the user was erased
			case err != nil:
				return fmt.Errorf("read what %s is about: %w", m.Type, err)
			default:
				payload = protocol.EncodeWebhook(m.Type, m.Occurred, data)
			}
		}
		if err := w.Store.Deliver(ctx, m, scoreboard.NewWebhookMessageID(), payload, users, to); err != nil {
			return err
		}
	}
	return nil
}

// data returns what a message is about, in JSON, and the users whom it names.
func (w *Worker) data(
	ctx context.Context, m *scoreboard.WebhookMessage,
) (data json.RawMessage, users []scoreboard.UserID, err error) {
	if m.Type == scoreboard.WebhookUserFlagged {
		f, err := w.Flags.Flag(ctx, m.Flag)
		if err != nil {
			return nil, nil, err
		}
		data, err = json.Marshal(protocol.NewFlag(f))
		return data, []scoreboard.UserID{f.User}, err
	}
	ended, first, err := w.Seasons.FinalStandings(ctx, m.Board, 0, topSize)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range first {
		ended.Top = append(ended.Top, f.Entry)
		users = append(users, f.User)
	}
	w.Hide(m.Board, ended.Top)
	return protocol.EncodeSeasonClosed(&ended), users, nil
}
